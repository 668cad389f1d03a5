"""Room on the store's disk that is kept for a full disk: a file that is given up when nothing else is left.

So what was accepted can still be settled, told and read while the disk is full; new changes are refused until there is
room again.
"""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import structlog

log = structlog.get_logger()

FILE = "store.reserve"
"""Name of the file in the store's directory."""
RESERVE_BYTES = 64 * 1024 * 1024
LARGEST_SHARE = 16
"""The reserve is at most this part of the disk."""
LOW = 4
"""It is warned below so many times the reserve."""
LOOK_EVERY_S = 0.2


def disk(directory: Path) -> tuple[int, int]:
    """Bytes of the disk that a directory lies on, and bytes of it that are free for us."""
    found = os.statvfs(directory)
    return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize


class Reserve:
    """The reserve in `directory`: `wanted` bytes, or less on a small disk; 0 keeps none. Made by the store."""

    def __init__(
        self, directory: Path, wanted: int = RESERVE_BYTES, *, disk: Callable[[Path], tuple[int, int]] = disk,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._directory, self._disk, self._monotonic = directory, disk, monotonic
        self._file = directory / FILE
        total, free = disk(directory)
        self.size = min(wanted, total // LARGEST_SHARE)
        self.full = False
        """Whether changes have to be refused, as it was when it was looked at last."""
        self._looked_s = monotonic()
        self._warned = False
        if free < self.size // 2:
            self.give_up()
        elif not self._file.exists() or self._file.stat().st_size != self.size:
            self._make(free)

    def give_up(self) -> bool:
        """Make room: remove the file; whether there was one. May be called from any thread."""
        self.full = bool(self.size)
        try:
            self._file.unlink()
        except FileNotFoundError:
            return False
        log.error("disk_full", directory=str(self._directory), bytes_made_free=self.size)
        return True

    def look(self) -> bool:
        """Whether changes have to be refused: the disk has no room but what is kept. Looks a few times a second."""
        now_s = self._monotonic()
        if now_s - self._looked_s >= LOOK_EVERY_S:
            self._looked_s = now_s
            self._look()
        return self.full

    def watch(self) -> None:
        """Look now, and warn once when the room runs low."""
        self._look()
        _, free = self._disk(self._directory)
        low = free < LOW * self.size
        if low and not self._warned:
            log.warning("disk_low", directory=str(self._directory), free_bytes=free, bound_bytes=LOW * self.size)
        self._warned = low

    def _look(self) -> None:
        _, free = self._disk(self._directory)
        if self._file.exists():
            full = free < self.size // 2
        else:
            full = free < self.size + self.size // 2
            if not full:
                self._make(free)
        if full != self.full:
            (log.error if full else log.info)("disk_full" if full else "disk_has_room", free_bytes=free)
        self.full = full

    def _make(self, free: int) -> None:
        """Keep the room, unless that takes the last of it."""
        if not self.size or free < self.size + self.size // 2:
            self.full = bool(self.size)
            return
        try:
            descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                os.posix_fallocate(descriptor, 0, self.size)
            finally:
                os.close(descriptor)
        except OSError as error:
            log.warning("no_reserve", directory=str(self._directory), why=str(error))
            with contextlib.suppress(OSError):
                self._file.unlink()
