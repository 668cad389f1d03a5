"""One row of the table of methods."""

import enum
from collections.abc import Callable, Mapping

import msgspec

from handlers.rpc.outcome import Outcome
from handlers.rpc.request import Request
from handlers.state.arm_state import ArmState
from schema.messages import Message


class Access(enum.Enum):
    """What a method touches."""

    READ = "read"
    """Answered from what is known; neither remembered nor checked against earlier ids."""
    WRITE = "write"
    """Changes something: wants an id, and is remembered."""


class Guard(enum.Enum):
    """What a write has to respect beside the policy."""

    NONE = "none"
    """Nothing: reads, handles, faults of simulated arms."""
    HOLD = "hold"
    """A lock on the arm by somebody else."""
    LOCK = "lock"
    """The same, unless the user may end the locks of others."""
    AUTHORITY = "authority"
    """The lock, and how far the service may go: below control it is checked only."""


class Address(enum.Flag):
    """What a method may be sent to, in the place of the arm."""

    ARM = enum.auto()
    """One arm."""
    ROWS = enum.auto()
    """A group: done with each of its arms."""
    GROUP = enum.auto()
    """A group, which gives one answer."""
    FLEET = enum.auto()
    """`@all` alone: what belongs to the whole fleet, to no arm of it."""


class Right(enum.StrEnum):
    """What a user may be allowed to do with an arm beside reading."""

    WRITE = "write"
    """Change values and the mode, hold the arm and end the own lock, discard what is pending."""
    AUTHORITY = "authority"
    """Say how far the service may go with the arm."""
    CONFIRM = "confirm"
    """Take another arm for the known one, and let held changes go out after all."""
    FACTORY = "factory"
    """Restore what the arm came with."""
    UNLOCK = "unlock"
    """End the lock of somebody else, or take it over."""


class Option(enum.Enum):
    """What a request may ask for beside what its method does."""

    END = "end"
    """An end of the change: `valid_for_ms`, `until`."""
    IDLE = "idle"
    """To wait until the arm is idle: `when`."""


class Rpc(msgspec.Struct, frozen=True):
    """One method: `request` and `reply` are its messages, None for UTF-8 JSON mappings; `unit` deg, rad or empty."""

    name: str
    access: Access
    request: type[Message] | None
    reply: type[Message] | None
    decide: Callable[[ArmState, Request], Outcome]
    summary: str
    item: str = ""
    unit: str = ""
    any_arm: bool = False
    ttl_ms: int = 0
    """Time to live of a request that names none, ms; 0 = for ever."""
    lists: Mapping[str, int] = {}
    """Params that may be so long that the payload is up to 4 MiB: lists of numbers (1), or of such lists (2)."""
    present: Callable[[Message], Message] | None = None
    """What a write answers of the value that was read back; None: the value itself, or nothing for an Empty reply."""
    guard: Guard = Guard.NONE
    right: Right | None = None
    """What a user needs for it; None: everybody may."""
    address: Address = Address.ARM
