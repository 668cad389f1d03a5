"""The end of an override leads its slots back to what is in force below: changes by the service itself."""

from collections.abc import Callable
from typing import NamedTuple

import structlog

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import Back, ChangeJob
from broker.life import Origin
from broker.record.ledger import Ledger
from broker.record.override_rows import keep
from broker.record.principals import SERVICE
from broker.store.rows import Terms
from broker.timers import Timers
from handlers.items.direction import is_loosening
from handlers.items.parts import put
from handlers.items.settling import same
from handlers.overrides import stack
from handlers.overrides.nearest import legal
from handlers.overrides.returns import Writes, aim_of, due, gave, writes
from handlers.state.overrides import Override, Overrides
from handlers.state.places import Place, by_slot
from schema.arms import Slot, Verb
from schema.errors import BrokerError
from schema.items import ITEMS
from schema.messages import Message

log = structlog.get_logger()

METHOD = "EndOverride"
RETRY_FIRST_S, RETRY_MOST_S = 60.0, 3600.0
"""How long after a write that failed the next one follows; twice as long each time."""


class Step(NamedTuple):
    """What the end of an override means for one slot; `carried`: a return that is under way leads there."""

    slot: Slot
    places: tuple[Place, ...]
    aim: Message
    given: Message
    writes: Writes
    carried: ChangeJob | None

    @property
    def is_owed(self) -> bool:
        """Whether something is to be written."""
        return bool(self.carried or self.writes.at_once or self.writes.later)


class Returns:
    """Orders returns, and sees to it that what tightens is written in the end."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def work(
        self,
        timers: Timers,
        admit: Callable[[ArmSession, ChangeJob], None],
        resume: Callable[[ArmSession, ChangeJob], None],
        give_up: Callable[[ArmSession, ChangeJob, BrokerError], None],
    ) -> None:
        """What accepts a change, lets one that waits go on if nothing bars it, and ends one that waits."""
        self._timers, self._admit, self._resume, self._give_up = timers, admit, resume, give_up

    # ------------------------------------------------------------------ the end of an override

    def steps(self, session: ArmSession, overrides: Overrides, override: Override) -> list[Step]:
        """What its end means for each slot in which it is in force; what others wish for is not settled yet counts."""
        found = []
        state = session.state
        uncovered = [place for place in override.values if overrides.newest(place) is override]
        for slot, places in by_slot(uncovered).items():
            if slot not in state.reported:
                continue
            reported = state.reported[slot]
            aim = put(state, slot, reported, {place: stack.below(overrides, override, place) for place in places})
            given = put(state, slot, reported, {place: override.values[place] for place in places})
            carried = _return_of(session, slot)
            ordered = _writes(session, slot, aim, given)
            if _others(session, slot):
                ordered = ordered._replace(later=None)
            found.append(Step(slot, places, aim, given, ordered, carried))
        return found

    def begin(self, session: ArmSession, override: Override, steps: list[Step]) -> None:
        """Do that; the override has ended."""
        for step in steps:
            if step.carried is not None:
                self._desire(session, step.slot, step.aim)
                self._resume(session, step.carried)
            elif step.is_owed:
                self._order(session, override, step.slot, step.writes, step.given, self._ledger.clock.now_us())
            else:
                self._desire(session, step.slot, step.aim)

    def _order(
        self, session: ArmSession, override: Override, slot: Slot, ordered: Writes, given: Message, at_us: int
    ) -> None:
        """Accept a return; its age counts from the end of the override, `at_us`."""
        wanted = ordered.later or ordered.at_once
        if wanted is None:
            raise ValueError(slot)
        item, ledger = ITEMS[slot[0]], self._ledger
        log.info("returns", arm=session.arm, slot=slot, override=override.rev)
        self._admit(
            session,
            ChangeJob(
                n=ledger.new_change(), request_n=0, rev=0, slot=slot, item=item, verb=Verb.SET, wanted=wanted,
                loosening=is_loosening(item, wanted, session.state.reported[slot]), unchanged=False, author=SERVICE,
                request_id=override.request_id, method=METHOD, reason=f"override {override.rev} is over",
                terms=Terms(plan=override.plan, returned_from=override.rev), back=Back(override.rev, given),
                at_us=at_us, origin=Origin.WAITED,
            ),
        )  # fmt: skip

    def take_revision(self, session: ArmSession, job: ChangeJob) -> int:
        """A return desires what is in force, unless somebody's change is not settled: that stays desired."""
        aim = aim_of(session.state, job.slot) or job.wanted
        if aim is None:
            raise TypeError(job.slot[0])
        aim = _legal(session, job.slot, aim)
        job.setter = session.setter_of(job, aim)
        others = _others(session, job.slot)
        return self._ledger.desire(session, job.slot, None if others else aim, job.setter)

    def _desire(self, session: ArmSession, slot: Slot, aim: Message) -> None:
        """Nothing is written: what is in force is desired, and what differs from it shows."""
        state = session.state
        before = state.desired[slot]
        if _others(session, slot) or same(slot[0], before, aim, state.resolution_rad):
            return
        setter = state.desired_by[slot]
        self._ledger.desire(session, slot, aim, setter)
        self._ledger.log_revision(session, slot, before, SERVICE, METHOD, "overwritten")

    # ------------------------------------------------------------------ the end of a return

    def took_effect(self, session: ArmSession, job: ChangeJob) -> None:
        """A return took effect: the debt is paid, or there is more to write."""
        overrides, slot = session.state.overrides, job.slot
        aim = aim_of(session.state, slot)
        if overrides is None or aim is None or job.wanted is None:
            return
        more = _writes(session, slot, aim, gave(session.state, slot, job.wanted))
        owing = _owing(overrides, slot)
        if more.at_once is not None or more.later is not None:
            self._order(session, owing, slot, more, job.wanted, job.at_us)
        else:
            keep(self._ledger, session, stack.paid(overrides, slot))

    def failed(self, session: ArmSession, job: ChangeJob, *, tries: bool) -> None:
        """A return took no effect; what tightens stays owed, and `tries` counts: it is tried again after a while."""
        overrides, slot = session.state.overrides, job.slot
        if overrides is None or job.back is None or not overrides.owes(slot):
            return
        if not self.insists(session, job):
            keep(self._ledger, session, stack.paid(overrides, slot))
        elif tries:
            overrides = stack.failed(overrides, slot)
            keep(self._ledger, session, overrides)
            wait_s = min(RETRY_FIRST_S * 2 ** (_owing(overrides, slot).tries - 1), RETRY_MOST_S)
            log.warning("return_failed", arm=session.arm, slot=slot, next_s=wait_s)
            self._timers.put(wait_s, self._try_again, session, slot)

    def insists(self, session: ArmSession, job: ChangeJob) -> bool:
        """Whether a return is tried until it took effect: something of it tightens."""
        aim = aim_of(session.state, job.slot)
        if job.back is None or aim is None:
            return False
        try:
            found = due(session.state, job.slot, job.back.given)
        except BrokerError:
            return is_loosening(job.item, session.state.reported[job.slot], aim)
        return found is not None and found.at_once is not None

    def resume(self, session: ArmSession) -> None:
        """What is owed and has no change under way gets one: after a start, or when the arm is back in the settings."""
        overrides = session.state.overrides
        for override in () if overrides is None else overrides.returning:
            for slot in by_slot(override.owed):
                self._try_again(session, slot)

    def _try_again(self, session: ArmSession, slot: Slot) -> None:
        overrides, state = session.state.overrides, session.state
        aim = aim_of(state, slot)
        if overrides is None or aim is None or _return_of(session, slot) is not None:
            return
        owing = _owing(overrides, slot)
        given = put(state, slot, state.reported[slot], overrides.gave(slot))
        ordered = _writes(session, slot, aim, given)
        if ordered.at_once is None and (ordered.later is None or owing.tries):
            keep(self._ledger, session, stack.paid(overrides, slot))
        else:
            self._order(session, owing, slot, ordered, given, self._ledger.clock.now_us())

    def drop(self, session: ArmSession, slot: Slot) -> None:
        """Somebody set a slot: a return that has not begun ends."""
        job = _return_of(session, slot)
        if job is not None and not session.may_be_with_arm(job):
            text = f"{slot[0]} was set before {session.arm} was told"
            self._give_up(session, job, BrokerError("overwritten", text))


def _return_of(session: ArmSession, slot: Slot) -> ChangeJob | None:
    """The return of a slot that has no end yet."""
    return next((job for job in session.unsettled() if job.back is not None and job.slot == slot), None)


def _others(session: ArmSession, slot: Slot) -> bool:
    """Whether somebody's change of a slot is not settled yet."""
    return any(job.back is None and job.of_slot(slot) is not None for job in session.unsettled())


def _owing(overrides: Overrides, slot: Slot) -> Override:
    """The override that ended last of those that owe a slot."""
    return next(one for one in reversed(overrides.returning) if slot in by_slot(one.owed))


def _writes(session: ArmSession, slot: Slot, aim: Message, given: Message) -> Writes:
    """What is to be written; where no legal value leads there it is tried all the same, and told then."""
    try:
        return writes(session.state, slot, aim, given)
    except BrokerError:
        return Writes(later=aim)


def _legal(session: ArmSession, slot: Slot, aim: Message) -> Message:
    try:
        return legal(session.state, slot, aim)
    except BrokerError:
        return aim
