"""What a person reads of replies, events and documents: one line each, without colours."""

import json
from typing import Any

from armbroker.cli.times import clock
from armbroker.client import ReplyDocument, Resynced, Watched, WatchedDocument, WatchedEvent
from armbroker.client.monitor import PLAN_DOCUMENT


def compact(value: object) -> str:
    """A value as JSON, without needless spaces, `-` for none."""
    return "-" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def reply_line(reply: ReplyDocument) -> str:
    """How far a request got."""
    head = f"{clock(reply['at'])} {reply['arm']} {reply['method']}: {reply['stage']}"
    counts = f"rev {reply['rev']} seq {reply['seq']} id {reply['id'] or '-'}"
    marks = [
        "" if reply["final"] else "not final",
        "duplicate" if reply.get("duplicate") else "",
        "not in force" if reply.get("in_force") is False else "",
        f"until {clock(reply['until'])[:8]}" if "until" in reply else "",
    ]
    notes = ", ".join(mark for mark in marks if mark)
    return f"{head}, {counts}{f' ({notes})' if notes else ''}"


def error_lines(reply: ReplyDocument) -> list[str]:
    """Why a request was refused: kind, message, what to do."""
    error = reply["error"]
    return [f"{error['kind']} ({error['name']}): {error['message']}", f"retry: {error['retry']}"]


def warning_lines(reply: ReplyDocument) -> list[str]:
    """The warnings of a reply."""
    return [f"warning {warning['name']}: {warning['message']}" for warning in reply["warnings"]]


def watched_line(watched: Watched) -> str:
    """One thing seen by a watch."""
    match watched:
        case WatchedEvent(arm, event):
            return f"{clock(event.get('at'))} {arm} {_event(event)}"
        case WatchedDocument(arm, "svc", document):
            state = "gone" if document is None else document.get("state", "-")
            return f"{clock((document or {}).get('since'))} service {arm} {state}"
        case WatchedDocument(arm, name, None):
            return f"{clock(None)} {arm} {name} document cleared"
        case WatchedDocument(arm, name, document):
            return f"{clock((document or {}).get('at'))} {arm} {_document(name, document or {})}"
        case Resynced(arm, why):
            return f"{clock(None)} {arm or 'all arms'} events can be missing here: {why}"


def _event(event: dict[str, Any]) -> str:
    """An event: what, how it ended, before and after, by whom."""
    parts = [f"event {event['seq']} {event['event']} {event.get('cause', '-')} rev {event.get('rev', '-')}"]
    change = event.get("change")
    if change:
        slot = f"[{change['slot']}]" if change.get("slot") else ""
        parts.append(f"{change['item']}{slot} {compact(change.get('before'))} -> {compact(change.get('after'))}")
    if event["event"].startswith("PLAN_"):
        plan = event.get("details", {})
        parts.append(f"plan {plan.get('plan', '-')} {_plan(plan)}")
    by = event.get("by")
    if by:
        parts.append(f"by {by['user']}/{by['connection']}{'' if by.get('proven') else ' (unproven)'}")
    if event.get("reason"):
        parts.append(compact(event["reason"]))
    return " ".join(parts)


def _document(name: str, document: dict[str, Any]) -> str:
    """The gist of a document."""
    head = f"{name} rev {document.get('rev', '-')} seq {document.get('seq', '-')}"
    match name:
        case "presence":
            ready = "ready" if document.get("ready") else "not ready"
            return f"{head}: {document.get('state', '-')}, {ready}, {document.get('model', '-')}"
        case "mode":
            return f"{head}: {document.get('control_mode', '-')}"
        case "config":
            pending, differs = document.get("pending", []), document.get("differs", [])
            waiting = ", ".join(f"{entry['item']} {entry['state']}" for entry in pending)
            return f"{head}: pending [{waiting}], differs [{', '.join(map(str, differs))}]"
        case "fleet":
            online = f"{document.get('online', '-')} of {document.get('arms', '-')} online"
            return (
                f"{head}: {online}, {document.get('pending', '-')} pending, {document.get('overrides', '-')} overrides"
            )
        case _ if name.startswith(PLAN_DOCUMENT):
            return f"{name} {_plan(document)}"
        case _:
            return head


def _plan(plan: dict[str, Any]) -> str:
    """How far a plan got."""
    counts = ", ".join(f"{count} {state}" for state, count in plan.get("counts", {}).items() if state != "total")
    what = f"{plan.get('method', '-')} of {plan.get('target', '-')}"
    return f"{plan.get('outcome', plan.get('state', '-'))}: {what}; {counts}"
