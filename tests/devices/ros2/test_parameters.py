import math
from typing import Any

import pytest

from devices.adapter import ArmRefusedError, ArmUnreadableError
from devices.ros2.parameters import Held, as_map, changes, joints_in, read_values
from schema.joint_items import JointParameterMap

FLAG, SPEED = "joint_limits.a.has_velocity_limits", "joint_limits.a.max_velocity"


def test_values_are_read_with_their_types() -> None:
    told = {
        FLAG: ["bool", True],
        SPEED: ["double", 1.5],
        "whole": ["integer", 2],
        "unlimited": ["double", "inf"],
        "text": ["string", None],
        "gone": None,
    }
    assert read_values(told) == {
        FLAG: Held("bool", True),
        SPEED: Held("double", 1.5),
        "whole": Held("integer", 2.0),
        "unlimited": Held("double", math.inf),
        "text": Held("string", None),
        "gone": None,
    }


@pytest.mark.parametrize(
    "told",
    [
        None,
        [],
        {SPEED: 1.5},
        {SPEED: []},
        {SPEED: ["double"]},
        {SPEED: ["double", 1.5, 2.5]},
        {SPEED: [3, 1.5]},
        {SPEED: ["double", None]},
        {SPEED: ["double", "fast"]},
        {SPEED: ["integer", 10**400]},
        {FLAG: ["bool", 1]},
    ],
)
def test_what_is_no_value_cannot_be_read(told: Any) -> None:
    with pytest.raises(ArmUnreadableError, match="cannot be read"):
        read_values(told)


def test_joints_stand_in_the_order_of_their_numbers() -> None:
    names = [f"joint_limits.{joint}.max_velocity" for joint in ("joint_10", "joint_2", "wrist", "a/b.c", "joint_1")]
    held = dict.fromkeys([*names, "joint_limits.other.max_speed", "joint_limits.max_velocity"], Held("double", 1.0))
    assert sorted(joints_in(held)) == ["a/b.c", "joint_1", "joint_10", "joint_2", "wrist"]
    ordered = joints_in(held)
    assert [name for name in ordered if name.startswith("joint")] == ["joint_1", "joint_2", "joint_10"]


def test_a_value_that_is_no_limit_is_not_given() -> None:
    held = {
        FLAG: Held("double", 1.0),
        SPEED: Held("bool", True),
        "joint_limits.a.has_jerk_limits": Held("array", None),
        "joint_limits.a.max_jerk": Held("double", -math.inf),
        "joint_limits.a.max_effort": Held("double", math.nan),
        "joint_limits.a.k_position": Held("not_set", None),
        "joint_limits.a.has_effort_limits": Held("bool", False),
        "joint_limits.a.max_acceleration": Held("integer", 3.0),
        "joint_limits.b.max_jerk": Held("double", 1.0),
        "joint_limits.a.max_deceleration": None,
    }
    given, doubts = as_map(held, ("a",))
    assert given.parameters == {"joint_limits.a.has_effort_limits": False, "joint_limits.a.max_acceleration": 3.0}
    assert doubts == (
        f"{FLAG} is of type double, not bool: it counts as not given",
        f"{SPEED} is of type bool, not double: it counts as not given",
        "joint_limits.a.has_jerk_limits is of type array, not bool: it counts as not given",
        "joint_limits.a.max_jerk is -inf: it counts as not given",
    )


def wanted(value: bool | float, name: str = SPEED) -> JointParameterMap:
    return JointParameterMap({name: value})


@pytest.mark.parametrize(
    ("value", "there", "change"),
    [
        (1.5, Held("double", 1.5), None),
        (1.5, Held("double", 2.5), ["double", 1.5]),
        (1.5, Held("double", math.nan), ["double", 1.5]),
        (2.0, Held("integer", 3.0), ["integer", 2]),
        (3.0, Held("integer", 3.0), None),
        (1.5, Held("not_set", None), ["double", 1.5]),
        (True, Held("not_set", None), ["bool", True]),
        (True, Held("bool", False), ["bool", True]),
        (False, Held("bool", False), None),
    ],
)
def test_what_has_to_be_set_has_the_type_of_the_node(
    value: bool | float, there: Held, change: list[Any] | None
) -> None:
    assert changes("/n", wanted(value), {SPEED: there}) == ({} if change is None else {SPEED: change})


@pytest.mark.parametrize(
    ("value", "there", "text"),
    [
        (1.5, None, "max_velocity is not declared by /n"),
        (1.5, Held("integer", 3.0), "of type integer in /n, which cannot hold 1.5"),
        (1.0, Held("bool", True), "of type bool in /n, which cannot hold 1.0"),
        (True, Held("double", 1.0), "of type double in /n, which cannot hold True"),
        (1.0, Held("string", None), "of type string in /n, which cannot hold 1.0"),
    ],
)
def test_what_a_node_cannot_hold_is_refused(value: bool | float, there: Held | None, text: str) -> None:
    with pytest.raises(ArmRefusedError, match=text.replace(".", r"\.")) as refusal:
        changes("/n", wanted(value), {SPEED: there})
    assert refusal.value.name == "INVALID_PARAM"
