"""What the simulated arms of a service keep: one append-only journal, shared by all of them."""

import fcntl
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec

from devices.adapter import ArmError
from devices.records import FAULTY, record_of
from schema.arms import Slot
from schema.items import ITEMS
from schema.messages import Message

JOURNAL = "simulated_arms.jsonl"
LOCK = "simulated_arms.lock"
_GROWTH = 64 * 1024 * 1024

Refusal = tuple[int, int, str, str]
"""Code, sub code, name and text of a refusal."""


class StoreError(ArmError):
    """The journal is in use by another process, or cannot be read or written; the text names file and line."""


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One line of the journal: what a slot of an arm holds from here on, or that a command was refused.

    `pair` is the (epoch, cmd_seq) of the command, None for a change by another writer; `value` is None for a refusal.
    """

    serial: str
    key: str
    mode: int
    value: Any
    pair: tuple[int, int] | None
    refusal: Refusal | None = None


SWAPS = "swaps"
"""The key of an entry whose `mode` says how often another arm took the place of the first one."""


class ArmMemory:
    """What one arm keeps: the slots that were ever set, the entry of its last command, and how often it was swapped."""

    __slots__ = ("items", "last", "swaps")

    def __init__(self) -> None:
        self.items: dict[Slot, Message] = {}
        self.last: Entry | None = None
        self.swaps = 0

    def follow(self, entry: Entry) -> None:
        """Take over one entry."""
        if entry.value is not None:
            self.items[entry.key, entry.mode] = entry.value
        if entry.pair is not None:
            self.last = entry
        if entry.key == SWAPS:
            self.swaps = entry.mode


class SimulatedStore:
    """The memory of all simulated arms of a service; opened once a directory.

    An entry survives a SIGKILL as soon as `record` returns. It is not flushed to disk: a power cut may lose the last.

    Raises:
        StoreError: another process has it open, a line is unreadable, or the directory cannot be used.
    """

    def __init__(self, directory: Path, *, growth: int = _GROWTH) -> None:
        self.path = directory / JOURNAL
        self._growth = growth
        self._encoder = msgspec.json.Encoder()
        self._arms: defaultdict[str, ArmMemory] = defaultdict(ArmMemory)
        self._lock = -1
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._load()
            self._journal = self._rewrite()
        except (OSError, StoreError) as error:
            if self._lock >= 0:
                os.close(self._lock)
            if isinstance(error, BlockingIOError):
                raise StoreError(f"{self.path} is in use by another process") from None
            if isinstance(error, OSError):
                raise StoreError(f"{self.path} cannot be used: {error}") from error
            raise

    def memory(self, serial: str) -> ArmMemory:
        """The memory of one arm, by serial number, empty at first; changed by `record` only."""
        return self._arms[serial]

    def record(self, entry: Entry) -> None:
        """Append an entry, then let the arm's memory follow it.

        Raises:
            OSError: it could not be written; nothing changed.
        """
        line = self._encoder.encode(entry) + b"\n"
        size, written = len(line), os.write(self._journal, line)
        if written != size:
            os.ftruncate(self._journal, self._size)
            raise OSError(f"{self.path}: {written} of {size} bytes written")
        self._size += size
        self._arms[entry.serial].follow(entry)
        if self._size > self._limit:
            self._compact()

    def close(self) -> None:
        """Close the journal and let go of the directory; harmless when closed."""
        if self._lock < 0:
            return
        os.close(self._journal)
        os.close(self._lock)
        self._lock = -1

    def _load(self) -> None:
        """Follow all complete lines; what stands behind the last line feed was cut off by a kill."""
        if not self.path.exists():
            return
        complete = self.path.read_bytes().rpartition(b"\n")[0]
        decoder = msgspec.json.Decoder(Entry)
        for number, line in enumerate(complete.splitlines(), 1):
            try:
                entry = decoder.decode(line)
                if entry.value is not None:
                    value = record_of(ITEMS[entry.key].record, entry.value)
                    entry = msgspec.structs.replace(entry, value=value)
            except (msgspec.DecodeError, *FAULTY) as error:
                raise StoreError(f"{self.path}, line {number}: {error}; no arm was started") from error
            self._arms[entry.serial].follow(entry)

    def _compact(self) -> None:
        """Write the journal anew; when that fails, go on with the present one."""
        try:
            journal = self._rewrite()
        except OSError:
            self._limit = self._size + self._growth
            return
        os.close(self._journal)
        self._journal = journal

    def _rewrite(self) -> int:
        """Write what the arms hold to a new journal in place of the old one; returns its descriptor, for appending."""
        fresh = self.path.with_suffix(".new")
        content = b"".join(self._encoder.encode(entry) + b"\n" for entry in self._entries())
        with fresh.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        journal = os.open(fresh, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        fresh.replace(self.path)
        self._size = len(content)
        self._limit = self._size + self._growth
        return journal

    def _entries(self) -> list[Entry]:
        """The last command of each arm, then its slots: a slot may have been changed after that command."""
        entries = []
        for serial, memory in self._arms.items():
            if memory.last is not None:
                entries.append(memory.last)
            if memory.swaps:
                entries.append(Entry(serial, SWAPS, memory.swaps, None, None))
            entries += [Entry(serial, key, mode, value, None) for (key, mode), value in memory.items.items()]
        return entries
