"""The AsyncAPI 3 document, and the JSON Schema of each method alone."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from broker.asyncapi.documents import (
    items_schema,
    meta_schemas,
    plan_schema,
    service_schema,
    state_schemas,
    summary_schema,
)
from broker.asyncapi.envelopes import error_schemas, event_schema, reply_schema, request_schema
from broker.asyncapi.examples import EXAMPLES
from broker.asyncapi.messages import Catalogue
from broker.asyncapi.plain_methods import OF_ROWS, PARAMS, RESULTS
from broker.asyncapi.shapes import COMPONENTS, Schema, either, ref
from broker.publish.contents import NAMES
from broker.topics import Topics
from handlers.rpc.row import Address
from handlers.rpc_table import RPC_TABLE
from schema.arms import FLEET
from schema.events import CHANGE_NOT_APPLIED, CONTROL_MODE_CHANGED, AdminEvent, EventClass, event_topic

VERSION = "3.0.0"
DRAFT = "http://json-schema.org/draft-07/schema#"
ROWS = "Rows"
"""What a method that was sent to a group answers, by arms."""
MAPPING_MESSAGE = "Mapping"
"""Stands for the messages of methods whose params or result are a plain mapping, where these would take too much."""
RECEIVED = ("deviceBirth", "deviceDeath", "deviceAck", "deviceReport")
"""Channels, beside that of requests, that the service listens to."""
_PARAMETERS = {
    "user": "MQTT user name", "conn": "MQTT client id", "arm": "id of the arm", "method": "name of the method",
    "group": "name of the group", "plan": "number of the plan",
    "leaf": "id of the request", "handle": "number of the handle", "event": "name of the event",
    "instance": "name of the service",
}  # fmt: skip


class _Described:
    """The schemas of everything, by name, and those of each method."""

    def __init__(self) -> None:
        catalogue = Catalogue()
        self.params: dict[str, Schema] = {}
        self.results: dict[str, Schema] = {}
        for name, row in RPC_TABLE.items():
            self.params[name] = PARAMS[name] if row.request is None else catalogue.of(row.request)
            result = RESULTS[name] if row.reply is None else catalogue.of(row.reply)
            self.results[name] = either(result, ref(ROWS)) if _of_rows(name) else result
        own = {"Request": request_schema(), "Reply": reply_schema(), **error_schemas()}
        own |= {"Event": event_schema(catalogue), "Items": items_schema(catalogue), ROWS: OF_ROWS}
        self.states = state_schemas(catalogue)
        self.schemas: dict[str, Schema] = {**own, **dict(sorted(catalogue.schemas.items()))}


@cache
def _described() -> _Described:
    return _Described()


def request_of(method: str) -> Schema:
    """A request of one method."""
    return {"allOf": [ref("Request"), {"properties": {"params": _described().params[method]}}]}


def reply_to(method: str) -> Schema:
    """A reply to one method."""
    return {"allOf": [ref("Reply"), {"properties": {"result": _described().results[method]}}]}


def example_of(method: str) -> dict[str, Any]:
    """A request of one method, as it is sent."""
    return {"id": f"7-{method}", "params": EXAMPLES[method]}


def method_schema(method: str) -> Schema:
    """The JSON Schema of one method alone: `request` and `reply`, with all that they need."""
    row = RPC_TABLE[method]
    body = {"request": request_of(method), "reply": reply_to(method)}
    definitions = {name: _described().schemas[name] for name in sorted(_needed(body))}
    document = {
        "$schema": DRAFT, "title": method, "description": row.summary, "x-access": row.access.value,
        "x-unit": row.unit, "definitions": {**body, **definitions}, "examples": [example_of(method)],
    }  # fmt: skip
    moved: Schema = _moved(document)
    return moved


def _needed(schema: Any) -> set[str]:
    """The names of all components that a schema comes to."""
    found: set[str] = set()
    open_ends = [schema]
    while open_ends:
        part = open_ends.pop()
        if isinstance(part, dict):
            name = str(part.get("$ref", "")).removeprefix(COMPONENTS)
            if name and name not in found:
                found.add(name)
                open_ends.append(_described().schemas[name])
            open_ends += part.values()
        elif isinstance(part, list):
            open_ends += part
    return found


def _moved(part: Any) -> Any:
    """The same with its references to definitions of its own."""
    if isinstance(part, dict):
        return {
            key: value.replace(COMPONENTS, "#/definitions/") if key == "$ref" else _moved(value)
            for key, value in part.items()
        }
    return [_moved(each) for each in part] if isinstance(part, list) else part


_Channel = tuple[str, str, dict[str, Schema]]
"""Address, description and payloads."""
_LEAVES = {
    "birth": "An arm that speaks MQTT: who it is, and its session",
    "death": "The session of such an arm that ended",
    "cmd": "One command to such an arm",
    "ack": "Its answer",
    "report": "What it tells by itself",
}


_OF_THE_FLEET = {
    EventClass.PLAN: "changes of many arms",
    EventClass.RECIPE: "values under a name",
    EventClass.SETTINGS: "what the settings say of it",
}


def _events(topics: Topics) -> dict[str, _Channel]:
    """The channels of events."""
    event: dict[str, Schema] = {"event": ref("Event")}
    outcome, admin = event_topic(CHANGE_NOT_APPLIED), event_topic(AdminEvent.REQUEST_DENIED)
    told = "Who may change the arm, which arm it is, and whom the rights refused"
    return {
        "notice": (topics.notice("{user}", "{conn}", "{handle}"), "Notices of a handle", event),
        "configEvent": (topics.event("{arm}", event_topic("{event}")), "Configuration events", event),
        "modeEvent": (topics.event("{arm}", event_topic(CONTROL_MODE_CHANGED)), "Control mode events", event),
        "outcomeEvent": (topics.event("{arm}", outcome), "Accepted changes that did not become what was asked", event),
        "overrideEvent": (topics.event("{arm}", EventClass.OVERRIDE.value), "Ends of changes that have one", event),
        "adminEvent": (topics.event("{arm}", admin), told, event),
        **{
            f"{topic.value}Event": (topics.event(FLEET, topic.value), f"Events of the fleet: {text}", event)
            for topic, text in _OF_THE_FLEET.items()
        },
    }


def _retained(topics: Topics) -> dict[str, _Channel]:
    """The channels of retained documents."""
    channels: dict[str, _Channel] = {}
    for name in NAMES:
        text, schema = f"Retained: the document {name} of an arm", _described().states[name]
        channels[f"state{name.capitalize()}"] = (topics.state("{arm}", name), text, {"document": schema})
    names = ("service", "errors", "asyncapi", "groups", "factsheet/{arm}")
    for (channel, schema), name in zip(meta_schemas().items(), names, strict=True):
        channels[channel] = (topics.meta(name), "Retained: what the service says of itself", {"document": schema})
    channels["stateFleet"] = (
        topics.summary("{group}"), "Retained: the summary of a group", {"document": summary_schema()}
    )  # fmt: skip
    plan = topics.state(FLEET, "plan-{plan}")
    channels["statePlan"] = (plan, "Retained: a change of many arms", {"document": plan_schema()})
    presence = {"document": service_schema()}
    channels["service"] = (topics.service("{instance}"), "Retained: presence of the service", presence)
    return channels


def _devices(topics: Topics) -> dict[str, _Channel]:
    """The channels of arms that speak MQTT."""
    return {
        "deviceCommand" if leaf == "cmd" else f"device{leaf.capitalize()}": (
            topics.device("{arm}", leaf), text, {"document": {"type": "object"}},
        )
        for leaf, text in _LEAVES.items()
    }  # fmt: skip


_FILLED_IN = re.compile(r"\{(\w+)\}")


def _parameters(address: str) -> dict[str, Any]:
    """The levels of an address that are filled in."""
    names = _FILLED_IN.findall(address)
    return {"parameters": {name: {"description": _PARAMETERS[name]} for name in names}} if names else {}


def _requests(*, full: bool) -> tuple[dict[str, Any], dict[str, str]]:
    """The messages of requests, and which of them each method has: its own with an example, or one for each params."""
    if full:
        messages = {
            name: {"payload": request_of(name), "examples": [{"payload": example_of(name)}]} for name in RPC_TABLE
        }
        return messages, {name: name for name in RPC_TABLE}
    names = {name: name if row.request is None else row.request.__name__ for name, row in RPC_TABLE.items()}
    return {names[name]: {"payload": request_of(name)} for name in RPC_TABLE}, names


def _replies() -> tuple[dict[str, Any], dict[str, str]]:
    """The messages of replies, one for each kind of result, and which of them each method has."""
    names = {name: name if row.reply is None else row.reply.__name__ for name, row in RPC_TABLE.items()}
    messages: dict[str, Any] = {}
    for name in sorted(RPC_TABLE, key=_of_rows):
        messages[names[name]] = {"payload": reply_to(name)}
    return messages, names


def _of_rows(method: str) -> bool:
    """Whether a method may answer with rows; of those with the same kind of result one that does stands for all."""
    return Address.ROWS in RPC_TABLE[method].address


def _operation(request: str, reply: str) -> dict[str, Any]:
    """One method, by the names of its messages."""
    return {
        "action": "receive",
        "channel": {"$ref": "#/channels/request"},
        "messages": [{"$ref": f"#/channels/request/messages/{request}"}],
        "reply": {
            "channel": {"$ref": "#/channels/reply"},
            "messages": [{"$ref": f"#/channels/reply/messages/{reply}"}],
        },
    }


def asyncapi_document(root: str, version: str, notice: str, *, full: bool = False) -> dict[str, Any]:
    """The document of a service with this root; every method is an operation of its name, with a reply.

    `full` adds an example and a summary to each; without, it is as short as it can be.
    """
    topics = Topics(root)
    request, reply = topics.request("{user}", "{conn}", "{arm}", "{method}"), topics.reply("{user}", "{conn}", "{leaf}")
    (requests, request_names), (replies, reply_names) = _requests(full=full), _replies()
    text = "One request; the level `method` is the name of its operation"
    channels: dict[str, Any] = {
        "request": {"address": request, "description": text, **_parameters(request), "messages": requests},
        "reply": {"address": reply, "description": "The reply", **_parameters(reply), "messages": replies},
    }
    operations = {
        name: _operation(request_names[name], reply_names[name]) | ({"summary": row.summary} if full else {})
        for name, row in RPC_TABLE.items()
    }
    for name, (address, text, payloads) in (_events(topics) | _retained(topics) | _devices(topics)).items():
        messages = {key: {"payload": payload} for key, payload in payloads.items()}
        channels[name] = {"address": address, "description": text, **_parameters(address), "messages": messages}
        action = "receive" if name in RECEIVED else "send"
        operations[name] = {"action": action, "channel": {"$ref": f"#/channels/{name}"}}
    return {
        "asyncapi": VERSION,
        "info": {"title": "armbroker", "version": version, "description": notice, "license": {"name": "Apache-2.0"}},
        "defaultContentType": "application/json",
        "channels": channels,
        "operations": operations,
        "components": {"schemas": _described().schemas},
    }


def without_mappings(document: dict[str, Any]) -> dict[str, Any]:
    """The same, but that of requests and replies of methods without a message it is told that they are some.

    Each has its params and result in a schema of its own.
    """
    renamed: dict[str, str] = {}
    channels = dict(document["channels"])
    for channel, part in (("request", "params"), ("reply", "result")):
        place, kept = f"#/channels/{channel}/messages/", {}
        for name, message in channels[channel]["messages"].items():
            envelope, own = message["payload"]["allOf"]
            schema = own["properties"][part]
            if "$ref" in schema.get("anyOf", (schema,))[0]:
                kept[name] = message
            else:
                kept[MAPPING_MESSAGE] = {"payload": envelope}
                renamed[place + name] = place + MAPPING_MESSAGE
        channels[channel] = channels[channel] | {"messages": kept}
    return document | {"channels": channels, "operations": _with_references(document["operations"], renamed)}


def _with_references(part: Any, renamed: Mapping[str, str]) -> Any:
    if isinstance(part, dict):
        return {
            key: renamed.get(value, value) if key == "$ref" else _with_references(value, renamed)
            for key, value in part.items()
        }
    return [_with_references(each, renamed) for each in part] if isinstance(part, list) else part
