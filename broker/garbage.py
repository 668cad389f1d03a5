"""Keeps collections of garbage short however much is kept."""

import asyncio
import gc
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

THRESHOLDS = (4_000, 1, 0)
"""New objects, and collections of the generation before, until a generation is collected: all after some 16,000."""
LONG_S = 0.002
"""CPU time of a full collection from which what it found in use is not looked at again."""
MANY, LOOK_S = 10_000, 0.25
"""Objects that later collections would look at from which there is one now, and how often they are counted: what is
freed counts against what is made, so where both are much the interpreter begins none for long."""


class ShortCollections:
    """After a long full collection what is in use then is looked at by no later one.

    Objects that are freed by their reference count are freed as ever. Only a circle that was in use then, and is
    garbage later, stays: at most what is under way at one of these moments, and they come only as often as some
    10,000 objects were made that last.
    """

    def __init__(self, long_s: float = LONG_S) -> None:
        self._long_s = long_s
        self._began_s = 0.0

    def begin(self) -> None:
        """What exists now is looked at no more; from now on there are collections, and they are short."""
        gc.freeze()
        gc.enable()
        gc.set_threshold(*THRESHOLDS)
        gc.callbacks.append(self.on_collection)

    async def around(self, work: Coroutine[Any, Any, T]) -> T:
        """Do some work, and see to it meanwhile that not much gathers; what the work returns."""
        looking = asyncio.create_task(self._look())
        try:
            return await work
        finally:
            looking.cancel()

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            if len(gc.get_objects()) > MANY:
                gc.collect()
                gc.freeze()

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
