"""A service in a process of its own whose clock is told on standard input: `python -m ... SETTINGS-JSON`.

Each line is a time in µs since 1970 that the clock goes on from; it is repeated on standard output once it holds.
"""

import asyncio
import json
import sys
import time

from broker import logs
from broker.app import serve
from broker.clock import Clock
from broker.settings import from_document


class ToldTime:
    """Goes on from the time it was told last."""

    def __init__(self) -> None:
        self._from_us = time.time_ns() // 1000
        self._since = time.monotonic()

    def now_us(self) -> int:
        """µs since 1970."""
        return self._from_us + int((time.monotonic() - self._since) * 1e6)

    def tell(self, time_us: int) -> None:
        """Go on from another time."""
        self._from_us, self._since = time_us, time.monotonic()


def _read_time(told: ToldTime) -> None:
    line = sys.stdin.readline()
    if not line:
        asyncio.get_running_loop().remove_reader(sys.stdin)
        return
    told.tell(int(line))
    sys.stdout.write(line)
    sys.stdout.flush()


async def main() -> int:
    """Serve until told to end."""
    settings = from_document(json.loads(sys.argv[1]))
    logs.set_up("debug")
    told = ToldTime()
    asyncio.get_running_loop().add_reader(sys.stdin, _read_time, told)
    return await serve(settings, Clock(told.now_us))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
