"""Runners of the Kinova vectors."""

from collections.abc import Callable
from typing import Any

from schema.codecs import CODECS
from schema.codecs.plain import from_plain, to_plain
from schema.codecs.protobuf import decode_message, encode_message
from schema.codecs.registry import MESSAGES
from schema.errors import BrokerError
from schema.fields import Kind, fields_of
from schema.messages import (
    CartesianReferenceFrameInfo,
    ControlModeInformation,
    JointAccelerationSoftLimits,
    JointSpeedSoftLimits,
    Message,
    NotificationHandle,
    NotificationOptions,
    TwistAngularSoftLimit,
    TwistLinearSoftLimit,
)
from schema.proto.kinova import control_config_pb2, errors_pb2
from tests.vectors.kinova_cases import run_case
from tests.vectors.kinova_records import record_of

CLASSES = {generated.DESCRIPTOR.full_name: record for record, generated in MESSAGES.items()}
PROTOBUF = CODECS["application/x-protobuf"]


def _is_known(record: Message) -> bool:
    """Whether every enum of a record has a name."""
    for field in fields_of(type(record)):
        value = getattr(record, field.name)
        for each in value if field.repeated else (value,):
            if field.kind is Kind.ENUM and not isinstance(each, field.type):
                return False
            if isinstance(each, Message) and not _is_known(each):
                return False
    return True


def run_wire(vector: dict[str, Any]) -> str | None:
    """The bytes decode to the JSON, and encode to bytes that decode alike; the plain document reads back alike."""
    cls = CLASSES[vector["message"]]
    record = decode_message(bytes.fromhex(vector["hex"]), cls, strict=False)
    expected = record_of(vector["json"], cls)
    if repr(record) != repr(expected):
        return f"decoded {record}, expected {expected}"
    again = decode_message(encode_message(record), cls, strict=False)
    if again != record:
        return f"encoded and decoded again: {again}"
    if _is_known(record) and from_plain(to_plain(record), cls) != record:
        return f"as a plain document: {to_plain(record)}"
    return None


def _mode_given(field: str) -> Callable[[Any], str | None]:
    def rule(record: Any) -> str | None:
        if record.control_mode == 0:
            return "unknown_enum"
        return "out_of_limits" if field and getattr(record, field) <= 0.0 else None

    return rule


VALUE_RULES: dict[type[Message], Callable[[Any], str | None]] = {
    NotificationHandle: lambda handle: "unknown_handle" if handle.identifier == 0 else None,
    NotificationOptions: lambda options: "unimplemented" if options.type in {1, 2} else None,
    CartesianReferenceFrameInfo: lambda frame: "unknown_enum" if frame.reference_frame == 0 else None,
    ControlModeInformation: _mode_given(""),
    JointSpeedSoftLimits: _mode_given(""),
    JointAccelerationSoftLimits: _mode_given(""),
    TwistLinearSoftLimit: _mode_given("twist_linear_soft_limit"),
    TwistAngularSoftLimit: _mode_given("twist_angular_soft_limit"),
}
"""What no arm takes in a request, as the kind it is refused with."""


def _verdict(payload: bytes, cls: type[Message], origin: str) -> str | None:
    """The kind a message is refused with, None if it is taken."""
    try:
        if origin == "device":
            decode_message(payload, cls, strict=False)
            return None
        record = PROTOBUF.decode_params(payload, cls)
    except BrokerError as refusal:
        return refusal.kind
    rule = VALUE_RULES.get(cls)
    return rule(record) if rule is not None else None


def run_wire_edge(vector: dict[str, Any]) -> str | None:
    """Whether and to what the bytes decode, and the verdict on them as a request or from an arm."""
    cls, payload = CLASSES[vector["message"]], bytes.fromhex(vector["hex"])
    try:
        record = decode_message(payload, cls, strict=False)
    except BrokerError as refusal:
        if vector["decodes"] or refusal.kind != "malformed":
            return f"does not decode: {refusal.kind}: {refusal.message}"
    else:
        if not vector["decodes"]:
            return f"decodes: {record}"
        expected = record_of(vector["json"], cls)
        if repr(record) != repr(expected):
            return f"decoded {record}, expected {expected}"
    kind = _verdict(payload, cls, vector["as"])
    if kind != vector["kind"] or (kind is None) != (vector["verdict"] == "accept"):
        return f"kind {kind}, expected {vector['kind']}"
    return None


def run_errors(document: dict[str, Any]) -> str | None:
    """The proto enums hold exactly these names and numbers."""
    for name, enum in (("ErrorCodes", errors_pb2.ErrorCodes), ("SubErrorCodes", errors_pb2.SubErrorCodes)):
        if dict(enum.items()) != document[name]:
            return f"{name} differs"
    return None


def run_rpcs(document: dict[str, Any]) -> str | None:
    """The proto service holds exactly these methods with these types, in this order."""
    service = control_config_pb2.DESCRIPTOR.services_by_name["ControlConfig"]
    found = [(method.name, method.input_type.name, method.output_type.name) for method in service.methods]
    expected = [(row["rpc"], row["request"], row["response"]) for row in document["rpcs"]]
    return None if found == expected else f"the service has {sorted(set(found) ^ set(expected))} or another order"


RUNNERS: dict[str, Callable[[dict[str, Any]], str | None]] = {
    "kinova_cases": run_case,
    "kinova_wire": run_wire,
    "kinova_wire_edge": run_wire_edge,
    "kinova_errors": run_errors,
    "kinova_rpcs": run_rpcs,
}
