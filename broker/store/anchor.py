"""The anchor: what the newest commit was, kept in a file of its own beside the database.

SQLite takes a write-ahead log that was cut or removed for one that ended there. The anchor says where it ended really:
it is written into memory shared with the kernel after each commit and before anybody is told of it, so that a kill
loses nothing of it, and to the disk by a thread of its own, off the path of the commits.
"""

import hashlib
import mmap
import os
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from broker.store.errors import HistoryLostError, StoreError, store_error
from broker.store.schema import sync_directory

FILE = "store.anchor"
"""Name of the anchor in the store's directory."""
SYNC_COMMITS, SYNC_S = 100, 1.0
"""After so many commits, and so long after the first of them, the anchor is on the disk at the latest."""
_MAGIC = b"ARMBANC1"
_FORM = struct.Struct("<8sQ32sQQQQQ32s")
_SUM = 16
_SLOT = mmap.PAGESIZE
"""Slots lie in pages of their own: what damages one page leaves the other."""


class Anchor(NamedTuple):
    """What a store must still know: its own id (32 hex digits), its epoch, and the highest number of each kind."""

    store: str
    epoch: int
    commits: int
    requests: int
    changes: int
    audit: int
    audit_hash: bytes


class Found(NamedTuple):
    """An anchor as it lies on the disk: the newest whole slot, its generation, and how many slots are damaged."""

    anchor: Anchor
    generation: int
    damaged: int


def _slot(generation: int, anchor: Anchor) -> bytes:
    body = _FORM.pack(_MAGIC, generation, anchor.store.encode(), *anchor[1:])
    return body + hashlib.blake2b(body, digest_size=_SUM).digest()


def _read_slot(data: bytes) -> tuple[int, Anchor] | None:
    body, said = data[: _FORM.size], data[_FORM.size : _FORM.size + _SUM]
    if len(said) != _SUM or hashlib.blake2b(body, digest_size=_SUM).digest() != said:
        return None
    magic, generation, store, epoch, commits, requests, changes, audit, audit_hash = _FORM.unpack(body)
    anchor = Anchor(store.decode(), epoch, commits, requests, changes, audit, audit_hash)
    return (generation, anchor) if magic == _MAGIC else None


def read_anchor(directory: Path) -> Found | None:
    """The anchor of a directory; None when there is none.

    Raises:
        HistoryLostError: no slot of it is whole.
        OSError: it cannot be read.
    """
    path = directory / FILE
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    slots = [_read_slot(data[at : at + _SLOT]) for at in (0, _SLOT)]
    whole = [slot for slot in slots if slot is not None]
    if not whole:
        raise HistoryLostError(f"{path} is damaged: nobody can say whether the store is whole")
    generation, anchor = max(whole)
    return Found(anchor, generation, len(slots) - len(whole))


class AnchorFile:
    """The anchor of an open store; made anew by each start, so that both slots are whole.

    `keep` is called by one thread.
    """

    def __init__(self, directory: Path, anchor: Anchor, generation: int) -> None:
        self.report: Callable[[StoreError], None] = lambda _: None
        """What to do with an error of the disk, in a thread of this object's own."""
        self._generation = generation + 2
        self._path = directory / FILE
        slots = {at % 2: _slot(at, anchor).ljust(_SLOT, b"\0") for at in (generation + 1, generation + 2)}
        draft = directory / f"{FILE}.new"
        with draft.open("wb") as file:
            file.write(slots[0] + slots[1])
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)
        sync_directory(directory)
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        self._memory = mmap.mmap(self._descriptor, 2 * _SLOT)
        self._unsynced = 0
        self._dirty, self._due = threading.Event(), threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._sync_often, name="store-anchor", daemon=True)
        self._thread.start()

    def keep(self, anchor: Anchor) -> None:
        """Anchor a commit: safe from a kill at once, from a power cut soon. No system call."""
        self._generation = generation = self._generation + 1
        data = _slot(generation, anchor)
        start = _SLOT * (generation % 2)
        self._memory[start : start + len(data)] = data
        self._unsynced += 1
        if not self._dirty.is_set():
            self._dirty.set()
        if self._unsynced >= SYNC_COMMITS:
            self._due.set()

    def sync(self) -> None:
        """Put what was kept on the disk.

        Raises:
            OSError: the disk does not take it.
        """
        self._unsynced = 0
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        """End the thread, put the last commit on the disk, and close; harmless when closed."""
        if self._closing:
            return
        self._closing = True
        self._dirty.set()
        self._due.set()
        self._thread.join()
        try:
            self.sync()
        finally:
            self._memory.close()
            os.close(self._descriptor)

    def _sync_often(self) -> None:
        while True:
            self._dirty.wait()
            self._due.wait(SYNC_S)
            if self._closing:
                return
            self._due.clear()
            self._dirty.clear()
            try:
                self.sync()
            except OSError as error:
                self.report(store_error(error))
                return
