"""Reaches arms, adopts them, and takes over what they changed by themselves."""

import asyncio
from collections.abc import Callable, Iterable

import structlog

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import ChangeJob, ContactJob, FollowJob, ForwardJob
from broker.life import SENT, State
from broker.publish.documents import Documents
from broker.record.ledger import Ledger
from broker.settle.contact.adoption import Adoption
from broker.settle.contact.slices import Slices
from broker.settle.endings import MODE_KEY, Endings
from broker.settle.idle import IdleWatch
from broker.settle.queues import Queues
from devices.adapter import ArmChange, ArmError, LinkState, Notice, Reread, Snapshot
from handlers.items.settling import equal
from schema.arms import Activity, Description, Slot
from schema.backoff import Backoff
from schema.enums import ControlConfigurationEvent
from schema.envelope import Author
from schema.events import config_event_name

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
        adoption: Adoption,
        idle: IdleWatch,
        release: Callable[[ArmSession], None],
    ) -> None:
        self._ledger = ledger
        self._endings = endings
        self._documents = documents
        self._queues = queues
        self._loop = loop
        self._adoption = adoption
        self._idle = idle
        self._release = release
        self._contacts, self._reads = asyncio.Semaphore(CONTACTS_AT_ONCE), asyncio.Semaphore(CONTACTS_AT_ONCE)
        """Of arms that are to be reached, and of those that are there: these do not wait for the others."""
        self.slices = Slices(loop, room=ledger.store.way.room)
        """In which arms that answered are taken over."""
        self._backoff = Backoff(RETRY_FIRST_S, RETRY_MOST_S)
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
        if isinstance(notice, ArmChange):
            self._on_change(session, notice)
        elif isinstance(notice, LinkState):
            self._on_link(session, notice)
        elif isinstance(notice, Reread):
            self.contact_soon(session, notice.why, connect=False)

    def _on_link(self, session: ArmSession, link: LinkState) -> None:
        state = session.state
        session.told_ready, session.told_activity = link.ready, link.activity
        if link.online and session.back is not None:
            session.back.set()
        if link.online and not state.online:
            self.contact_soon(session, link.why or "the link came up")
            return
        ready = link.ready and not state.distrust
        if (state.online, state.ready) == (link.online, ready):
            self._set_activity(session)
            return
        self._set_presence(session, online=link.online, ready=ready)
        log.info("arm_link", arm=session.arm, online=link.online, ready=ready, why=link.why)
        if not link.online:
            self._retry_later(session)
        elif ready:
            self._go_on(session)

    def _go_on(self, session: ArmSession) -> None:
        """The arm takes changes again: it is read before what waits for it is decided."""
        if session.parked:
            self.contact_soon(session, "the arm is ready", connect=False)
        else:
            self._release(session)

    def lose(self, session: ArmSession) -> None:
        """Tell that an arm is not there that seemed to be, and reach it again."""
        if session.state.online:
            log.info("arm_link", arm=session.arm, online=False, ready=False, why="it was away when it was written to")
            self._set_presence(session, online=False, ready=False)
        self._retry_later(session)

    def confirm_arm(self, session: ArmSession, by: Author) -> None:
        """Take the arm that answers for the one that was known, then read it again.

        Raises:
            BrokerError: as `Adoption.confirm`.
        """
        self._adoption.confirm(session, by)
        self.contact_soon(session, "the arm was confirmed")

    def _on_change(self, session: ArmSession, change: ArmChange) -> None:
        for job in session.jobs:
            if not isinstance(job, ChangeJob):
                continue
            current = job.current
            if current.state in SENT and change.slot in (None, current.slot):
                current.foreign = True
        if change.slot is not None:
            if change.slot[0] == MODE_KEY:
                self._idle.broken(session)
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

    def compare_soon(self, session: ArmSession) -> None:
        """Read an arm that is there again, if that can be now: the event of a change may have been lost."""
        if self._reads.locked():  # its changes would wait with it
            return
        if session.state.online and not any(isinstance(job, ContactJob) for job in session.jobs):
            self._queues.put(session, ContactJob(connect=False, why="compare", quiet=True))

    async def contact(self, session: ArmSession, job: ContactJob) -> None:
        """Do a contact job; a failed one is tried again later."""
        if not await (self._compare(session) if job.quiet else self.reach(session, connect=job.connect)):
            self._retry_later(session)

    async def _compare(self, session: ArmSession) -> bool:
        """Read everything, and tell of what differs from what was reported; whether the arm answered."""
        state = session.state
        if state.distrust or not state.adopted:
            return True
        try:
            async with self._reads:
                snapshot = await session.adapter.read_all()
        except ArmError as error:
            log.warning("compare_failed", arm=session.arm, why=str(error))
            return False
        state.read_at_us = state.mode_seen_at_us = self._ledger.clock.now_us()
        self._tell_changes(session, snapshot)
        return True

    async def reach(self, session: ArmSession, *, connect: bool = True) -> bool:
        """Connect, describe, read everything, adopt or compare; whether the arm answered."""
        description: Description | None = None
        connect = connect or bool(session.state.distrust)
        # until it is taken over: what all arms told at once would be much
        async with self._contacts if connect else self._reads:
            try:
                if connect:
                    session.told_ready, session.told_activity = True, Activity.UNKNOWN
                    description = await session.adapter.connect()
                snapshot = await session.adapter.read_all()
            except ArmError as error:
                self._note_unreached(session, error)
                return False
            async with self.slices:
                self._take(session, description, snapshot)
        return True

    def _note_unreached(self, session: ArmSession, error: ArmError) -> None:
        """An arm did not answer."""
        session.failures += 1
        if session.failures == 1:
            log.warning("arm_not_reached", arm=session.arm, why=str(error))
        if not session.met or session.state.online:
            self._set_presence(session, online=False, ready=False)
        self._meet(session)

    def _take(self, session: ArmSession, description: Description | None, snapshot: Snapshot) -> None:
        """The arm answered: keep what it is and what it holds, unless it is another one than before."""
        session.failures = 0
        self._meet(session)
        if description is not None and not self._adoption.recognise(session, description, snapshot):
            self._set_presence(session, online=True, ready=False)
            return
        self._take_snapshot(session, snapshot)
        self._set_presence(session, online=True, ready=session.told_ready)
        if session.state.ready:
            self._release(session)

    def _meet(self, session: ArmSession) -> None:
        session.met = True
        self._met.set()

    async def follow(self, session: ArmSession, job: FollowJob) -> None:
        """Read a slot that another writer changed; emit only what differs from what was reported."""
        state = session.state
        if state.distrust:
            return
        try:
            read = await session.adapter.read(job.slot)
        except ArmError as error:
            log.warning("follow_failed", arm=session.arm, slot=job.slot, why=str(error))
            self._retry_later(session)
            return
        if not state.adopted or equal(job.slot[0], read, state.reported[job.slot], state.resolution_rad):
            return
        self._endings.record_foreign(session, job.slot, read, job.connection)

    async def forward(self, session: ArmSession, job: ForwardJob) -> None:
        """Publish an event that the arm raised."""
        self._endings.record_raised(session, config_event_name(job.event), job.connection)

    # ------------------------------------------------------------------ state

    def _take_snapshot(self, session: ArmSession, snapshot: Snapshot) -> None:
        """First contact adopts; later ones report what changed meanwhile."""
        state = session.state
        state.read_at_us = state.mode_seen_at_us = self._ledger.clock.now_us()
        if not state.adopted:
            self._adoption.adopt(session, snapshot)
            return
        self._tell_changes(session, snapshot)
        self._adoption.adopt_own(session)
        self._ledger.put_arm(session)
        self._ledger.store.flush_soon()
        self._documents.mark(session, "reported", "mode")
        self._idle.note_read(session)

    def _tell_changes(self, session: ArmSession, snapshot: Snapshot) -> None:
        """Report what another writer changed, but in slots that are being written to."""
        state, open_slots = session.state, _open_slots(session)
        for slot, read in snapshot.items.items():
            if slot not in state.reported:
                self._adoption.adopt_slot(session, slot, read)
            elif slot not in open_slots and not equal(slot[0], read, state.reported[slot], state.resolution_rad):
                self._endings.record_foreign(session, slot, read, "")

    def _set_presence(self, session: ArmSession, *, online: bool, ready: bool) -> None:
        state = session.state
        if (state.online, state.ready) != (online, ready) or not session.since_us:
            session.since_us = self._ledger.clock.now_us()
        state.online, state.ready = online, ready
        state.activity = session.told_activity if online else Activity.UNKNOWN
        self._documents.mark(session, "presence")
        self._idle.look(session)

    def _set_activity(self, session: ArmSession) -> None:
        """The arm does something else, and takes changes or none as before."""
        if session.state.online and session.state.activity is not session.told_activity:
            session.state.activity = session.told_activity
            self._documents.mark(session, "presence")
            self._idle.look(session)

    def _retry_later(self, session: ArmSession) -> None:
        """Reach the arm again after a while, longer each time."""
        if session.arm in self._retries:
            return
        delay_s = self._backoff.after_s(session.failures)
        self._retries[session.arm] = self._loop.call_later(delay_s, self._retry, session)

    def _retry(self, session: ArmSession) -> None:
        self._retries.pop(session.arm, None)
        self.contact_soon(session, "retry", connect=not session.state.online)

    def forget(self, arm: str) -> None:
        """Try no more to reach one arm."""
        if (timer := self._retries.pop(arm, None)) is not None:
            timer.cancel()

    def close(self) -> None:
        """Try no more."""
        for timer in self._retries.values():
            timer.cancel()
        self._retries.clear()


def _open_slots(session: ArmSession) -> set[Slot]:
    """The slots that a change may be writing to: their own read-back tells how it ended."""
    found: set[Slot] = set()
    for job in session.jobs:
        if isinstance(job, ChangeJob) and job.current.state in SENT:
            found.update(job.places if job.state is State.RESUMED else (job.current.slot,))
    return found
