"""Copies the write-ahead log into the file, in a thread and on a connection of its own, while commits go on.

A commit that does it on its way keeps everybody waiting for as long as the disk takes. The one after the whole log was
copied begins it again. Where commits come too fast for that, the little that came meanwhile is left to `finish`, which
lets no commit pass.
"""

import os
import sqlite3
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import structlog

from broker.store.errors import StoreError, is_damage, store_error
from broker.store.schema import connect_copier

log = structlog.get_logger()

LONG = 3_000
"""Frames of a log that is copied; a frame is a page."""
LEFT = 1_000
"""Frames of a log that is copied once nobody commits any more: a load was there."""
TIMES, LONGER = 2, 4_500
"""So many times in a row it is copied while commits go on, unless none came meanwhile; `finish` is for longer ones."""
AGAIN_S, AGAIN_LATEST_S = 1.0, 60.0
"""How long a log is left that could not be copied: at first, and after many failures."""
_HEAD, _FRAME = 32, 24
"""Bytes of the head of a log, and of the head of each frame."""
_SALTS = slice(16, 24)
_FRAME_SALTS = slice(8, 16)


class Rest(NamedTuple):
    """How long nothing is looked at, None: for ever; and whether the next commit ends that."""

    seconds: float | None
    listens: bool = True


LOOK, QUIET, IDLE = Rest(0.1, listens=False), Rest(5.0), Rest(None)
"""While commits come; when none came since the last look; and when none came after that, either."""


def reaches(path: Path, frames: int) -> bool:
    """Whether a write-ahead log has so many frames, of its present round: those behind its end have other salts.

    Raises:
        OSError: it cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        head = os.pread(descriptor, _HEAD, 0)
        if len(head) < _HEAD:
            return False
        (page,) = struct.unpack_from(">I", head, 8)
        frame = os.pread(descriptor, _FRAME, _HEAD + (frames - 1) * (page + _FRAME))
        return frame[_FRAME_SALTS] == head[_SALTS]
    finally:
        os.close(descriptor)


class Checkpoints:
    """Looks at the log of `path` while commits come, and copies it when it is long, or once it is quiet.

    `commits` gives the number of the last commit, `tell_next` takes what is called after the next one. `finish` copies
    the rest while nothing is committed, `fail` gets what ends the store; both are called in the thread of this object.
    """

    def __init__(
        self, path: Path, commits: Callable[[], int], tell_next: Callable[[Callable[[], None]], None],
        finish: Callable[[], None], fail: Callable[[StoreError], None],
    ) -> None:  # fmt: skip
        self._path, self._log = path, path.with_name(f"{path.name}-wal")
        self._commits, self._tell_next = commits, tell_next
        self._finish, self._fail = finish, fail
        self._connection: sqlite3.Connection | None = None
        self._seen, self._quiet = -1, 0
        self._again_s = AGAIN_S
        self._woken, self._stopping = threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="store-checkpoints", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Give up what is left and wait for the thread."""
        self._stopping = True
        self._woken.set()
        if self._thread.ident is not None:
            self._thread.join()
        if self._connection is not None:
            self._connection.close()

    def turn(self) -> Rest:
        """Copy the log if it is time to; how long to rest then."""
        commits = self._commits()
        self._quiet = self._quiet + 1 if commits == self._seen else 0
        self._seen = commits
        rest = (LOOK, QUIET, IDLE)[min(self._quiet, 2)]
        try:
            whole = not reaches(self._log, LEFT if rest is IDLE else LONG) or self._copy()
        except (StoreError, sqlite3.Error, OSError) as error:
            return self._failed(error)
        self._again_s = AGAIN_S
        return rest if whole or rest is not IDLE else Rest(AGAIN_S, listens=False)

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._rest(self.turn())
        except Exception as error:  # noqa: BLE001 - whatever it was, nobody else copies the log
            self._fail(store_error(error))

    def _rest(self, rest: Rest) -> None:
        if rest.listens:
            self._tell_next(self._woken.set)
        if not (self._stopping or (rest.listens and self._commits() != self._seen)):
            self._woken.wait(rest.seconds)
        self._woken.clear()

    def _copy(self) -> bool:
        """Copy the log; whether no reader of an old state, nor a commit that copies it itself, stood in the way."""
        if self._connection is None:
            self._connection = connect_copier(self._path)
        for _ in range(TIMES):
            ((busy, frames, copied),) = self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            if busy or copied < frames:
                return False
            if self._stopping or not reaches(self._log, frames + 1):
                return True
        if reaches(self._log, LONGER):
            self._finish()
        return True

    def _failed(self, error: StoreError | sqlite3.Error | OSError) -> Rest:
        """What was committed stands in the log as before."""
        if is_damage(error):
            self._fail(store_error(error))
            return IDLE
        again_s, self._again_s = self._again_s, min(2 * self._again_s, AGAIN_LATEST_S)
        log.warning("checkpoint_failed", file=str(self._path), why=str(store_error(error)), again_s=again_s)
        return Rest(again_s, listens=False)
