"""One row of the table of methods."""

import enum
from collections.abc import Callable

import msgspec

from handlers.arm_state import ArmState
from handlers.outcome import Outcome
from handlers.request import Request
from schema.messages import Message


class Access(enum.Enum):
    """What a method touches."""

    READ = "read"
    """Answered from what is known; neither remembered nor checked against earlier ids."""
    WRITE = "write"
    """Changes something: wants an id, and is remembered."""


class Rpc(msgspec.Struct, frozen=True):
    """One method: `request` and `reply` are its messages, None for UTF-8 JSON mappings; `unit` is `deg` or empty."""

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
