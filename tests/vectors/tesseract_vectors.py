"""Runs one ground-truth vector of `tesseract_*` or `ros2_pr2_joint_safety`: None, or the reason why it fails."""

import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np

from limits.errors import LimitsError
from limits.formats.numbers import three_digit_text
from limits.formats.urdf_elements import UrdfDialect, read_limit, read_safety
from limits.formats.urdf_records import RANGED_TYPES, JointType
from limits.formats.xml import parse_xml
from limits.tesseract import boost_archive, cereal_archive, kinematic_limits, law
from limits.tesseract.change_limits import (
    BAD_VALUE,
    NO_SUCH_LIMITED_JOINT,
    LimitedJoint,
    change_limits,
    limit_kind,
)
from limits.tesseract.joint_limits import JointLimits, joint_limits_from_urdf
from limits.tesseract.joint_safety import JointSafety, almost_equal, joint_safety_equal, joint_safety_from_urdf

Line = dict[str, Any]
SPECIAL = {
    "NaN": math.nan,
    "Infinity": math.inf,
    "-Infinity": -math.inf,
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
}
FAULTS = {BAD_VALUE: "bad_value", NO_SUCH_LIMITED_JOINT: "no_such_limited_joint"}
URDF_ORDER = ("k_velocity", "soft_upper_limit", "soft_lower_limit", "k_position")
PR2_TOLERANCE = 1e-12


def plain(value: Any) -> Any:
    """The value with the texts of NaN and the infinities as numbers."""
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    return SPECIAL.get(value, value) if isinstance(value, str) else value


def same(found: Any, wanted: Any, rtol: float = 0.0, atol: float = 0.0) -> bool:
    """Equal in shape and within the tolerances; NaN equals NaN; without tolerance the bits count."""
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(same(found[key], wanted[key], rtol, atol) for key in wanted)
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(same(*pair, rtol, atol) for pair in zip(found, wanted, strict=True))
    if isinstance(wanted, bool) or not isinstance(wanted, float | int):
        return bool(found == wanted)
    if math.isnan(wanted) or math.isnan(found):
        return math.isnan(wanted) and math.isnan(found)
    if not rtol and not atol:
        return struct.pack("d", found) == struct.pack("d", wanted)
    return bool(found == wanted) or abs(found - wanted) <= max(atol, rtol * abs(wanted))


def verdict(found: Any, line: Line) -> str | None:
    """Compare with what the vector expects, within its tolerances."""
    wanted = plain(line["expected"])
    if same(found, wanted, line.get("rtol", 0.0), line.get("atol", 0.0)):
        return None
    return f"found {found}, wanted {wanted}"


def _safety(values: Line) -> JointSafety:
    return JointSafety(**plain(values))


def _almost_equal(line: Line) -> str | None:
    return verdict({"equal": bool(almost_equal(**plain(line["inputs"])))}, line)


def _joint_safety_equal(line: Line) -> str | None:
    a, b = (_safety(line["inputs"][key]) for key in ("a", "b"))
    return verdict({"equal": joint_safety_equal(a, b)}, line)


def _kinematic_limits_equal(line: Line) -> str | None:
    return verdict({"equal": kinematic_limits.matrices_equal(**plain(line["inputs"]))}, line)


def _limits_check(line: Line) -> str | None:
    values, limits = plain(line["inputs"]["values"]), np.reshape(plain(line["inputs"]["limits"]), (-1, 2))
    try:
        enforced: Any = kinematic_limits.enforce_limits(values, limits, compat=True).tolist()
    except LimitsError:
        enforced = None
    found = {
        "within": kinematic_limits.within_limits(values, limits, compat=True),
        "satisfies_default": kinematic_limits.satisfies_limits(values, limits, compat=True),
        "enforced": enforced,
    }
    return verdict(found, line)


def _safety_controller_parse(line: Line) -> str | None:
    element = parse_xml(line["inputs"]["xml"], None)
    try:
        safety = joint_safety_from_urdf(read_safety(element, UrdfDialect.TESSERACT))
    except LimitsError as error:
        return verdict({"ok": False, "missing_or_bad": error.key}, line)
    reason = verdict({"ok": True, **msgspec.structs.asdict(safety)}, line)
    return reason or _strict_refuses(read_safety, line, bool(line.get("policy")))


def _limit_parse(line: Line) -> str | None:
    element = parse_xml(line["inputs"]["xml"], None)
    try:
        limits = joint_limits_from_urdf(read_limit(element, UrdfDialect.TESSERACT))
    except LimitsError:
        return verdict({"ok": False}, line)
    reason = verdict({"ok": True, **msgspec.structs.asdict(limits)}, line)
    return reason or _strict_refuses(read_limit, line, bool(line.get("policy")))


def _strict_refuses(read: Callable[..., object], line: Line, doubtful: bool) -> str | None:
    """Our own reader refuses whatever the vector calls doubtful."""
    try:
        read(parse_xml(line["inputs"]["xml"], None))
    except LimitsError:
        return None
    return "read strictly, though a careful reader refuses it" if doubtful else None


def _joint_safety_archive(line: Line) -> str | None:
    safety = _safety(line["inputs"])
    binary = cereal_archive.encode_cereal_binary(safety)
    xml = cereal_archive.encode_cereal_xml(safety)
    text = cereal_archive.encode_cereal_json(safety)
    boost = boost_archive.encode_boost_xml(safety)
    written = msgspec.structs.asdict(safety)
    found = {
        "binary_hex": binary.hex(),
        "xml_fields_order": [field.tag for field in parse_xml(xml, None)[0]],
        "json": msgspec.json.decode(text),
        "urdf": {key: three_digit_text(written[key]) for key in URDF_ORDER},
        "cleared": list(msgspec.structs.astuple(safety.clear())),
    }
    again = [
        cereal_archive.decode_cereal_binary(binary, strict=False),
        cereal_archive.decode_cereal_xml(xml, strict=False),
        cereal_archive.decode_cereal_json(text, strict=False),
        boost_archive.decode_boost_xml(boost, strict=False),
    ]
    if again != [safety] * len(again):
        return f"came back as {again}"
    return verdict(found, line)


def _bounds(bounds: law.SafetyBounds) -> dict[str, float]:
    return {key: float(value[0]) for key, value in bounds._asdict().items()}


def _joint_safety_bounds(line: Line) -> str | None:
    given = plain(line["inputs"])
    joint = law.SafetyJoint(**given["limits"], safety=JointSafety(**given["safety"]))
    parameters = law.safety_parameters([joint], compat=True)
    bounds = law.safety_bounds(parameters, [given["position"]], [given["velocity"]], compat=True)
    found: Line = _bounds(bounds)
    found["effort_out"] = float(law.clamp_effort(bounds, [given["effort_command"]], compat=True)[0])
    if "as_documented" in line["expected"]:
        found["as_documented"] = _bounds(law.published_bounds(parameters, [given["position"]], [given["velocity"]]))
    return verdict(found, line)


def _pr2_joint_safety(line: Line) -> str | None:
    given = plain(line["inputs"])
    joint = law.SafetyJoint(
        **(given["limits"] or {}),
        safety=None if given["safety"] is None else JointSafety(**given["safety"]),
        positioned=given["calibrated"] and JointType(given["joint_type"]) in RANGED_TYPES,
    )
    parameters = law.safety_parameters([joint], compat=True)
    bounds = law.safety_bounds(parameters, [given["position"]], [given["velocity"]], compat=True)
    found: Line = _bounds(bounds)
    if None in (given["limits"], given["safety"]):
        found |= {"velocity_min": None, "velocity_max": None}
    found["effort"] = float(law.clamp_effort(bounds, [given["commanded_effort"]], compat=True)[0])
    reason = verdict(found, line | {"rtol": PR2_TOLERANCE, "atol": PR2_TOLERANCE})
    if reason is None and line["published_comment_formula"] is not None:
        published = _bounds(law.published_bounds(parameters, [given["position"]], [given["velocity"]]))
        if not same(published, plain(line["published_comment_formula"]), PR2_TOLERANCE, PR2_TOLERANCE):
            return f"published formula gives {published}"
    return reason


def _change_limits(line: Line) -> str | None:
    given = plain(line["inputs"])
    joints = {
        name: LimitedJoint(
            type=JointType(joint["type"].lower()),
            limits=None if joint["limits"] is None else JointLimits(**joint["limits"]),
        )
        for name, joint in given["joints"].items()
    }
    changes = {name: tuple(new) if isinstance(new, list) else new for name, new in given["changes"].items()}
    before = dict(joints)
    try:
        changed = change_limits(joints, limit_kind(given["kind"]), changes)
    except LimitsError as error:
        if joints != before:
            return "changed something though it failed"
        return verdict({"ok": False, "fault": FAULTS.get(error.reason, error.reason)}, line)
    after = {
        name: {
            "type": joint.type.name,
            "limits": None if joint.limits is None else msgspec.structs.asdict(joint.limits),
        }
        for name, joint in changed.joints.items()
    }
    return verdict({"ok": True, "joints": after, "revision_delta": changed.revision_delta}, line)


_CHECKS: dict[str, Callable[[Line], str | None]] = {
    "almost_equal": _almost_equal,
    "joint_safety_equal": _joint_safety_equal,
    "kinematic_limits_equal": _kinematic_limits_equal,
    "limits_check": _limits_check,
    "safety_controller_parse": _safety_controller_parse,
    "limit_parse": _limit_parse,
    "joint_safety_archive": _joint_safety_archive,
    "joint_safety_bounds": _joint_safety_bounds,
    "pr2_joint_safety": _pr2_joint_safety,
    "change_limits": _change_limits,
}


def _runner(check: Callable[[Line], str | None]) -> Callable[[Line], str | None]:
    def run(line: Line) -> str | None:
        for mark in ("unspecified", "borderline"):
            if line.get(mark):
                return f"skip: {mark}"
        return check(line)

    return run


RUNNERS: dict[str, Callable[[Line], str | None]] = {name: _runner(check) for name, check in _CHECKS.items()}
