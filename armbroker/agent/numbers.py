"""The session numbers of the arms of one agent process."""

import fcntl
import os
from pathlib import Path

BLOCK = 100
FILE = "session"


class SessionNumbers:
    """Numbers that grow for ever, over restarts and power cuts; shared by the arms of one directory.

    What is on disk is a number not used yet: it is written once in `BLOCK` sessions, and a restart skips what was left.
    An agent on a small device may do the same, to spare its flash.

    Raises:
        OSError: the file cannot be used, or another process has it.
        ValueError: it holds no number.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._path = directory / FILE
        self._lock = (directory / f"{FILE}.lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._next = self._written = int(self._path.read_text()) if self._path.exists() else 1
        except (OSError, ValueError):
            self._lock.close()
            raise

    def next(self) -> int:
        """A number above all that were given before; on disk before it is used.

        Raises:
            OSError: it cannot be written.
        """
        number = self._next
        if number >= self._written:
            self._write(number + BLOCK)
        self._next = number + 1
        return number

    def close(self) -> None:
        """Let go of the directory; harmless when closed."""
        self._lock.close()

    def _write(self, number: int) -> None:
        fresh = self._path.with_suffix(".new")
        with fresh.open("w") as file:
            file.write(str(number))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)
        self._written = number
