"""The memory of arms that cannot fence: which command an arm was given last, and what it answered."""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import structlog

from devices.adapter import ArmError, ArmRefusedError, Command
from devices.records import FAULTY, record_of
from devices.refusals import refused
from schema.items import ITEMS
from schema.messages import Message

log = structlog.get_logger()

Pair = tuple[int, int]
"""(epoch, cmd_seq) of a command."""
Refusal = tuple[int, int, str, str]
"""Code, sub code, name and text of a refusal."""
Send = Callable[[Command], Awaitable[Message | None]]
"""Carries a command out: `ArmAdapter.write` without a fence."""


class FenceError(ArmError):
    """The file of a fence cannot be used; the text names it."""


class Answered(NamedTuple):
    """What an arm acknowledged a command with: the value of a RESET, else None."""

    value: Message | None


class _Last(msgspec.Struct, frozen=True, array_like=True):
    """The last command, as the file has it: its pair, the item of its slot, and the answer if there is one."""

    pair: Pair
    key: str = ""
    answered: bool = False
    value: Any = None
    refusal: Refusal | None = None


class Fence:
    """Remembers in the file `path` the last command of one arm; each arm has a file of its own.

    What `begin` and `answered` return from survives a kill and a power cut. They write to the disk and wait for it (a
    millisecond, or hundreds on a busy disk): on an event loop use `carry_out`, which leaves them to a thread.

    Raises:
        FenceError: the file cannot be read. It is never taken for an empty one: the arm would take old commands.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._last = self._load()

    @property
    def last(self) -> Pair:
        """The highest (epoch, cmd_seq) that the arm was given, (0, 0) at first: for `Description.fence`."""
        return self._last.pair

    def begin(self, command: Command) -> Answered | None:
        """Remember that a command goes out; None lets it be carried out.

        The last command again is answered as it was before, or carried out again when it never was answered.

        Raises:
            ArmRefusedError: METHOD_FAILED for a lower pair, DATABASE_ERROR when it cannot be remembered (send nothing
                then), or the refusal that the arm answered this pair with.
        """
        pair = (command.epoch, command.cmd_seq)
        with self._lock:
            last = self._last
            if pair < last.pair:
                raise refused("METHOD_FAILED", f"command {pair} is older than {last.pair}")
            if pair > last.pair:
                try:
                    self._keep(_Last(pair, command.slot[0]))
                except OSError as error:
                    raise refused("DATABASE_ERROR", f"the command cannot be remembered: {error}") from error
                return None
        if last.refusal is not None:
            raise ArmRefusedError(*last.refusal)
        return Answered(last.value) if last.answered else None

    def answered(self, command: Command, answer: Message | ArmRefusedError | None) -> None:
        """Remember what the arm answered; nothing happens when a later command has begun.

        Raises:
            OSError: it cannot be remembered; the command would be carried out again if it came again.
        """
        refusal = None
        if isinstance(answer, ArmRefusedError):
            refusal, answer = (answer.code, answer.sub_code, answer.name, str(answer)), None
        pair = (command.epoch, command.cmd_seq)
        with self._lock:
            if pair == self._last.pair:
                self._keep(_Last(pair, command.slot[0], True, answer, refusal))

    async def carry_out(self, command: Command, send: Send) -> Message | None:
        """Let `send` carry a command out unless the arm had it already; returns or raises what the arm answered.

        Raises:
            ArmRefusedError: see `begin`, or by `send`.
            ArmError: by `send`; the command stays without an answer.
        """
        known = await asyncio.to_thread(self.begin, command)
        if known is not None:
            return known.value
        try:
            value = await send(command)
        except ArmRefusedError as refusal:
            await self._remember(command, refusal)
            raise
        await self._remember(command, value)
        return value

    async def _remember(self, command: Command, answer: Message | ArmRefusedError | None) -> None:
        """Keep an answer if possible: that it cannot be kept does not change what the arm did."""
        try:
            await asyncio.to_thread(self.answered, command, answer)
        except OSError as error:
            log.warning("fence_answer_lost", file=str(self._path), cmd_seq=command.cmd_seq, why=str(error))

    def _load(self) -> _Last:
        try:
            last = msgspec.json.decode(self._path.read_bytes(), type=_Last)
            value = None if last.value is None else record_of(ITEMS[last.key].record, last.value)
        except FileNotFoundError:
            return _Last((0, 0))
        except (OSError, msgspec.DecodeError, *FAULTY) as error:
            raise FenceError(f"{self._path} cannot be used: {error}; remove it to forget the last command") from error
        return msgspec.structs.replace(last, value=value)

    def _keep(self, last: _Last) -> None:
        """Put a new file in the place of the old one, durably."""
        fresh = self._path.with_name(self._path.name + ".new")
        with fresh.open("wb") as file:
            file.write(msgspec.json.encode(last))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)
        directory = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
        self._last = last
