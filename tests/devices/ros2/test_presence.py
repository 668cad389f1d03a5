"""A node that comes and goes, hangs, is killed and started anew, has a lifecycle, or is changed by another node."""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from devices.adapter import ArmAwayError, ArmRefusedError, ArmTimeoutError
from tests.devices.ros2.conftest import MakeNode, Watched
from tests.ros_nodes import DOMAIN, LIMITS, NODE, SPEED, ros_python

MakeArm = Callable[..., Watched]


async def test_a_node_that_is_not_there(make_arm: MakeArm) -> None:
    watched = make_arm()
    with pytest.raises(ArmAwayError, match="no node /arm/driver in the ROS graph"):
        await watched.try_to_connect()
    assert watched.link == (False, False)


async def test_an_interpreter_without_ros(make_arm: MakeArm) -> None:
    watched = make_arm(python=sys.executable)
    with capture_logs() as logs, pytest.raises(ArmTimeoutError, match="exit code 1"):
        await watched.arm.connect()
    assert f"{sys.executable} cannot import ROS: No package metadata was found for rclpy" in str(logs)


async def test_a_node_says_farewell_and_comes_back(make_node: MakeNode, make_arm: MakeArm) -> None:
    node, watched = await make_node(), make_arm()
    await watched.connect()
    await node.end()
    await watched.until(lambda: watched.link == (False, False))
    with pytest.raises(ArmAwayError):
        await watched.parameters()
    await make_node(LIMITS | {SPEED: 0.5})
    await watched.connect()
    assert (await watched.parameters())[SPEED] == 0.5


async def test_a_node_that_is_killed_is_offline_in_three_seconds(make_node: MakeNode, make_arm: MakeArm) -> None:
    node, watched = await make_node(), make_arm(silence_s=1.5)
    await watched.connect()
    await node.kill()
    start = asyncio.get_running_loop().time()
    await watched.until(lambda: watched.link == (False, False))
    assert asyncio.get_running_loop().time() - start < 3.0
    assert "no answer" in watched.why


async def test_a_node_that_is_started_anew_is_read_again(make_node: MakeNode, make_arm: MakeArm) -> None:
    node, watched = await make_node(), make_arm(silence_s=20.0)
    await watched.connect()
    await node.kill()
    await make_node(LIMITS | {SPEED: 0.5})
    await watched.until(lambda: not watched.link[0])
    assert watched.why == "/arm/driver was started anew"
    await watched.connect()
    assert (await watched.parameters())[SPEED] == 0.5


async def test_a_node_that_hangs_and_goes_on(make_node: MakeNode, make_arm: MakeArm) -> None:
    node, watched = await make_node(), make_arm(silence_s=1.0)
    await watched.connect()
    held = await watched.parameters()
    await node.tell(hang=True)
    with pytest.raises(ArmTimeoutError):
        await watched.parameters()
    with pytest.raises(ArmTimeoutError):
        await watched.set(held | {SPEED: 0.5})
    assert watched.link == (False, False)
    await node.tell(hang=False)
    await watched.until(lambda: watched.link == (True, True))
    assert await watched.parameters() == held


async def test_a_set_that_a_hanging_node_takes_later_is_ours(make_node: MakeNode, make_arm: MakeArm) -> None:
    node, watched = await make_node(), make_arm(silence_s=30.0)
    await watched.connect()
    await node.tell(hang=True)
    change = {SPEED: ["double", 0.5]}
    with pytest.raises(ArmTimeoutError):
        await watched.arm._set(change, 1.0)
    await node.tell(hang=False)
    await watched.until(lambda: bool(watched.changes))
    assert watched.changes == [True]
    assert (await watched.parameters())[SPEED] == 0.5


async def test_a_worker_that_is_killed_is_replaced(make_node: MakeNode, make_arm: MakeArm) -> None:
    await make_node()
    watched = make_arm()
    await watched.connect()
    first = watched.arm.worker_pid
    os.kill(first, 9)
    await watched.until(lambda: watched.link == (False, False))
    assert "worker process" in watched.why
    await watched.connect()
    assert watched.arm.worker_pid not in (0, first)
    assert await watched.parameters() == LIMITS


async def test_a_node_that_is_killed_again_and_again_while_it_is_written(
    make_node: MakeNode, make_arm: MakeArm
) -> None:
    watched = make_arm(silence_s=1.0)
    for round_ in range(3):
        node = await make_node(LIMITS | {SPEED: 1.0 + round_})
        await watched.connect()
        write = asyncio.create_task(watched.set({SPEED: 0.5}))
        await asyncio.sleep(0.002 * round_)
        await node.kill()
        outcome = (await asyncio.gather(write, return_exceptions=True))[0]
        assert outcome is None or isinstance(outcome, (ArmAwayError, ArmTimeoutError))
        await watched.until(lambda: not watched.link[0])
    await make_node()
    await watched.connect()
    await watched.set({SPEED: 0.25})
    assert (await watched.parameters())[SPEED] == 0.25


async def test_another_node_sets_a_parameter(make_node: MakeNode, make_arm: MakeArm) -> None:
    node, watched = await make_node(), make_arm()
    await watched.connect()
    other = await asyncio.create_subprocess_exec(
        *(ros_python(), str(Path(__file__).with_name("set_parameter.py")), NODE, SPEED, "0.625"),
        env={**os.environ, "ROS_DOMAIN_ID": str(DOMAIN), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"},
        stdout=asyncio.subprocess.PIPE,
    )
    assert other.stdout is not None
    assert json.loads(await other.stdout.readline()) == [""]
    answered = asyncio.get_running_loop().time()
    await watched.until(lambda: watched.changes == [False])
    assert asyncio.get_running_loop().time() - answered < 1.5
    assert await node.holds(SPEED) == 0.625
    await other.wait()


async def test_a_node_takes_changes_while_its_lifecycle_lets_it(make_node: MakeNode, make_arm: MakeArm) -> None:
    node, watched = await make_node(lifecycle=True), make_arm()
    await node.tell(transition="cleanup")
    await watched.until_online()
    assert watched.link == (True, False)
    assert watched.why == "its lifecycle state is unconfigured"
    told = len(watched.notices)
    await watched.arm.connect()
    assert watched.link == (True, False)
    assert len(watched.notices) == told + 1
    with pytest.raises(ArmRefusedError, match="its lifecycle state is unconfigured") as refusal:
        await watched.set({SPEED: 1.0})
    assert refusal.value.name == "DEVICE_NOT_READY"
    for transition, ready in (("configure", True), ("cleanup", False), ("configure", True), ("shutdown", False)):
        await node.tell(transition=transition)
        await watched.until(lambda ready=ready: watched.link == (True, ready))  # type: ignore[misc]  # bound now
        assert await watched.parameters() == LIMITS
