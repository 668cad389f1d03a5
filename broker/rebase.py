"""Changes of single parts of a value that were decided upon a change which then took no effect."""

from broker.arm_session import ArmSession
from broker.jobs import ChangeJob, Phase
from broker.ledger import Ledger, state_of
from handlers.provenance import Setter, Stamp, set_by
from schema.arms import Slot
from schema.joint_items import JointParameterMap
from schema.messages import Message


def rebase(session: ArmSession, ledger: Ledger, slot: Slot, after: int, base: tuple[Message, Setter]) -> None:
    """Let changes of a slot that are newer than revision `after` want their own parts on top of `base`.

    They had taken over the other parts from a change that took no effect: nobody may write these on its behalf. What
    has begun, and what wants its value as a whole, stays as it is. The caller stores the slot.
    """
    value, setter = base
    for job in sorted(session.unsettled(), key=lambda one: one.rev):
        if job.rev <= after or job.slot != slot or job.wanted is None:
            continue
        if job.named is not None and job.phase is Phase.ACCEPTED and isinstance(value, JointParameterMap):
            _want_anew(session, job, value, setter)
            ledger.update_change(job, state_of(job))
        value, setter = job.wanted, job.setter


def _want_anew(session: ArmSession, job: ChangeJob, base: JointParameterMap, earlier: Setter) -> None:
    """Put the parts that a change named on top of a value."""
    state, wanted = session.state, job.wanted
    if not isinstance(wanted, JointParameterMap) or job.named is None:
        return
    own = {name: value for name, value in wanted.parameters.items() if name in job.named}
    anew = JointParameterMap(base.parameters | own)
    stamp = Stamp(f"{job.author.user}/{job.author.connection}", job.at_us)
    job.wanted, job.setter = anew, set_by(stamp, anew, base, earlier)
    if job.unread is not None:
        known = state.unread.get(job.slot, ())
        fresh = (anew, job.setter)
        state.unread[job.slot] = tuple(fresh if one is job.unread else one for one in known)
        job.unread = fresh
    if state.desired_rev.get(job.slot) == job.rev:
        state.desired[job.slot], state.desired_by[job.slot] = anew, job.setter
