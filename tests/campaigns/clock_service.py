"""The service on a machine whose clock can be set, with a purge every half second: `python -m ... run ...`.

The file that `ARMBROKER_TEST_CLOCK` names holds by how many µs the clock is wrong: 8 bytes, signed, little-endian.
"""

import asyncio
import mmap
import os
import time
from pathlib import Path

from armbroker.__main__ import main
from broker import service
from broker.clock import Clock
from broker.store.store import Store
from tests.campaigns.defects import DEFECTS, VARIABLE

CLOCK = "ARMBROKER_TEST_CLOCK"
PURGE_S = 0.5


async def _purge_often(store: Store, clock: Clock, _: object) -> None:
    """What is done each hour, without the comparison of documents, which would never end."""
    while True:
        await asyncio.sleep(PURGE_S)
        await store.purge(*clock.for_deleting())


def _set_up() -> None:
    with Path(os.environ[CLOCK]).open("rb") as file:
        wrong_by = mmap.mmap(file.fileno(), 8, access=mmap.ACCESS_READ)
    right_ns = time.time_ns
    time.time_ns = lambda: right_ns() + int.from_bytes(wrong_by[:8], "little", signed=True) * 1000
    setattr(service, "each_hour", _purge_often)  # noqa: B010 - from outside
    if defect := os.environ.get(VARIABLE):
        DEFECTS[defect]()


if __name__ == "__main__":
    _set_up()
    main()
