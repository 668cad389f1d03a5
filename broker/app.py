"""The life of the process: one run after the other until it is told to end."""

import asyncio
import contextlib
import signal
from collections.abc import Coroutine, Iterable
from typing import Any, NamedTuple

import structlog

from broker.clock import Clock
from broker.garbage import look_again
from broker.link.mqtt_link import LinkError, LinkUnreachableError
from broker.metrics.endpoint import Watch, listening
from broker.presence.rivals import SecondServiceError
from broker.reload import Reload, Reread
from broker.server_wait import Server
from broker.service import Service
from broker.settings import Settings, SettingsError
from broker.store.errors import StoreError, StoreFullError, StoreLockedError
from broker.store.rows import Loaded
from broker.store.set_time import SURE_KEY
from broker.store.store import Store
from broker.supervisor import Supervisor
from devices.adapter import ArmError

log = structlog.get_logger()

EXIT_OK, EXIT_FAILED, EXIT_UNREACHABLE, EXIT_CRASHED = 0, 1, 4, 70
_FORESEEN = (StoreError, LinkError, ArmError, SettingsError, SecondServiceError)
RETEST_S = 2.0
"""How often a full store is tried again."""
OPENING_S = 3600.0
"""How long a store may take to be opened: it is migrated, checked and copied in one piece."""
STARTING_S = 90.0
"""How long a start may take from then on."""


class Start(NamedTuple):
    """How a run begins: `blame` counts an unclean end before it against what is found open.

    `accept_lost`: somebody decided to go on with a store that knows less than it did. `take_over`: a service
    that serves the same root is told to end.
    """

    blame: bool = True
    accept_lost: bool = False
    take_over: bool = False
    wait: bool = True
    """Whether to wait for an MQTT server that is not there yet."""
    supervisor: Supervisor = Supervisor()
    watch: Watch = Watch()
    """Tells people of the run that goes on."""


PLAIN = Start()


async def serve(
    settings: Settings, clock: Clock | None = None, reread: Reread | None = None, how: Start = PLAIN
) -> int:
    """Run until SIGTERM or SIGINT, with `reread` at each SIGHUP; the exit code of the process.

    Settings that give an arm another name end a run as SIGTERM does, and the next one begins with them. A full store
    ends a run after its requests are answered; the next one begins when the store takes a write again.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    reload = Reload(settings, reread, how.supervisor)

    def end() -> None:
        how.supervisor.stops("ending: changes settle, and what is owed is published")
        stop.set()

    handlers = {signal.SIGTERM: end, signal.SIGINT: end, signal.SIGHUP: reload.ask}
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        how = how._replace(watch=Watch())
        async with listening(settings.metrics, how.watch):
            return await _serve(reload, clock or Clock(), stop, how)
    except SettingsError as error:
        why = str(error)
        log.error("run_ended", why=why, error=type(error).__name__)  # noqa: TRY400 - the text says it all
        return EXIT_FAILED
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)


async def _serve(reload: Reload, clock: Clock, stop: asyncio.Event, how: Start) -> int:
    told, cause, ran = "", None, False
    while not stop.is_set():
        if ran:
            cause = None  # it holds the run before
            look_again()
        reload.serving = False
        reload.anew.clear()
        if how.wait:
            await Server(reload.settings.mqtt.url, how.supervisor).there(stop)
            if stop.is_set():
                break
        ran, cause = True, await _cause_of_end(run_once(reload.settings, clock, stop, how, reload))
        if cause is None:
            continue
        if str(cause) != told:
            told = str(cause)
            log.error("run_ended", why=told, error=type(cause).__name__)
        if isinstance(cause, StoreFullError) or (how.wait and _is_away(cause)):
            how = how._replace(blame=False)
            how.supervisor.waits(told, STARTING_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RETEST_S):
                    await stop.wait()
            continue
        how.supervisor.stops(told)
        if isinstance(cause, LinkError | StoreLockedError | SecondServiceError):
            return EXIT_UNREACHABLE
        return EXIT_CRASHED if reload.serving else EXIT_FAILED
    return EXIT_OK


def _is_away(cause: Exception) -> bool:
    """Whether a run ended because the MQTT server does not answer yet."""
    return isinstance(cause, LinkUnreachableError) and not cause.lasting


async def _cause_of_end(run: Coroutine[Any, Any, None]) -> Exception | None:
    """Run once; the error that ended the run, None if it was told to. What nobody foresaw is raised."""
    try:
        await run
    except Exception as error:
        foreseen = _foreseen(error)
        if foreseen is None:
            raise
        return foreseen
    return None


def _foreseen(error: BaseException) -> Exception | None:
    """The first single error of a group of groups, if all in it are of the kinds that a run may end with."""
    if isinstance(error, BaseExceptionGroup):
        found = [_foreseen(one) for one in error.exceptions]
        return None if None in found else found[0]
    return error if isinstance(error, _FORESEEN) else None


def open_store(settings: Settings, clock: Clock, how: Start) -> Store:
    """The store of the settings; see `Store.open`."""
    how.supervisor.waits(f"opening the store in {settings.data_dir}", OPENING_S)
    reserve = settings.store.reserve_bytes
    return Store.open(
        settings.data_dir, clock.now_us, accept_lost=how.accept_lost, reserve_bytes=reserve,
        renames=settings.renames,
    )  # fmt: skip


async def run_once(
    settings: Settings, clock: Clock, stop: asyncio.Event, how: Start = PLAIN, reload: Reload | None = None
) -> None:
    """One run on what the store holds, until `stop`, a failure, or settings of `reload` that ask for another run.

    An end that nobody foresaw is stored as unclean.

    Raises:
        StoreError: the store cannot be opened, or failed.
        LinkError: the MQTT server cannot be reached, or ended the link.
        ArmError: the settings of an arm cannot be used.
        SettingsError: a file that the settings name cannot be used.
        SecondServiceError: another service serves the same root.
    """
    store, clean = open_store(settings, clock, how), True
    try:
        loaded = _loaded(store, clock, how)
        async with asyncio.TaskGroup() as tasks:
            crashed = _crash_future()
            service = Service(
                settings, store, loaded, clock, tasks, accept_lost=how.accept_lost, take_over=how.take_over
            )
            reloading: asyncio.Task[None] | None = None
            ends, how.watch.reading = (stop,) if reload is None else (stop, reload.anew), service.reading
            try:
                await _unless(stop, service.start(how.supervisor))
                if reload is not None:
                    reloading = tasks.create_task(reload.serve(service, clock.now_us), name="reload")
                await _until(ends, store.failed, crashed)
            finally:
                how.watch.reading = None
                if reloading is not None:
                    reloading.cancel()
                    await asyncio.wait([reloading])
                await service.close(drain=any(end.is_set() for end in ends))
    except BaseException as error:
        clean = _foreseen(error) is not None
        raise
    finally:
        store.close(clean=clean)


def _loaded(store: Store, clock: Clock, how: Start) -> Loaded:
    """What the store holds; the clock stands behind none of it."""
    loaded = store.load(blame=how.blame)
    how.supervisor.waits(f"starting with {len(loaded.arms)} arms in the store", STARTING_S)
    clock.not_before(loaded.last_time_us, int(loaded.meta.get(SURE_KEY, 0)))
    return loaded


def _crash_future() -> asyncio.Future[None]:
    """Ends with what a callback of the event loop raised: a timer that fails ends the run as a task would."""
    loop = asyncio.get_running_loop()
    crashed: asyncio.Future[None] = loop.create_future()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        loop.default_exception_handler(context)
        if "handle" in context and not crashed.done():
            crashed.set_exception(context.get("exception") or RuntimeError(context["message"]))

    loop.set_exception_handler(handle)
    return crashed


async def _unless(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Do some work; give it up at `stop`."""
    task, stopped = asyncio.create_task(work), asyncio.create_task(_stopped(stop))
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopped.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
    if not task.cancelled():
        task.result()


async def _until(ends: Iterable[asyncio.Event], *failures: asyncio.Future[None]) -> None:
    """Return at one of `ends`; raise what one of `failures` holds."""
    waiting = [asyncio.create_task(_stopped(end)) for end in ends]
    try:
        await asyncio.wait([*waiting, *failures], return_when=asyncio.FIRST_COMPLETED)
        for failure in failures:
            if failure.done():
                failure.result()
    finally:
        for task in waiting:
            task.cancel()


async def _stopped(stop: asyncio.Event) -> None:
    await stop.wait()
