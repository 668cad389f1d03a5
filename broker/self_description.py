"""What the service says of itself: `meta/...`."""

from typing import Any

from broker.arms.arm_session import ArmSession
from broker.settings import Settings
from broker.topics import Topics
from broker.version import service_version
from handlers.items.config_items import held_by_service
from handlers.methods.authority import hold_document
from handlers.methods.notifications import HANDLES_PER_CONNECTION
from handlers.rpc_table import RPC_TABLE
from handlers.stack.effective import limit_sources
from schema.codecs import CODECS
from schema.codecs.plain import to_plain
from schema.enums import ControlMode, ServiceVersion
from schema.envelope import LISTS_LIMIT, PAYLOAD_LIMIT
from schema.errors import ERRORS
from schema.events import CHANGE_NOT_APPLIED, CONTROL_MODE_CHANGED, AdminEvent, event_topic
from schema.items import ITEMS

NOTICE = (
    "armbroker is not a safety function: it guards nobody; safety-rated limits stay in the arm's controller, "
    "and other writers can change an arm at any time."
)
_SERVICE = 16


def service(settings: Settings, epoch: int) -> dict[str, Any]:
    """The document `meta/service`."""
    return {
        "name": "armbroker",
        "version": service_version(),
        "protocol": 1,
        "epoch": epoch,
        "root": settings.root,
        "instance": settings.instance,
        "identity": settings.mqtt.identity,
        "methods": sorted(RPC_TABLE),
        "codecs": list(CODECS),
        "limits": {
            "payload": PAYLOAD_LIMIT,
            "queue": settings.arm_defaults.queue,
            "handles": HANDLES_PER_CONNECTION,
        },
        "payload_with_lists": {row.name: LISTS_LIMIT for row in RPC_TABLE.values() if row.lists},
        "service_version": {"service": _SERVICE, "version": ServiceVersion.CURRENT_VERSION.value},
        "notice": NOTICE,
    }


def errors() -> dict[str, Any]:
    """The document `meta/errors`."""
    return {
        "errors": [
            {
                "kind": kind,
                "code": row.code.value,
                "names": list(row.names),
                "retry": row.retry.value,
                "text": row.text,
                "remedy": row.remedy,
            }
            for kind, row in ERRORS.items()
        ]
    }


_RECEIVED = frozenset({"request", "deviceBirth", "deviceDeath", "deviceAck", "deviceReport"})
"""Channels that the service listens to; on all others it publishes."""


def _channels(topics: Topics) -> dict[str, tuple[str, str]]:
    """Address and description of every kind of topic."""
    return {
        "request": (topics.request("{user}", "{conn}", "{arm}", "{method}"), "One request"),
        "reply": (topics.reply("{user}", "{conn}", "{leaf}"), "The reply"),
        "notice": (topics.notice("{user}", "{conn}", "{handle}"), "Notices of a handle"),
        "configEvent": (topics.event("{arm}", event_topic("{event}")), "Configuration events"),
        "modeEvent": (topics.event("{arm}", event_topic(CONTROL_MODE_CHANGED)), "Control mode events"),
        "outcomeEvent": (
            topics.event("{arm}", event_topic(CHANGE_NOT_APPLIED)),
            "Accepted changes that did not become what was asked",
        ),
        "adminEvent": (
            topics.event("{arm}", event_topic(AdminEvent.REQUEST_DENIED)),
            "Who may change the arm, which arm it is, and whom the rights refused",
        ),
        "state": (topics.state("{arm}", "{document}"), "Retained documents of an arm"),
        "service": (topics.service("{instance}"), "Presence of the service"),
        "deviceBirth": (topics.device("{arm}", "birth"), "An arm that speaks MQTT: who it is, and its session"),
        "deviceDeath": (topics.device("{arm}", "death"), "The session of such an arm that ended"),
        "deviceCommand": (topics.device("{arm}", "cmd"), "One command to such an arm"),
        "deviceAck": (topics.device("{arm}", "ack"), "Its answer"),
        "deviceReport": (topics.device("{arm}", "report"), "What it tells by itself"),
    }


def asyncapi(settings: Settings) -> dict[str, Any]:
    """The document `meta/asyncapi`: the topics as an AsyncAPI 3 document."""
    channels = _channels(Topics(settings.root))
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "armbroker", "version": service_version(), "description": NOTICE},
        "defaultContentType": "application/json",
        "channels": {
            name: {
                "address": address,
                "description": text,
                "parameters": {
                    level[1:-1]: {} for level in address.split("/") if level.startswith("{") and level.endswith("}")
                },
            }
            for name, (address, text) in channels.items()
        },
        "operations": {
            name: {
                "action": "receive" if name in _RECEIVED else "send",
                "channel": {"$ref": f"#/channels/{name}"},
            }
            for name in channels
        },
    }


def factsheet(session: ArmSession) -> dict[str, Any]:
    """The document `meta/factsheet/<arm>`."""
    state = session.state
    document: dict[str, Any] = {"arm": state.arm, "adapter": state.adapter, "model": session.model}
    description = state.description
    if description is not None:
        document["model"] = description.model
        document["serial"] = description.serial
        document["joints"] = [{"name": joint.name, "type": joint.type} for joint in description.joints]
        if description.hard_source:
            document["hard_limits"] = {**to_plain(description.hard_limits), "source": description.hard_source}
        document["notes"] = list(description.notes)
        document |= limit_sources(state)
    document["authority"] = state.authority.value
    if state.hold is not None:
        document["hold"] = hold_document(state.hold)
    floats = any(not ITEMS[key].held_by_service for key in state.arm_items)
    document["resolution"] = {"angle_rad": state.resolution_rad, "others": "float32" if floats else "double"}
    document["loosest_check_mode"] = state.sources.loosest.name
    document["methods"] = sorted(state.methods)
    document["items"] = [key for key in ITEMS if key in state.arm_items or held_by_service(state, key)]
    modes = description.modes_settable if description is not None else ()
    document["modes_settable"] = [ControlMode(mode).name for mode in modes]
    return document
