"""Why a change cannot begin now, and whether that ends it."""

from typing import NamedTuple

from broker.arms.arm_session import ArmSession
from broker.arms.batch_job import BatchJob, StepJob
from broker.arms.jobs import ChangeJob
from broker.clock import Clock
from broker.life import Origin
from broker.settle.endings import MODE_KEY
from broker.settle.idle import WAITS, IdleWatch
from broker.settle.rights.policing import Policing
from handlers.batch.projection import Projection
from handlers.items.config_items import CHECKS, kept_by_service
from handlers.items.direction import is_loosening
from handlers.items.verbs import absence
from handlers.methods.authority import barring, below_control, locked_by
from handlers.methods.pending import waiting_warnings
from handlers.overrides.returns import due, goes_first
from handlers.overrides.standing import kept_by, standing
from handlers.state.arm_state import ArmState
from handlers.state.refusals import NOTHING_CHANGED, distrusted_arm
from handlers.state.rest import idle_warning
from schema.arms import Authority, Verb
from schema.envelope import Warned
from schema.errors import BrokerError


class End(NamedTuple):
    """The change ends: what is wrong, and the cause of its event."""

    error: BrokerError
    cause: str


class Park(NamedTuple):
    """The change waits outside the queue: until its arm can take it, or `held` until somebody decides."""

    why: str
    warnings: tuple[Warned, ...]
    held: bool = False


Obstacle = End | Park


class Obstacles:
    """Looks at a change right before it would begin; `max_age_us` is how old a loosening may be when its arm returns.

    The one place that tells whether a change may begin: what else may stand in its way belongs into `_waiting_for`.
    """

    def __init__(self, clock: Clock, max_age_us: int, policing: Policing, idle: IdleWatch) -> None:
        self._clock, self._policing = clock, policing
        self.max_age_us = max_age_us
        self._idle = idle
        idle.access = lambda session, job: self._access(session, job) is None

    def of(self, session: ArmSession, job: ChangeJob) -> Obstacle | None:
        """What stands in the way: the time to live, the arm, a restart, its age, or a check that no longer holds."""
        if job.expires and job.expires <= self._clock.monotonic():
            return End(expired(session), "expired")
        if job.back:
            return self._of_return(session, job)
        if job.terms is not None and job.idles and (why := self._not_idle(session, job)):
            return self._wait_for_idle(session, job, why)
        state = session.state
        free = state.authority is Authority.CONTROL and state.hold is None and state.overrides is None
        may_go = free and state.online and state.ready and not state.distrust
        if not may_go and (error := self._waiting_for(session, job, job)) is not None:
            return _park(session, error) if _can_wait(job) else End(error, "refused")
        if job.origin >= Origin.FOUND and not _can_wait(job):
            text = f"the service restarted before {session.arm} was told. Nothing was changed."
            return End(BrokerError("expired", text), "expired")
        if job.origin is not Origin.NEW and not job.unchanged and self.bars(session, job):
            return _hold(self.max_age_us)
        if job.origin is not Origin.NEW or job.reverts != session.reverts:
            return self._refused_now(session, job)
        return None

    def _refused_now(self, session: ArmSession, job: ChangeJob) -> Obstacle | None:
        """What would be refused of a change if it were asked for now: by the policy, by the limits."""
        if job.origin is not Origin.NEW and self._policing.policy is not None:
            refused = self._policing.refuses(session.state, job)
            if refused is not None:
                return End(refused, "refused")
        if job.wanted is not None:
            try:
                CHECKS[job.item.key](session.state, job.wanted)
            except BrokerError as refusal:
                return End(refusal, "refused")
        return None

    def _of_return(self, session: ArmSession, job: ChangeJob) -> Obstacle | None:
        """The same of a return: of several slots it begins as soon as one may; what is over of it ends in its turn."""
        found = [self._of_part(session, job, part) for part in job.parts]
        if not isinstance(job, BatchJob):
            return found[0]
        return None if None in found else next((one for one in found if isinstance(one, Park)), None)

    def _of_part(self, session: ArmSession, job: ChangeJob, part: ChangeJob) -> Obstacle | None:
        """The same of one slot of a return, which wants then what may go: all of it, or what tightens."""
        if (error := _unreached(session, part)) is not None:
            return _park(session, error)
        state, slot = _as_after(session, job, part), part.slot
        try:
            found = due(state, slot)
        except BrokerError as refusal:
            return End(refusal, "refused")
        if found is None:
            return End(BrokerError("overwritten", f"{slot[0]} was set meanwhile"), "superseded")
        lock = None if found.later is None else barring(state, job.author.user, self._clock.now_us())
        may_loosen = lock is None and (job.confirmed or job.origin is Origin.NEW or not self._is_old(job))
        if (wanted := found.later if may_loosen and found.later is not None else found.at_once) is not None:
            part.wanted = wanted
        elif found.later is not None:
            return _park(session, locked_by(state, lock)) if lock is not None else _hold(self.max_age_us)
        elif found.overwritten:
            text = f"another writer changed {slot[0]} of {session.arm} while it was overridden"
            return End(BrokerError("overwritten", text), "overwritten")
        else:  # it is there already
            part.wanted = state.reported[slot]
        return None

    def goes_first(self, session: ArmSession, job: ChangeJob) -> bool:
        """Whether a change, or a step, tightens at the end of an override: over locks, at any age, before all else."""
        return bool(job.back) and any(goes_first(session.state, part.slot) for part in job.parts)

    def of_step(self, session: ArmSession, job: BatchJob, step: StepJob) -> Obstacle | None:
        """What stands in the way of one slot of a batch that has begun; its value is checked elsewhere."""
        if job.back:
            return self._of_part(session, job, step)
        timed = job.terms is not None and job.terms.until_us > 0 and step.undoes is None
        if timed and job.expires <= self._clock.monotonic():
            return End(expired(session), "expired")
        if job.terms is not None and job.idles and (why := self._not_idle(session, job)):
            return self._wait_for_idle(session, job, why)
        if (error := self._waiting_for(session, job, step)) is not None:
            return _park(session, error)
        may_be_old = job.origin is not Origin.NEW and not job.confirmed and not job.idles
        return _hold(self.max_age_us) if may_be_old and self._is_old(job) and _loosens(session, step) else None

    def _waiting_for(self, session: ArmSession, job: ChangeJob, part: ChangeJob) -> BrokerError | None:
        """What must come first: the arm that is known, leave to write to it, and the arm there and ready.

        What the service holds needs no arm.
        """
        state = session.state
        if state.distrust:
            return distrusted_arm(state)
        limited = state.authority is not Authority.CONTROL or state.hold is not None or state.overrides is not None
        if limited and (error := self._access(session, job)) is not None:
            return error
        if state.online and state.ready:
            return None
        return absence(state) if needs_arm(session, part) else None

    def _not_idle(self, session: ArmSession, job: ChangeJob) -> str:
        """Why a change waits on until its arm is idle; one that is new always waits, if only to be read first."""
        why = self._idle.why(session)
        return why or ("" if job.origin is not Origin.NEW else "it is read first")

    def _wait_for_idle(self, session: ArmSession, job: ChangeJob, why: str) -> Park:
        state, now_us = session.state, self._clock.now_us()
        until_us = now_us + int((job.expires - self._clock.monotonic()) * 1e6)
        warning = idle_warning(state, self._idle.idle_for_s, now_us, until_us)
        return Park(f"{WAITS}{why}", (warning, *waiting_warnings(state)))

    def _access(self, session: ArmSession, job: ChangeJob) -> BrokerError | None:
        """The refusal that the authority over the arm or somebody's lock on it gives."""
        state = session.state
        if state.authority is not Authority.CONTROL:
            return below_control(state)
        if self.goes_first(session, job):
            return None
        hold = None if state.hold is None else barring(state, job.author.user, self._clock.now_us())
        if hold is not None:
            return locked_by(state, hold)
        if state.overrides is None or job.back:
            return None
        user = job.author.user
        kept = (
            standing(state, user, part.slot, None if part.verb is Verb.RESET else part.wanted, part.named)
            for part in job.parts
        )
        return next((kept_by(state, one) for one in kept if one is not None), None)

    def free(self, session: ArmSession, job: ChangeJob) -> bool:
        """Whether the authority over the arm, the lock on it and what it does let this change go to the arm."""
        return self._access(session, job) is None and (not job.idles or self._idle.may_go(session))

    def bars(self, session: ArmSession, job: ChangeJob) -> bool:
        """Whether a change must not be sent any more unless somebody confirms it: a mode, a Reset, an old loosening."""
        if not _can_wait(job):
            return True
        return not job.confirmed and not job.idles and self._is_old(job) and loosens(session, job)

    def _is_old(self, job: ChangeJob) -> bool:
        """Whether a change is older than may be; an age that cannot be known counts as old."""
        age_us = self._clock.age_us(job.at_us)
        if age_us is None:
            return job.origin >= Origin.FOUND or self._waited_us(job) > self.max_age_us
        return max(age_us, 0 if job.origin >= Origin.FOUND else self._waited_us(job)) > self.max_age_us

    def _waited_us(self, job: ChangeJob) -> float:
        """How long a change of this run waited, on the monotonic clock."""
        return (self._clock.monotonic() - job.since) * 1e6


def _unreached(session: ArmSession, part: ChangeJob) -> BrokerError | None:
    """Why nothing at all may be written to an arm now."""
    state = session.state
    if state.distrust:
        return distrusted_arm(state)
    if state.authority is not Authority.CONTROL:
        return below_control(state)
    return absence(state) if needs_arm(session, part) else None


def _as_after(session: ArmSession, job: ChangeJob, part: ChangeJob) -> ArmState:
    """The arm as it will be when all else of a change is in force."""
    if not isinstance(job, BatchJob):
        return session.state
    wanted = {one.slot: one.wanted for one in job.open if one.wanted is not None}
    return Projection(session.state, wanted).without(part.slot)


def needs_arm(session: ArmSession, job: ChangeJob) -> bool:
    """Whether a change is about something that the arm holds."""
    if isinstance(job, BatchJob):
        return job.factory or any(needs_arm(session, step) for step in job.open)
    return not kept_by_service(session.state, job.slot[0])


def loosens(session: ArmSession, job: ChangeJob) -> bool:
    """Whether nothing that is left of a change tightens."""
    if isinstance(job, BatchJob):
        return all(_loosens(session, step) for step in job.open)
    return _loosens(session, job)


def _loosens(session: ArmSession, job: ChangeJob) -> bool:
    return is_loosening(job.item, job.wanted, session.state.reported.get(job.slot))


def _can_wait(job: ChangeJob) -> bool:
    """Whether a change may be pending: a Set of configuration may; a mode, a Reset and a RestoreFactory may not."""
    return job.slot[0] != MODE_KEY and job.verb is Verb.SET


def _park(session: ArmSession, error: BrokerError) -> Park:
    """Let a change wait for what a refused one would be refused for."""
    why = error.message.removesuffix(f" {NOTHING_CHANGED}").removesuffix(".")
    return Park(why, waiting_warnings(session.state) or (Warned("DEVICE_NOT_READY", why),))


def _hold(max_age_us: int) -> Park:
    """Let an old change wait until somebody says whether it is still wanted."""
    why = f"it may loosen, and is older than {max_age_us // 1_000_000} s"
    return Park(why, (Warned("DEVICE_NOT_READY", f"{why}: it waits for ConfirmPending or DiscardPending"),), held=True)


def expired(session: ArmSession) -> BrokerError:
    """The end of a change whose time to live was over before the arm was told."""
    return BrokerError("expired", f"the time to live was over before {session.arm} was told. Nothing was changed.")
