"""Keeps collections of garbage short however much is kept."""

import asyncio
import gc
import resource
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import structlog

log = structlog.get_logger()
T = TypeVar("T")

THRESHOLDS = (4_000, 1, 0)
"""New objects, and collections of the generation before, until a generation is collected: all after some 16,000."""
LONG_S = 0.002
"""CPU time of a full collection from which what it found in use is not looked at again."""
MANY, LOOK_S = 10_000, 0.25
"""Objects that later collections would look at from which there is one now, and how often they are counted: what is
freed counts against what is made, so where both are much the interpreter begins none for long."""
WORKED_S = 0.03
"""CPU time in which nobody makes many: counting them looks at each, which for an idle service would be all it does."""
SETTLED_S = 600.0
"""How long a start may take memory for what stays."""
QUIET_S = 10.0
"""Nobody is kept waiting who made nothing for so long."""
GROWN, MUCH = 1.5, 2.0
"""So many times the memory of the last look: everything is looked at again when it is quiet; in any case."""


def look_again() -> int:
    """Look at everything, also at what was to be looked at no more: 1 s a million objects; how many were garbage."""
    began_s = time.thread_time()
    gc.unfreeze()
    found = gc.collect()
    gc.freeze()
    log.info("memory_looked_through", garbage=found, seconds=round(time.thread_time() - began_s, 3))
    return found


def _most_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _young_collections() -> int:
    return int(gc.get_stats()[0]["collections"])


class Growth:
    """Tells when memory grew so much that what is looked at no more may be the reason.

    It is looked at when as good as nothing is made meanwhile, which counts at each question; `used` is the most memory
    so far in any unit, `made` rises with the objects that are made.
    """

    def __init__(self, used: Callable[[], int] = _most_memory, made: Callable[[], int] = _young_collections) -> None:
        self._used, self._made = used, made
        self._base, self._seen = used(), made()

    def asks(self) -> bool:
        """Whether everything is to be looked at now; then growth counts from here on."""
        seen, self._seen = self._seen, self._made()
        used = self._used()
        if used <= self._base * (GROWN if self._seen == seen else MUCH):
            return False
        self._base = used
        return True


class ShortCollections:
    """After a long full collection what is in use then is looked at by no later one.

    Objects that are freed by their reference count are freed as ever. Only a circle that was in use then, and is
    garbage later, stays, so what changes consist of is in none; other such circles stay until memory grew by `Growth`.
    `worked` is the CPU time of the process in seconds.
    """

    def __init__(
        self, long_s: float = LONG_S, growth: Callable[[], Growth] = Growth,
        worked: Callable[[], float] = time.process_time,
    ) -> None:  # fmt: skip
        self._long_s = long_s
        self._growth = growth
        self._worked = worked
        self._began_s = 0.0

    def begin(self) -> None:
        """What exists now is looked at no more; from now on there are collections, and they are short."""
        gc.freeze()
        gc.collect()  # the interpreter begins no full one before a quarter of what the last one left is new
        gc.enable()
        gc.set_threshold(*THRESHOLDS)
        gc.callbacks.append(self.on_collection)

    async def around(self, work: Coroutine[Any, Any, T]) -> T:
        """Do some work, and see to it meanwhile that not much gathers; what the work returns."""
        tasks = (asyncio.create_task(self._look()), asyncio.create_task(self._look_again()))
        try:
            return await work
        finally:
            for task in tasks:
                task.cancel()

    async def _look(self) -> None:
        counted_s = self._worked()
        while True:
            await asyncio.sleep(LOOK_S)
            if self._worked() - counted_s < WORKED_S:
                continue
            if len(gc.get_objects()) > MANY:
                gc.collect()
                gc.freeze()
            counted_s = self._worked()

    async def _look_again(self) -> None:
        await asyncio.sleep(SETTLED_S)
        growth = self._growth()
        while True:
            await asyncio.sleep(QUIET_S)
            if growth.asks():
                look_again()

    def end(self) -> None:
        """Keep nothing short any more."""
        gc.callbacks.remove(self.on_collection)

    def on_collection(self, phase: str, info: dict[str, Any]) -> None:
        """Called by the interpreter around each collection."""
        if info["generation"] != 2:  # noqa: PLR2004 - the last of three: a full collection
            return
        if phase == "start":
            self._began_s = time.thread_time()
        elif time.thread_time() - self._began_s > self._long_s:
            gc.freeze()
