"""Rollouts: wave after wave, soaked, watched at their gates, paused or taken back where arms did not take it."""

from collections import deque
from collections.abc import Callable, Iterator

from broker.arms.arm_session import ArmSession
from broker.plans.book import PlanBook
from broker.plans.live import Live
from broker.plans.reversing import Reversing
from broker.record.ledger import Ledger
from broker.record.principals import SERVICE
from broker.timers import Timers
from handlers.plans.plan import Asked, with_waves
from handlers.plans.rollout import Gate, Spec, Trouble, WaveState, trouble_of, waves_of
from handlers.plans.rows import Row, RowState
from handlers.plans.states import Cause, PlanKind, PlanState
from handlers.state.refusals import NOTHING_CHANGED
from schema.arms import Activity, Authority
from schema.errors import BrokerError
from schema.events import FleetEvent

LOOK_S = 1.0
"""How often gates and ends are looked at."""
OFFLINE_S, LINKED_S = 10.0, 30.0
"""For how long a link is lost before that counts, and for how long our own has to be there for it."""
NAMED_MOST = 8
_MILLI, _MICRO = 1_000, 1_000_000
_WATCHED = (PlanState.RUNNING, PlanState.PAUSED, PlanState.CONFIRMING)


class Rollouts:
    """What rollouts do beside what every plan does; `linked` tells whether the MQTT server is there."""

    def __init__(
        self,
        ledger: Ledger,
        sessions: dict[str, ArmSession],
        book: PlanBook,
        reversing: Reversing,
        timers: Timers,
        linked: Callable[[], bool],
    ) -> None:
        self._ledger, self._sessions, self._book, self._reversing = ledger, sessions, book, reversing
        self._timers, self._linked = timers, linked
        self._looking = False
        self._linked_since: float | None = None

    # ------------------------------------------------------------------ before the first wave

    def check_free(self, arms: tuple[str, ...]) -> None:
        """Refuse arms that are in another rollout.

        Raises:
            BrokerError: held.
        """
        for live in self._book.plans.values():
            if live.plan.asked.kind is not PlanKind.ROLLOUT or not live.plan.live:
                continue
            taken = sorted(set(live.plan.asked.arms).intersection(arms))
            if taken:
                more = f" and {len(taken) - NAMED_MOST} more" if len(taken) > NAMED_MOST else ""
                verb = "is" if len(taken) == 1 else "are"
                text = f"{', '.join(taken[:NAMED_MOST])}{more} {verb} in rollout {live.plan.n}"
                raise BrokerError("held", f"{text}. {NOTHING_CHANGED}")

    def plan_waves(self, live: Live) -> BrokerError | None:
        """Put the arms of a rollout into waves, as the check found them; why it is refused, if it is."""
        plan, spec = live.plan, self._spec(live)
        rows = [live.looked[arm] for arm in sorted(plan.asked.arms)]
        failed = [row for row in rows if row.state is RowState.REFUSED]
        if len(failed) > spec.max_failed:
            for row in failed:
                self._book.put_row(live, row)
            first = failed[0]
            return BrokerError(first.kind, f"{first.arm}: {first.message}", first.violations)
        skipped = tuple(row.arm for row in rows if row.state is RowState.SKIPPED)
        fit = {row.arm for row in rows if row.state is RowState.CHECKED and self._is_fit(row.arm)}
        taking_part = tuple(row.arm for row in rows if row.arm not in skipped)
        try:
            order, sizes = waves_of(spec, taking_part, fit)
        except BrokerError as error:
            return error
        plan.asked = with_waves(plan.asked, order + skipped, (*sizes, len(order) - sum(sizes)))
        for row in rows:
            if row.state is RowState.SKIPPED:
                self._book.put_row(live, row)
        return None

    def _is_fit(self, arm: str) -> bool:
        session = self._sessions.get(arm)
        if session is None:
            return False
        state = session.state
        return state.online and state.ready and not state.distrust and state.authority is Authority.CONTROL

    def _spec(self, live: Live) -> Spec:
        spec = live.plan.asked.rollout
        if spec is None:
            raise TypeError(f"plan {live.plan.n} is no rollout")
        return spec

    # ------------------------------------------------------------------ waves

    def begin_wave(self, live: Live, n: int) -> None:
        """Let the rows of a wave begin, those that have not."""
        plan, now = live.plan, live.plan.progress
        now.wave, now.wave_state = n, WaveState.RUNNING
        live.ahead = deque(arm for arm in wave_of(plan.asked, n) if arm not in plan.rows)
        self._book.put(live)
        self._look_soon()
        self._book.changed(live)

    def changed(self, live: Live) -> None:
        """A row of a rollout, or itself, changed: something may be over, or gone wrong."""
        if live.plan.state not in _WATCHED:
            return
        self._look_soon()
        if self._judge(live):
            return
        now = live.plan.progress
        if now.state is PlanState.RUNNING and now.wave_state is WaveState.RUNNING and self._wave_over(live):
            now.wave_state, now.wave_at_us = WaveState.SOAKING, self._ledger.clock.now_us()
            self._book.put(live)
            live.soaked_at = self._ledger.clock.monotonic() + self._spec(live).soak_ms / _MILLI

    def _wave_over(self, live: Live) -> bool:
        """Whether no row of the present wave is left to begin, and each has its end or is late."""
        if live.ahead or live.put_off or live.plan.under_way:
            return False
        rows = live.plan.rows
        return all(
            arm in rows and (rows[arm].final or arm in live.late or rows[arm].state is RowState.UNKNOWN)
            for arm in wave_of(live.plan.asked, live.plan.progress.wave)
        )

    def _soaked(self, live: Live) -> None:
        """Nothing happened while a wave soaked: the next one begins, or somebody is asked, or it is over."""
        plan, now, spec = live.plan, live.plan.progress, self._spec(live)
        now.wave_state = WaveState.ENDED
        self._book.tell(live, FleetEvent.PLAN_WAVE_ENDED, "soaked", plan.asked.author)
        if now.wave in spec.pause_after and now.wave + 1 < len(plan.sizes()):
            self._book.move(live, Cause.TROUBLE, SERVICE, said=f"after wave {now.wave}, as it was asked for")
        else:
            self._next(live)

    def _next(self, live: Live) -> None:
        """The present wave is over: the next one begins, or somebody is asked to confirm, or it is over."""
        plan, now, spec = live.plan, live.plan.progress, self._spec(live)
        if now.wave + 1 < len(plan.sizes()):
            self.begin_wave(live, now.wave + 1)
        elif spec.confirm_within_ms:
            due_us = self._ledger.clock.now_us() + spec.confirm_within_ms * _MILLI
            self._book.move(live, Cause.UNCONFIRMED, SERVICE, due_us=due_us)
        else:
            self._book.move(live, Cause.COMPLETE, plan.asked.author)

    def forgive(self, live: Live) -> None:
        """Somebody knows what went wrong so far."""
        if live.plan.asked.kind is PlanKind.ROLLOUT:
            now = live.plan.progress
            now.forgiven = sorted({*now.forgiven, *(arm for arm, _ in self.failures(live))})

    def resume(self, live: Live) -> None:
        """Somebody let a rollout go on."""
        now = live.plan.progress
        if live.plan.asked.kind is not PlanKind.ROLLOUT or now.state is not PlanState.RUNNING:
            return
        if now.wave_state is WaveState.ENDED:
            self._next(live)
        else:
            self.begin_wave(live, now.wave)

    # ------------------------------------------------------------------ what goes wrong

    def failures(self, live: Live) -> Iterator[tuple[str, str]]:
        """The arms on which something went wrong, and what: the kind of a row, `late`, or a gate."""
        for arm, row in live.plan.rows.items():
            if row.state is RowState.REFUSED:
                yield arm, row.kind
            elif row.state is RowState.UNKNOWN:
                yield arm, "outcome_unknown"
            elif arm in live.late:
                yield arm, "late"
            elif arm in live.plan.gated:
                yield arm, live.plan.gated[arm].value

    def _judge(self, live: Live) -> bool:
        """Whether too much went wrong; then nothing more begins, and once nothing is under way it is taken back."""
        plan = live.plan
        found = [(arm, kind) for arm, kind in self.failures(live) if arm not in plan.progress.forgiven]
        trouble = trouble_of(self._spec(live), [kind for _, kind in found])
        if trouble is Trouble.NONE or (trouble is Trouble.PAUSE and plan.state is PlanState.PAUSED):
            return False
        live.ahead.clear()
        live.put_off.clear()
        if plan.under_way:
            return True
        said = ", ".join(f"{arm} {kind}" for arm, kind in found[:NAMED_MOST])
        if trouble is Trouble.REVERSE:
            self._reversing.begin(live, Cause.FAULTS, plan.asked.author, said=said)
        else:
            self._book.move(live, Cause.TROUBLE, SERVICE, said=said)
        return True

    def _look_soon(self) -> None:
        if not self._looking:
            self._looking = True
            self._timers.put(LOOK_S, self._look)

    def _look(self) -> None:
        """Look at the gates, at rows that are late, and at what is due."""
        self._looking = False
        now_s = self._ledger.clock.monotonic()
        if not self._linked():
            self._linked_since = None
        elif self._linked_since is None:
            self._linked_since = now_s
        for live in list(self._book.plans.values()):
            if live.plan.asked.kind is PlanKind.ROLLOUT and live.plan.state in _WATCHED:
                self._look_soon()
                self._look_at(live, now_s)

    def _look_at(self, live: Live, now_s: float) -> None:
        plan, now, spec = live.plan, live.plan.progress, self._spec(live)
        before = len(plan.gated) + len(live.late)
        for arm, row in plan.rows.items():
            session = self._sessions.get(arm)
            if not row.final and row.change_n and arm not in live.late:
                began = live.began.setdefault(arm, now_s)
                if now_s - began > spec.row_within_ms / _MILLI:
                    live.late.add(arm)
            elif row.state is RowState.APPLIED and session is not None and arm not in plan.gated:
                gate = self._gate(live, row, session, now_s)
                if gate is not None and gate in spec.gates:
                    plan.gated[arm] = gate
        if len(plan.gated) + len(live.late) != before:
            self._book.changed(live)
        if now.state is PlanState.CONFIRMING and 0 < now.due_us <= self._ledger.clock.now_us():
            said = "nobody confirmed it in time"
            self._reversing.begin(live, Cause.TIME_OVER, plan.asked.author, said=said)
        soaks = now.state is PlanState.RUNNING and now.wave_state is WaveState.SOAKING
        if soaks and live.soaked_at is not None and now_s >= live.soaked_at and not self._judge(live):
            live.soaked_at = None
            self._soaked(live)

    def _gate(self, live: Live, row: Row, session: ArmSession, now_s: float) -> Gate | None:
        """The gate that is open on an arm whose row has its end."""
        state, arm = session.state, session.arm
        if state.activity is Activity.FAULT:
            return Gate.FAULT
        if row.job_rev and any(state.last_rev.get(slot, 0) > row.job_rev for slot in live.slots.get(arm, ())):
            return Gate.TOUCHED
        if state.online:
            live.offline_since.pop(arm, None)
            return None
        sure = self._linked_since is not None and now_s - self._linked_since >= LINKED_S
        if not sure:
            live.offline_since.pop(arm, None)
            return None
        return Gate.OFFLINE if now_s - live.offline_since.setdefault(arm, now_s) >= OFFLINE_S else None

    # ------------------------------------------------------------------ starts

    def go_on(self, live: Live, *, down_long: bool) -> None:
        """Take up a rollout of an earlier run: its wave goes on, a soak begins anew, after long somebody is asked."""
        now = live.plan.progress
        if now.state is PlanState.RUNNING and down_long:
            self._book.move(live, Cause.TROUBLE, SERVICE, said="restart")
        elif now.state is PlanState.RUNNING and now.wave_state is WaveState.SOAKING:
            live.soaked_at = self._ledger.clock.monotonic() + self._spec(live).soak_ms / _MILLI
        elif now.state is PlanState.RUNNING:
            self.begin_wave(live, now.wave)
        self._look_soon()


def wave_of(asked: Asked, n: int) -> tuple[str, ...]:
    """The arms of a wave."""
    begin = sum(asked.waves[:n])
    return asked.arms[begin : begin + asked.waves[n]]
