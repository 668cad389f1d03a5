"""Replies and events as documents, keys in the order of the protocol."""

from typing import Any

from schema.codecs.parts import PLAIN, Parts
from schema.codecs.scalars import write_limit
from schema.codecs.times import format_time
from schema.enums import ControlConfigurationEvent, ControlMode
from schema.envelope import ErrorBody, Event, EventChange, Reply, Violation, Warned
from schema.messages import ControlConfigurationNotification, ControlModeNotification, Message

_EVENTS: dict[int, str] = {event.value: event.name for event in ControlConfigurationEvent}
_MODES: dict[int, str] = {mode.value: mode.name for mode in ControlMode}


def reply_document(reply: Reply, parts: Parts = PLAIN) -> dict[str, Any]:
    """The document of a reply, its values as `parts` make them; what is not set is left out."""
    document: dict[str, Any] = {
        "id": reply.id,
        "arm": reply.arm,
        "method": reply.method,
        "ok": reply.ok,
        "stage": reply.stage,
        "final": reply.final,
    }
    if reply.ok or reply.result is not None:
        result = reply.result
        told = result is not None and (type(result) in parts or isinstance(result, Message))
        document["result"] = parts[type(result)](result, "") if told else result or {}
    if reply.error is not None:
        document["error"] = error_document(reply.error)
    document["rev"] = reply.rev
    document["seq"] = reply.seq
    document["at"] = format_time(reply.at_us)
    document["warnings"] = [_warning(warning) for warning in reply.warnings] if reply.warnings else []
    if reply.duplicate or reply.in_force is not None:
        document["duplicate"] = reply.duplicate
    if reply.in_force is not None:
        document["in_force"] = reply.in_force
    if reply.reported_at_us:
        document["reported_at"] = format_time(reply.reported_at_us)
    if reply.desired is not None:
        document["desired"] = parts[type(reply.desired)](reply.desired, "")
    if reply.pending_rev:
        document["pending_rev"] = reply.pending_rev
    if reply.mode_seen_at_us:
        document["mode_seen_at"] = format_time(reply.mode_seen_at_us)
    if reply.plan or reply.until_us:
        document |= _of_fleet(reply)
    return document


def _of_fleet(record: Reply | Event) -> dict[str, Any]:
    document: dict[str, Any] = {"plan": record.plan} if record.plan else {}
    if record.until_us:
        document["until"] = format_time(record.until_us)
    return document


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


def _warning(warning: Warned) -> dict[str, Any]:
    if warning.path:
        return {"name": warning.name, "path": warning.path, "message": warning.message}
    return {"name": warning.name, "message": warning.message}


def event_document(event: Event, parts: Parts = PLAIN) -> dict[str, Any]:
    """The document of an event, its values as `parts` make them.

    `notification` and `change` are null where there is none.
    """
    document: dict[str, Any] = {
        "arm": event.arm,
        "epoch": event.epoch,
        "seq": event.seq,
        "prev": event.prev,
        "rev": event.rev,
        "at": format_time(event.at_us),
        "cause": event.cause,
        "stage": event.stage,
    }
    if event.request_id:
        document["request_id"] = event.request_id
    by = event.by
    document["by"] = {"user": by.user, "connection": by.connection, "proven": by.proven}
    document["event"] = event.event
    note, change = event.notification, event.change
    document["notification"] = None if note is None else _notification(note, parts)
    document["change"] = None if change is None else _change(change, parts)
    if event.reason:
        document["reason"] = event.reason
    if event.denied is not None:
        document["kind"], document["count"] = event.denied.kind, event.denied.count
    if event.plan or event.until_us:
        document |= _of_fleet(event)
    if event.details is not None:
        document["details"] = event.details
    return document


def _notification(note: Message, parts: Parts) -> Any:
    """A notification; its time, which no other has, is no part that is remembered."""
    if type(note) is ControlConfigurationNotification:
        document: dict[str, Any] = {"event": _EVENTS.get(note.event, note.event)}
    elif type(note) is ControlModeNotification:
        document = {"control_mode": _MODES.get(note.control_mode, note.control_mode)}
    else:
        return parts[type(note)](note, "")
    if note.timestamp is not None:
        document["timestamp"] = {"sec": note.timestamp.sec, "usec": note.timestamp.usec}
    if note.user_handle is not None:
        document["user_handle"] = parts[type(note.user_handle)](note.user_handle, "")
    if note.connection is not None:
        document["connection"] = parts[type(note.connection)](note.connection, "")
    return document


def _change(change: EventChange, parts: Parts) -> dict[str, Any]:
    document: dict[str, Any] = {"item": change.item}
    if change.slot:
        document["slot"] = change.slot
    before, after, field = change.before, change.after, change.value_field
    known = type(before) in parts or isinstance(before, Message)
    document["before"] = parts[type(before)](before, field) if known else before
    known = type(after) in parts or isinstance(after, Message)
    document["after"] = parts[type(after)](after, field) if known else after
    return document
