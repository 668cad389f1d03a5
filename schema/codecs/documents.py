"""Replies and events as plain documents, keys in the order of the protocol."""

from typing import Any

from schema.codecs.plain import bare, to_plain
from schema.codecs.scalars import write_limit
from schema.codecs.times import format_time
from schema.envelope import ErrorBody, Event, EventChange, Plain, Reply, Violation, Warned
from schema.messages import Message


def reply_document(reply: Reply) -> dict[str, Any]:
    """The document of a reply; what is not set is left out."""
    document: dict[str, Any] = {
        "id": reply.id,
        "arm": reply.arm,
        "method": reply.method,
        "ok": reply.ok,
        "stage": reply.stage,
        "final": reply.final,
    }
    if reply.ok:
        document["result"] = _result(reply.result)
    if reply.error is not None:
        document["error"] = error_document(reply.error)
    document["rev"] = reply.rev
    document["seq"] = reply.seq
    document["at"] = format_time(reply.at_us)
    document["warnings"] = [_warning(warning) for warning in reply.warnings]
    if reply.duplicate or reply.in_force is not None:
        document["duplicate"] = reply.duplicate
    if reply.in_force is not None:
        document["in_force"] = reply.in_force
    if reply.reported_at_us:
        document["reported_at"] = format_time(reply.reported_at_us)
    if reply.desired is not None:
        document["desired"] = to_plain(reply.desired)
    if reply.pending_rev:
        document["pending_rev"] = reply.pending_rev
    if reply.mode_seen_at_us:
        document["mode_seen_at"] = format_time(reply.mode_seen_at_us)
    return document


def _result(result: Message | dict[str, Any] | None) -> dict[str, Any]:
    if result is None:
        return {}
    return to_plain(result) if isinstance(result, Message) else result


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


def event_document(event: Event) -> dict[str, Any]:
    """The document of an event; `notification` and `change` are null where there is none."""
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
    document["notification"] = None if event.notification is None else to_plain(event.notification)
    document["change"] = None if event.change is None else _change(event.change)
    if event.reason:
        document["reason"] = event.reason
    if event.denied is not None:
        document["kind"], document["count"] = event.denied.kind, event.denied.count
    return document


def _change(change: EventChange) -> dict[str, Any]:
    document: dict[str, Any] = {"item": change.item}
    if change.slot:
        document["slot"] = change.slot
    document["before"] = _value(change.before, change.value_field)
    document["after"] = _value(change.after, change.value_field)
    return document


def _value(value: Message | Plain, value_field: str) -> Any:
    return bare(value, value_field) if isinstance(value, Message) else value
