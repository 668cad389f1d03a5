"""Why a change cannot begin now."""

from broker.arm_session import ArmSession
from broker.clock import Clock
from broker.endings import MODE_KEY
from broker.jobs import ChangeJob
from handlers.authority import barring, below_control, held_by
from schema.arms import Authority, Verb
from schema.errors import BrokerError


class Obstacles:
    """Looks at a change right before it would begin; `max_age_us` is how old a loosening may be after a restart."""

    def __init__(self, clock: Clock, max_age_us: int) -> None:
        self._clock = clock
        self._max_age_us = max_age_us

    def of(self, session: ArmSession, job: ChangeJob) -> BrokerError | None:
        """What stands in the way: the arm, the time to live, a restart, or a check that no longer holds."""
        state = session.state
        if state.held:
            return BrokerError("held", f"{state.arm} is held: {state.held}. Nothing was changed.")
        if (barred := self._access(session, job)) is not None:
            return barred
        if not state.online:
            return BrokerError("arm_away", f"{state.arm} is not connected. Nothing was changed.")
        if not state.ready:
            return BrokerError("arm_not_ready", f"{state.arm} takes no change now. Nothing was changed.")
        if job.expires and job.expires <= self._clock.monotonic():
            return expired(session)
        if job.recovered and self.bars(job):
            return BrokerError("expired", f"the service restarted before {state.arm} was told. Nothing was changed.")
        if (job.recovered or job.reverts != session.reverts) and job.wanted is not None:
            try:
                job.item.check(state, job.wanted)
            except BrokerError as error:
                return error
        return None

    def _access(self, session: ArmSession, job: ChangeJob) -> BrokerError | None:
        """The refusal that the authority over the arm or somebody's lock on it gives."""
        state = session.state
        if state.authority is not Authority.CONTROL:
            return below_control(state)
        hold = barring(state, job.author.user, self._clock.now_us())
        return None if hold is None else held_by(state, hold)

    def free(self, session: ArmSession, job: ChangeJob) -> bool:
        """Whether the authority over the arm and the lock on it let this change go to the arm."""
        return self._access(session, job) is None

    def bars(self, job: ChangeJob) -> bool:
        """Whether a change that a restart found must not be sent any more: modes, Resets, old loosenings."""
        if job.slot[0] == MODE_KEY or job.verb is Verb.RESET:
            return True
        return job.loosening and self._clock.now_us() - job.at_us > self._max_age_us


def expired(session: ArmSession) -> BrokerError:
    """The end of a change whose time to live was over before the arm was told."""
    return BrokerError("expired", f"the time to live was over before {session.arm} was told. Nothing was changed.")
