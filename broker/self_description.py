"""What the service says of itself: `meta/...`."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from broker.arms.arm_session import ArmSession
from broker.asyncapi.document import asyncapi_document, without_mappings
from broker.settings import Groups, Settings
from broker.version import service_version
from handlers.items.config_items import kept_by_service
from handlers.methods.authority import hold_document
from handlers.methods.notifications import HANDLES_PER_CONNECTION
from handlers.policy.rules import Policy
from handlers.rpc_table import RPC_TABLE
from handlers.stack.effective import limit_sources
from schema.codecs import CODECS
from schema.codecs.plain import to_plain
from schema.enums import ControlMode, ServiceVersion
from schema.envelope import LISTS_LIMIT, PAYLOAD_LIMIT
from schema.errors import ERRORS
from schema.features import FEATURES
from schema.items import ITEMS

NOTICE = (
    "armbroker is not a safety function: it guards nobody; safety-rated limits stay in the arm's controller, "
    "and other writers can change an arm at any time."
)
_SERVICE = 16
JSON = CODECS["application/json"]


def service(settings: Settings, epoch: int, policy: Policy | None = None) -> dict[str, Any]:
    """The document `meta/service`."""
    told = {} if policy is None else {"policy": {"digest": policy.digest, "rules": len(policy.rules)}}
    return told | {
        "name": "armbroker",
        "version": service_version(),
        "protocol": 1,
        "epoch": epoch,
        "root": settings.root,
        "instance": settings.instance,
        "identity": settings.mqtt.identity,
        "methods": sorted(RPC_TABLE),
        "features": list(FEATURES),
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


def groups(settings: Settings) -> dict[str, Any]:
    """The document `meta/groups`."""
    return {"groups": Groups(settings).counts}


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


def asyncapi(settings: Settings) -> dict[str, Any]:
    """The document `meta/asyncapi`: the protocol as an AsyncAPI 3 document."""
    return asyncapi_document(settings.root, service_version(), NOTICE)


def shortened_asyncapi(document: dict[str, Any], room: int) -> bytes:
    """As much as fits, still a whole document: all but plain mappings, of that the channels, or who publishes alone."""
    nothing = {"asyncapi": document["asyncapi"], "info": document["info"], "channels": {}}
    brief = without_mappings(document)
    channels = {name: part for name, part in brief.items() if name != "operations"}
    payloads = (JSON.encode_document(each) for each in (document, brief, channels, nothing))
    return next((payload for payload in payloads if len(payload) <= room), b"{}")


SHORTENED: Mapping[str, Callable[[dict[str, Any], int], bytes]] = MappingProxyType({"asyncapi": shortened_asyncapi})
"""How documents are made shorter that have to stay whole, by name below `meta/`."""


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
    document["groups"] = list(state.groups)
    document["authority"] = state.authority.value
    if state.hold is not None:
        document["hold"] = hold_document(state.hold)
    floats = any(not ITEMS[key].kept_by_service for key in state.arm_items)
    document["resolution"] = {"angle_rad": state.resolution_rad, "others": "float32" if floats else "double"}
    document["loosest_check_mode"] = state.sources.loosest.name
    document["methods"] = sorted(state.methods)
    document["items"] = [key for key in ITEMS if key in state.arm_items or kept_by_service(state, key)]
    modes = description.modes_settable if description is not None else ()
    document["activities"] = sorted(state.activities)
    document["idle_modes"] = [ControlMode(mode).name for mode in sorted(state.idle_modes)]
    document["modes_settable"] = [ControlMode(mode).name for mode in modes]
    return document
