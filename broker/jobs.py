"""What waits in the queue of an arm."""

import asyncio
import enum
from dataclasses import dataclass, field

from handlers.config_items import ConfigItem
from schema.arms import Slot, Verb
from schema.envelope import Author, Stage, Wait, Warned
from schema.messages import Message


class Phase(enum.Enum):
    """How far a change got in this run of the service."""

    ACCEPTED = "accepted"
    WRITING = "writing"
    UNKNOWN = "unknown"
    DONE = "done"


@dataclass(slots=True, eq=False)
class Address:
    """Where a reply goes, and how it is encoded."""

    topic: str
    correlation: bytes
    codec: str


@dataclass(slots=True, eq=False)
class Waiter:
    """Somebody who gets the reply of a change: the first request, or a repeat of it (`request_n` 0)."""

    address: Address
    request_id: str
    wait: Wait
    request_n: int = 0
    warnings: tuple[Warned, ...] = ()


@dataclass(slots=True, eq=False)
class ChangeJob:
    """One accepted change on its way to the arm.

    `expires` is a time of the monotonic clock (0 = never); `reverts` the arm's count of reverts when it was decided.
    """

    n: int
    request_n: int
    rev: int
    slot: Slot
    item: ConfigItem
    verb: Verb
    wanted: Message | None
    loosening: bool
    unchanged: bool
    author: Author
    request_id: str
    method: str
    reason: str
    warnings: tuple[Warned, ...] = ()
    expires: float = 0.0
    at_us: int = 0
    phase: Phase = Phase.ACCEPTED
    epoch: int = 0
    cmd_seq: int = 0
    before: Message | None = None
    reverts: int = 0
    foreign: bool = False
    committed: bool = False
    """Whether commit 1 stands: before it nothing goes to the arm."""
    recovered: bool = False
    """Found accepted or writing by this start."""
    resumed: bool = False
    """An earlier run may have sent its command."""
    replied: Stage | None = None
    """The stage of the reply already given to the first request."""
    waiters: list[Waiter] = field(default_factory=list)
    timers: list[asyncio.TimerHandle] = field(default_factory=list)

    def cancel_timers(self) -> None:
        """No timer fires any more."""
        for timer in self.timers:
            timer.cancel()
        self.timers.clear()


@dataclass(slots=True, eq=False)
class ContactJob:
    """Connect (where `connect`), describe and read everything again."""

    connect: bool
    why: str


@dataclass(slots=True, eq=False)
class FollowJob:
    """The arm changed a slot by itself: read it."""

    slot: Slot
    event: int
    connection: str


@dataclass(slots=True, eq=False)
class ForwardJob:
    """An event that the arm raised and that carries no value of ours."""

    event: int
    connection: str


Job = ChangeJob | ContactJob | FollowJob | ForwardJob
