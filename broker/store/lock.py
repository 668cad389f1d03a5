"""One process per directory."""

import fcntl
import os
from pathlib import Path

from broker.store.errors import StoreLockedError


class DirectoryLock:
    """Holds a directory until released or the process ends; StoreLockedError when another process holds it."""

    def __init__(self, directory: Path) -> None:
        self._descriptor = os.open(directory / "store.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._descriptor)
            raise StoreLockedError(f"{directory} is in use by another process") from error

    def release(self) -> None:
        """Let another process in."""
        os.close(self._descriptor)
