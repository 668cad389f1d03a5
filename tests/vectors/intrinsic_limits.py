"""Runners of the `intrinsic_proto` vectors of limits."""

from typing import Any

import numpy as np

from limits.errors import LimitsError
from limits.intrinsic import cartesian, check_mode, component, joint_limits, joint_limits_messages
from schema import intrinsic
from schema.codecs.proto_json import from_json, to_json
from schema.codecs.protobuf import encode_message
from tests.vectors.comparison import INVALID, OK, Line, compare, floats, outcome, same
from tests.vectors.intrinsic_wire import message_of


def vectors(fields: dict[str, Any]) -> joint_limits.JointLimitVectors:
    return joint_limits.vectors(**{name: floats(fields[name]) for name in joint_limits.FIELDS})


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
