"""Runs one ground-truth vector of `intrinsic_*`: None when it passes, otherwise why not, or `skip: why`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from limits.errors import LimitsError
from limits.intrinsic import dependency, geometry, inertia, skeleton
from schema import intrinsic
from schema.codecs.proto_json import from_json
from tests.vectors import intrinsic_limits, intrinsic_wire
from tests.vectors.comparison import INVALID, OK, Line, compare, floats, outcome, plain, same
from tests.vectors.intrinsic_wire import message_of


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


RUNNERS: dict[str, Callable[[Line], str | None]] = {
    "validate_mass": validate_mass,
    "validate_inertia": validate_inertia,
    "principal_moments": principal_moments,
    "link_parameters": link_parameters,
    "joint_limits_valid": intrinsic_limits.joint_limits_valid,
    "joint_limits_from_proto": intrinsic_limits.joint_limits_from_proto,
    "joint_limits_xd_from_proto": intrinsic_limits.joint_limits_from_proto,
    "joint_limits_to_proto": intrinsic_limits.joint_limits_to_proto,
    "joint_limits_xd_to_update": intrinsic_limits.joint_limits_to_update,
    "update_joint_limits": intrinsic_limits.update_joint_limits,
    "joint_limits_equal": intrinsic_limits.joint_limits_equal,
    "apply_joint_limit_update": intrinsic_limits.apply_joint_limit_update,
    "system_application_limits": intrinsic_limits.system_application_limits,
    "component_from_proto": intrinsic_limits.component_from_proto,
    "set_limit": intrinsic_limits.set_limit,
    "almost_equals": almost_equals,
    "matrix_from_proto": matrix_from_proto,
    "pose_from_proto": pose_from_proto,
    "pose_compose": pose_compose,
    "affine_from_proto": affine_from_proto,
    "affine_compose": affine_compose,
    "cartesian_limits_valid": intrinsic_limits.cartesian_limits_valid,
    "dynamic_limits_check_mode": intrinsic_limits.dynamic_limits_check_mode,
    "linear_dependency": linear_dependency,
    "skeleton_check": skeleton_check,
    "intrinsic_wire": intrinsic_wire.wire,
    "intrinsic_wire_decode": intrinsic_wire.wire_decode,
}
"""Runner by the vector's `fn`, or by the file's name where its lines have none."""
