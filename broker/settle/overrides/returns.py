"""The end of an override leads its slots back to what is in force below: changes by the service itself."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import structlog

from broker.arms.arm_session import ArmSession
from broker.arms.batch_job import WHOLE, WHOLE_SLOT, BatchJob, new_step
from broker.arms.jobs import ChangeJob
from broker.life import Origin, State
from broker.record.ledger import Ledger
from broker.record.override_rows import keep
from broker.record.principals import SERVICE
from broker.store.rows import Terms
from broker.timers import Timers
from handlers.batch.order import turn_of
from handlers.batch.outcomes import EXPIRED
from handlers.batch.outcomes import SUPERSEDED as TAKEN
from handlers.batch.projection import Projection
from handlers.items.direction import is_loosening
from handlers.items.parts import place_at_or_tighter, put
from handlers.items.settling import same
from handlers.overrides import stack
from handlers.overrides.nearest import legal
from handlers.overrides.returns import Writes, aim_of, due, gave, writes
from handlers.state.arm_state import ArmState
from handlers.state.overrides import Override, Overrides
from handlers.state.places import Place, by_slot, given_at, is_of, slot_of
from handlers.state.provenance import NOBODY, PARTED, Setter, set_by
from schema.arms import Slot, Verb
from schema.errors import BrokerError
from schema.items import ITEMS
from schema.messages import Message

log = structlog.get_logger()

METHOD = "EndOverride"
DISCARDED = "discarded"
"""The cause of an end because somebody said so."""
RETRY_FIRST_S, RETRY_MOST_S = 60.0, 3600.0
"""How long after a write that failed the next one follows; twice as long each time."""


class Step(NamedTuple):
    """What the end of an override means for one slot; `carried`: a return that is under way leads there."""

    slot: Slot
    places: tuple[Place, ...]
    aim: Message
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
        give_up: Callable[[ArmSession, ChangeJob, ChangeJob, BrokerError, str], None],
    ) -> None:
        """What accepts a change, lets one that waits go on if nothing bars it, and ends what has not begun of one."""
        self._timers, self._admit, self._resume, self._give_up = timers, admit, resume, give_up

    # ------------------------------------------------------------------ the end of an override

    def steps(self, session: ArmSession, overrides: Overrides, override: Override) -> list[Step]:
        """What its end means for each slot in which it is in force; what others wish for is not settled yet counts."""
        state = session.state
        uncovered = [place for place in override.values if overrides.newest(place) is override]
        slots = {
            slot: led
            for slot, places in by_slot(uncovered).items()
            if slot in state.reported and (led := _led(session, overrides, override, places))
        }
        aims, given = dict[Slot, Message](), dict[Slot, Message]()
        for slot, places in slots.items():
            below = {place: stack.below(overrides, override, place) for place in places}
            aims[slot] = put(state, slot, state.reported[slot], below)
            given[slot] = put(state, slot, state.reported[slot], {place: override.values[place] for place in places})
        found = []
        for slot, ordered in _all_writes(state, aims, given).items():
            later = None if _all_wished(session, slots[slot], override.rev) else ordered.later
            found.append(Step(slot, slots[slot], aims[slot], ordered._replace(later=later), _return_of(session, slot)))
        return found

    def begin(self, session: ArmSession, override: Override, steps: list[Step]) -> None:
        """Do that; the override has ended."""
        for step in steps:
            if step.carried is not None:
                self._desire(session, override, step)
                self._resume(session, step.carried)
            elif not step.is_owed:
                self._desire(session, override, step)
        owed = {step.slot: step.writes for step in steps if step.is_owed and step.carried is None}
        self._order(session, override, owed, self._ledger.clock.now_us())

    def _order(self, session: ArmSession, override: Override, owed: Mapping[Slot, Writes], at_us: int) -> None:
        """Accept a return, of several slots as one; its age counts from the end of the override, `at_us`."""
        if not owed:
            return
        common: dict[str, Any] = {
            "n": self._ledger.new_change(), "request_n": 0, "rev": 0, "unchanged": False, "author": SERVICE,
            "request_id": override.request_id, "method": METHOD, "reason": f"override {override.rev} is over",
            "terms": Terms(plan=override.plan, returned_from=override.rev), "back": override.rev, "at_us": at_us,
            "origin": Origin.WAITED,
        }  # fmt: skip
        state, steps = session.state, [_step(session, slot, writes) for slot, writes in owed.items()]
        log.info("returns", arm=session.arm, slots=list(owed), override=override.rev)
        if len(steps) == 1:
            self._admit(session, ChangeJob(**steps[0], verb=Verb.SET, item=ITEMS[steps[0]["slot"][0]], **common))
            return
        job = BatchJob(slot=WHOLE_SLOT, item=WHOLE, verb=Verb.SET, wanted=None, loosening=False, **common)
        for step in steps:
            new_step(job, verb=Verb.SET, **step)
            job.loosening = job.loosening or step["loosening"]
        job.steps.sort(key=lambda one: turn_of(state, one.slot, one.direction))
        self._admit(session, job)

    def take_revision(self, session: ArmSession, job: ChangeJob) -> None:
        """A return desires what is in force, unless somebody's change is not settled: that stays desired."""
        state = session.state
        state.rev += 1
        job.rev = state.rev
        aims = {part.slot: aim_of(state, part.slot) or state.desired[part.slot] for part in job.parts}
        for part in job.parts:
            slot = part.slot
            part.rev = state.last_rev[slot] = state.rev
            aim = _legal(Projection(state, aims).without(slot), slot, aims[slot])
            part.setter = _setter_of(session, part, aim)
            places = () if state.overrides is None else state.overrides.owed(slot)
            if (wish := _wish(session, slot, aim, places, job.back)) is not None:
                state.desired_by[slot] = session.setter_of(part, wish)
                state.desired[slot], state.desired_rev[slot] = wish, state.rev

    def _desire(self, session: ArmSession, override: Override, step: Step) -> None:
        """Nothing is written: what is in force is desired, and what differs from it shows."""
        state, slot = session.state, step.slot
        before, wish = state.desired[slot], _wish(session, slot, step.aim, step.places, override.rev)
        if wish is None or same(slot[0], before, wish, state.resolution_rad):
            return
        setter = state.desired_by[slot]
        self._ledger.desire(session, slot, wish, setter)
        self._ledger.log_revision(session, slot, before, SERVICE, METHOD, "overwritten")

    # ------------------------------------------------------------------ the end of a return

    def pay(self, session: ArmSession, job: ChangeJob, slot: Slot, before: Message | None) -> None:
        """Pay a debt in a slot in which a return took effect, or order what more there is to write."""
        state, overrides = session.state, session.state.overrides
        aim, owing = aim_of(state, slot), None if overrides is None else overrides.owing(slot)
        if overrides is None or aim is None or owing is None or before is None:
            return
        has = state.reported[slot]
        more = _writes(state, slot, aim, has)
        ours = same(slot[0], before, put(state, slot, before, overrides.gave(slot)), state.resolution_rad)
        if not ours or _all_wished(session, overrides.owed(slot), job.back):
            more = more._replace(later=None)
        if (wanted := more.later or more.at_once) is None:
            keep(self._ledger, session, stack.paid(overrides, slot))
            return
        keep(self._ledger, session, stack.half_paid(overrides, slot, has))
        if isinstance(job, BatchJob):
            session.part_in(new_step(job, slot, Verb.SET, wanted))
        else:
            self._order(session, owing, {slot: more}, job.at_us)

    def fail(self, session: ArmSession, slot: Slot) -> None:
        """Let go of a slot in which a return took no effect: what tightens stays owed, all else is over."""
        overrides = session.state.overrides
        if overrides is not None and overrides.owes(slot) and not self.insists(session, slot):
            keep(self._ledger, session, stack.paid(overrides, slot))

    def retry_missed(self, session: ArmSession, missed: Sequence[Slot], cause: str) -> None:
        """Try again after a while what a return missed that is over and is still owed, unless it was discarded."""
        overrides = session.state.overrides
        left = [] if overrides is None else [slot for slot in missed if overrides.owes(slot)]
        if overrides is None or not left or cause == DISCARDED:
            return
        overrides = stack.failed(overrides, left)
        keep(self._ledger, session, overrides)
        for owing in {one.rev: one for slot in left if (one := overrides.owing(slot)) is not None}.values():
            wait_s = min(RETRY_FIRST_S * 2 ** (owing.tries - 1), RETRY_MOST_S)
            log.warning("return_failed", arm=session.arm, slots=left, next_s=wait_s)
            self._timers.put(wait_s, self._try_again, session, owing.rev)

    def insists(self, session: ArmSession, slot: Slot) -> bool:
        """Whether the return of a slot is tried until it took effect: something of it tightens."""
        state, overrides = session.state, session.state.overrides
        aim, owing = aim_of(state, slot), None if overrides is None else overrides.owing(slot)
        if aim is None or owing is None:
            return False
        try:
            found = due(state, slot)
        except BrokerError:
            return is_loosening(ITEMS[slot[0]], state.reported[slot], aim)
        return found is not None and found.at_once is not None

    def resume(self, session: ArmSession) -> None:
        """What is owed and has no change under way gets one: after a start, or when the arm is back in the settings."""
        overrides = session.state.overrides
        for override in () if overrides is None else overrides.returning:
            self._try_again(session, override.rev)

    def _try_again(self, session: ArmSession, rev: int) -> None:
        overrides, state = session.state.overrides, session.state
        override = None if overrides is None else next((one for one in overrides.returning if one.rev == rev), None)
        if overrides is None or override is None:
            return
        slots = [slot for slot in by_slot(override.owed) if _return_of(session, slot) is None]
        aims = {slot: aim for slot in slots if (aim := aim_of(state, slot)) is not None}
        found = _all_writes(state, aims, {slot: gave(state, slot) for slot in aims})
        over = [slot for slot, one in found.items() if one.at_once is None and (one.later is None or override.tries)]
        for slot in over:
            overrides = stack.paid(overrides, slot) or stack.NONE
        if over:
            keep(self._ledger, session, overrides if overrides.live or overrides.returning else None)
        left = {slot: ordered for slot, ordered in found.items() if slot not in over}
        self._order(session, override, left, self._ledger.clock.now_us())

    def drop(self, session: ArmSession, slot: Slot) -> None:
        """Somebody set a slot: a return of it that has not begun ends."""
        job = _return_of(session, slot)
        part = None if job is None else job.of_slot(slot)
        if job is not None and part is not None:
            text = f"{slot[0]} was set before {session.arm} was told"
            self._give_up(session, job, part, BrokerError("overwritten", text), TAKEN)

    def close(self, session: ArmSession, override: Override) -> None:
        """An override is over: nothing more of its change is begun, and what is under way is led back at once."""
        job = next((one for one in session.unsettled() if one.rev == override.rev), None)
        if not isinstance(job, BatchJob):
            return
        job.over, job.expires = True, self._ledger.clock.monotonic()
        error = BrokerError("expired", f"the override was over before {session.arm} was told")
        for step in job.open:
            self._give_up(session, job, step, error, EXPIRED)
        if job.state is not State.SETTLED:
            self._ledger.update_change(job)


def _step(session: ArmSession, slot: Slot, ordered: Writes) -> dict[str, Any]:
    """What a return wants of a slot."""
    wanted = ordered.later or ordered.at_once
    return {
        "slot": slot, "wanted": wanted,
        "loosening": is_loosening(ITEMS[slot[0]], wanted, session.state.reported[slot]),
    }  # fmt: skip


def _return_of(session: ArmSession, slot: Slot) -> ChangeJob | None:
    """The return of a slot that has no end yet, of that slot alone or of several."""
    return next((job for job in session.unsettled() if job.back and job.of_slot(slot) is not None), None)


def _wished(session: ArmSession, place: Place, rev: int) -> bool:
    """Whether somebody's change of a place is not settled yet, other than the one that was the override `rev`."""
    slot = slot_of(place)
    parts = (job.of_slot(slot) for job in session.unsettled() if not job.back and job.rev != rev)
    return any(part is not None and is_of(place, part.named) for part in parts)


def _all_wished(session: ArmSession, places: Iterable[Place], rev: int) -> bool:
    """The same of each of these places."""
    return all(_wished(session, place, rev) for place in places)


def _led(session: ArmSession, overrides: Overrides, override: Override, places: tuple[Place, ...]) -> tuple[Place, ...]:
    """The places of a slot that the end of an override leads back: not parts that somebody wishes otherwise.

    Where that tightens they are, too; a slot without parts is led back as a whole.
    """
    slot, found = slot_of(places[0]), []
    for place in places:
        aim, has = stack.below(overrides, override, place), given_at(place, session.state.reported[slot])
        if (
            place == slot
            or not _wished(session, place, override.rev)
            or (aim != has and place_at_or_tighter(place, aim, has))
        ):
            found.append(place)
    return tuple(found)


def _wish(session: ArmSession, slot: Slot, aim: Message, places: Iterable[Place], rev: int) -> Message | None:
    """What is desired of a slot that is led back to `aim` in these places; None where others wish for all of them."""
    state, free = session.state, [place for place in places if not _wished(session, place, rev)]
    return put(state, slot, state.desired[slot], {place: given_at(place, aim) for place in free}) if free else None


def _setter_of(session: ArmSession, part: ChangeJob, aim: Message) -> Setter:
    """Who sets each number of what a return wants: the parts that it leaves are theirs who set them."""
    if type(aim) not in PARTED:
        return session.setter_of(part, aim)
    state, slot = session.state, part.slot
    return set_by(part.stamp, aim, state.reported[slot], state.reported_by.get(slot, NOBODY))


def _all_writes(state: ArmState, aims: Mapping[Slot, Message], given: Mapping[Slot, Message]) -> dict[Slot, Writes]:
    """What is to be written of several slots, each judged as if all others were led back."""
    after, found = Projection(state, aims), {}
    for slot, aim in aims.items():
        found[slot] = _writes(after.without(slot), slot, aim, given[slot])
        after.put_back(slot)
    return found


def _writes(state: ArmState, slot: Slot, aim: Message, given: Message) -> Writes:
    """What is to be written; where no legal value leads there it is tried all the same, and told then."""
    try:
        return writes(state, slot, aim, given)
    except BrokerError:
        return Writes(later=aim)


def _legal(state: ArmState, slot: Slot, aim: Message) -> Message:
    try:
        return legal(state, slot, aim)
    except BrokerError:
        return aim
