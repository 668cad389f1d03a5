"""Lets what can wait give way to whoever waits for a commit."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

from broker.store.batch import Batch

MANY = 256
"""Rows of a batch from which those of other work wait for the next one."""
GIVEN_WAY = 3
"""So many commits that somebody waits for may pass before what can wait goes on: a change takes two."""


class Way:
    """What work that can wait asks before it goes on.

    `uncommitted` gives the batches that are not committed, the open one last; `committed` waits for all of them.
    """

    def __init__(self, uncommitted: Callable[[], Iterator[Batch]], committed: Callable[[], Awaitable[None]]) -> None:
        self._uncommitted, self._committed = uncommitted, committed

    def is_awaited(self) -> bool:
        """Whether a request, or an end of a change, waits for its commit."""
        return self._awaited() is not None

    async def quiet(self) -> None:
        """Return once no request and no end of a change waits for its commit, after a few commits at most."""
        for _ in range(GIVEN_WAY):
            batch = self._awaited()
            if batch is None:
                return
            done = asyncio.Event()
            batch.on_commit(done.set)
            await done.wait()

    async def room(self) -> None:
        """As `quiet`, for work that puts rows into the open batch, of which there are few then."""
        *_, batch = self._uncommitted()
        if batch.weight >= MANY:
            await self._committed()
        await self.quiet()

    def _awaited(self) -> Batch | None:
        """The next batch that somebody waits for."""
        for batch in self._uncommitted():
            if batch.requests or batch.change_updates:
                return batch
        return None
