"""Changes of single parts of a value that were decided upon a change which then took no effect."""

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import ChangeJob
from broker.life import SENT
from broker.record.ledger import Ledger
from handlers.items.parts import put
from handlers.state.places import given_in
from handlers.state.provenance import Setter, set_by
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


def _want_anew(session: ArmSession, job: ChangeJob, anew: Message, base: tuple[Message, Setter]) -> None:
    """Let a change want another value, which counts wherever its old one did."""
    state = session.state
    job.wanted, job.setter = anew, set_by(job.stamp, anew, *base)
    fresh = (anew, job.setter)
    state.unread[job.slot] = tuple(fresh if one is job.unread else one for one in state.unread.get(job.slot, ()))
    job.unread = fresh
    if state.desired_rev.get(job.slot) == job.rev:
        state.desired[job.slot], state.desired_by[job.slot] = anew, job.setter
