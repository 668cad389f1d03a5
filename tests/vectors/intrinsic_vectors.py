"""Runs one ground-truth vector of `intrinsic_*`: None when it passes, otherwise why not, or `skip: why`."""

import enum
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from limits.errors import LimitsError
from limits.intrinsic import (
    cartesian,
    check_mode,
    component,
    dependency,
    geometry,
    inertia,
    joint_limits,
    joint_limits_messages,
    skeleton,
)
from schema import intrinsic
from schema.codecs.intrinsic import decode_intrinsic
from schema.codecs.proto_json import from_json, to_json
from schema.codecs.protobuf import encode_message
from schema.codecs.registry import MESSAGES
from schema.errors import BrokerError

Line = dict[str, Any]
OK = "OK"
INVALID = "INVALID_ARGUMENT"


def plain(value: Any) -> Any:
    """Arrays and tuples as lists, so that results compare with JSON."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    return value


def same_number(found: float, wanted: float, rtol: float, atol: float) -> bool:
    """Equal within the tolerances; NaN equals NaN; exact comparison tells -0.0 from 0.0."""
    if math.isnan(wanted):
        return math.isnan(found)
    if rtol == atol == 0 or math.isinf(wanted):
        return found == wanted and math.copysign(1, found) == math.copysign(1, wanted)
    return abs(found - wanted) <= max(atol, rtol * abs(wanted))


def same(found: Any, wanted: Any, rtol: float = 0.0, atol: float = 0.0) -> bool:
    """Equal in shape and within the tolerances; the texts of NaN and the infinities are numbers."""
    if isinstance(wanted, dict):
        return (
            isinstance(found, dict)
            and found.keys() == wanted.keys()
            and all(same(found[key], wanted[key], rtol, atol) for key in wanted)
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(same(a, b, rtol, atol) for a, b in zip(found, wanted, strict=True))
        )
    if wanted in ("NaN", "Infinity", "-Infinity") or (isinstance(wanted, float | int) and not isinstance(wanted, bool)):
        return same_number(float(found), float(wanted), rtol, atol)
    return bool(found == wanted)


def outcome(run: Callable[[], dict[str, Any]], refusal: dict[str, Any]) -> dict[str, Any]:
    """What a function gave, or the refusal."""
    try:
        return run()
    except LimitsError:
        return refusal


def compare(line: Line, found: dict[str, Any], *, atol: float = 0.0) -> str | None:
    """None, or the difference between what was found and what the line expects."""
    wanted = line["expected"]
    if same(plain(found), wanted, line.get("rtol", 0.0), max(atol, line.get("atol", 0.0))):
        return None
    return f"{line['id']}: got {found}, expected {wanted}"


def floats(values: Any) -> Any:
    """Lists of numbers and the texts of non-finite ones as floats."""
    return [float(value) for value in values]


def vectors(fields: dict[str, Any]) -> joint_limits.JointLimitVectors:
    return joint_limits.vectors(**{name: floats(fields[name]) for name in joint_limits.FIELDS})


def message_of(inputs: dict[str, Any], cls: Any, prefix: str = "") -> Any:
    """The message that a vector gives in both forms, which must agree."""
    record = from_json(inputs[f"{prefix}json"], cls)
    decoded = decode_intrinsic(bytes.fromhex(inputs[f"{prefix}hex"]), cls)
    if repr(decoded) != repr(record):
        raise AssertionError(f"JSON gives {record}, the bytes give {decoded}")
    return record


def validate_mass(line: Line) -> str | None:
    def run() -> dict[str, Any]:
        inertia.check_mass(float(line["inputs"]["mass"]), compat=True)
        return {"code": OK}

    return compare(line, outcome(run, {"code": "FAILED_PRECONDITION"}))


def inertia_of(line: Line) -> geometry.Array:
    return np.array(floats(line["inputs"]["inertia_column_major"])).reshape(3, 3, order="F")


def validate_inertia(line: Line) -> str | None:
    if line.get("borderline"):
        return "skip: floating-point tie"
    reason = inertia.inertia_fault(inertia_of(line))
    return compare(line, {"code": OK if reason == "ok" else "FAILED_PRECONDITION", "reason": reason})


def principal_moments(line: Line) -> str | None:
    matrix = inertia_of(line)
    try:
        return compare(line, {"code": OK, "moments_ascending": inertia.principal_moments(matrix)})
    except LimitsError as error:
        return compare(line, {"code": "FAILED_PRECONDITION", "reason": error.reason})


def link_parameters(line: Line) -> str | None:
    faults = inertia.link_faults(from_json(line["inputs"]["json"], intrinsic.LinkParameters))
    return compare(line, {"ok": not faults, "faults": faults})


def joint_limits_valid(line: Line) -> str | None:
    limits = vectors(line["inputs"])
    valid = joint_limits.joint_limits_valid(limits)
    if "unspecified" in line:
        return "NaN was accepted" if valid else None
    consistent = len({len(values) for values in limits}) == 1
    return compare(line, {"size_consistent": consistent, "valid": valid})


def joint_limits_from_proto(line: Line) -> str | None:
    def run() -> dict[str, Any]:
        message = message_of(line["inputs"], intrinsic.JointLimits)
        limits = joint_limits_messages.joint_limits_from_message(message, max_dof=line["inputs"]["max_dof"])
        return {"code": OK, "limits": limits._asdict()}

    found = outcome(run, {"code": INVALID})
    if "unspecified" in line:
        return "NaN was accepted" if found["code"] == OK else None
    return compare(line, found)


def written(line: Line, message: Any) -> str | None:
    wanted = line["expected"]
    if same(to_json(message), wanted["json"]) and encode_message(message).hex() == wanted["hex"]:
        return None
    return f"{line['id']}: got {to_json(message)}, expected {wanted}"


def joint_limits_to_proto(line: Line) -> str | None:
    return written(line, joint_limits_messages.joint_limits_to_message(vectors(line["inputs"]), compat=True))


def joint_limits_to_update(line: Line) -> str | None:
    return written(line, joint_limits_messages.joint_limits_to_update(vectors(line["inputs"]), compat=True))


def update_joint_limits(line: Line) -> str | None:
    base = vectors(line["inputs"]["base"])
    update = message_of(line["inputs"], intrinsic.JointLimitsUpdate, "update_")
    try:
        merged = joint_limits_messages.merge_joint_limits(base, update)
    except LimitsError as error:
        return compare(line, {"code": INVALID, "first_bad_field": error.key})
    valid = joint_limits.joint_limits_valid(merged)
    if line["result_valid"] is not None and valid != line["result_valid"]:
        return f"{line['id']}: valid is {valid}"
    return compare(line, {"code": OK, "limits": merged._asdict()})


def joint_limits_equal(line: Line) -> str | None:
    a, b = (vectors(line["inputs"][side]) for side in "ab")
    return compare(line, {"equal": joint_limits.joint_limits_equal(a, b, compat=True)})


def apply_joint_limit_update(line: Line) -> str | None:
    def run() -> dict[str, Any]:
        limits = from_json(line["inputs"]["limits_json"], component.ComponentLimits)
        update = message_of(line["inputs"], intrinsic.JointLimitUpdate, "update_")
        return {
            "code": OK,
            "limits_json": to_json(component.apply_joint_limit_update(limits, update, compat=True)),
        }

    return compare(line, outcome(run, {"code": INVALID}))


def system_application_limits(line: Line) -> str | None:
    def run() -> dict[str, Any]:
        component.check_component(from_json(line["inputs"]["json"], component.Component))
        return {"code": OK}

    return compare(line, outcome(run, {"code": INVALID}))


def component_from_proto(line: Line) -> str | None:
    def run() -> dict[str, Any]:
        given = from_json(line["inputs"]["json"], component.Component)
        read = component.normalize_component(given, compat=True)
        axis = read.axis or intrinsic.Point()
        document = to_json(read)
        if axis == intrinsic.Point(z=1.0):
            del document["axis"]
        return {"code": OK, "json": document, "raw_value": read.raw_value, "axis": [axis.x, axis.y, axis.z]}

    return compare(line, outcome(run, {"code": INVALID}))


def set_limit(line: Line) -> str | None:
    inputs = line["inputs"]
    before = component.LimitChoice(float(inputs["system"]), float(inputs["application"]))
    which, kind = inputs["set"].split("_")
    limit, enforce = float(inputs["limit"]), inputs["enforce"]

    def run() -> dict[str, Any]:
        after = component.set_limit(before, which, limit, kind=kind, enforce=enforce, compat=True)
        return {"code": OK, **after._asdict()}

    return compare(line, outcome(run, {"code": INVALID, **before._asdict()}))


def almost_equals(line: Line) -> str | None:
    a, b, tolerance = (float(line["inputs"][name]) for name in ("a", "b", "std_error"))
    return compare(line, {"equal": geometry.almost_equals(a, b, tolerance)})


def matrix_from_proto(line: Line) -> str | None:
    inputs = line["inputs"]
    values = inputs.get("values")
    if values is None:
        values = [inputs["values_fill"]] * inputs["values_count"]

    def run() -> dict[str, Any]:
        message = intrinsic.Matrixd(rows=inputs["rows"], cols=inputs["cols"], values=tuple(floats(values)))
        return {"code": OK, "rows_row_major": geometry.matrix_from_message(message)}

    return compare(line, outcome(run, {"code": INVALID}))


def pose_from_proto(line: Line) -> str | None:
    message = message_of(line["inputs"], intrinsic.Pose)

    def read(*, normalize: bool) -> dict[str, Any]:
        transform = geometry.pose_from_message(message, normalize=normalize, compat=True)
        return {"code": OK, "position": transform.position, "orientation_xyzw": transform.orientation}

    found = {
        "strict": outcome(lambda: read(normalize=False), {"code": INVALID}),
        "normalized": outcome(lambda: read(normalize=True), {"code": INVALID}),
    }
    return compare(line, found, atol=1e-15)


def pose_compose(line: Line) -> str | None:
    a, b = (
        geometry.pose_from_message(from_json(line["inputs"][side], intrinsic.Pose), normalize=True) for side in "ab"
    )
    found = {"product": geometry.compose(a, b), "inverse_a": geometry.invert(a)}
    for name, transform in found.items():
        wanted = line["expected"][name]
        signs = (transform.orientation, -transform.orientation)
        if not (
            same(plain(transform.position), wanted["position"], atol=line["atol"])
            and any(same(plain(sign), wanted["orientation_xyzw"], atol=line["atol"]) for sign in signs)
        ):
            return f"{line['id']}: {name} is {transform}, expected {wanted}"
    return None


def affine_from_proto(line: Line) -> str | None:
    def run() -> dict[str, Any]:
        message = message_of(line["inputs"], intrinsic.Affine3d)
        return {"code": OK, "matrix_3x4": geometry.affine_from_message(message, compat=True)}

    return compare(line, outcome(run, {"code": INVALID}))


def affine_compose(line: Line) -> str | None:
    a, b = (geometry.affine_from_message(from_json(line["inputs"][side], intrinsic.Affine3d)) for side in "ab")
    wanted = geometry.affine_from_message(from_json(line["expected"]["product"], intrinsic.Affine3d))
    product = geometry.compose_affine(a, b)
    if same(plain(product), plain(wanted), atol=line["atol"]):
        return None
    return f"{line['id']}: got {product}, expected {wanted}"


def cartesian_limits_valid(line: Line) -> str | None:
    fields: dict[str, Any] = {
        name: np.array(floats(value)) if isinstance(value, list) else float(value)
        for name, value in line["inputs"].items()
    }
    return compare(line, {"valid": cartesian.cartesian_limits_valid(cartesian.CartesianLimits(**fields))})


def dynamic_limits_check_mode(line: Line) -> str | None:
    def run() -> dict[str, Any]:
        mode = check_mode.effective_check_mode(line["inputs"]["proto_value"])
        return {"code": OK, "mode": mode.name.removeprefix("DYNAMIC_LIMITS_CHECK_MODE_")}

    return compare(line, outcome(run, {"code": INVALID}))


def joint_of(given: dict[str, Any]) -> intrinsic.Joint:
    weights = given["dependency"]
    if weights is not None:
        leading = {int(key): float(alpha) for key, alpha in weights["alpha_leading"].items()}
        weights = intrinsic.LinearDependency(alpha_self=float(weights["alpha_self"]), alpha_leading=leading)
    return intrinsic.Joint(
        element=intrinsic.Element(id=given["id"]),
        parameters=intrinsic.JointParameters(type=intrinsic.JointType[given["type"]]),
        linear_dependency=weights,
    )


def linear_dependency(line: Line) -> str | None:
    inputs = line["inputs"]
    index = {int(key): dof for key, dof in inputs["element_id_to_dof_index"].items()}
    try:
        matrix = dependency.coupling_of([joint_of(given) for given in inputs["joints"]], index).matrix
    except LimitsError as error:
        return compare(line, {"ok": False, "fault": error.reason})
    ordered = sorted(
        (given for given in inputs["joints"] if given["id"] in index), key=lambda joint: index[joint["id"]]
    )
    bound = {name: np.array(floats(joint[name] for joint in ordered)) for name in ("lower", "upper", "velocity")}
    low, high = dependency.reachable_positions(matrix, bound["lower"], bound["upper"])
    velocity = dependency.reachable_magnitudes(matrix, bound["velocity"])
    found = {
        "ok": True,
        "matrix": matrix,
        "q_derived": dependency.derive(matrix, np.array(floats(inputs["q"]))),
        "qd_derived": dependency.derive(matrix, np.array(floats(inputs["qd"]))),
        "effort_input": dependency.input_efforts(matrix, np.array(floats(inputs["effort_derived"]))),
        "reachable": {
            str(joint["id"]): {"lower": low[dof], "upper": high[dof], "velocity": velocity[dof]}
            for dof, joint in enumerate(ordered)
        },
    }
    return compare(line, found)


def skeleton_check(line: Line) -> str | None:
    message = from_json(line["inputs"]["json"], intrinsic.Skeleton)
    try:
        skeleton.check_skeleton(message)
    except LimitsError as error:
        return f"{line['id']}: refused: {error}" if line["expected"]["ok"] else None
    return None if line["expected"]["ok"] else f"{line['id']}: accepted, expected {line['expected']['fault']}"


RECORDS: dict[str, Any] = {message.DESCRIPTOR.full_name: record for record, message in MESSAGES.items()}
ENUMS: dict[str, type[enum.IntEnum]] = {
    "enum:intrinsic_proto.Joint.Type": intrinsic.JointType,
    "enum:intrinsic_proto.DynamicLimitsCheckMode": intrinsic.DynamicLimitsCheckMode,
}


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


RUNNERS: dict[str, Callable[[Line], str | None]] = {
    "validate_mass": validate_mass,
    "validate_inertia": validate_inertia,
    "principal_moments": principal_moments,
    "link_parameters": link_parameters,
    "joint_limits_valid": joint_limits_valid,
    "joint_limits_from_proto": joint_limits_from_proto,
    "joint_limits_xd_from_proto": joint_limits_from_proto,
    "joint_limits_to_proto": joint_limits_to_proto,
    "joint_limits_xd_to_update": joint_limits_to_update,
    "update_joint_limits": update_joint_limits,
    "joint_limits_equal": joint_limits_equal,
    "apply_joint_limit_update": apply_joint_limit_update,
    "system_application_limits": system_application_limits,
    "component_from_proto": component_from_proto,
    "set_limit": set_limit,
    "almost_equals": almost_equals,
    "matrix_from_proto": matrix_from_proto,
    "pose_from_proto": pose_from_proto,
    "pose_compose": pose_compose,
    "affine_from_proto": affine_from_proto,
    "affine_compose": affine_compose,
    "cartesian_limits_valid": cartesian_limits_valid,
    "dynamic_limits_check_mode": dynamic_limits_check_mode,
    "linear_dependency": linear_dependency,
    "skeleton_check": skeleton_check,
    "intrinsic_wire": wire,
    "intrinsic_wire_decode": wire_decode,
}
"""Runner by the vector's `fn`, or by the file's name where its lines have none."""
