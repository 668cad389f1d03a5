"""What is known of one arm: the state that decisions are made against."""

from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from handlers.state.limit_sources import LimitSources
from handlers.state.overrides import Overrides
from handlers.state.provenance import Setter
from handlers.state.recipes import NO_RECIPES, Applied, Shelf
from schema.arms import Activity, Authority, Description, Slot
from schema.enums import ControlMode
from schema.envelope import Author
from schema.messages import Message

LONGEST_HOLD_US = 12 * 3_600_000_000
"""How long a lock lasts at most where the settings do not say."""
MessageT = TypeVar("MessageT", bound=Message)


def as_message(value: object, cls: type[MessageT]) -> MessageT:
    """A value that is known to be of this message: a slot holds that of its item, a request that of its method.

    Raises:
        TypeError: it is not, which the tables do not allow.
    """
    if not isinstance(value, cls):
        raise TypeError(type(value).__name__)
    return value


@dataclass(slots=True)
class HandleEntry:
    """One notification handle: who holds it, of which arm and topic (`config` or `mode`)."""

    identifier: int
    user: str
    conn: str
    arm: str
    topic: str
    created_us: int
    last_seen_us: int
    last_seq: int = 0


class Hold(msgspec.Struct, frozen=True, gc=False):
    """A lock on an arm by a named person; times in µs since 1970, `until_us` 0 = until it is released."""

    by: Author
    reason: str
    since_us: int
    until_us: int = 0


@dataclass(slots=True)
class ArmState:
    """One arm. Handlers read it; only the acceptor and the settler change it.

    `desired` is what was accepted, `reported` what was last read; `last_rev` is the revision of the last change of a
    slot, foreign ones included; `unsettled` counts the changes without an end, `open` those of each slot.
    """

    arm: str
    adapter: str
    methods: frozenset[str]
    resolution_rad: float
    arm_items: frozenset[str] = frozenset()
    """Keys of the items whose values the arm itself holds."""
    activities: frozenset[Activity] = frozenset()
    """What its adapter can tell of what it does."""
    idle_modes: frozenset[int] = frozenset({ControlMode.IDLE})
    """The control modes in which it may be idle."""
    groups: tuple[str, ...] = ()
    """The groups that the settings name."""
    model: str = ""
    """The model that the settings name; its profile speaks where the arm was never read."""
    strict: bool = False
    queue_limit: int = 256
    faults_allowed: bool = False
    longest_hold_us: int = LONGEST_HOLD_US
    """How long a lock lasts at most."""
    sources: LimitSources = field(default_factory=LimitSources)
    """What the settings and their files say about the limits."""
    description: Description | None = None
    described_at_us: int = 0
    """When the arm told of its hard limits as they are."""
    adopted: bool = False
    online: bool = False
    ready: bool = False
    activity: Activity = Activity.UNKNOWN
    """What it does, as far as its adapter tells; UNKNOWN while it is not online."""
    distrust: str = ""
    """Why the arm is held; empty when it is not."""
    damaged: bool = False
    """Whether it is held because rows of it in the store were damaged: nothing is known of it before ConfirmArm."""
    unfit: bool = False
    """Whether it is held because its limits cannot be used: then no value can be checked."""
    authority: Authority = Authority.CONTROL
    """How far the service may go with this arm."""
    ceiling: Authority = Authority.CONTROL
    """How far SetAuthority may raise it: what the settings name, control where they name nothing."""
    hold: Hold | None = None
    """Who locked the arm, if anybody did."""
    rev: int = 0
    seq: int = 0
    read_at_us: int = 0
    mode_seen_at_us: int = 0
    unsettled: int = 0
    unsettled_of: dict[str, int] = field(default_factory=dict)
    """The same by user."""
    desired: dict[Slot, Message] = field(default_factory=dict)
    reported: dict[Slot, Message] = field(default_factory=dict)
    desired_rev: dict[Slot, int] = field(default_factory=dict)
    last_rev: dict[Slot, int] = field(default_factory=dict)
    open: dict[Slot, int] = field(default_factory=dict)
    open_rev: dict[Slot, int] = field(default_factory=dict)
    desired_by: dict[Slot, Setter] = field(default_factory=dict)
    reported_by: dict[Slot, Setter] = field(default_factory=dict)
    unread: dict[Slot, tuple[tuple[Message, Setter], ...]] = field(default_factory=dict)
    """What was accepted for a slot and is not read back yet, oldest first."""
    parked: dict[int, bool] = field(default_factory=dict)
    """Revisions of the changes that are pending outside the queue, and whether somebody may let them go at once."""
    overrides: Overrides | None = None
    """Changes with an end, as far as there are any."""
    first: dict[Slot, Message] = field(default_factory=dict)
    """What was adopted first, of the slots that the arm cannot reset."""
    limits: object = None
    """The limit stack, made from all of this by `handlers.stack.arm_limits`, which alone reads it; None: not made."""
    applied: Applied | None = None
    """The recipe that was applied last, for good."""
    recipes: Shelf = NO_RECIPES
    """The recipes of the service, shared by all arms."""
    handles: dict[int, HandleEntry] = field(default_factory=dict)
    """The handles of the whole service, shared by all arms."""
