"""What a worker process writes to its standard error: lines of the log, within bounds."""

import asyncio
from collections.abc import Callable

import structlog

log = structlog.get_logger()

LINE_MOST = 2_000
"""Characters of a line that are kept."""
LINES_MOST = 50
"""Lines that are kept a second; of the others only their number."""


class StderrLog(asyncio.Protocol):
    """Logs each line with the arm's name and the process's number; `now` is a clock in seconds."""

    def __init__(self, arm: str, pid: int, now: Callable[[], float]) -> None:
        self._arm, self._pid, self._now = arm, pid, now
        self._rest = b""
        self._second = now()
        self._lines = self._dropped = 0

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._take(line)
        if len(self._rest) > LINE_MOST:
            self._take(self._rest)
            self._rest = b""

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`; what stands behind the last line feed is a line too."""
        del exc
        if self._rest:
            self._take(self._rest)
        self._tell_dropped()

    def _take(self, line: bytes) -> None:
        if self._now() - self._second >= 1:
            self._tell_dropped()
            self._second, self._lines = self._now(), 0
        self._lines += 1
        if self._lines > LINES_MOST:
            self._dropped += 1
            return
        text = line[:LINE_MOST].decode(errors="replace").rstrip()
        if text:
            log.info("worker_stderr", arm=self._arm, pid=self._pid, line=text)

    def _tell_dropped(self) -> None:
        if self._dropped:
            log.warning("worker_stderr_dropped", arm=self._arm, pid=self._pid, lines=self._dropped)
            self._dropped = 0
