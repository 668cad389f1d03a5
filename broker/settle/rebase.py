"""Changes of single parts of a value that were decided upon a change which then took no effect."""

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import ChangeJob
from broker.life import SENT, State
from broker.record.ledger import Ledger
from handlers.items.parts import put
from handlers.state.places import given_at, given_in, is_of
from handlers.state.provenance import NOBODY, Setter, set_by
from schema.arms import Slot
from schema.messages import Message


def rebase(session: ArmSession, ledger: Ledger, slot: Slot, after: int, base: tuple[Message, Setter]) -> None:
    """Let changes of a slot that are newer than revision `after` want their own parts on top of `base`.

    They had taken over the other parts from a change that took no effect: nobody may write these on its behalf. What
    has begun, and what wants its value as a whole, stays as it is. The caller stores the slot.
    """
    value, setter = base
    for job in sorted(session.unsettled(), key=lambda one: one.rev):
        part = job.of_slot(slot)
        if job.rev <= after or part is None or part.wanted is None:
            continue
        if part.named is not None and job.state not in SENT:
            anew = put(session.state, slot, value, given_in(slot, part.wanted, part.named, None))
            _want_anew(session, part, anew, (value, setter))
            ledger.update_change(job)
        value, setter = part.wanted, part.setter


def in_turn(session: ArmSession, ledger: Ledger, job: ChangeJob, part: ChangeJob) -> bool:
    """Let a change of parts, whose turn it is, want them on top of what is reported; whether that is another value.

    Other parts may have changed since it was accepted, and what waits for them is not written on its behalf.
    """
    state, slot, reported = session.state, part.slot, session.state.reported.get(part.slot)
    if part.named is None or part.wanted is None or reported is None or part.state in (State.UNKNOWN, State.RESUMED):
        return False
    anew = put(state, slot, reported, given_in(slot, part.wanted, part.named, None))
    if anew == part.wanted:
        return False
    _want(session, part, anew, (reported, state.reported_by.get(slot, NOBODY)))
    ledger.update_change(job)
    return True


def unwish(session: ArmSession, part: ChangeJob) -> None:
    """What a change asked for by name is not desired any more, where a later one took it over; the caller stores it."""
    state, slot = session.state, part.slot
    if part.named is None or part.wanted is None or slot not in state.reported:
        return
    others = [one for job in session.unsettled() if job.rev != part.rev and (one := job.of_slot(slot)) is not None]
    wished, desired, reported = part.wanted, state.desired[slot], state.reported[slot]
    places = [
        place
        for place in given_in(slot, wished, part.named, None)
        if given_at(place, desired) == given_at(place, wished) and not any(is_of(place, one.named) for one in others)
    ]
    state.desired[slot] = put(state, slot, desired, {place: given_at(place, reported) for place in places})
    state.desired_by[slot] = set_by(
        state.reported_by.get(slot, NOBODY).last, state.desired[slot], desired, state.desired_by.get(slot, NOBODY)
    )


def _want_anew(session: ArmSession, job: ChangeJob, anew: Message, base: tuple[Message, Setter]) -> None:
    """Let a change want another value, which counts wherever its old one did."""
    _want(session, job, anew, base)
    state = session.state
    if state.desired_rev.get(job.slot) == job.rev:
        state.desired[job.slot], state.desired_by[job.slot] = anew, job.setter


def _want(session: ArmSession, job: ChangeJob, anew: Message, base: tuple[Message, Setter]) -> None:
    state = session.state
    job.wanted, job.setter = anew, set_by(job.stamp, anew, *base)
    fresh = (anew, job.setter)
    state.unread[job.slot] = tuple(fresh if one is job.unread else one for one in state.unread.get(job.slot, ()))
    job.unread = fresh
