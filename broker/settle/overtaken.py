"""Changes of one prompt arm that an earlier run had numbered ahead: what its fence tells of them."""

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import ChangeJob
from broker.life import Origin, State
from broker.settle.endings import SUPERSEDED, Endings
from handlers.items.settling import same
from schema.arms import Slot
from schema.errors import BrokerError
from schema.messages import Message


def was_never_sent(session: ArmSession, job: ChangeJob) -> bool:
    """Whether an earlier run ended before it sent a command that it had numbered ahead: the arm's fence is below it."""
    return job.origin is Origin.AHEAD and session.adapter.can_be_prompt and (job.epoch, job.cmd_seq) > session.fence


def overtaken_by(session: ArmSession, job: ChangeJob) -> ChangeJob | None:
    """The next change of the same slot that an earlier run sent, too; then nobody can read what this one left."""
    found = False
    for other in session.jobs:
        if other is job:
            found = True
        elif found and isinstance(other, ChangeJob) and _was_sent_to(other, job.slot):
            return None if was_never_sent(session, other) else other
    return None


def _was_sent_to(job: ChangeJob, slot: Slot) -> bool:
    """Whether an earlier run may have sent what a change does to a slot."""
    return job.state is State.RESUMED and job.of_slot(slot) is not None


def end_overtaken(session: ArmSession, job: ChangeJob, newer: ChangeJob, endings: Endings) -> None:
    """A change that our own next one overtook ends; its value may be what the next one finds before it."""
    newer.overtaken += job.overtaken
    if job.wanted is not None:
        newer.overtaken.append((job.wanted, job.setter))
    text = f"a newer change of {job.slot[0]}, revision {newer.rev}, was sent before this one was read back"
    endings.fail(session, job, BrokerError("overwritten", text), SUPERSEDED, None)


def take_over(session: ArmSession, job: ChangeJob, read: Message, endings: Endings) -> None:
    """Where a change finds what one that it overtook wanted, that is the value before it, and no other writer's."""
    state, slot = session.state, job.slot
    for wanted, setter in reversed(job.overtaken):
        if same(slot[0], read, wanted, state.resolution_rad):
            endings.observe(session, slot, read)
            state.reported_by[slot] = setter
            job.before = read
            return
