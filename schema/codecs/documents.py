"""Replies and events as documents, keys in the order of the protocol; what is UNSET is left out."""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from schema.codecs.parts import PLAIN, Parts
from schema.codecs.scalars import write_limit
from schema.codecs.times import format_time
from schema.enums import ControlConfigurationEvent, ControlMode
from schema.envelope import Author, ErrorBody, Event, EventChange, Reply, Violation, Warned
from schema.messages import (
    ControlConfigurationNotification,
    ControlModeNotification,
    Message,
    Timestamp,
    UserProfileHandle,
)

_EVENTS: dict[int, str] = {event.value: event.name for event in ControlConfigurationEvent}
_MODES: dict[int, str] = {mode.value: mode.name for mode in ControlMode}


class WarningDocument(msgspec.Struct, gc=False):
    """A warning."""

    name: str
    path: str | UnsetType
    message: str


class ReplyDocument(msgspec.Struct, gc=False):
    """A reply; values are as the parts of a codec make them."""

    id: str
    arm: str
    method: str
    ok: bool
    stage: str
    final: bool
    result: Any
    error: dict[str, Any] | UnsetType
    rev: int
    seq: int
    at: str
    warnings: list[WarningDocument]
    duplicate: bool | UnsetType = UNSET
    in_force: bool | UnsetType = UNSET
    reported_at: str | UnsetType = UNSET
    desired: Any = UNSET
    pending_rev: int | UnsetType = UNSET
    mode_seen_at: str | UnsetType = UNSET
    plan: int | UnsetType = UNSET
    until: str | UnsetType = UNSET


class ConfigurationNote(msgspec.Struct, gc=False):
    """A notification of a change of the configuration."""

    event: str | int
    timestamp: Timestamp | UnsetType = UNSET
    user_handle: UserProfileHandle | UnsetType = UNSET
    connection: Any = UNSET


class ModeNote(msgspec.Struct, gc=False):
    """A notification of a change of the control mode."""

    control_mode: str | int
    timestamp: Timestamp | UnsetType = UNSET
    user_handle: UserProfileHandle | UnsetType = UNSET
    connection: Any = UNSET


class ChangeDocument(msgspec.Struct, gc=False):
    """What an event changed."""

    item: str
    slot: str | UnsetType
    before: Any
    after: Any


class EventDocument(msgspec.Struct, gc=False):
    """An event; `notification` and `change` are null where there is none."""

    arm: str
    epoch: int
    seq: int
    prev: int
    rev: int
    at: str
    cause: str
    stage: str
    request_id: str | UnsetType
    by: Author
    event: str
    notification: Any
    change: ChangeDocument | None
    reason: str | UnsetType = UNSET
    kind: str | UnsetType = UNSET
    count: int | UnsetType = UNSET
    plan: int | UnsetType = UNSET
    until: str | UnsetType = UNSET
    details: dict[str, Any] | UnsetType = UNSET


def reply_document(reply: Reply, parts: Parts = PLAIN) -> ReplyDocument:
    """The document of a reply, its values as `parts` make them; a good one has a result in any case."""
    result: Any = reply.result
    if result is None:
        result = {} if reply.ok else UNSET
    elif type(result) in parts or isinstance(result, Message):
        result = parts[type(result)](result, "")
    document = ReplyDocument(
        reply.id, reply.arm, reply.method, reply.ok, reply.stage, reply.final, result,
        UNSET if reply.error is None else error_document(reply.error), reply.rev, reply.seq, format_time(reply.at_us),
        [_warning(warning) for warning in reply.warnings] if reply.warnings else [],
    )  # fmt: skip
    if reply.duplicate or reply.in_force is not None:
        document.duplicate = reply.duplicate
        document.in_force = UNSET if reply.in_force is None else reply.in_force
    if reply.reported_at_us:
        document.reported_at = format_time(reply.reported_at_us)
    if reply.desired is not None:
        document.desired = parts[type(reply.desired)](reply.desired, "")
    if reply.pending_rev:
        document.pending_rev = reply.pending_rev
    if reply.mode_seen_at_us:
        document.mode_seen_at = format_time(reply.mode_seen_at_us)
    if reply.plan or reply.until_us:
        _tell_fleet(document, reply)
    return document


def _tell_fleet(document: ReplyDocument | EventDocument, record: Reply | Event) -> None:
    """Let a document say of which plan it is, and until when."""
    document.plan = record.plan or UNSET
    document.until = format_time(record.until_us) if record.until_us else UNSET


def _warning(warning: Warned) -> WarningDocument:
    return WarningDocument(warning.name, warning.path or UNSET, warning.message)


def error_document(error: ErrorBody) -> dict[str, Any]:
    """The document of an error."""
    document: dict[str, Any] = {
        "code": error.code,
        "sub_code": error.sub_code,
        "name": error.name,
        "kind": error.kind,
        "message": error.message,
        "violations": [_violation(violation) for violation in error.violations],
        "retry": error.retry,
    }
    if error.retry_after_ms:
        document["retry_after_ms"] = error.retry_after_ms
    if error.rule:
        document["rule"] = error.rule
    return document


def _violation(violation: Violation) -> dict[str, Any]:
    document: dict[str, Any] = {"path": violation.path}
    if violation.joint:
        document["joint"] = violation.joint
    if violation.joint_name:
        document["joint_name"] = violation.joint_name
    document["got"] = write_limit(violation.got)
    document["bound"] = write_limit(violation.bound)
    document["unit"] = violation.unit
    document["relation"] = violation.relation
    document["source"] = violation.source
    suggest = violation.suggest
    if suggest is not None:
        document["suggest"] = [*map(write_limit, suggest)] if isinstance(suggest, tuple) else write_limit(suggest)
    return document


def event_document(event: Event, parts: Parts = PLAIN) -> EventDocument:
    """The document of an event, its values as `parts` make them."""
    note, change = event.notification, event.change
    document = EventDocument(
        event.arm, event.epoch, event.seq, event.prev, event.rev, format_time(event.at_us), event.cause, event.stage,
        event.request_id or UNSET, event.by, event.event, None if note is None else _notification(note, parts),
        None if change is None else _change(change, parts), event.reason or UNSET,
    )  # fmt: skip
    if event.denied is not None:
        document.kind, document.count = event.denied.kind, event.denied.count
    if event.plan or event.until_us:
        _tell_fleet(document, event)
    if event.details is not None:
        document.details = event.details
    return document


def _notification(note: Message, parts: Parts) -> Any:
    """A notification; its time, which no other has, is no part that is remembered."""
    document: ConfigurationNote | ModeNote
    if type(note) is ControlConfigurationNotification:
        document = ConfigurationNote(_EVENTS.get(note.event, note.event))
    elif type(note) is ControlModeNotification:
        document = ModeNote(_MODES.get(note.control_mode, note.control_mode))
    else:
        return parts[type(note)](note, "")
    if note.timestamp is not None:
        document.timestamp = note.timestamp
    if note.user_handle is not None:
        document.user_handle = note.user_handle
    if note.connection is not None:
        document.connection = parts[type(note.connection)](note.connection, "")
    return document


def _change(change: EventChange, parts: Parts) -> ChangeDocument:
    before, after, field = change.before, change.after, change.value_field
    if type(before) in parts or isinstance(before, Message):
        before = parts[type(before)](before, field)
    if type(after) in parts or isinstance(after, Message):
        after = parts[type(after)](after, field)
    return ChangeDocument(change.item, change.slot or UNSET, before, after)
