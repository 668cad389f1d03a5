"""One run of the service on one store: everything is built anew from what is committed."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable
from functools import partial

import structlog

from broker import recovery
from broker.announcer import Announcer
from broker.arms.arm_session import ArmSession
from broker.arms.damages import Damages
from broker.arms.fleet import Fleet
from broker.arms.fleet_check import CheckedFleet
from broker.arms.jobs import ContactJob
from broker.arms.stream import fleet_stream
from broker.assembly import (
    Acceptance,
    acceptance_of,
    access_of,
    intake_of,
    keep_doubts,
    ledger_of,
    readback_of,
    reconciler_of,
    settler_of,
    summaries_of,
    trace_to_collector,
)
from broker.clock import Clock
from broker.counters import Counters
from broker.fleet_change import FleetChange, Parts
from broker.link.clients import make_link as make_real_link
from broker.link.device_bus import MqttDeviceBus, bus_config
from broker.link.mqtt_link import LinkConfig, LinkError, MqttLink
from broker.metrics.figures import Parts as Watched
from broker.metrics.figures import Reading
from broker.presence.client_id import client_id_of, earlier_client_id, secret_of
from broker.presence.document import OFFLINE, ONLINE
from broker.presence.identity import Identity
from broker.presence.presence import Presence
from broker.presence.starts import known_starts, remember_start
from broker.publish.outbox import Outbox
from broker.publish.readback import ReadBack, reading_link
from broker.record.fleet_events import FleetEvents
from broker.record.principals import SERVICE
from broker.record.recipes import RecipeBook
from broker.record.replies import Replies
from broker.settings import REAPPLY, Groups, Settings
from broker.settings.password import Password
from broker.settle.contact.drift import Drift
from broker.settle.contact.fences import Fences
from broker.settle.queues import Queues
from broker.store.errors import StoreFullError
from broker.store.rows import Loaded
from broker.store.store import Store
from broker.supervisor import Supervisor
from broker.topics import Topics
from broker.upkeep import attend, compare, each_hour, each_minute
from schema.arms import Authority
from schema.errors import BrokerError
from schema.events import FleetEvent

log = structlog.get_logger()

FIRST_CONTACT_S = 2.0
"""How long a start waits for its arms before it takes requests."""
DRAIN_S, FLUSH_S = 10.0, 5.0
"""How long an end waits for changes to settle, and for the MQTT server to take what is owed."""

UNSUPERVISED = Supervisor()

LinkMaker = Callable[[LinkConfig], MqttLink]


class Service:
    """The parts of one run, and their life; `make_link` makes what speaks MQTT.

    `accept_lost`: somebody decided to serve arms that know more than the store. `take_over`: somebody decided that
    another service of the same root ends.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        loaded: Loaded,
        clock: Clock,
        tasks: asyncio.TaskGroup,
        make_link: LinkMaker | None = None,
        *,
        accept_lost: bool = False,
        take_over: bool = False,
    ) -> None:
        loop = asyncio.get_running_loop()
        self._settings, self._store, self._loaded, self._clock, self._tasks = settings, store, loaded, clock, tasks
        self._opened, self._topics = False, (topics := Topics(settings.root))
        self._counters, self._own = (counters := Counters(clock.monotonic)), list[asyncio.Task[None]]()
        self._make_link = make_link = make_link or partial(make_real_link, counters=counters)
        identity = Identity(settings.instance, clock, counters, loaded.epoch, take_over=take_over)
        self._secret = secret_of(loaded.meta)
        self._presence = Presence(identity, topics, clock, known_starts(loaded.meta))
        self._link = make_link(self._link_config())
        self._damages = Damages(store, counters, loaded.damages)
        self._intake = intake_of(self._link, self._presence, self._link_config(), topics)
        self._outbox = Outbox(self._link, loop, self._counters, clock.monotonic)
        self._ledger = ledger = ledger_of(settings, store, loaded, clock, self._outbox, topics, self._counters)
        self.fleet_events = FleetEvents(ledger, fleet_stream(loaded.arms))
        self._documents, self._notices = ledger.documents, ledger.notices
        self._announcer = announcer = Announcer(settings, topics, ledger, identity)
        self._replies, self._queues = replies, queues = Replies(ledger), Queues(tasks, clock.monotonic)
        self._settler = settler = settler_of(settings, ledger, replies, queues)
        self._drift = Drift(ledger, settler, loop, {arm.id for arm in settings.arm if arm.drift == REAPPLY})
        self._fences = Fences(ledger, accept=accept_lost)
        self._reconciler = reconciler_of(ledger, settler, queues, announcer, self._fences, self._release, loaded.arms)
        settler.endings.on_foreign, self._bus = self._drift.look, self._bus_of(counters)
        self.recipes, self._fleet = self._recipes_and_fleet()
        self.sessions = self._fleet.sessions
        self._access = access_of(ledger, self.sessions, settler.parking, announcer.factsheet, self._release)
        self._authorities, self._readback = self._access.authorities, self._readback_of()
        self._stage_1, self._fleet_change = self._acceptance(), FleetChange(self._parts())
        self.reading, self._end_traces = self._reading(), trace_to_collector(settings, ledger, replies, clock)

    def _recipes_and_fleet(self) -> tuple[RecipeBook, Fleet]:
        recipes, meta = RecipeBook(self._ledger, self.fleet_events, self._loaded), self._loaded.meta
        self._settler.batch_ends.recipes = recipes
        handles, now_us = self._ledger.notices.handles, self._clock.now_us()
        return recipes, Fleet(self._settings, handles, now_us, self._bus, meta, recipes.shelf, recipes.applied)

    def _bus_of(self, counters: Counters) -> MqttDeviceBus:
        make_link = partial(self._make_link, bus_config(self._link_config(), self._topics))
        return MqttDeviceBus(make_link, self._topics, self._tasks, counters)

    def _reading(self) -> Reading:
        parts = Watched(
            self._settings, self.sessions, self._ledger, self._replies, self._stage_1.turnstile, self._presence,
            self._link, self._bus, self._clock.now_us(), self._stage_1.plans.book.states,
        )  # fmt: skip
        self._presence.before_beat = (reading := Reading(parts)).count_arms
        self._presence.identity.metrics = reading.summary
        return reading

    def _readback_of(self) -> ReadBack:
        read = partial(reading_link, self._make_link, self._link_config(), self._topics)
        settings, topics, ledger, sessions = self._settings, self._topics, self._ledger, self.sessions
        self.summaries = summaries_of(settings, topics, ledger, sessions, self.fleet_events)
        self.summaries.follow(Groups(settings))
        return readback_of(read, settings, topics, ledger, sessions, self.summaries, self._announcer)

    def _acceptance(self) -> Acceptance:
        return acceptance_of(
            self._intake, self._ledger, self._replies, self._settler, self._queues, self._presence, self._access,
            self._reconciler, self._loaded, self.fleet_events, self.recipes,
            self._tasks, self.sessions, self._settings, self._topics,
        )  # fmt: skip

    def _parts(self) -> Parts:
        return Parts(
            self._ledger, self._fleet, self._queues, self._settler, self._reconciler, self._drift, self._authorities,
            self._announcer, self._loaded, self._damages,
        )  # fmt: skip

    def _release(self, session: ArmSession) -> None:
        """What waits for an arm goes on if it is there and ready, and may be written to."""
        state = session.state
        if state.online and state.ready and not state.distrust and state.authority is Authority.CONTROL:
            self._settler.parking.release(session)
            self._drift.look(session)
        self._queues.kick(session)

    # ------------------------------------------------------------------ life

    async def follow_settings(self, checked: CheckedFleet) -> Settings:
        """Follow new settings while requests are served; the settings that count now.

        What counts from a start on has to be as it was. An arm that cannot be opened is logged and keeps its old ones.
        """
        if self._settler.policing.follow(checked.policy):
            self.fleet_events.emit(
                FleetEvent.POLICY_CHANGED, cause="reloaded", by=SERVICE, details=self._settler.policing.shown()
            )
        before = Groups(self._settings)
        self._stage_1.turnstile.follow(checked.settings)
        self._settings = await self._fleet_change.follow(self._settings, checked)
        self._stage_1.acceptor.groups.groups = after = Groups(self._settings)
        self.fleet_events.groups_changed(before, after)
        self.summaries.follow(after)
        return self._settings

    async def renames_due(self, settings: Settings) -> dict[str, str]:
        """See `Reloadable`."""
        renames = settings.renames
        return await asyncio.to_thread(self._store.renames_due, renames) if renames else {}

    async def start(self, supervisor: Supervisor = UNSUPERVISED) -> None:
        """Restore, connect, publish what is owed, reach the arms, then take requests, of which `supervisor` hears.

        Raises:
            LinkError: the MQTT server cannot be reached.
            HistoryLostError: arms know more than the store.
        """
        self._queues.serve(self._presence, self._settler, self._reconciler)
        keep_doubts(self._clock, self._store, self._loaded)
        await self._claim_root()
        recovery.restore(self.sessions, self._loaded, self._damages)
        self._authorities.restore(self.sessions.values(), self._loaded.meta, self._damages)
        self._link.on_session(self._on_session)
        present = await self._link.open()
        self._opened = True
        self._fences.go_above(self._presence.highest_epoch, "svc")
        log.info("started", epoch=self._ledger.epoch, arms=len(self.sessions), session_present=present)
        self.fleet_events.begin()
        recovery.publish_again(self.sessions, self._loaded, self._ledger, self._replies, self._damages)
        for session in self.sessions.values():
            self._authorities.begin(session)
            session.adapter.watch(partial(self._reconciler.on_notice, session))
            session.jobs.append(ContactJob(connect=True, why="start"))
        recovery.tell_renamed(self.sessions, self._loaded.meta, self._access.administration, self._store)
        await self._bus.open()
        self._take_up_changes()
        self._announcer.forget_removed(self._loaded.arms, self.sessions)
        recovery.drop_taken(self.sessions, self._loaded)
        self._announcer.begin(self._settler.policing.policy)
        self._readback.ask()
        self._keep_running((("read back", self._readback.run()),))
        await self._first_contact()
        self._serve(supervisor)

    def _take_up_changes(self) -> None:
        """Changes and plans of an earlier run go on."""
        loaded, plans = self._loaded, self._stage_1.plans
        plans.restoring.read(loaded.plans)
        recovery.requeue(self.sessions, loaded, self._ledger, self._settler, self._damages, plans.restoring.attach)
        for session in self.sessions.values():
            self._settler.overriding.begin(session)
        plans.go_on(loaded, self._settings.arm_defaults.pending_max_age_us)

    def _serve(self, supervisor: Supervisor) -> None:
        """Begin what runs until the end of the run."""
        self.summaries.live_plans = self._stage_1.plans.book.of_groups
        self.fleet_events.on_plan = self.summaries.plans_changed
        own = (self._stage_1.plans.look_at_time, self._counters.tell)
        tellers = (*own, self._access.denials.tell, self._store.reserve.watch)
        self._keep_running((
            ("accept", self._stage_1.turnstile.run()),
            ("acknowledge", self._stage_1.acks.run()),
            ("summarise", self.summaries.run()),
            ("plans", self._stage_1.plans.driver.run()),
            ("compare", compare(self.sessions, self._reconciler.compare_soon)),
            ("each minute", each_minute(self.sessions, self._notices, self._settler.endings, tellers)),
            ("each hour", each_hour(self._store, self._clock, self._readback)),
            ("attend", attend(supervisor, self._stage_1.turnstile.turn, self._status)),
        ))  # fmt: skip

    def _status(self) -> str:
        """What the service does, for people."""
        online = sum(session.state.online for session in self.sessions.values())
        text = f"serving {len(self.sessions)} arms, {online} online"
        return text if self._link.connected else f"{text}; the MQTT server is away"

    def _keep_running(self, works: Iterable[tuple[str, Coroutine[None, None, None]]]) -> None:
        """Run these until the end of the run."""
        for name, work in works:
            task = self._tasks.create_task(work, name=name)
            task.add_done_callback(self._ended)
            self._own.append(task)

    async def _claim_root(self) -> None:
        """Make sure that nobody else serves the root; then others know of us."""
        await remember_start(self._store, self._loaded.meta, self._presence.identity.start, self._secret)
        await self._presence.claim(self._make_link(self._presence.config(self._link_config())), self._tasks)
        if earlier := earlier_client_id(self._settings, self._loaded.meta, self._loaded.epoch):
            await self._presence.leave_behind(self._make_link, self._link_config(), earlier)
        self._presence.serve(self._link, self._tasks)

    async def _first_contact(self) -> None:
        """Wait until every arm was tried once, for a while at most."""
        for session in self.sessions.values():
            self._queues.kick(session)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FIRST_CONTACT_S):
                await self._reconciler.all_met(self.sessions.values())
        self._reconciler.slices.served = True
        self._fences.check_start()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A background task that ends ends the run."""
        if not task.cancelled() and task.exception() is None and not self._stage_1.acceptor.closing:
            self._tasks.create_task(_fail(f"{task.get_name()} ended"))

    async def close(self, *, drain: bool) -> None:
        """Stop reading, let changes settle (`drain`), publish what is owed, disconnect.

        When the store is full, what could not be committed is refused with `store_unavailable`, unacknowledged.
        """
        self._stage_1.acceptor.closing = True
        self._stage_1.acceptor.questions.close()
        self._stage_1.turnstile.close()
        drain = drain and self._opened and self._store.error is None
        for task in self._own:
            if task.get_name() == "accept" or not drain:
                task.cancel()
        self._reconciler.close()
        self._drift.close()
        if drain:
            self._queues.end_with_changes()
            await self._settle()
            with contextlib.suppress(TimeoutError):  # what was said at the last moment
                async with asyncio.timeout(FLUSH_S):
                    await self._store.committed()
            self._presence.fall_silent()
            self._announcer.presence(OFFLINE)
            await self._flush()
        elif isinstance(self._store.error, StoreFullError):
            text = "the disk of the store is full. Nothing was changed; send the same request again"
            self._stage_1.acceptor.refuse_uncommitted(BrokerError("store_unavailable", text))
            await self._flush()
        self._end_work()
        await self._link.close(will=not drain)
        await self._presence.close()
        await self._fleet.close()
        await self._bus.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_S):
                await asyncio.to_thread(self._end_traces)
        log.info("ended", drained=drain)

    async def _settle(self) -> None:
        """Wait until every change has an end, for a while at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                while self._queues.running or not self._store.settled:
                    await self._store.committed()
                    await self._queues.idle()

    async def _flush(self) -> None:
        """Wait until the MQTT server took everything, for a while at most."""
        try:
            async with asyncio.timeout(FLUSH_S):
                await self._outbox.drained()
        except TimeoutError:
            log.warning("flush_ended", backlog=self._outbox.backlog)

    def _end_work(self) -> None:
        """No task and no timer of this run goes on."""
        for task in self._own:
            task.cancel()
        self._queues.cancel()
        self._settler.close()
        self._stage_1.plans.close()
        self._authorities.close()
        self._documents.close()
        self._intake.close()
        self._outbox.close()

    def _link_config(self) -> LinkConfig:
        mqtt = self._settings.mqtt
        return LinkConfig(
            url=mqtt.url,
            client_id=client_id_of(self._settings, self._secret),
            filters=(self._topics.request_filter,),
            user=mqtt.user,
            read_password=Password(self._settings),
            tls=self._settings.tls,
            will=self._presence.will(),
            client=mqtt.client,
        )

    def _on_session(self, present: bool) -> None:
        """Each connection says that we are here; whatever became of the session, retained documents may be old."""
        del present
        if self._opened:
            self._announcer.presence(ONLINE)
            self._readback.ask()


async def _fail(why: str) -> None:
    """End the run: something that should run for ever did not."""
    raise LinkError(why)
