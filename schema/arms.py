"""Vocabulary of arms: what an arm is, its slots, and what can be done to one."""

import enum

import msgspec

from schema.messages import KinematicLimits, Message

Slot = tuple[str, int]
"""A config item's key and the number of the control mode (0 for an item without modes)."""


FLEET = "@all"
"""Stands in the place of an arm for all of them together, which have events of their own."""


class JointInfo(msgspec.Struct, frozen=True):
    """One joint: name and type (`revolute`, `continuous`, `prismatic`; empty where the arm does not tell)."""

    name: str
    type: str


class Description(msgspec.Struct, frozen=True):
    """What an arm is, read at each connect.

    `hard_limits` in deg/s, deg/s², m/s, deg/s; `hard_source` is `hard:device` when the arm told them, `hard:profile`
    when its model's profile did, empty when the arm has none: no such limit binds. `modes_settable` are the control
    modes the arm takes a request for. `payload_max` in kg, 0 unknown.
    """

    model: str
    serial: str
    firmware: str
    joints: tuple[JointInfo, ...]
    hard_limits: KinematicLimits
    hard_source: str
    payload_max: float
    modes_settable: tuple[int, ...]
    notes: tuple[str, ...] = ()
    """What is not sure about the figures, in words."""
    fence: tuple[int, int] = (0, 0)
    """The highest (epoch, cmd_seq) that the arm was ever given, as far as it tells."""


class Verb(enum.StrEnum):
    """What a change or command does to its slot."""

    SET = "set"
    RESET = "reset"


class Authority(enum.StrEnum):
    """How far the service may go with an arm."""

    OBSERVE = "observe"
    """Read and publish; a write is answered with what would come of it, and nothing changes."""
    ADVISE = "advise"
    """The same, a write is answered as a dry run."""
    CONTROL = "control"
    """Writes are carried out."""


class Activity(enum.StrEnum):
    """What an arm does, as far as its adapter knows."""

    IDLE = "idle"
    MOVING = "moving"
    LOCAL = "local"
    """Somebody guides it, at the arm or its pendant."""
    FAULT = "fault"
    UNKNOWN = "unknown"
    """Nobody can tell."""


class Fault(msgspec.Struct, frozen=True):
    """A simulated fault; times in ms, `for_ms` 0 = until `none`; `slot` narrows refuse and names foreign_change."""

    name: str
    for_ms: int = 0
    delay_ms: int = 0
    slot: Slot | None = None
    value: Message | None = None
