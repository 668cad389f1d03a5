"""The adapter on a real node that behaves."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from devices.adapter import ArmAwayError, ArmRefusedError, ArmTimeoutError, Command
from devices.ros2.adapter import SLOT
from schema.arms import JointInfo, Verb
from schema.joint_items import JointParameterMap
from schema.messages import GravityVector, KinematicLimits
from tests.devices.ros2.conftest import MakeNode, Watched
from tests.ros_nodes import LIMITS, OTHER_SPEED, SPEED

MakeArm = Callable[..., Watched]


async def test_a_node_is_described_read_set_and_heard(make_node: MakeNode, make_arm: MakeArm) -> None:
    node, watched = await make_node(), make_arm(prismatic="joint_2")
    described = await watched.connect()
    assert (described.model, described.serial, described.hard_source) == ("ros2", "/arm/driver", "")
    assert described.hard_limits == KinematicLimits()
    assert described.joints == (JointInfo("joint_1", ""), JointInfo("joint_2", "prismatic"))
    assert described.firmware
    assert described.notes == ()
    assert (await watched.arm.read_all()).items == {SLOT: JointParameterMap(LIMITS)}

    await watched.set({SPEED: 1.25, "joint_limits.joint_1.has_position_limits": False})
    assert await node.holds(SPEED) == 1.25
    assert await watched.parameters() == LIMITS | {SPEED: 1.25, "joint_limits.joint_1.has_position_limits": False}
    await watched.until(lambda: len(watched.changes) == 1)

    assert await node.tell(set={SPEED: 0.75}) == [""]
    await watched.until(lambda: watched.changes == [True, False])
    assert (await watched.parameters())[SPEED] == 0.75
    assert watched.link == (True, True)


async def test_what_a_node_refuses_is_refused_in_its_words(make_node: MakeNode, make_arm: MakeArm) -> None:
    node, watched = await make_node(), make_arm()
    await watched.connect()
    for command in (
        Command(0, 1, Verb.RESET, SLOT, None),
        Command(0, 2, Verb.SET, ("gravity_vector", 0), GravityVector()),
    ):
        with pytest.raises(ArmRefusedError, match="the node has no such"):
            await watched.arm.write(command)
    await node.tell(reject="joint_2")
    with pytest.raises(ArmRefusedError, match=r"^set_parameters: joint_2 is locked$") as refusal:
        await watched.set({SPEED: 1.25, OTHER_SPEED: 1.0})
    assert (refusal.value.code, refusal.value.sub_code, refusal.value.name) == (3, 1, "METHOD_FAILED")
    assert await watched.parameters() == LIMITS
    with pytest.raises(ArmRefusedError, match="max_jerk is not declared by /arm/driver") as refusal:
        await watched.set({"joint_limits.joint_1.max_jerk": 9.0})
    assert refusal.value.name == "INVALID_PARAM"
    with pytest.raises(ArmRefusedError, match="gravity_vector: the node has no such value"):
        await watched.arm.read(("gravity_vector", 0))
    await watched.set({SPEED: 1.25})
    await watched.until(lambda: watched.changes == [True])


async def test_what_a_node_takes_otherwise_is_read_back_and_ours(make_node: MakeNode, make_arm: MakeArm) -> None:
    node, watched = await make_node(), make_arm()
    await watched.connect()
    await node.tell(cap=1.0)
    await watched.set({SPEED: 1.25})
    assert (await watched.parameters())[SPEED] == 1.0
    await watched.until(lambda: len(watched.changes) == 1)
    assert watched.changes == [True]


async def test_types_are_those_of_the_node(make_node: MakeNode, make_arm: MakeArm) -> None:
    limits = LIMITS | {SPEED: 3, "joint_limits.joint_2.has_jerk_limits": "no", "joint_limits.joint_2.max_jerk": [1.0]}
    node, watched = await make_node(limits), make_arm()
    described = await watched.connect()
    assert described.notes == (
        "joint_limits.joint_2.has_jerk_limits is of type string, not bool: it counts as not given",
        "joint_limits.joint_2.max_jerk is of type array, not double: it counts as not given",
    )
    assert await watched.parameters() == LIMITS | {SPEED: 3.0}
    await watched.set({SPEED: 2.0})
    assert json.dumps(await node.holds(SPEED)) == "2"
    with pytest.raises(
        ArmRefusedError, match=r"max_velocity is of type integer in /arm/driver, which cannot hold 2\.5"
    ):
        await watched.set({SPEED: 2.5})
    with pytest.raises(ArmRefusedError, match="has_jerk_limits is of type string in /arm/driver"):
        await watched.set({"joint_limits.joint_2.has_jerk_limits": True})


async def test_a_node_may_declare_what_it_does_not_give(make_node: MakeNode, make_arm: MakeArm) -> None:
    node, watched = await make_node(), make_arm()
    await node.tell(declare={"joint_limits.joint_1.max_effort": float("nan"), "joint_limits.joint_1.max_jerk": None})
    await node.tell(declare={"joint_limits.joint_1.has_effort_limits": False, "joint_limits.joint_3.max_jerk": 2.0})
    described = await watched.connect()
    assert [joint.name for joint in described.joints] == ["joint_1", "joint_2", "joint_3"]
    given = {"joint_limits.joint_1.has_effort_limits": False, "joint_limits.joint_3.max_jerk": 2.0}
    assert await watched.parameters() == LIMITS | given
    await watched.set({"joint_limits.joint_1.has_effort_limits": True, "joint_limits.joint_1.max_effort": 9.0})
    assert await node.holds("joint_limits.joint_1.max_effort") == 9.0
    await node.tell(undeclare="joint_limits.joint_3.max_jerk")
    await watched.until(lambda: False in watched.changes)
    assert "joint_limits.joint_3.max_jerk" not in await watched.parameters()


async def test_a_node_without_atomic_sets_takes_parameters_one_by_one(make_node: MakeNode, make_arm: MakeArm) -> None:
    node, watched = await make_node(atomic=False), make_arm()
    await watched.connect()
    await watched.set({SPEED: 1.25, OTHER_SPEED: 1.0})
    assert (await node.holds(SPEED), await node.holds(OTHER_SPEED)) == (1.25, 1.0)
    await node.tell(reject="joint_2")
    with pytest.raises(ArmRefusedError, match=r"joint_limits\.joint_2\.max_velocity: joint_2 is locked"):
        await watched.set({OTHER_SPEED: 0.5})
    with pytest.raises(ArmTimeoutError, match="a part was refused: joint_limits"):
        await watched.set({SPEED: 0.25, OTHER_SPEED: 0.5})
    assert (await watched.parameters())[SPEED] == 0.25


async def test_many_joints(make_node: MakeNode, make_arm: MakeArm) -> None:
    limits = {
        f"joint_limits.joint_{number}.{key}": value
        for number in range(1, 31)
        for key, value in {
            "has_velocity_limits": True,
            "max_velocity": 1.0 + number,
            "has_position_limits": True,
            "min_position": -1.0,
            "max_position": 1.0,
        }.items()
    }
    node, watched = await make_node(limits), make_arm()
    described = await watched.connect()
    assert [joint.name for joint in described.joints] == [f"joint_{number}" for number in range(1, 31)]
    await watched.set({f"joint_limits.joint_{number}.max_velocity": 0.5 for number in range(1, 31)})
    assert {(await node.holds(f"joint_limits.joint_{number}.max_velocity")) for number in (1, 30)} == {0.5}
    assert len(await watched.parameters()) == 150


async def test_only_the_joints_of_the_options_count(make_node: MakeNode, make_arm: MakeArm) -> None:
    await make_node()
    watched = make_arm(joints="joint_2, joint_9", continuous="joint_2", serial="A-7")
    described = await watched.connect()
    assert described.joints == (JointInfo("joint_2", "continuous"), JointInfo("joint_9", ""))
    assert described.serial == "A-7"
    assert set(await watched.parameters()) == {name for name in LIMITS if "joint_2" in name}


async def test_a_node_without_limits_is_no_arm(make_node: MakeNode, make_arm: MakeArm) -> None:
    await make_node({"speed": 1.0})
    watched = make_arm()
    with pytest.raises(ArmAwayError, match="/arm/driver has no parameters joint_limits"):
        await watched.connect()


@pytest.mark.parametrize("sample", ["hard.yaml", "soft.yaml"])
async def test_a_node_with_a_sample_file(make_node: MakeNode, make_arm: MakeArm, sample: str) -> None:
    file = Path(__file__).parents[2] / "limits" / "ros2" / "samples" / sample
    node, watched = await make_node(file=file), make_arm()
    await watched.connect()
    read = await watched.parameters()
    held = await node.tell(values=[])
    assert read
    assert read == {name: held[name] for name in read}


async def test_the_same_command_is_not_carried_out_twice(make_node: MakeNode, make_arm: MakeArm) -> None:
    node, watched = await make_node(), make_arm()
    await watched.connect()
    command = Command(1, 5, Verb.SET, SLOT, JointParameterMap({SPEED: 1.0}))
    await watched.arm.write(command)
    await node.tell(set={SPEED: 0.5})
    await watched.arm.write(command)
    assert await node.holds(SPEED) == 0.5
    with pytest.raises(ArmRefusedError, match="older"):
        await watched.arm.write(Command(1, 4, Verb.SET, SLOT, JointParameterMap({SPEED: 1.0})))
    assert (await watched.arm.connect()).fence == (1, 5)


async def test_nothing_can_be_asked_of_an_arm_that_was_closed(make_node: MakeNode, make_arm: MakeArm) -> None:
    await make_node()
    watched = make_arm()
    await watched.connect()
    told = len(watched.notices)
    await watched.arm.close()
    await watched.arm.close()
    for call in (watched.arm.read_all(), watched.arm.write(Command(1, 9, Verb.SET, SLOT, JointParameterMap()))):
        with pytest.raises(ArmAwayError):
            await call
    assert len(watched.notices) == told
    assert watched.arm.worker_pid == 0
