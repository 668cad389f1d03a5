import math
from typing import Any

import pytest

from handlers.stack.arm_limits import MEASURED, ArmLimits, limits_of, vectors_of
from handlers.state.provenance import NOBODY
from limits.stack.layer import LayerKind
from schema.arms import JointInfo, Slot
from schema.errors import BrokerError
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.items import ITEMS
from schema.joint_items import JointParameterMap, JointSafetyMap
from schema.messages import KinematicLimits
from tests.handlers.builders import MODEL, arm, description, never_read, speeds
from tests.handlers.limit_files import GAINS, NAMES, parameters, skeleton, sources, urdf

SPEEDS: Slot = ("joint_speed_soft_limits", 1)


def velocities(value: float) -> JointLimits:
    return JointLimits(max_velocity=RepeatedDouble((value,) * 7))


def test_an_arm_that_was_never_read_has_no_limits() -> None:
    with pytest.raises(BrokerError, match="never read"):
        limits_of(never_read()).joints  # noqa: B018 - the property raises


def test_the_bounds_of_items_are_the_numbers_that_the_arm_gives() -> None:
    limits = limits_of(arm())
    hard = MODEL.hard
    assert limits.outer(SPEEDS) == hard.joint_speed_limits
    assert limits.sources(SPEEDS) == ("hard:device",) * 7
    assert limits.outer(("joint_acceleration_soft_limits", 4)) == hard.joint_acceleration_limits
    assert limits.outer(("twist_linear_soft_limit", 2)) == (hard.twist_linear,)
    assert limits.outer(("desired_angular_twist", 0)) == (hard.twist_angular,)
    assert limits.bounds("desired_joint_speeds").high == hard.joint_speed_limits


def test_every_measured_item_is_one_with_a_quantity() -> None:
    assert MEASURED.keys() == {item.key for item in ITEMS.values() if item.quantity is not None}


def test_what_the_arm_does_not_limit_is_unlimited() -> None:
    state = arm(description=description(hard_limits=KinematicLimits()))
    state.desired["joint_limits", 0] = state.reported["joint_limits", 0] = JointLimits()
    assert limits_of(state).bounds("joint_speed_soft_limits").high == (math.inf,) * 7
    assert limits_of(state).bounds("twist_linear_soft_limit") == ((math.inf,), ("",))


@pytest.mark.parametrize(
    ("changes", "bound", "source"),
    [
        ({"sources": sources(robot=urdf(1.2))}, 1.2, "urdf:gen3.urdf"),
        ({"sources": sources(tree=skeleton(1.1))}, 0.55, "skeleton:gen3.pb#soft"),
        ({"sources": sources(velocity=0.75)}, 0.75, "policy:site"),
        ({"sources": sources(velocity=2.0)}, math.radians(80.0), "hard:device"),
        ({"description": description(hard_source="hard:profile")}, math.radians(80.0), "hard:profile"),
    ],
)
def test_the_tightest_outer_layer_bounds(changes: dict[str, Any], bound: float, source: str) -> None:
    limits = limits_of(arm(**changes))
    assert limits.outer(SPEEDS)[0] == pytest.approx(math.degrees(bound))
    assert limits.sources(SPEEDS)[0] == source


@pytest.mark.parametrize(
    ("slot", "value", "source"),
    [
        (("joint_limits", 0), velocities(0.25), "application"),
        (("joint_parameters", 0), JointParameterMap(parameters(velocity=0.25)), "ros:parameters"),
    ],
)
@pytest.mark.parametrize("where", ["reported", "unread"])
def test_held_items_bound_from_when_they_are_accepted(slot: Slot, value: Any, source: str, where: str) -> None:
    state = arm()
    limits = limits_of(state)
    assert limits.sources(SPEEDS)[0] == "hard:device"
    if where == "unread":
        state.unread[slot] = ((value, NOBODY),)
    else:
        state.reported[slot] = value
    assert limits.outer(SPEEDS)[0] == pytest.approx(math.degrees(0.25))
    assert limits.sources(SPEEDS)[0] == source


def test_soft_limits_and_safety_bound_no_request() -> None:
    state = arm(sources=sources(robot=urdf(2.0)))
    state.desired[SPEEDS] = state.reported[SPEEDS] = speeds(10.0)
    state.desired["joint_safety", 0] = state.reported["joint_safety", 0] = JointSafetyMap({"joint_2": GAINS})
    assert limits_of(state).outer(SPEEDS) == MODEL.hard.joint_speed_limits


def test_limits_are_kept_until_something_changes() -> None:
    state = arm()
    limits = limits_of(state)
    assert limits_of(state) is limits
    stack, folded = limits.stack, limits.folded
    assert (limits.stack, limits.folded) == (stack, folded)
    state.desired[SPEEDS] = state.reported[SPEEDS] = speeds(10.0)
    state.rev += 1
    assert limits.effective(1).velocity[0] == pytest.approx(math.radians(10.0))
    assert limits.effective(2).velocity[0] == pytest.approx(math.radians(80.0))
    assert limits.effective(None).velocity[0] == pytest.approx(math.radians(10.0))
    assert limits.stack is not stack


def test_files_are_placed_again_only_for_other_joints() -> None:
    state = arm(sources=sources(robot=urdf()))
    limits = limits_of(state)
    placed = limits.placed
    state.description = description(hard_source="hard:profile")
    assert limits.placed is placed
    state.description = description(joints=tuple(JointInfo(name, "revolute") for name in reversed(NAMES)))
    assert limits.placed is not placed
    assert limits.joints.names == NAMES[::-1]


def test_the_machine_is_what_application_limits_stay_within() -> None:
    state = arm(sources=sources(robot=urdf(1.2), velocity=0.5))
    for values in (state.desired, state.reported):
        values["joint_parameters", 0] = JointParameterMap(parameters(velocity=0.75))
        values["joint_limits", 0] = velocities(0.25)
    limits = limits_of(state)
    assert vectors_of(limits.system).max_velocity.tolist() == [0.75, *[1.2] * 6]
    assert limits.machine(without=LayerKind.ROS).value("velocity", "joint_1") == 1.2
    assert vectors_of(limits.folded, 1).max_velocity.tolist() == [0.25] * 7


def test_the_limits_of_two_arms_are_their_own() -> None:
    assert isinstance(limits_of(arm()), ArmLimits)
    assert limits_of(arm()) is not limits_of(arm())
