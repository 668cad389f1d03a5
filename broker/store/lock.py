"""One process per directory."""

import fcntl
import os
from pathlib import Path

from broker.store.errors import StoreLockedError, store_error


class DirectoryLock:
    """Makes and holds a directory until released or the process ends.

    Raises:
        StoreLockedError: another process holds it.
        StoreBrokenError: it cannot be made or written.
    """

    def __init__(self, directory: Path) -> None:
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._descriptor = os.open(directory / "store.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise store_error(error) from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._descriptor)
            raise StoreLockedError(f"{directory} is in use by another process") from error

    def release(self) -> None:
        """Let another process in."""
        os.close(self._descriptor)
