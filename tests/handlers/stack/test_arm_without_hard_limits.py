"""An arm that tells no hard limits and holds the parameters of its joints itself: a ROS node."""

from typing import Any

import pytest

from handlers.items.own_items import INITIAL_ORDER, initial_value
from handlers.rpc_table import RPC_TABLE, SERVICE_METHODS
from handlers.stack.arm_limits import limits_of
from handlers.stack.effective import effective_document, limit_sources
from handlers.stack.limit_layers import APPLICATION_SLOT, PARAMETERS_SLOT, SAFETY_SLOT
from handlers.state.arm_state import ArmState
from handlers.state.limit_sources import with_joint_types
from handlers.state.provenance import NOBODY
from limits.formats.urdf_records import JointType, UrdfJoint, UrdfRobot
from limits.stack.joints import JOINT_QUANTITIES
from schema.arms import Description, JointInfo
from schema.enums import ControlMode
from schema.errors import BrokerError
from schema.intrinsic import JointLimits, JointLimitsUpdate, RepeatedDouble
from schema.joint_items import JointParameterMap, ParameterNames
from schema.messages import ControlModeInformation, KinematicLimits
from tests.effective import number_in
from tests.handlers.builders import answer, arm, decide, propose
from tests.handlers.limit_files import NAMES, sources, urdf

FLAG, NUMBER = "joint_limits.joint_1.has_velocity_limits", "joint_limits.joint_1.max_velocity"
GIVEN: dict[str, bool | float] = {FLAG: True, NUMBER: 0.5}
POSITION = "joint_limits.joint_2"


def node(given: dict[str, bool | float] | None = None, **changes: Any) -> ArmState:
    """The state of an arm of seven joints right after it was read."""
    parameters = JointParameterMap(GIVEN if given is None else given)
    joints = tuple(JointInfo(name, "revolute") for name in NAMES)
    known: dict[str, Any] = {
        "description": Description("ros2", "/arm/driver", "kilted", joints, KinematicLimits(), "", 0.0, ()),
        "methods": SERVICE_METHODS,
        "arm_items": frozenset({"joint_parameters"}),
        "resolution_rad": 0.0,
        "model": "",
        "desired": {PARAMETERS_SLOT: parameters},
        "reported": {PARAMETERS_SLOT: parameters},
    }
    state = arm(**(known | changes))
    for slot in INITIAL_ORDER:
        if slot not in state.reported:
            state.reported[slot] = state.desired[slot] = initial_value(state, slot)
    return state


def velocity(state: ArmState, joint: str = "joint_1") -> Any:
    """The effective velocity of a joint."""
    return number_in(effective_document(state), "velocity", joint, "unknown_mode")


def test_where_nothing_is_said_nothing_binds() -> None:
    state = node({})
    document = effective_document(state)
    assert (document["units"], document["sources"], document["other_modes"]) == ({}, [], {})
    assert not any([*document["modes"].values(), document["unknown_mode"]])
    assert limit_sources(state) == {"limit_sources": [], "joint_reports": [], "disagreements": []}
    assert answer(state, "GetJointLimits").result == JointLimits()
    assert answer(state, "GetJointParameters", ParameterNames()).result == JointParameterMap()


def test_the_parameters_of_the_node_bind() -> None:
    found = velocity(node())
    assert (found["value"], found["layer"], found["source"]) == (0.5, "ros", "ros:parameters")
    assert velocity(node(), "joint_2") is None


def test_the_files_of_the_settings_and_the_caps_bind_too() -> None:
    state = node(sources=sources(robot=urdf(0.4), velocity=0.3))
    assert velocity(state)["source"] == "policy:site"
    assert limits_of(state).machine().value("velocity", "joint_1") == 0.4


def test_a_change_under_way_is_no_disagreement() -> None:
    state = node()
    state.unread[PARAMETERS_SLOT] = ((JointParameterMap({FLAG: True, NUMBER: 0.4}), NOBODY),)
    assert velocity(state)["value"] == 0.4
    assert limit_sources(state)["disagreements"] == []


def test_every_method_of_the_service_answers_or_refuses() -> None:
    state = node(sources=sources(robot=urdf(1.2)))
    update = JointLimitsUpdate(max_velocity=RepeatedDouble((0.1,) * 7))
    assert propose(state, "SetJointLimits", update).slot == APPLICATION_SLOT
    assert propose(state, "ResetJointLimits").slot == APPLICATION_SLOT
    numbers = answer(state, "Explain", {}).result
    assert isinstance(numbers, dict)
    assert {one["source"] for one in numbers["numbers"] if "source" in one} == {"ros:parameters", "urdf:gen3.urdf"}
    motion = {"times": [0.0, 1.0], "positions": [[0.0] * 7, [3.0] * 7]}
    checked = answer(state, "CheckTrajectory", motion).result
    assert isinstance(checked, dict)
    assert not checked["within"]
    command = {"state": {"position": [0.0] * 7}, "command": {"velocity": [9.0] * 7}, "dt": 0.1}
    limited = answer(state, "CheckCommand", command).result
    assert isinstance(limited, dict)
    assert limited["command"]["velocity"] == [0.5, *[1.2] * 6]
    with pytest.raises(BrokerError) as refusal:
        propose(state, "SetControlMode", ControlModeInformation(ControlMode.ANGULAR_JOYSTICK))
    assert refusal.value.kind == "unknown_method"
    with pytest.raises(BrokerError):
        decide(state, "GetSkeleton")


def test_a_command_that_nothing_limits_passes() -> None:
    command = {"state": {"position": [0.0] * 7}, "command": {"velocity": [9.0] * 7}, "dt": 0.1}
    passed = answer(node({}), "CheckCommand", command).result
    assert isinstance(passed, dict)
    assert (passed["limited"], passed["command"]["velocity"]) == (False, [9.0] * 7)


def test_no_method_of_kinova_is_offered() -> None:
    assert not {name for name in RPC_TABLE if name.endswith("SoftLimits")} & node().methods


def test_parameters_that_are_not_named_stay_as_the_node_has_them() -> None:
    state = node()
    state.desired[PARAMETERS_SLOT] = JointParameterMap({FLAG: True, NUMBER: 0.9})
    given = {"joint_limits.joint_1.max_jerk": 3.0}
    assert propose(state, "SetJointParameters", JointParameterMap(given)).value == JointParameterMap(GIVEN | given)
    state.open[PARAMETERS_SLOT] = 1
    wanted = {FLAG: True, NUMBER: 0.9} | given
    assert propose(state, "SetJointParameters", JointParameterMap(given)).value == JointParameterMap(wanted)


def test_a_parameter_is_held_against_the_machine_without_the_node() -> None:
    state = node(sources=sources(robot=urdf(1.2)))
    assert propose(state, "SetJointParameters", JointParameterMap({NUMBER: 1.1})).loosening
    with pytest.raises(BrokerError, match=r"1\.3 rad/s > 1\.2 rad/s, limit of the URDF"):
        propose(state, "SetJointParameters", JointParameterMap({NUMBER: 1.3}))
    described = answer(state, "DescribeJointParameters", ParameterNames((NUMBER,))).result
    assert isinstance(described, dict)
    assert described["parameters"][NUMBER]["to_value"] == 1.2


@pytest.mark.parametrize(
    ("nonsense", "text"),
    [
        ({"has_position_limits": True, "min_position": 1.0, "max_position": -1.0}, "is above max_position"),
        ({"has_velocity_limits": True}, "has_velocity_limits is true, but this is not given"),
        ({"has_jerk_limits": True, "max_jerk": -1.0}, "is negative"),
        (
            {
                "has_soft_limits": True,
                "k_position": 1.0,
                "k_velocity": -1.0,
                "soft_lower_limit": -1.0,
                "soft_upper_limit": 1.0,
            },
            "a gain is not negative",
        ),
    ],
)
def test_what_makes_no_sense_does_not_count_and_is_told(nonsense: dict[str, bool | float], text: str) -> None:
    sound: dict[str, bool | float] = {f"{POSITION}.has_effort_limits": True, f"{POSITION}.max_effort": 7.0}
    state = node({**GIVEN, **sound, **{f"{POSITION}.{key}": value for key, value in nonsense.items()}})
    assert velocity(state)["value"] == 0.5
    found = {name: number_in(effective_document(state), name, "joint_2", "unknown_mode") for name in JOINT_QUANTITIES}
    assert {name: one["value"] for name, one in found.items() if one is not None} == {"effort": 7.0}
    (report,) = limit_sources(state)["joint_reports"]
    assert "joint_2" in report
    assert text in report
    assert propose(state, "SetJointParameters", JointParameterMap({NUMBER: 0.4})).value is not None


def test_nothing_counts_where_nothing_makes_sense() -> None:
    state = node({FLAG: True})
    assert velocity(state) is None
    assert len(limits_of(state).placed.reports) == 1
    assert state.reported[SAFETY_SLOT] == state.desired[SAFETY_SLOT]


def test_nonsense_can_be_put_right() -> None:
    state = node({FLAG: True})
    assert propose(state, "SetJointParameters", JointParameterMap({NUMBER: 0.4})).value == JointParameterMap(
        {FLAG: True, NUMBER: 0.4}
    )


# ---------------------------------------------------------------------- types of joints


def robot(*joints: tuple[str, JointType]) -> UrdfRobot:
    """A URDF of joints without limits."""
    links = tuple(f"link_{index}" for index in range(len(joints) + 1))
    made = tuple(
        UrdfJoint(name=name, type=kind, parent=f"link_{index}", child=f"link_{index + 1}")
        for index, (name, kind) in enumerate(joints)
    )
    return UrdfRobot(name="cart", links=links, joints=made)


def types(given: Description, urdf_robot: UrdfRobot | None) -> list[str]:
    return [joint.type for joint in with_joint_types(given, sources(robot=urdf_robot)).joints]


def described(*joints: tuple[str, str]) -> Description:
    infos = tuple(JointInfo(*joint) for joint in joints)
    return Description("ros2", "/arm/driver", "", infos, KinematicLimits(), "", 0.0, ())


def test_joints_take_the_types_of_the_urdf() -> None:
    cart = robot(("rail", JointType.PRISMATIC), ("weld", JointType.FIXED), ("turn", JointType.CONTINUOUS))
    assert types(described(("turn", ""), ("rail", ""), ("weld", "")), cart) == ["continuous", "prismatic", "revolute"]
    assert types(described(("turn", ""), ("rail", "revolute")), cart) == ["continuous", "revolute"]
    assert types(described(("turn", "")), None) == ["revolute"]


def test_types_that_are_told_stay() -> None:
    told = described(("rail", "prismatic"))
    assert with_joint_types(told, sources()) is told


def test_joints_that_stand_twice_are_left_to_the_limits() -> None:
    assert types(described(("rail", ""), ("rail", "")), robot(("rail", JointType.PRISMATIC))) == ["revolute"] * 2
