"""Runners of the ros2_control vectors: one decoded line in, None or the reason why it fails out."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import asdict

from limits.errors import LimitsError
from limits.formats.urdf import read_urdf
from limits.formats.urdf_elements import UrdfDialect
from limits.ros2 import helpers
from limits.ros2.arrays import INTERFACES, JointValues, LimitTable
from limits.ros2.compat_range import CompatRangeLimiter
from limits.ros2.compat_soft import CompatSoftLimiter
from limits.ros2.limiter import CommandMemory
from limits.ros2.parameters import declare_parameters, get_joint_limits
from limits.ros2.records import JointLimits, SoftJointLimits
from limits.ros2.saturation import TrajectoryPoint, saturate
from limits.ros2.store import ParameterStore
from limits.ros2.updates import Parameter, check_for_limits_update, check_for_soft_limits_update
from limits.ros2.urdf import find_joint, get_urdf_limits, get_urdf_soft_limits

Vector = Mapping[str, Any]
TOLERANCE = 1e-12
SPECIAL = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}


def number(value: Any) -> Any:
    """Return a JSON value with the spelled-out special numbers decoded."""
    return SPECIAL[value] if isinstance(value, str) and value in SPECIAL else value


def numbers(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON object with its special numbers decoded."""
    return {key: number(value) for key, value in record.items()}


def hard(record: Mapping[str, Any]) -> JointLimits:
    return JointLimits(**numbers(record))


def soft(record: Mapping[str, Any] | None) -> SoftJointLimits:
    return SoftJointLimits(**numbers(record or {}))


def differs(found: Any, expected: Any) -> bool:
    """Tell whether a result differs: numbers beyond 1e-12, everything else at all."""
    expected = number(expected)
    if isinstance(expected, Mapping):
        return (
            not isinstance(found, Mapping)
            or found.keys() != expected.keys()
            or any(differs(found[key], value) for key, value in expected.items())
        )
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        return len(found) != len(expected) or any(differs(*pair) for pair in zip(found, expected, strict=True))
    if isinstance(expected, float) or (isinstance(expected, int) and not isinstance(expected, bool)):
        both_nan = math.isnan(found) and math.isnan(expected)
        return not both_nan and not math.isclose(found, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(found) is not type(expected) or bool(found != expected)


def compare(found: Any, expected: Any) -> str | None:
    """Return None when the result is the expected one, otherwise both."""
    return f"found {found}, expected {expected}" if differs(found, expected) else None


def bounds(pair: tuple[Any, Any]) -> dict[str, float]:
    return {"lower": float(pair[0]), "upper": float(pair[1])}


def _is_limited(given: dict[str, Any]) -> Any:
    return {"limited": bool(helpers.is_limited(given["value"], given["min"], given["max"]))}


def _swap(given: dict[str, Any]) -> Any:
    return bounds(helpers.check_and_swap_limits(given["lower"], given["upper"]))


def _verify(given: dict[str, Any]) -> Any:
    helpers.verify_actual_position_within_limits(hard(given["limits"]), given["actual_position"])
    return {"ok": True}


def bounding(function: Callable[..., tuple[Any, Any]], *keys: str) -> Callable[[dict[str, Any]], Any]:
    """Return a function of the inputs: the bounds that a helper gives for the limits and the inputs of these keys."""
    return lambda given: bounds(function(hard(given["limits"]), *(given[key] for key in keys)))


def _predicates(given: dict[str, Any]) -> Any:
    record = soft(given["soft"])
    return {
        "has_soft_position_limits": record.has_soft_position_limits(),
        "has_soft_limits": record.has_soft_limits(),
    }


def stateless(function: Callable[[dict[str, Any]], Any]) -> Callable[[Vector], str | None]:
    """Return the runner of a function of decoded inputs; a LimitsError is the result `out_of_bounds`."""

    def run(vector: Vector) -> str | None:
        with np.errstate(all="ignore"):
            try:
                found = function(numbers(vector["inputs"]))
            except LimitsError:
                found = {"error": "out_of_bounds"}
        expected = dict(vector["expected"])
        if "error" in expected:
            expected.pop("ok", None)
        return compare(found, expected)

    return run


def values(record: Mapping[str, Any] | None) -> JointValues:
    """Return the values of one joint."""
    return JointValues(**{key: np.array([number(value)], dtype=float) for key, value in (record or {}).items()})


def given(record: JointValues) -> dict[str, float]:
    """Return the values of one joint as the vectors write them."""
    pairs = ((name, getattr(record, name)) for name in INTERFACES)
    return {name: float(value[0]) for name, value in pairs if value is not None}


def remembered(memory: CommandMemory) -> dict[str, float]:
    """Return the last command of one joint as the vectors write it."""
    rows = zip(INTERFACES, memory.values[:, 0], memory.known[:, 0], strict=True)
    return {name: float(value) for name, value, known in rows if known}


def _update_prev_command(inputs: dict[str, Any]) -> Any:
    memory = CommandMemory(1)
    memory.configure(values(inputs["prev"]))
    memory.update_prev_command(values(inputs["desired"]))
    return {"prev": remembered(memory)}


def _step(limiter: CompatRangeLimiter, step: Mapping[str, Any]) -> dict[str, Any]:
    """Run one step of a sequence of one joint."""
    if step.get("reset"):
        limiter.reset()
    desired = values(step["desired"])
    try:
        answer = limiter.enforce(values(step["actual"]), desired, step["dt_ns"] / 1e9)
    except LimitsError:
        return {"error": "out_of_bounds", "desired": given(desired), "prev_command": remembered(limiter.memory)}
    return {
        "limited": bool(answer.limited[0]),
        "desired": given(answer.desired),
        "prev_command": remembered(limiter.memory),
    }


def _sequence(vector: Vector, limiter: CompatRangeLimiter) -> str | None:
    if vector["inputs"]["configure"] is not None:
        limiter.configure(values(vector["inputs"]["configure"]))
    for place, step in enumerate(vector["inputs"]["steps"]):
        expected = dict(vector["expected"]["steps"][place])
        expected.pop("undefined", None)
        if reason := compare(_step(limiter, step), expected):
            return f"step {place}: {reason}"
    return None


def _range(vector: Vector) -> str | None:
    return _sequence(vector, CompatRangeLimiter([hard(vector["inputs"]["limits"])]))


def _soft(vector: Vector) -> str | None:
    return _sequence(vector, CompatSoftLimiter([hard(vector["inputs"]["limits"])], [soft(vector["inputs"]["soft"])]))


def point(record: Mapping[str, Any], joints: int) -> TrajectoryPoint:
    """Return a trajectory point; lists of a wrong length count as not given."""
    return TrajectoryPoint(
        **{
            key: np.array([number(value) for value in listed], dtype=float)
            for key, listed in record.items()
            if len(listed) == joints
        }
    )


def _saturation_steps(vector: Vector, expected: Mapping[str, Any], *, corrected: bool) -> str | None:
    table = LimitTable.of([hard(record) for record in vector["inputs"]["limits"]])
    joints = len(vector["inputs"]["limits"])
    for place, step in enumerate(vector["inputs"]["steps"]):
        desired = point(step["desired"], joints)
        result, codes = saturate(
            table, point(step["current"], joints), desired, step["dt_ns"] / 1e9, corrected=corrected
        )
        found = {
            key: step["desired"][key] if getattr(result, key) is None else getattr(result, key).tolist()
            for key in step["desired"]
        }
        if reason := compare({"limited": bool(codes.any()), "desired": found}, expected["steps"][place]):
            return f"step {place}{' (corrected)' if corrected else ''}: {reason}"
    return None


def _saturation(vector: Vector) -> str | None:
    reason = _saturation_steps(vector, vector["expected"], corrected=False)
    if reason is None and "expected_corrected" in vector:
        reason = _saturation_steps(vector, vector["expected_corrected"], corrected=True)
    return reason


TYPES: dict[str, type] = {"bool": bool, "int": int, "double": float, "string": str}


def parameters_of(listed: Sequence[Mapping[str, Any]]) -> list[Parameter]:
    """Return parameters with the Python type that stands for their ROS type."""
    return [Parameter(one["name"], TYPES[one["t"]](number(one["v"]))) for one in listed]


def _updated(
    function: Callable[..., tuple[bool, Any]], record: Callable[[Any], Any], vector: Vector, *, compat: bool
) -> dict[str, Any]:
    inputs = vector["inputs"]
    given = parameters_of(inputs["parameters"])
    changed, limits = function(inputs["joint"], given, record(inputs["initial"]), compat=compat)
    return {"changed": changed, "limits": asdict(limits)}


def updating(function: Callable[..., tuple[bool, Any]], record: Callable[[Any], Any]) -> Callable[[Vector], str | None]:
    """Return the runner of a runtime update, as the reference and, where a result is given, corrected."""

    def run(vector: Vector) -> str | None:
        reason = compare(_updated(function, record, vector, compat=True), vector["expected"])
        if reason is None and "expected_corrected" in vector:
            reason = compare(_updated(function, record, vector, compat=False), vector["expected_corrected"])
        return reason

    return run


def _got(vector: Vector, *, declare: bool) -> dict[str, Any]:
    """Return what a document gives, in the form of the vectors."""
    inputs = vector["inputs"]
    initial = (hard if vector["fn"] == "get_joint_limits" else soft)(inputs["initial"])
    store = ParameterStore.read(inputs["yaml"], compat=True)
    declared = {"declare_ok": declare_parameters(inputs["joint"], store)} if declare else {}
    if declared.get("declare_ok") is False:
        return {**declared, "ok": "error", "limits": None}
    try:
        found, limits = get_joint_limits(inputs["joint"], store, initial)
    except LimitsError:
        return {**declared, "ok": "error"}
    return {**declared, "ok": found, "limits": asdict(limits)}


def _yaml(vector: Vector) -> str | None:
    for form, declare in (("as_given", False), ("declared", True)):
        found, expected = _got(vector, declare=declare), dict(vector["expected"][form])
        if found["ok"] == "error" and not declare:
            expected.pop("limits")
        if reason := compare(found, expected):
            return f"{form}: {reason}"
    return None


def _urdf(vector: Vector) -> str | None:
    inputs = vector["inputs"]
    try:
        robot = read_urdf(inputs["urdf"], dialect=UrdfDialect.URDFDOM)
    except LimitsError:
        return compare({"model": False}, vector["expected"])
    joint = find_joint(robot, inputs["joint"])
    limits_ok, limits = get_urdf_limits(joint, hard(inputs["initial"]))
    soft_ok, soft_limits = get_urdf_soft_limits(joint, soft(inputs["initial_soft"]))
    found = {
        "joint_found": joint is not None,
        "limits_ok": limits_ok,
        "limits": asdict(limits),
        "soft_ok": soft_ok,
        "soft": asdict(soft_limits),
    }
    return compare(found, vector["expected"])


RUNNERS: dict[str, Callable[[dict[str, Any]], str | None]] = {
    "is_limited": stateless(_is_limited),
    "check_and_swap_limits": stateless(_swap),
    "verify_actual_position_within_limits": stateless(_verify),
    "compute_position_limits": stateless(
        bounding(helpers.compute_position_limits, "act_vel", "act_pos", "prev_command_pos", "dt")
    ),
    "compute_velocity_limits": stateless(
        bounding(helpers.compute_velocity_limits, "desired_vel", "act_pos", "prev_command_vel", "dt")
    ),
    "compute_effort_limits": stateless(bounding(helpers.compute_effort_limits, "act_pos", "act_vel")),
    "compute_acceleration_limits": stateless(bounding(helpers.compute_acceleration_limits, "desired_acc", "act_vel")),
    "soft_predicates": stateless(_predicates),
    "update_prev_command": stateless(_update_prev_command),
    "range_limiter_sequence": _range,
    "soft_limiter_sequence": _soft,
    "saturation_limiter_sequence": _saturation,
    "check_for_limits_update": updating(check_for_limits_update, hard),
    "check_for_soft_limits_update": updating(check_for_soft_limits_update, soft),
    "get_joint_limits": _yaml,
    "get_soft_joint_limits": _yaml,
    "urdf": _urdf,
}
