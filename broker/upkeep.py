"""What a run does from time to time."""

import asyncio
import itertools
import math
from collections.abc import Callable, Iterable, Mapping

import structlog

from broker.arms.arm_session import ArmSession
from broker.clock import Clock
from broker.publish.notices import Notices
from broker.publish.readback import ReadBack
from broker.settle.endings import Endings
from broker.store.store import Store
from broker.supervisor import Supervisor

log = structlog.get_logger()

HOUR_S, MINUTE_S = 3600.0, 60.0
SCRUB_HOURS = 24
"""How often the whole store is compared with its hashes: what a bit flipped in is told before it is needed."""
TURNS, STATUS_S = 4, 10.0
"""How often the supervisor hears of the service: so many times while its watchdog waits; without one, after so long."""
COMPARE_S, LOOK_S = 300.0, 0.15
"""How often every arm is read again, whatever it tells: the event of a change may have been lost. With many arms so
many are read at once that nobody wakes for it more often than this."""


async def compare(sessions: Mapping[str, ArmSession], compare_soon: Callable[[ArmSession], None]) -> None:
    """Read arm after arm again, each once in COMPARE_S, for ever; one that is away is reached by others."""
    while True:
        arms = list(sessions.values())
        at_once = math.ceil(len(arms) * LOOK_S / COMPARE_S)
        for first in range(0, len(arms), at_once or 1):
            some = arms[first : first + at_once]
            await asyncio.sleep(COMPARE_S * len(some) / len(arms))
            for session in some:
                if sessions.get(session.arm) is session:
                    compare_soon(session)
        if not arms:
            await asyncio.sleep(MINUTE_S)


async def each_minute(
    sessions: Mapping[str, ArmSession], notices: Notices, endings: Endings, tellers: Iterable[Callable[[], None]]
) -> None:
    """End handles whose connection is silent, and let each teller tell what it gathered, for ever."""
    while True:
        await asyncio.sleep(MINUTE_S)
        for tell in tellers:
            tell()
        for entry in notices.expired():
            if (session := sessions.get(entry.arm)) is not None:
                endings.expire_handle(session, entry)


async def attend(supervisor: Supervisor, turn: Callable[[Callable[[], None]], None], status: Callable[[], str]) -> None:
    """Let the supervisor hear that requests are served whenever `turn` calls back, for ever.

    `turn` calls back once what a request passes was gone through: whatever of it hangs, the supervisor hears no more.
    """
    if not supervisor.there:
        await asyncio.Event().wait()
    told = ""

    def served() -> None:
        nonlocal told
        text = status()
        supervisor.served(text if text != told else "")
        told = text

    while True:
        turn(served)
        await asyncio.sleep(supervisor.watchdog_s / TURNS if supervisor.watchdog_s else STATUS_S)


async def each_hour(store: Store, clock: Clock, readback: ReadBack) -> None:
    """Drop what need not be kept, compare what the MQTT server retains, and once a day the store with its hashes."""
    for hour in itertools.count(1):
        await asyncio.sleep(HOUR_S)
        if hour % SCRUB_HOURS == 0:
            store.scrub()
        purged = await store.purge(*clock.for_deleting())
        log.info("purged", forgotten=purged.forgotten, removed=purged.removed)
        readback.ask()
