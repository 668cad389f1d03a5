"""Records of the protocol around the messages: request, reply, error, event."""

import enum
from typing import Any

import msgspec

from schema.messages import Message

Plain = dict[str, Any] | str | None
"""A value that no message describes, as JSON has it."""
PAYLOAD_LIMIT = 65_536
"""Largest payload in bytes."""
LISTS_LIMIT = 4 * 1024 * 1024
"""Largest payload in bytes of a method whose params hold long lists of numbers; the rest stays in `PAYLOAD_LIMIT`."""


class Wait(enum.IntEnum):
    """What a request waits for."""

    APPLIED = 0
    STORED = 1


class View(enum.IntEnum):
    """Which truth a Get answers."""

    REPORTED = 0
    DESIRED = 1
    GROUND = 2
    """What is desired without overrides."""


class When(enum.IntEnum):
    """When a change may go to its arm."""

    NOW = 0
    IDLE = 1


class Away(enum.IntEnum):
    """What becomes of the rows of a group whose arms cannot take the change now."""

    WAIT = 0
    REFUSE = 1
    SKIP = 2


class Stage(enum.StrEnum):
    """How far a request got."""

    REFUSED = "refused"
    READ = "read"
    CHECKED = "checked"
    STORED = "stored"
    APPLIED = "applied"


PARALLEL = 32
"""Rows of a group between acceptance and end, unless told."""


class GroupOptions(msgspec.Struct, frozen=True, gc=False):
    """How a request to a group is carried out; `only`: these members alone, none = all of them.

    `away_named`: whether the request said it; protobuf cannot tell `wait` from nothing said.
    """

    all_or_nothing: bool = False
    away: Away = Away.WAIT
    only: tuple[str, ...] = ()
    parallel: int = PARALLEL
    away_named: bool = False


class RequestEnvelope(msgspec.Struct, frozen=True, gc=False):
    """A request before its params are decoded; absent numbers are None, absent texts empty.

    `params` is what the codec holds: a mapping (JSON, MessagePack), bytes (protobuf) or None.
    """

    id: str = ""
    params: Any = None
    if_rev: int | None = None
    dry_run: bool = False
    wait: Wait = Wait.APPLIED
    issued_at_us: int | None = None
    ttl_ms: int | None = None
    valid_for_ms: int | None = None
    reason: str = ""
    unit: str = ""
    view: View = View.REPORTED
    padded: bool = False
    until_us: int | None = None
    when: When = When.NOW
    group: GroupOptions | None = None

    @property
    def ends(self) -> bool:
        """Whether what it asks for has an end."""
        return self.valid_for_ms is not None or self.until_us is not None


class Violation(msgspec.Struct, frozen=True, gc=False):
    """One component out of bounds; numbers in the request's unit.

    `joint` counts from 1 (0 = none); `relation` is what `got` should have been to `bound` (`<=`, `>=`, `==`);
    `suggest` is the whole nearest legal value of the field at `path`.
    """

    path: str
    got: float
    bound: float
    unit: str
    relation: str
    source: str
    joint: int = 0
    joint_name: str = ""
    suggest: float | tuple[float, ...] | None = None


class Warned(msgspec.Struct, frozen=True, gc=False):
    """A warning of a reply: name of `schema.warnings.WARNINGS`, path of the field if any, words."""

    name: str
    message: str
    path: str = ""


class ErrorBody(msgspec.Struct, frozen=True, gc=False):
    """The error of a reply."""

    code: int
    sub_code: int
    name: str
    kind: str
    message: str
    retry: str
    violations: tuple[Violation, ...] = ()
    retry_after_ms: int = 0
    rule: str = ""
    """The rule of the policy that came furthest."""


class Reply(msgspec.Struct, frozen=True, gc=False):
    """One reply. `result` is a message, or a plain mapping for methods without one; times in µs since 1970."""

    id: str
    arm: str
    method: str
    ok: bool
    stage: Stage
    final: bool
    rev: int
    seq: int
    at_us: int
    result: Message | dict[str, Any] | None = None
    error: ErrorBody | None = None
    warnings: tuple[Warned, ...] = ()
    duplicate: bool = False
    in_force: bool | None = None
    reported_at_us: int = 0
    desired: Message | None = None
    pending_rev: int = 0
    mode_seen_at_us: int = 0
    plan: int = 0
    until_us: int = 0


class Author(msgspec.Struct, frozen=True, gc=False):
    """Who: user, connection, and whether the MQTT server vouches for them."""

    user: str
    connection: str
    proven: bool


class EventChange(msgspec.Struct, frozen=True, gc=False):
    """What an event changed: messages of an item, or plain values; `value_field` names the bare value of a slot."""

    item: str
    slot: str = ""
    value_field: str = ""
    before: Message | Plain = None
    after: Message | Plain = None


class Denied(msgspec.Struct, frozen=True, gc=False):
    """What a REQUEST_DENIED tells of: the kind of the refusals, and how many it stands for."""

    kind: str
    count: int


class Event(msgspec.Struct, frozen=True, gc=False):
    """One event of an arm; `seq` counts from 1 without gap, `prev` is that of the same topic before it (0 = none)."""

    arm: str
    epoch: int
    seq: int
    prev: int
    rev: int
    at_us: int
    cause: str
    stage: str
    by: Author
    event: str
    request_id: str = ""
    notification: Message | None = None
    change: EventChange | None = None
    reason: str = ""
    denied: Denied | None = None
    plan: int = 0
    until_us: int = 0
    details: dict[str, Any] | None = None
