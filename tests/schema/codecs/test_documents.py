import json
from typing import Any

import msgspec
import pytest

from schema.codecs import documents
from schema.codecs.documents import error_document
from schema.enums import ControlConfigurationEvent, ControlMode
from schema.envelope import Denied, Event, EventChange, Reply, Stage
from schema.messages import ControlConfigurationNotification, ControlModeNotification, PayloadInformation
from tests.schema.codecs import cases


def reply_document(reply: Reply) -> Any:
    """The document of a reply as an encoder sees it."""
    return msgspec.to_builtins(documents.reply_document(reply))


def event_document(event: Event) -> Any:
    """The document of an event as an encoder sees it."""
    return msgspec.to_builtins(documents.event_document(event))


def keys(document: Any) -> Any:
    """The keys of all objects in their order."""
    if isinstance(document, dict):
        return [(key, keys(value)) for key, value in document.items()]
    return [keys(value) for value in document] if isinstance(document, list) else None


@pytest.mark.parametrize(("reply", "expected"), cases.REPLIES)
def test_replies(reply: Reply, expected: dict[str, Any]) -> None:
    document = reply_document(reply)
    assert document == expected
    assert keys(document) == keys(expected)
    assert json.loads(json.dumps(document)) == expected


@pytest.mark.parametrize(("event", "expected"), cases.EVENTS)
def test_events(event: Event, expected: dict[str, Any]) -> None:
    document = event_document(event)
    assert document == expected
    assert keys(document) == keys(expected)
    assert json.loads(json.dumps(document)) == expected


def test_a_good_reply_without_a_result_has_an_empty_one() -> None:
    reply = Reply("1", "r12", "WhoAmI", True, Stage.READ, True, 0, 0, 0)
    assert reply_document(reply)["result"] == {}


def test_a_reply_that_is_not_ok_has_a_result_only_where_something_came_of_it() -> None:
    assert "result" not in reply_document(cases.REFUSED)
    partial = msgspec.structs.replace(cases.REFUSED, result={"a": 1})
    assert reply_document(partial)["result"] == {"a": 1}
    assert "error" in reply_document(partial)


def test_repeats() -> None:
    repeat = msgspec.structs.replace(cases.APPLIED, duplicate=True, in_force=True)
    assert reply_document(repeat) == cases.APPLIED_DOCUMENT | {"duplicate": True, "in_force": True}
    without = msgspec.structs.replace(cases.APPLIED, duplicate=True)
    assert reply_document(without) == cases.APPLIED_DOCUMENT | {"duplicate": True}


def test_an_error_without_violations_and_delay() -> None:
    error = cases.REFUSED.error
    assert error is not None
    document = error_document(msgspec.structs.replace(error, violations=(), retry_after_ms=0))
    assert document["violations"] == []
    assert "retry_after_ms" not in document


def test_an_event_of_administration_has_plain_values_and_a_refusal_its_kind_and_count() -> None:
    change = EventChange("authority", before="control", after="observe")
    document = event_document(msgspec.structs.replace(cases.EXPIRED, change=change))
    assert document["change"] == {"item": "authority", "before": "control", "after": "observe"}
    denied = event_document(msgspec.structs.replace(cases.EXPIRED, denied=Denied("not_permitted", 3)))
    assert (denied["kind"], denied["count"]) == ("not_permitted", 3)
    assert {"kind", "count"}.isdisjoint(document)


def test_a_notification_tells_only_what_it_has() -> None:
    bare = ControlConfigurationNotification(ControlConfigurationEvent.JOINT_SPEED_SOFT_LIMITS_CHANGED)
    document = event_document(msgspec.structs.replace(cases.CHANGED, notification=bare))
    assert document["notification"] == {"event": "JOINT_SPEED_SOFT_LIMITS_CHANGED"}
    mode = event_document(msgspec.structs.replace(cases.MODE, notification=ControlModeNotification(ControlMode.IDLE)))
    assert mode["notification"] == {"control_mode": "IDLE"}
    other = event_document(msgspec.structs.replace(cases.CHANGED, notification=PayloadInformation(2.0)))
    assert other["notification"] == {"payload_mass": 2.0}


def test_what_is_of_a_fleet_stands_at_the_end_where_it_is_set() -> None:
    until = {"until": "1970-01-01T00:00:01.000000Z"}
    for record, document in ((cases.APPLIED, cases.APPLIED_DOCUMENT),):
        assert reply_document(msgspec.structs.replace(record, plan=7)) == document | {"plan": 7}
        assert reply_document(msgspec.structs.replace(record, until_us=1_000_000)) == document | until
    event = event_document(msgspec.structs.replace(cases.EXPIRED, plan=7, until_us=1_000_000, details={"rev": 3}))
    assert event == event_document(cases.EXPIRED) | {"plan": 7, **until, "details": {"rev": 3}}
    error = cases.REFUSED.error
    assert error is not None
    assert error_document(msgspec.structs.replace(error, rule="engineers loosen"))["rule"] == "engineers loosen"
