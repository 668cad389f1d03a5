"""Parameters of a node as its worker tells them, and as the service knows them."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from devices.adapter import ArmRefusedError, ArmUnreadableError
from devices.refusals import refused
from limits.ros2.keys import FLAG_KEYS, HARD_KEYS, ROOT, SOFT_KEYS, parameter_name
from schema.joint_items import JointParameterMap

KEYS = HARD_KEYS + SOFT_KEYS
LIMIT_TYPES = frozenset({"bool", "integer", "double"})
"""Types of ROS that a limit may have."""


class Held(NamedTuple):
    """What a node holds: the type's name as in ROS, and the value where the type is one of `LIMIT_TYPES`."""

    kind: str
    value: bool | float | None


def read_values(result: object) -> dict[str, Held | None]:
    """The parameters of a worker's answer or notice; None for one that was deleted.

    Raises:
        ArmUnreadableError: it is none.
    """
    if not isinstance(result, dict):
        raise ArmUnreadableError("the worker's parameters cannot be read")
    return {str(name): None if value is None else _held(str(name), value) for name, value in result.items()}


def _held(name: str, value: object) -> Held:
    if not isinstance(value, list) or len(value) != len(Held._fields) or not isinstance(value[0], str):
        raise ArmUnreadableError(f"{name}: the worker's value cannot be read")
    kind, found = value
    if kind not in LIMIT_TYPES:
        return Held(kind, None)
    if kind == "bool":
        if not isinstance(found, bool):
            raise ArmUnreadableError(f"{name}: the worker's value cannot be read")
        return Held(kind, found)
    try:
        return Held(kind, float(found))
    except (TypeError, ValueError, OverflowError):
        raise ArmUnreadableError(f"{name}: the worker's value cannot be read") from None


def joints_in(held: Mapping[str, Held | None]) -> tuple[str, ...]:
    """The joints that have limits, in the order of their names, numbers in them by their size."""
    found = {joint for name in held for joint, key in (_parts(name),) if key in KEYS and joint}
    return tuple(sorted(found, key=lambda name: [(len(part), part) for part in re.split(r"(\d+)", name)]))


def _parts(name: str) -> tuple[str, str]:
    """Joint and key of a parameter."""
    joint, _, key = name.removeprefix(f"{ROOT}.").rpartition(".")
    return joint, key


def as_map(held: Mapping[str, Held | None], joints: Sequence[str]) -> tuple[JointParameterMap, tuple[str, ...]]:
    """The limits of these joints that are given, and what is no limit, in words.

    A number that is not finite is not given: NaN is what nodes declare for it.
    """
    given: dict[str, bool | float] = {}
    doubts = []
    for name in (parameter_name(joint, key) for joint in joints for key in KEYS):
        value = held.get(name)
        if value is None or value.kind == "not_set":
            continue
        if value.value is None or isinstance(value.value, bool) is not (_parts(name)[1] in FLAG_KEYS):
            wanted = "bool" if _parts(name)[1] in FLAG_KEYS else "double"
            doubts.append(f"{name} is of type {value.kind}, not {wanted}: it counts as not given")
        elif math.isinf(value.value):
            doubts.append(f"{name} is {value.value}: it counts as not given")
        elif not math.isnan(value.value):
            given[name] = value.value
    return JointParameterMap(given), tuple(doubts)


def changes(node: str, wanted: JointParameterMap, held: Mapping[str, Held | None]) -> dict[str, list[Any]]:
    """What has to be set so that a node holds what is wanted, in the types that it declared.

    Raises:
        ArmRefusedError: INVALID_PARAM: a parameter is not declared, or is of a type that cannot hold the value.
    """
    found: dict[str, list[Any]] = {}
    for name, value in wanted.parameters.items():
        there = held.get(name)
        if there is None:
            raise refused("INVALID_PARAM", f"{name} is not declared by {node}")
        if there.value != value or isinstance(there.value, bool) is not isinstance(value, bool):
            found[name] = _typed(node, name, value, there.kind)
    return found


def _typed(node: str, name: str, value: bool | float, kind: str) -> list[Any]:
    """A value in the type of its parameter."""
    flag = isinstance(value, bool)
    if kind == "not_set":
        kind = "bool" if flag else "double"
    if kind not in LIMIT_TYPES or (kind == "bool") is not flag:
        raise _of_other_type(node, name, value, kind)
    if kind != "integer":
        return [kind, value]
    if not float(value).is_integer():
        raise _of_other_type(node, name, value, kind)
    return [kind, int(value)]


def _of_other_type(node: str, name: str, value: bool | float, kind: str) -> ArmRefusedError:
    return refused("INVALID_PARAM", f"{name} is of type {kind} in {node}, which cannot hold {value!r}")
