"""The life of the process: one run after the other until it is told to end."""

import asyncio
import contextlib
import signal

import structlog

from broker.clock import Clock
from broker.mqtt_link import LinkError
from broker.service import Service
from broker.settings import Settings
from broker.store.errors import StoreError, StoreFullError, StoreLockedError
from broker.store.store import Store
from devices.adapter import ArmError

log = structlog.get_logger()

EXIT_OK, EXIT_FAILED, EXIT_UNREACHABLE = 0, 1, 4
RETEST_S = 2.0
"""How often a full store is tried again."""


async def serve(settings: Settings, clock: Clock | None = None) -> int:
    """Run until SIGTERM or SIGINT; the exit code of the process.

    A full store ends a run after its requests are answered; the next one begins when the store takes a write again.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        return await _serve(settings, clock or Clock(), stop)
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


async def _serve(settings: Settings, clock: Clock, stop: asyncio.Event) -> int:
    while not stop.is_set():
        cause = await _cause_of_end(settings, clock, stop)
        if cause is None:
            break
        log.error("run_ended", why=str(cause), error=type(cause).__name__)
        if isinstance(cause, StoreFullError):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), RETEST_S)
            continue
        return EXIT_UNREACHABLE if isinstance(cause, LinkError | StoreLockedError) else EXIT_FAILED
    return EXIT_OK


async def _cause_of_end(settings: Settings, clock: Clock, stop: asyncio.Event) -> Exception | None:
    """Run once; the error that ended the run, None if it was `stop`. What nobody foresaw is raised."""
    try:
        await run_once(settings, clock, stop)
    except (StoreError, LinkError, ArmError) as error:
        return error
    except BaseExceptionGroup as group:
        known, unknown = group.split((StoreError, LinkError, ArmError))
        if unknown is not None or known is None:
            raise
        return _first(known)
    return None


def _first(group: BaseExceptionGroup[BaseException]) -> Exception:
    """The first single error of a group of groups."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error if isinstance(error, Exception) else RuntimeError(repr(error))


async def run_once(settings: Settings, clock: Clock, stop: asyncio.Event) -> None:
    """One run on what the store holds, until `stop` or a failure.

    Raises:
        StoreError: the store cannot be opened, or failed.
        LinkError: the MQTT server cannot be reached, or ended the link.
        ArmError: the settings of an arm cannot be used.
    """
    store = Store.open(settings.data_dir, clock.now_us)
    try:
        loaded = store.load()
        clock.not_before(loaded.last_time_us)
        async with asyncio.TaskGroup() as tasks:
            service = Service(settings, store, loaded, clock, tasks)
            try:
                await service.start()
                await _until(stop, store.failed)
            finally:
                await service.close(drain=stop.is_set())
    finally:
        store.close()


async def _until(stop: asyncio.Event, failed: asyncio.Future[None]) -> None:
    """Return at `stop`; raise what `failed` holds."""
    waiting = asyncio.create_task(_stopped(stop))
    try:
        await asyncio.wait([waiting, failed], return_when=asyncio.FIRST_COMPLETED)
        if failed.done():
            failed.result()
    finally:
        waiting.cancel()


async def _stopped(stop: asyncio.Event) -> None:
    await stop.wait()
