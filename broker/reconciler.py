"""Reaches arms, adopts them, and takes over what they changed by themselves."""

import asyncio
import random
from collections.abc import Callable, Iterable
from functools import partial

import structlog

from broker.arm_session import ArmSession
from broker.blobs import pack_description
from broker.documents import Documents
from broker.endings import Endings
from broker.jobs import ChangeJob, ContactJob, FollowJob, ForwardJob, Phase
from broker.ledger import Ledger
from broker.principals import FOREIGN_USER
from broker.queues import Queues
from devices.adapter import ArmChange, ArmError, LinkState, Notice, Reread, Snapshot
from handlers.arm_limits import limits_of
from handlers.config_items import held_by_service
from handlers.held_items import INITIAL_ORDER, initial_value
from handlers.limit_sources import SETTINGS_USER
from handlers.provenance import Setter, Stamp
from handlers.rpc_table import SERVICE_METHODS
from handlers.settling import same
from limits.errors import LimitsError
from limits.stack.disagreement import disagreements
from schema.arms import Description, Slot
from schema.enums import ControlConfigurationEvent
from schema.events import config_event_name
from schema.messages import Message

log = structlog.get_logger()

RETRY_FIRST_S, RETRY_MOST_S = 0.5, 30.0
CONTACTS_AT_ONCE = 64
REREAD_EVENTS = frozenset(
    {
        ControlConfigurationEvent.ANGLE_UNIT_CHANGED,
        ControlConfigurationEvent.CONTROL_CONFIGURATION_FACTORY_RESTORED,
    }
)
"""Events after which everything is read again."""
_MARKED = (Phase.WRITING, Phase.UNKNOWN)
"""Phases of a change whose slot is judged by its own read-back."""


class Reconciler:
    """Keeps `reported` true: at first contact, at each return, and when an arm says that something changed."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        endings: Endings,
        documents: Documents,
        queues: Queues,
        loop: asyncio.AbstractEventLoop,
        describe: Callable[[ArmSession], None],
    ) -> None:
        self._ledger = ledger
        self._endings = endings
        self._documents = documents
        self._queues = queues
        self._loop = loop
        self._describe = describe
        self._contacts = asyncio.Semaphore(CONTACTS_AT_ONCE)
        self._random = random.Random()  # noqa: S311 - jitter, no secret
        self._met = asyncio.Event()
        self._retries: dict[str, asyncio.TimerHandle] = {}

    async def all_met(self, sessions: Iterable[ArmSession]) -> None:
        """Return once each of these arms answered, or did not."""
        for session in sessions:
            while not session.met:
                self._met.clear()
                await self._met.wait()

    # ------------------------------------------------------------------ what an arm tells

    def on_notice(self, session: ArmSession, notice: Notice) -> None:
        """Called by the adapter for each thing the arm tells by itself."""
        if isinstance(notice, LinkState):
            self._on_link(session, notice)
        elif isinstance(notice, Reread):
            self.contact_soon(session, notice.why, connect=False)
        elif not notice.ours:
            self._on_change(session, notice)

    def _on_link(self, session: ArmSession, link: LinkState) -> None:
        state = session.state
        session.told_ready = link.ready
        if link.online and not state.online:
            self.contact_soon(session, link.why or "the link came up")
            return
        if (state.online, state.ready) == (link.online, link.ready):
            return
        self._set_presence(session, online=link.online, ready=link.ready)
        log.info("arm_link", arm=session.arm, online=link.online, ready=link.ready, why=link.why)
        if not link.online:
            self._retry_later(session)

    def _on_change(self, session: ArmSession, change: ArmChange) -> None:
        for job in session.jobs:
            if isinstance(job, ChangeJob) and job.phase in _MARKED and change.slot in (None, job.slot):
                job.foreign = True
        if change.slot is not None:
            waiting = session.waiting()
            if not any(isinstance(job, FollowJob) and job.slot == change.slot for job in waiting):
                self._queues.put(session, FollowJob(change.slot, change.event, change.connection))
            return
        self._queues.put(session, ForwardJob(change.event, change.connection))
        if change.event in REREAD_EVENTS:
            self.contact_soon(session, config_event_name(change.event), connect=False)

    # ------------------------------------------------------------------ jobs

    def contact_soon(self, session: ArmSession, why: str, *, connect: bool = True) -> None:
        """Reach the arm and read everything, before what waits in its queue."""
        if (timer := self._retries.pop(session.arm, None)) is not None:
            timer.cancel()
        jobs = session.jobs if connect else session.waiting()
        if not any(isinstance(job, ContactJob) and job.connect >= connect for job in jobs):
            self._queues.put(session, ContactJob(connect, why), first=True)

    async def contact(self, session: ArmSession, job: ContactJob) -> None:
        """Do a contact job; a failed one is tried again later."""
        if not await self.reach(session, connect=job.connect):
            self._retry_later(session)

    async def reach(self, session: ArmSession, *, connect: bool = True) -> bool:
        """Connect, describe, read everything, adopt or compare; whether the arm answered."""
        description: Description | None = None
        try:
            async with self._contacts:
                if connect:
                    session.told_ready = True
                    description = await session.adapter.connect()
                snapshot = await session.adapter.read_all()
        except ArmError as error:
            session.failures += 1
            if session.failures == 1:
                log.warning("arm_not_reached", arm=session.arm, why=str(error))
            if not session.met or session.state.online:
                self._set_presence(session, online=False, ready=False)
            self._meet(session)
            return False
        session.failures = 0
        self._meet(session)
        if description is not None and not self._take_description(session, description):
            return True
        self._take_snapshot(session, snapshot)
        self._set_presence(session, online=True, ready=session.told_ready)
        return True

    def _meet(self, session: ArmSession) -> None:
        session.met = True
        self._met.set()

    async def follow(self, session: ArmSession, job: FollowJob) -> None:
        """Read a slot that another writer changed; emit only what differs from what was reported."""
        try:
            read = await session.adapter.read(job.slot)
        except ArmError as error:
            log.warning("follow_failed", arm=session.arm, slot=job.slot, why=str(error))
            self._retry_later(session)
            return
        state = session.state
        if not state.adopted or same(job.slot[0], read, state.reported[job.slot], state.resolution_rad):
            return
        self._endings.foreign(session, job.slot, read, job.connection)

    async def forward(self, session: ArmSession, job: ForwardJob) -> None:
        """Publish an event that the arm raised."""
        self._endings.raised(session, config_event_name(job.event), job.connection)

    # ------------------------------------------------------------------ state

    def _take_description(self, session: ArmSession, description: Description) -> bool:
        """Keep what the arm is; False if it is another arm than before, which is held."""
        state = session.state
        joints = len(state.description.joints) if state.description is not None else 0
        if state.adopted and (session.serial != description.serial or joints != len(description.joints)):
            state.held = (
                f"serial {description.serial} with {len(description.joints)} joints answers, "
                f"{session.serial} with {joints} is known"
            )
            log.error("arm_held", arm=session.arm, why=state.held)
            self._set_presence(session, online=True, ready=False)
            return False
        state.held = ""
        now_us = self._ledger.clock.now_us()
        known = state.description
        if known is None or known.hard_limits != description.hard_limits or not state.described_at_us:
            state.described_at_us = now_us
        state.description = description
        state.methods = session.adapter.methods | SERVICE_METHODS
        state.resolution_rad = session.adapter.resolution_rad
        if why := _unfit(session):
            state.held = why
            log.error("arm_held", arm=session.arm, why=why)
            self._set_presence(session, online=True, ready=False)
            return False
        session.serial = description.serial
        session.description = pack_description(description, state.described_at_us)
        self._ledger.put_arm(session)
        self._ledger.after_commit(partial(self._describe, session))
        return True

    def _take_snapshot(self, session: ArmSession, snapshot: Snapshot) -> None:
        """First contact adopts; later ones report what changed meanwhile."""
        state = session.state
        state.read_at_us = state.mode_seen_at_us = self._ledger.clock.now_us()
        if not state.adopted:
            self._adopt(session, snapshot)
            return
        open_slots = {job.slot for job in session.jobs if isinstance(job, ChangeJob) and job.phase in _MARKED}
        for slot, read in snapshot.items.items():
            if slot not in state.reported:
                self._adopt_slot(session, slot, read, FOREIGN_USER)
            elif slot not in open_slots and not same(slot[0], read, state.reported[slot], state.resolution_rad):
                self._endings.foreign(session, slot, read, "")
        self._adopt_held(session)
        self._ledger.put_arm(session)
        self._ledger.store.flush_soon()
        self._documents.mark(session, "reported", "mode")

    def _adopt(self, session: ArmSession, snapshot: Snapshot) -> None:
        """Desired becomes what was read, as revision 1; nothing is written to the arm, no event."""
        state = session.state
        state.adopted = True
        state.rev = max(state.rev, 1)
        for slot, read in snapshot.items.items():
            self._adopt_slot(session, slot, read, FOREIGN_USER)
        self._adopt_held(session)
        self._ledger.put_arm(session)
        self._ledger.audit(
            at=self._ledger.clock.now_us(), arm=session.arm, serial=session.serial, rev=state.rev, decision="adopted"
        )
        self._ledger.store.flush_soon()
        self._documents.mark(session, "config", "reported", "mode")

    def _adopt_held(self, session: ArmSession) -> None:
        """Give the items that the service itself holds their first values."""
        for slot in INITIAL_ORDER:
            if slot not in session.state.reported and held_by_service(session.state, slot[0]):
                self._adopt_slot(session, slot, initial_value(session.state, slot), SETTINGS_USER)

    def _adopt_slot(self, session: ArmSession, slot: Slot, value: Message, by: str) -> None:
        state = session.state
        state.reported[slot] = state.desired[slot] = value
        state.desired_rev[slot] = state.last_rev[slot] = state.rev
        state.reported_by[slot] = state.desired_by[slot] = Setter(Stamp(by, self._ledger.clock.now_us()))
        self._ledger.put_slot(session, slot)

    def _set_presence(self, session: ArmSession, *, online: bool, ready: bool) -> None:
        state = session.state
        if (state.online, state.ready) != (online, ready) or not session.since_us:
            session.since_us = self._ledger.clock.now_us()
        state.online, state.ready = online, ready
        self._documents.mark(session, "presence")

    def _retry_later(self, session: ArmSession) -> None:
        """Reach the arm again after a while, longer each time."""
        if session.arm in self._retries:
            return
        base_s = min(RETRY_FIRST_S * 2 ** min(session.failures, 16), RETRY_MOST_S)
        delay_s = base_s * self._random.uniform(0.5, 1.0)
        self._retries[session.arm] = self._loop.call_later(delay_s, self._retry, session)

    def _retry(self, session: ArmSession) -> None:
        self._retries.pop(session.arm, None)
        self.contact_soon(session, "retry", connect=not session.state.online)

    def close(self) -> None:
        """Try no more."""
        for timer in self._retries.values():
            timer.cancel()
        self._retries.clear()


def _unfit(session: ArmSession) -> str:
    """Why the limits that an arm tells and the files of the settings make no stack; empty if they do."""
    try:
        limits = limits_of(session.state)
        reports = (*limits.placed.reports, *map(str, disagreements(limits.stack)))
    except LimitsError as error:
        return f"its limits cannot be used: {error}"
    for report in reports:
        if report not in session.told:
            log.warning("limit_sources", arm=session.arm, what=report)
    session.told = reports
    return ""
