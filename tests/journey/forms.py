"""Requests and replies in the three codecs, without the service's own codecs: plain dicts on both sides."""

import json
from datetime import datetime
from typing import Any

import msgpack
from google.protobuf import json_format
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from schema.proto.armbroker.v1 import armbroker_pb2 as wire
from schema.proto.intrinsic import kinematics_pb2, limits_pb2
from schema.proto.kinova import common_pb2, control_config_pb2

CONTENT_TYPES = {"json": "application/json", "msgpack": "application/msgpack", "protobuf": "application/x-protobuf"}

_SERVICE = control_config_pb2.DESCRIPTOR.services_by_name["ControlConfig"]
MESSAGES: dict[str, tuple[type[Message], type[Message]]] = {
    method.name: (GetMessageClass(method.input_type), GetMessageClass(method.output_type))
    for method in _SERVICE.methods
} | {"SetControlMode": (control_config_pb2.ControlModeInformation, common_pb2.Empty)}
"""Request and reply message of each method of Kinova, and of SetControlMode."""

REQUESTS: dict[str, type[Message]] = {
    "GetJointLimits": common_pb2.Empty,
    "SetJointLimits": limits_pb2.JointLimitsUpdate,
    "ResetJointLimits": common_pb2.Empty,
    "GetSkeleton": common_pb2.Empty,
    **{method: request for method, (request, _) in MESSAGES.items()},
}
"""Message of the params of each method that has one."""
RESULTS: dict[str, type[Message]] = {
    **dict.fromkeys(("GetJointLimits", "SetJointLimits", "SetJointLimit", "ResetJointLimits"), limits_pb2.JointLimits),
    "GetSkeleton": kinematics_pb2.Skeleton,
    **{method: result for method, (_, result) in MESSAGES.items()},
}
"""Message of the result of each method that has one."""

_TIMES = {"at_us": "at", "reported_at_us": "reported_at", "mode_seen_at_us": "mode_seen_at", "until_us": "until_us"}
_MOMENTS = {"issued_at": "issued_at_ms", "until": "until_ms"}
_WORDS = {"wait": ("applied", "stored"), "view": ("reported", "desired", "ground"), "when": ("now", "idle")}


def encode_request(codec: str, method: str, request: dict[str, Any]) -> bytes:
    """The payload of a request given as the protocol's JSON object."""
    if codec == "json":
        return json.dumps(request).encode()
    if codec == "msgpack":
        packed: bytes = msgpack.packb(request)
        return packed
    fields = dict(request)
    params = fields.pop("params", None)
    message = wire.Request()
    for name, words in _WORDS.items():
        if name in fields:
            fields[name] = words.index(fields[name])
    if (group := fields.pop("group", None)) is not None:
        away = {"away": group["away"].upper()} if "away" in group else {}
        json_format.ParseDict({**group, **away}, message.group)
    for name, value in fields.items():
        if name in _MOMENTS:
            setattr(message, _MOMENTS[name], int(datetime.fromisoformat(value).timestamp() * 1_000))
        else:
            setattr(message, name, value)
    if params is not None:
        message.params = encode_params(method, params)
    return message.SerializeToString()


def encode_params(method: str, params: dict[str, Any]) -> bytes:
    """The params of a method as protobuf; UTF-8 JSON where it has no message."""
    if method not in REQUESTS:
        return json.dumps(params).encode()
    return json_format.ParseDict(params, REQUESTS[method]()).SerializeToString()


def decode_reply(codec: str, payload: bytes) -> dict[str, Any]:
    """A reply as the protocol's JSON object; in protobuf times stay microseconds."""
    if codec == "json":
        document: dict[str, Any] = json.loads(payload)
        return document
    if codec == "msgpack":
        unpacked: dict[str, Any] = msgpack.unpackb(payload)
        return unpacked
    return _of_protobuf(wire.Reply.FromString(payload))


def _plain(message: Message) -> dict[str, Any]:
    return json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def _result(method: str, payload: bytes) -> dict[str, Any]:
    if method in RESULTS:
        return _plain(RESULTS[method].FromString(payload))
    document: dict[str, Any] = json.loads(payload) if payload else {}
    return document


def _of_protobuf(reply: wire.Reply) -> dict[str, Any]:
    document: dict[str, Any] = {
        name: getattr(reply, name) for name in ("id", "arm", "method", "ok", "stage", "final", "rev", "seq")
    }
    document["warnings"] = [
        {"name": warning.name, "message": warning.message} | ({"path": warning.path} if warning.path else {})
        for warning in reply.warnings
    ]
    if reply.ok or reply.result:
        method = "" if reply.arm.startswith("@") else reply.method
        document["result"] = _result(method, reply.result)
    if reply.HasField("error"):
        document["error"] = _plain(reply.error)
    if reply.duplicate:
        document["duplicate"] = True
    if reply.HasField("in_force"):
        document["in_force"] = reply.in_force
    if reply.desired:
        document["desired"] = _result(reply.method, reply.desired)
    if reply.plan:
        document["plan"] = reply.plan
    if reply.pending_rev:
        document["pending_rev"] = reply.pending_rev
    for field, name in _TIMES.items():
        if value := getattr(reply, field):
            document[name] = value
    return document
