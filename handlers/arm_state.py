"""What is known of one arm: the state that decisions are made against."""

from dataclasses import dataclass, field

from schema.arms import Description, Slot
from schema.messages import Message


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


@dataclass(slots=True)
class ArmState:
    """One arm. Handlers read it; only the acceptor and the settler change it.

    `desired` is what was accepted, `reported` what was last read; `last_rev` is the revision of the last change of a
    slot, foreign ones included; `unsettled` counts the changes in the arm's queue, `pending` those of each slot.
    """

    arm: str
    adapter: str
    methods: frozenset[str]
    resolution_rad: float
    model: str = ""
    """The model that the settings name; its profile speaks where the arm was never read."""
    strict: bool = False
    queue_limit: int = 256
    faults_allowed: bool = False
    description: Description | None = None
    adopted: bool = False
    online: bool = False
    ready: bool = False
    held: str = ""
    """Why the arm is held; empty when it is not."""
    rev: int = 0
    seq: int = 0
    read_at_us: int = 0
    mode_seen_at_us: int = 0
    unsettled: int = 0
    desired: dict[Slot, Message] = field(default_factory=dict)
    reported: dict[Slot, Message] = field(default_factory=dict)
    desired_rev: dict[Slot, int] = field(default_factory=dict)
    last_rev: dict[Slot, int] = field(default_factory=dict)
    pending: dict[Slot, int] = field(default_factory=dict)
    pending_rev: dict[Slot, int] = field(default_factory=dict)
    handles: dict[int, HandleEntry] = field(default_factory=dict)
    """The handles of the whole service, shared by all arms."""
