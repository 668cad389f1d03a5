"""What the service asks of the code that speaks to one arm."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import msgspec

from schema.arms import Activity, Description, Fault, Slot, Verb
from schema.messages import Message

Setting = str | int | float | bool
"""The value of an option of an arm."""


class Snapshot(msgspec.Struct, frozen=True):
    """All values of an arm at one moment; `items` holds control_mode too."""

    items: dict[Slot, Message]


class Command(msgspec.Struct, frozen=True):
    """One device command; (epoch, cmd_seq) orders it.

    An arm refuses a lower pair and answers the same pair with the stored acknowledgement.
    """

    epoch: int
    cmd_seq: int
    verb: Verb
    slot: Slot
    value: Message | None
    """The whole message of the item for SET; None for RESET."""


class ArmChange(msgspec.Struct, frozen=True):
    """The arm says that something changed (or was set to the same value).

    `event` is Kinova's number, 0 for a control mode event; `slot` what to read again, None for "read everything" or an
    event without a value; `ours` when our own link caused it.
    """

    event: int
    slot: Slot | None
    ours: bool
    connection: str = ""


class LinkState(msgspec.Struct, frozen=True):
    """The link to the arm came up or went down; `ready` is false while the arm takes no change.

    `activity` is what the arm does, UNKNOWN where it cannot be told.
    """

    online: bool
    ready: bool
    why: str = ""
    activity: Activity = Activity.UNKNOWN


class Reread(msgspec.Struct, frozen=True):
    """What the arm told may be incomplete, for reports were lost: everything is to be read again."""

    why: str


Notice = ArmChange | LinkState | Reread


class ArmError(Exception):
    """Root of what an adapter raises."""


class ArmAwayError(ArmError):
    """The link is down: nothing was sent."""


class ArmTimeoutError(ArmError):
    """No answer in time: the outcome is unknown."""


class ArmUnreadableError(ArmTimeoutError):
    """The arm answered what cannot be read: the outcome is as unknown as without an answer."""


class ArmRefusedError(ArmError):
    """The arm answered with an error and took nothing.

    Attributes:
        code: `Kinova.Api.ErrorCodes` number.
        sub_code: `Kinova.Api.SubErrorCodes` number.
        name: name of the sub code.
    """

    def __init__(self, code: int, sub_code: int, name: str, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.sub_code = sub_code
        self.name = name


class AdapterSettingError(ArmError):
    """A setting of an arm that its adapter cannot use; the text names arm, setting and value.

    Attributes:
        option: the option that is wrong; empty where it is something else, the model for instance.
    """

    def __init__(self, text: str, option: str = "") -> None:
        super().__init__(text)
        self.option = option


class Deadlines(NamedTuple):
    """How long an adapter waits, in seconds: for a link, for the answer to a read, for the answer to a write."""

    connect_s: float = 2.0
    read_s: float = 2.0
    write_s: float = 5.0


class ArmAdapter(Protocol):
    """One arm. Methods are called by one task at a time.

    What makes an outcome unknown is `ArmTimeoutError` alone; a cancelled write was sent and may take effect.
    """

    resolution_rad: float
    """What the arm keeps of an angular quantity, in radians; 0 = float32 only, as for all other quantities."""
    methods: frozenset[str]
    """Names of the methods of the protocol that this arm can do."""
    items: frozenset[str]
    """Keys of the config items whose values this arm holds, all of them read by `read_all`."""
    deadlines: Deadlines
    """How long its calls take at most."""

    async def connect(self) -> Description:
        """Open the link and describe the arm.

        One that takes no change now, or tells what it does, tells a `LinkState` before this returns.

        Raises:
            ArmAwayError: no link.
            ArmTimeoutError: no answer.
        """
        ...

    async def read_all(self) -> Snapshot:
        """Read every value.

        Raises:
            ArmError: as `read`.
        """
        ...

    async def read(self, slot: Slot) -> Message:
        """Read one value.

        Raises:
            ArmAwayError: no link.
            ArmTimeoutError: no answer.
            ArmRefusedError: the arm refused.
        """
        ...

    async def write(self, command: Command) -> Message | None:
        """Write one value; a RESET returns the value that the arm took.

        Raises:
            ArmAwayError: no link, nothing was sent.
            ArmTimeoutError: sent, no answer.
            ArmRefusedError: the arm refused and took nothing.
        """
        ...

    def watch(self, sink: Callable[[Notice], None]) -> None:
        """Call `sink` on the event loop for each thing the arm tells by itself, in order, until closed.

        Set before `connect`. A callback rather than an iterator: ten thousand arms are rows, not tasks.
        """
        ...

    async def close(self) -> None:
        """Close the link; harmless when closed."""
        ...


class BusListener(Protocol):
    """Who hears what one arm that speaks MQTT says."""

    def heard(self, leaf: str, payload: bytes, *, retained: bool) -> None:
        """A message on `dev/<arm>/<leaf>`; called on the event loop, in order. `retained`: it lay on the server."""
        ...

    def bus_changed(self, *, up: bool) -> None:
        """The connection to the MQTT server came up or was lost; what was published meanwhile may be lost."""
        ...


class DeviceBus(Protocol):
    """The topics `dev/<arm>/...` of the MQTT server, for adapters whose arms speak MQTT."""

    def listen(self, arm: str, listener: BusListener) -> None:
        """Let `listener` hear what the arm says from now on, retained messages first."""
        ...

    def forget(self, arm: str) -> None:
        """Hear no more of an arm; harmless when nobody listened."""
        ...

    def publish(self, arm: str, leaf: str, payload: bytes, *, expiry_s: int = 0) -> None:
        """Publish on `dev/<arm>/<leaf>`, QoS 1, not retained; kept for `expiry_s` seconds at most (0: without end).

        Raises:
            ArmAwayError: there is no connection to the MQTT server; nothing was published.
        """
        ...


class NoBus:
    """A `DeviceBus` where there is no MQTT server."""

    def listen(self, arm: str, listener: BusListener) -> None:
        """See `DeviceBus.listen`.

        Raises:
            AdapterSettingError: always.
        """
        del listener
        raise AdapterSettingError(f"arm {arm}: its adapter needs an MQTT server")

    def forget(self, arm: str) -> None:
        """See `DeviceBus.forget`."""

    def publish(self, arm: str, leaf: str, payload: bytes, *, expiry_s: int = 0) -> None:
        """See `DeviceBus.publish`.

        Raises:
            ArmAwayError: always.
        """
        del leaf, payload, expiry_s
        raise ArmAwayError(f"arm {arm}: there is no MQTT server")


class FleetContext(NamedTuple):
    """What the service gives the arms of one adapter."""

    directory: Path
    """For files that they keep; exists."""
    bus: DeviceBus = NoBus()


class ArmFleet(Protocol):
    """The arms of one adapter in one service, and what they share."""

    def arm(self, name: str, model: str, options: Mapping[str, Setting]) -> ArmAdapter:
        """Build the adapter of one arm; `options` are the arm's own settings.

        Raises:
            AdapterSettingError: unknown model or option, or a value out of bounds.
        """
        ...

    def close(self) -> None:
        """Let go of what the arms share, after all of them were closed; harmless when closed."""
        ...


@runtime_checkable
class PromptArm(Protocol):
    """An adapter whose arm can answer without any waiting; its description tells the fence.

    Several commands of such an arm are numbered ahead of it: after a crash the fence tells which of them it was given.
    """

    @property
    def prompt(self) -> bool:
        """Whether it answers without waiting now."""
        ...

    def exchange_now(self, command: Command) -> Message | None:
        """Write one value and read it back; None when that cannot be done without waiting: nothing was sent.

        Raises:
            ArmAwayError: no link, nothing was sent.
            ArmTimeoutError: sent, or perhaps; nothing was read.
            ArmRefusedError: the arm refused and took nothing.
        """
        ...

    def read_now(self, slot: Slot) -> Message | None:
        """Read one value; None when that cannot be done without waiting.

        Raises:
            ArmError: as `ArmAdapter.read`.
        """
        ...


@runtime_checkable
class FaultyArm(Protocol):
    """A simulated arm that can be told to misbehave (method SimFault)."""

    def inject(self, fault: Fault) -> None:
        """Begin a fault at once; `none` ends all. Called on the event loop.

        Raises:
            ArmRefusedError: an unknown fault, or a `foreign_change` that the arm does not take; nothing changed.
        """
        ...
