"""The plans of a run: kept in memory while anything may become of them, stored with every move, told as events."""

from collections.abc import Callable
from typing import Any

import msgspec
import structlog

from broker.plans.asked import APPLY, envelope_of, params_of, rpc_of
from broker.plans.live import Live
from broker.plans.newest import Newest
from broker.record.fleet_events import FleetEvents
from broker.record.ledger import Ledger
from broker.store.errors import RowDamagedError
from broker.store.rows import PlanArmRow, PlanRow
from handlers.plans.plan import Asked, Plan, Progress
from handlers.plans.rows import Row, RowState
from handlers.plans.states import Action, Cause, Move, PlanKind, PlanOutcome, PlanState, moved
from handlers.state.recipes import Key
from schema.envelope import Author, Violation
from schema.errors import BrokerError
from schema.events import FleetEvent
from schema.messages import Message

log = structlog.get_logger()

LIVE_MOST, ROLLOUTS_MOST = 64, 16
"""Plans that may be live at once, and rollouts among them."""
_encode = msgspec.msgpack.Encoder().encode
_asked = msgspec.msgpack.Decoder(Asked).decode
_progress = msgspec.msgpack.Decoder(Progress).decode
_error = msgspec.msgpack.Decoder(tuple[str, str, str, tuple[Violation, ...]]).decode

EVENTS: dict[PlanState, FleetEvent] = {
    PlanState.PROPOSED: FleetEvent.PLAN_PROPOSED,
    PlanState.RUNNING: FleetEvent.PLAN_STARTED,
    PlanState.PAUSED: FleetEvent.PLAN_PAUSED,
    PlanState.REVERSING: FleetEvent.PLAN_REVERSING,
    PlanState.ENDED: FleetEvent.PLAN_ENDED,
}
"""What is told when a plan comes to a state; that it is checked, or waits to be confirmed, shows in its document."""


class PlanBook:
    """Composes the transactions of plans; `plans` are those of which something may still become."""

    def __init__(self, ledger: Ledger, events: FleetEvents, newest: Newest) -> None:
        self._ledger, self.events, self._newest = ledger, events, newest
        self._clock, self._shelf = ledger.clock, events.stream.state.recipes
        self.plans: dict[int, Live] = {}
        self._last = ledger.store.last_plan()
        self.changed: Callable[[Live], None] = lambda _: None
        """What else is to be done after a plan or a row of it changed."""

    # ------------------------------------------------------------------ plans

    def states(self) -> list[str]:
        """The states of the plans of which something may still become."""
        return [live.plan.state for live in self.plans.values()]

    def check_room(self, kind: PlanKind, *, dry: bool = False) -> None:
        """Refuse one more plan than may be live, and one more dry run than may be looked at.

        Raises:
            BrokerError: busy.
        """
        plans = [one.plan for one in self.plans.values() if one.plan.live and one.dry is dry]
        live = [plan.asked.kind for plan in plans if not plan.waits]
        if len(live) >= LIVE_MOST:
            raise BrokerError("busy", f"{LIVE_MOST} plans are live, the most there may be. Nothing was changed.")
        if kind is PlanKind.ROLLOUT and live.count(PlanKind.ROLLOUT) >= ROLLOUTS_MOST:
            raise BrokerError("busy", f"{ROLLOUTS_MOST} rollouts are live, the most there may be. Nothing was changed.")

    def of_groups(self) -> list[tuple[str, int]]:
        """Group and number of each live plan that is of one, by number."""
        live = (one.plan for _, one in sorted(self.plans.items()) if one.plan.live and not one.dry)
        return [(plan.asked.target[1:], plan.n) for plan in live if plan.asked.target.startswith("@")]

    def next_number(self) -> int:
        """The number of a new plan."""
        self._last += 1
        return self._last

    def add(self, live: Live) -> None:
        """A new plan, or one of an earlier run."""
        plan = live.plan
        self.plans[plan.n] = live
        if (key := _recipe(live)) is not None:
            self._shelf.await_end(key)
        if plan.live:
            self._newest.begin(plan.n, plan.place)

    def put(self, live: Live) -> None:
        """Store a plan as it stands, and let go of it with this commit if nothing becomes of it any more."""
        plan = live.plan
        if live.dry:
            return
        over = not plan.live and plan.tally.final and live.asker is None
        plan.progress.stored_us = self._clock.now_us()
        self._ledger.store.batch.put_row("plan", plan.n, _plan_row(live, settled=over))
        self._ledger.store.flush_soon()
        if not plan.live:
            self._newest.end(plan.n)
        if over:
            self._ledger.store.batch.on_commit(lambda: self._drop(live))

    def _drop(self, live: Live) -> None:
        if not live.plan.live and self.plans.get(live.plan.n) is live:
            del self.plans[live.plan.n]
            if (key := _recipe(live)) is not None:
                self._shelf.ended(key)

    def find(self, n: int) -> Live:
        """A plan that is kept, whether or not anything may become of it.

        Raises:
            BrokerError: unknown_plan.
            RowDamagedError: it cannot be read.
        """
        if (live := self.plans.get(n)) is not None:
            return live
        row = self._ledger.store.plan(n)
        if row is None:
            raise BrokerError("unknown_plan", f"params.plan: there is no plan {n}, or it is kept no longer")
        return restored(row, self._ledger.store.plan_arms(n))

    def moved_since(self, n: int, since_us: int) -> Live | None:
        """A kept plan of which something became at this time or later; None: another, or one that cannot be read."""
        try:
            row = self._ledger.store.plan(n)
            if row is None:
                return None
            progress = _progress(row.progress)
            return self.find(n) if max(progress.since_us, progress.stored_us) >= since_us else None
        except (msgspec.MsgspecError, KeyError, BrokerError, RowDamagedError):
            return None

    # ------------------------------------------------------------------ moves

    def move(
        self, live: Live, why: Action | Cause, by: Author, *, said: str = "", reason: str = "", due_us: int = 0
    ) -> Move | None:
        """Let a plan go where this leads it, store and tell that; None: it leads nowhere.

        Args:
            live: the plan.
            why: what happened to it.
            by: who did that.
            said: why, in words that the plan keeps.
            reason: that of the request.
            due_us: when the new state ends by itself, service time in µs, 0 = never.
        """
        plan = live.plan
        move = moved(plan.state, why)
        if move is None:
            return None
        now = plan.progress
        if not plan.live and not live.dry:
            self._newest.begin(plan.n, plan.place)
        before, now.state, now.why, now.since_us, now.due_us = now.state, move.to, said, self._clock.now_us(), due_us
        plan.recount()
        ends = move.to is PlanState.ENDED
        now.outcome = (move.outcome or self._outcome(live, before)) if ends else None
        now.ended_at_us = now.since_us if ends else 0
        if live.dry:
            return move
        log.info("plan_moved", plan=plan.n, state=now.state.value, outcome=now.outcome, why=said or why.value)
        event = _event_of(why, move)
        if event is not None:
            self.tell(live, event, why.value if now.outcome is None else now.outcome.value, by, reason)
        self.put(live)
        self.changed(live)
        return move

    def _outcome(self, live: Live, before: PlanState) -> PlanOutcome:
        tally = live.plan.tally
        return tally.outcome_of_reversal if before is PlanState.REVERSING else tally.outcome

    def tell(self, live: Live, event: FleetEvent, cause: str, by: Author, reason: str = "") -> None:
        """An event of a plan."""
        plan = live.plan
        self.events.emit(
            event, cause=cause, by=by, details=plan.shown(), plan=plan.n, request_id=plan.asked.request_id,
            reason=reason or plan.asked.reason, trace=plan.asked.trace,
        )  # fmt: skip

    # ------------------------------------------------------------------ rows

    def put_row(self, live: Live, row: Row, **now: Any) -> Row:
        """Store a row with some of its fields anew."""
        plan = live.plan
        row = plan.change(row, **now)
        if not live.dry:
            self._ledger.store.batch.put_row("plan_row", (plan.n, row.arm), _arm_row(plan.n, row))
            self._ledger.store.flush_soon()
            if row.final and not plan.live and plan.tally.final:
                self.put(live)
        return row


def _event_of(why: Action | Cause, move: Move) -> FleetEvent | None:
    """What is told of a move."""
    goes_on = why is Action.RESUME and move.to is PlanState.RUNNING
    return FleetEvent.PLAN_RESUMED if goes_on else EVENTS.get(move.to)


def _recipe(live: Live) -> Key | None:
    """The version of a recipe that the rows of a plan bring: it is kept until nothing becomes of the plan any more."""
    params = live.params
    if live.rpc.name != APPLY or isinstance(params, Message) or "version" not in params:
        return None
    return str(params["recipe"]), int(params["version"])


def _plan_row(live: Live, *, settled: bool) -> PlanRow:
    plan, asker = live.plan, live.asker
    address = None if asker is None else asker.address
    reply_to = b"" if address is None else _encode((address.topic, address.correlation, address.codec))
    return PlanRow(
        n=plan.n, request_n=plan.place, kind=plan.asked.kind, state=plan.state, settled=settled, user=plan.asked.user,
        at_us=plan.asked.at_us, asked=_encode(plan.asked), progress=_encode(plan.progress), reply_to=reply_to,
    )  # fmt: skip


def _arm_row(plan_n: int, row: Row) -> PlanArmRow:
    error = _encode((row.kind, row.name, row.message, row.violations)) if row.kind or row.message else b""
    return PlanArmRow(
        plan_n=plan_n, arm=row.arm, state=row.state, final=row.final, rev=row.rev, seq=row.seq, change_n=row.change_n,
        job_rev=row.job_rev, error=error,
    )  # fmt: skip


def restored(row: PlanRow, arms: list[PlanArmRow]) -> Live:
    """A plan as the store has it; nobody waits for its reply.

    Raises:
        msgspec.MsgspecError, KeyError, BrokerError: it was written by another version, and cannot be used.
    """
    plan = Plan(row.n, row.request_n, _asked(row.asked), _progress(row.progress))
    for arm in arms:
        kind, name, message, violations = _error(arm.error) if arm.error else ("", "", "", ())
        plan.rows[arm.arm] = Row(
            arm.arm, RowState(arm.state), arm.final, arm.rev, arm.seq, kind, name, message, arm.change_n, arm.job_rev,
            violations,
        )  # fmt: skip
    plan.recount()
    return live_of(plan)


def live_of(plan: Plan) -> Live:
    """A plan at work, made of what is stored of it."""
    rpc = rpc_of(plan.asked)
    return Live(plan, rpc, params_of(rpc, plan.asked), envelope_of(plan.asked))
