"""Lets agents misbehave, as told in JSON lines: for tests and trials only."""

import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from armbroker.agent.session import Said
from devices.adapter import ArmRefusedError, FaultyArm
from devices.mqtt_agent.documents import UnreadableError
from devices.mqtt_agent.values import from_value, slot_of
from schema.arms import Fault

Leaf = Literal["birth", "death", "ack", "report"]


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    """One line: `fault` is one of SimFault, with its parameters; or one of those below.

    `garble` makes the next `count` messages on `leaf` unreadable, `swallow` loses them, `say` publishes `payload`.
    """

    arm: str
    fault: str = ""
    for_ms: int = 0
    delay_ms: int = 0
    item: str = ""
    slot: str = ""
    value: Any = None
    garble: Leaf | None = None
    swallow: Leaf | None = None
    count: int = 1
    say: Leaf | None = None
    payload: str = ""
    retain: bool = False


class Bender:
    """What one agent says instead of what it should."""

    def __init__(self) -> None:
        self.garble: Counter[str] = Counter()
        self.swallow: Counter[str] = Counter()

    def bend(self, said: Said) -> Said | None:
        """What is published instead; None: nothing."""
        if self.swallow[said.leaf] > 0:
            self.swallow[said.leaf] -= 1
            return None
        if self.garble[said.leaf] > 0:
            self.garble[said.leaf] -= 1
            return said._replace(payload=b'{"session":')
        return said


class Misbehaviour:
    """Carries out lines; `say` publishes as one of the arms."""

    def __init__(
        self,
        arms: Mapping[str, FaultyArm],
        benders: Mapping[str, Bender],
        say: Callable[[str, Said], None],
    ) -> None:
        self._arms = arms
        self._benders = benders
        self._say = say

    def obey(self, line: bytes) -> str:
        """Carry out one line; "ok", or what is wrong with it."""
        try:
            given = msgspec.json.decode(line, type=_Line)
            self._obey(given)
        except (msgspec.DecodeError, KeyError, UnreadableError, ArmRefusedError) as error:
            return f"{type(error).__name__}: {error}"
        return "ok"

    def _obey(self, given: _Line) -> None:
        bender = self._benders[given.arm]
        if given.garble is not None:
            bender.garble[given.garble] = given.count
        if given.swallow is not None:
            bender.swallow[given.swallow] = given.count
        if given.say is not None:
            self._say(given.arm, Said(given.say, given.payload.encode(), given.retain))
        if given.fault:
            self._arms[given.arm].inject(_fault(given))


def _fault(given: _Line) -> Fault:
    slot = slot_of(given.item, given.slot) if given.item else None
    value = None if slot is None or given.value is None else from_value(slot, given.value)
    return Fault(given.fault, given.for_ms, given.delay_ms, slot, value)


async def obey_input(misbehaviour: Misbehaviour) -> None:
    """Carry out the lines of standard input until its end; answers each on standard output."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        sys.stdout.write(f"{misbehaviour.obey(line)}\n")
        sys.stdout.flush()
