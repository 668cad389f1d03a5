"""What a service wrote to its disk, and told, in order; and the files that a power cut at any moment may leave.

Recorded by strace. What a file's last sync covered is on the disk; every write after that may be there, or not, or torn
between sectors. Names are taken to be on the disk at once.
"""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

CALLS = "pwrite64,write,ftruncate,fsync,fdatasync,rename,unlink,openat,sendto"
LONGEST = 1_200_000
"""Bytes of one call that are recorded."""
SECTOR = 512
ANCHOR_LOG, ANCHOR = "anchor.log", "store.anchor"
PAGE = 4096
_CALL = re.compile(r"^(?P<pid>\d+) +(?P<call>\w+)\((?P<rest>.*)$")
_RESUMED = re.compile(r"^(?P<pid>\d+) +<\.\.\. (?P<call>\w+) resumed>(?P<rest>.*)$")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
_DESCRIPTOR = re.compile(r"^\d+<((?:\\x[0-9a-f]{2})*|[^>]*)>")
_REPLY = re.compile(rb'\{"id":"[^"]+","arm":')
_EVENT = re.compile(rb'\{"arm":"([^"]+)","epoch":(\d+),"seq":(\d+),"prev":')
_ADDRESS = re.compile(rb"/res/([\w.-]+)/([\w.-]+)/[\w-]+")


class Step(NamedTuple):
    """One thing that happened: `call` is write, sync, cut, rename, remove, make or told; others as it needs them.

    A sync that others wrote beside is told twice, `begun` and then sync, both with its thread as `data`.
    """

    call: str
    name: str = ""
    offset: int = 0
    data: bytes = b""


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


def steps(log: Path, directory: Path) -> list[Step]:
    """The steps of a log, of the files in one directory and of what was sent."""
    begun: dict[str, str] = {}
    found: list[Step] = []
    reader = _Reader(directory)
    with log.open(encoding="ascii", errors="replace") as file:
        for line in file:
            resumed = _RESUMED.match(line)
            if resumed is not None:
                rest = begun.pop(resumed["pid"] + resumed["call"], "") + resumed["rest"]
                syncs = list(reader.syncs(resumed["pid"], resumed["call"], rest))
                found += syncs or reader.steps(resumed["call"], rest)
            elif (call := _CALL.match(line)) is not None:
                if call["rest"].endswith("<unfinished ...>"):
                    rest = begun[call["pid"] + call["call"]] = call["rest"].removesuffix("<unfinished ...>")
                    found += (step._replace(call="begun") for step in reader.syncs(call["pid"], call["call"], rest))
                else:
                    found += reader.steps(call["call"], call["rest"])
    return found


class _Reader:
    """Makes steps of calls."""

    def __init__(self, directory: Path) -> None:
        self._directory = f"{directory.resolve()}/"
        self._sizes: dict[str, int] = {}

    def _name(self, path: bytes) -> str:
        text = path.decode(errors="replace")
        name = text.removeprefix(self._directory)
        return name if name != text and "/" not in name and not name.endswith(("-shm", ".lock")) else ""

    def syncs(self, pid: str, call: str, rest: str) -> Iterator[Step]:
        """The sync of a thread that others went on beside."""
        if call in ("fsync", "fdatasync"):
            yield from (step._replace(data=pid.encode()) for step in self.steps(call, rest))

    def steps(self, call: str, rest: str) -> Iterator[Step]:
        """The steps of one call; none of those that failed or concern other files."""
        if ") = -" in rest or ") = ?" in rest:
            return
        texts = [_bytes(found[1]) for found in _TEXT.finditer(rest)]
        if call in ("rename", "unlink", "openat"):
            yield from self._of_names(call, rest, [self._name(text) for text in texts])
            return
        descriptor = _DESCRIPTOR.match(rest)
        if call == "sendto":
            yield Step("told", data=texts[0] if texts else b"")
        elif descriptor is not None and "\\x" in descriptor[1] and (name := self._name(_bytes(descriptor[1]))):
            yield from self._of_file(call, rest, name, texts)

    def _of_names(self, call: str, rest: str, names: list[str]) -> Iterator[Step]:
        if call == "rename" and all(names):
            self._sizes[names[1]] = self._sizes.pop(names[0], 0)
            yield Step("rename", names[0], data=names[1].encode())
        elif call == "unlink" and names[0]:
            self._sizes.pop(names[0], None)
            yield Step("remove", names[0])
        elif call == "openat" and names[0] and self._is_new(names[0], rest):
            self._sizes[names[0]] = 0
            yield Step("make", names[0])

    def _is_new(self, name: str, rest: str) -> bool:
        """Whether a file is empty once it is opened."""
        return "O_CREAT" in rest and ("O_TRUNC" in rest or name not in self._sizes)

    def _of_file(self, call: str, rest: str, name: str, texts: list[bytes]) -> Iterator[Step]:
        if call in ("fsync", "fdatasync"):
            yield Step("sync", name)
        elif call == "ftruncate":
            yield Step("cut", name, int(rest.rpartition(")")[0].rpartition(",")[2]))
        elif name == ANCHOR_LOG:
            yield Step("write", ANCHOR, texts[0][0] * PAGE, texts[0][1:])
        elif call == "pwrite64":
            yield Step("write", name, int(rest.rpartition(")")[0].rpartition(",")[2]), texts[0])
        else:
            at = self._sizes.get(name, 0)
            self._sizes[name] = at + len(texts[0])
            yield Step("write", name, at, texts[0])


class Disk:
    """Files as they may be after a power cut."""

    def __init__(self) -> None:
        self._durable: dict[str, bytearray] = {}
        self._pending: dict[str, list[Step]] = {}
        self._begun: dict[tuple[str, bytes], list[Step]] = {}

    def take(self, step: Step) -> None:
        """One more step was done before the cut."""
        if step.call == "make":
            self._durable[step.name], self._pending[step.name] = bytearray(), []
        elif step.call == "remove":
            self._durable.pop(step.name, None)
            self._pending.pop(step.name, None)
        elif step.call == "rename":
            name = step.data.decode()
            self._durable[name] = self._durable.pop(step.name, bytearray())
            self._pending[name] = self._pending.pop(step.name, [])
        elif step.call == "begun":
            self._begun[step.name, step.data] = list(self._pending.get(step.name, []))
        elif step.call == "sync":
            self._sync(step)
        elif step.call in ("write", "cut"):
            self._durable.setdefault(step.name, bytearray())
            self._pending.setdefault(step.name, []).append(step)

    def _sync(self, step: Step) -> None:
        """What was written before a sync began is on the disk; what came beside it need not be."""
        pending = self._pending.get(step.name, [])
        covered = {id(one) for one in self._begun.pop((step.name, step.data), pending)}
        for one in pending:
            if id(one) in covered:
                _apply(self._durable.setdefault(step.name, bytearray()), one)
        self._pending[step.name] = [one for one in pending if id(one) not in covered]

    def cut(self, dice: random.Random, target: Path) -> int:
        """Write into a directory what a power cut now may leave; how many writes were lost or torn."""
        lost = 0
        for name, durable in self._durable.items():
            content = bytearray(durable)
            kept = dice.choice((0.0, 1.0, dice.random()))
            for step in self._pending.get(name, []):
                chance = dice.random()
                if chance < kept:
                    _apply(content, step)
                else:
                    lost += 1
                    if step.call == "write" and chance < (1 + kept) / 2:
                        _tear(content, step, dice)
            (target / name).write_bytes(content)
        return lost


def _apply(content: bytearray, step: Step) -> None:
    if step.call == "cut":
        del content[step.offset :]
        content.extend(bytes(step.offset - len(content)))
        return
    end = step.offset + len(step.data)
    content.extend(bytes(max(0, end - len(content))))
    content[step.offset : end] = step.data


def _tear(content: bytearray, step: Step, dice: random.Random) -> None:
    """Some sectors of a write came to the disk."""
    for at in range(0, len(step.data), SECTOR):
        if dice.random() < 0.5:
            _apply(content, Step("write", step.name, step.offset + at, step.data[at : at + SECTOR]))


class Told:
    """What the service had told by then: replies by user, connection and id, and events by arm."""

    def __init__(self) -> None:
        self.replies: dict[tuple[str, str, str], dict[str, object]] = {}
        self.events: dict[str, int] = {}
        self._tail = b""

    def take(self, data: bytes) -> None:
        """Look through what was sent."""
        text = self._tail + data
        ends = 0
        for found in _REPLY.finditer(text):
            address = next(reversed(list(_ADDRESS.finditer(text, 0, found.start()))), None)
            try:
                reply, length = json.JSONDecoder().raw_decode(text[found.start() :].decode("utf-8", "replace"))
            except ValueError:
                continue
            ends = found.start() + length
            if address is not None:
                self.replies[address[1].decode(), address[2].decode(), reply["id"]] = reply
        for event in _EVENT.finditer(text):
            arm, seq = event[1].decode(), int(event[3])
            self.events[arm] = max(seq, self.events.get(arm, 0))
        self._tail = text[ends:][-PAGE:]
