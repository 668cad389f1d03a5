"""The adapter: `AcmeArm` is what the entry point names."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, ClassVar

from msgspec import Meta

from acme_adapter.lines import LineLink
from acme_adapter.values import METHODS, SLOTS, VALUES
from armbroker.adapters import (
    Activity,
    AdapterAbout,
    AdapterOptions,
    ArmChange,
    ArmUnreadableError,
    Command,
    Deadlines,
    Description,
    Fence,
    FleetContext,
    JointInfo,
    LinkState,
    Notice,
    Setting,
    Slot,
    Snapshot,
    Verb,
    messages,
    read_options,
    refused,
)

REASONS = {
    "too_large": "VALUE_IS_ABOVE_MAXIMUM",
    "malformed": "INVALID_PARAM",
    "moving": "DEVICE_NOT_READY",
    "unknown": "UNSUPPORTED_METHOD",
}
"""Kinova's name for each reason of the arm; METHOD_FAILED for others."""

ACTIVITIES = {"ready": Activity.IDLE, "moving": Activity.MOVING}
"""What the arm does in each of the states that it tells."""

_WORDS_OF_WHO = 4
"""At least: model, serial number, firmware and the speed of one joint."""


class AcmeOptions(AdapterOptions, frozen=True):
    """The options of an Acme arm in `fleet.toml`."""

    host: Annotated[str, Meta(min_length=1, description="name or address of its controller")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=1, le=65_535, description="TCP port of its controller")] = 4001


class AcmeArm:
    """One arm: an `ArmAdapter`."""

    resolution_rad = 0.0
    methods = METHODS
    items = frozenset(key for key, _ in VALUES)
    deadlines = Deadlines(connect_s=2.0, read_s=1.0, write_s=2.0)
    about: ClassVar = AdapterAbout(
        purpose="arms of Acme, which do not exist: a template",
        options=AcmeOptions,
        methods=methods,
        items=items,
        deadlines=deadlines,
        activities=frozenset(ACTIVITIES.values()),
        rig="acme_adapter.rig:make",
    )

    def __init__(self, options: AcmeOptions, fence: Fence) -> None:
        self._link = LineLink(options.host, options.port, self._hear, self._lose)
        self._fence = fence
        self._sink: Callable[[Notice], None] | None = None

    @classmethod
    def open_fleet(cls, context: FleetContext) -> "AcmeFleet":
        """All arms of this kind in one service."""
        return AcmeFleet(context.directory)

    async def connect(self) -> Description:
        """Open the link, and ask the arm what it is."""
        await self._link.open(self.deadlines.connect_s)
        model, serial, firmware, *speeds = await self._who()
        limits = messages.KinematicLimits(twist_linear=1.0, joint_speed_limits=_numbers(speeds))
        self._hear(["state", *await self._ask("state")])
        return Description(
            model=model,
            serial=serial,
            firmware=firmware,
            joints=tuple(JointInfo(f"joint_{number}", "revolute") for number in range(1, len(speeds) + 1)),
            hard_limits=limits,
            hard_source="hard:device",
            payload_max=5.0,
            modes_settable=(),
            fence=self._fence.last,
        )

    async def read_all(self) -> Snapshot:
        """Everything that the arm holds."""
        return Snapshot({slot: await self.read(slot) for slot in VALUES})

    async def read(self, slot: Slot) -> messages.Message:
        """One value."""
        if slot not in VALUES:
            raise refused("UNSUPPORTED_METHOD", f"{slot[0]}: an Acme arm has no such value")
        return _record(slot, await self._ask("get", VALUES[slot].name))

    async def write(self, command: Command) -> messages.Message | None:
        """Set or reset: the arm cannot tell old commands from new ones, so a fence does."""
        return await self._fence.carry_out(command, self._send)

    def watch(self, sink: Callable[[Notice], None]) -> None:
        """Who hears what the arm tells."""
        self._sink = sink

    async def close(self) -> None:
        """Close the link; nothing is told any more."""
        self._sink = None
        await self._link.close()

    async def _who(self) -> list[str]:
        words = await self._ask("who")
        if len(words) < _WORDS_OF_WHO:
            raise ArmUnreadableError(f"{words} does not say what the arm is")
        return words

    async def _send(self, command: Command) -> messages.Message | None:
        slot, value = command.slot, command.value
        if slot not in VALUES:
            raise refused("UNSUPPORTED_METHOD", f"{slot[0]}: an Acme arm has no such value")
        if command.verb is Verb.RESET:
            return _record(slot, await self._ask("reset", VALUES[slot].name, within_s=self.deadlines.write_s))
        numbers = map(str, VALUES[slot].numbers(value))
        await self._ask("set", VALUES[slot].name, *numbers, within_s=self.deadlines.write_s)
        return None

    async def _ask(self, *words: str, within_s: float = deadlines.read_s) -> list[str]:
        """Ask the arm; the words after `ok`."""
        verdict, *rest = await self._link.ask(*words, within_s=within_s)
        if verdict == "no":
            reason = " ".join(rest)
            raise refused(REASONS.get(reason, "METHOD_FAILED"), f"{' '.join(words)}: {reason}")
        if verdict != "ok":
            raise ArmUnreadableError(f"{verdict!r} is neither ok nor no")
        return rest

    def _hear(self, words: list[str]) -> None:
        """What the arm says unasked; what it does not know of is passed over."""
        match words:
            case ["state", state]:
                ready, activity = state == "ready", ACTIVITIES.get(state, Activity.UNKNOWN)
                self._tell(LinkState(online=True, ready=ready, why="" if ready else "the arm moves", activity=activity))
            case [name] if name in SLOTS:
                self._tell(ArmChange(event=0, slot=SLOTS[name], ours=False))

    def _lose(self, why: str) -> None:
        self._tell(LinkState(online=False, ready=False, why=why))

    def _tell(self, notice: Notice) -> None:
        if self._sink is not None:
            self._sink(notice)


class AcmeFleet:
    """All arms of this kind in one service: an `ArmFleet`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def arm(self, name: str, model: str, options: Mapping[str, Setting]) -> AcmeArm:
        """The adapter of one arm; nothing is opened yet."""
        del model  # the arm tells it
        return AcmeArm(read_options(name, options, AcmeOptions), Fence(self._directory / f"{name}.fence"))

    def close(self) -> None:
        """They share nothing."""


def _numbers(words: list[str]) -> tuple[float, ...]:
    try:
        return tuple(map(float, words))
    except ValueError as error:
        raise ArmUnreadableError(f"{words} are no numbers") from error


def _record(slot: Slot, words: list[str]) -> messages.Message:
    try:
        return VALUES[slot].record(*_numbers(words))
    except TypeError as error:
        raise ArmUnreadableError(f"{words} are too many or too few for {slot[0]}") from error
