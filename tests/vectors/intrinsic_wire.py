"""Runners of the `intrinsic_proto` vectors of bytes and JSON."""

import enum
from typing import Any

from schema import intrinsic
from schema.codecs.intrinsic import decode_intrinsic
from schema.codecs.proto_json import from_json, to_json
from schema.codecs.protobuf import encode_message
from schema.codecs.registry import MESSAGES
from schema.errors import BrokerError
from tests.vectors.comparison import Line, same

RECORDS: dict[str, Any] = {message.DESCRIPTOR.full_name: record for record, message in MESSAGES.items()}
ENUMS: dict[str, type[enum.IntEnum]] = {
    "enum:intrinsic_proto.Joint.Type": intrinsic.JointType,
    "enum:intrinsic_proto.DynamicLimitsCheckMode": intrinsic.DynamicLimitsCheckMode,
}


def message_of(inputs: dict[str, Any], cls: Any, prefix: str = "") -> Any:
    """The message that a vector gives in both forms, which must agree."""
    record = from_json(inputs[f"{prefix}json"], cls)
    decoded = decode_intrinsic(bytes.fromhex(inputs[f"{prefix}hex"]), cls)
    if repr(decoded) != repr(record):
        raise AssertionError(f"JSON gives {record}, the bytes give {decoded}")
    return record


def wire_enum(line: Line) -> str | None:
    number = decode_intrinsic(b"\x08" + bytes.fromhex(line["hex"]), intrinsic.JointParameters).type
    members = {member.value: member.name for member in ENUMS[line["message"]]}
    found = members.get(int(number), int(number))
    return None if found == line["json"] else f"{line}: got {found}"


def wire(line: Line) -> str | None:
    if line["message"] in ENUMS:
        return wire_enum(line)
    payload = bytes.fromhex(line["hex"])
    record = decode_intrinsic(payload, RECORDS[line["message"]])
    encoded = encode_message(record)
    if not same(to_json(record), line["json"]):
        return f"{line}: JSON is {to_json(record)}"
    if repr(from_json(line["json"], type(record))) != repr(record):
        return f"{line}: from JSON comes {from_json(line['json'], type(record))}"
    if not line.get("map_order_free") and encoded != payload:
        return f"{line}: encoded {encoded.hex()}"
    return None if repr(decode_intrinsic(encoded, type(record))) == repr(record) else f"{line}: encoded {encoded.hex()}"


def wire_decode(line: Line) -> str | None:
    payload, cls = bytes.fromhex(line["hex"]), RECORDS[line["message"]]
    try:
        record = decode_intrinsic(payload, cls, drop_unknown=True)
    except BrokerError as error:
        return f"{line}: refused: {error}" if line["ok"] else None
    if not line["ok"] or not same(to_json(record), line["json"]):
        return f"{line}: got {record}"
    canonical = bytes.fromhex(line["canonical_hex"])
    if decode_intrinsic(canonical, cls, drop_unknown=True) != record:
        return f"{line}: the canonical bytes are another record"
    try:
        decode_intrinsic(payload, cls)
    except BrokerError as error:
        return None if error.kind == "unknown_field" else f"{line}: refused: {error}"
    encoded = encode_message(record)
    return None if sorted(encoded) == sorted(canonical) else f"{line}: encoded {encoded.hex()}"
