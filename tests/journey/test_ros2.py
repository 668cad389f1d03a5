"""Whole service on a real MQTT server with an arm that is a real ROS node."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.journey.client import Client
from tests.journey.conftest import ClientMaker
from tests.journey.running import RunningService
from tests.ros_nodes import DOMAIN, LIMITS, NODE, SPEED, NodeProcess, ros_python, start_node

EVENT = "evt/r12/config/JOINT_PARAMETERS_CHANGED"
WORKER_KILLED, NODE_KILLED = (3, 7), 5
"""The rounds in which something is killed."""
REFUSALS = {(NODE_KILLED, "overwritten")} | {(round_, "arm_refused") for round_ in (*WORKER_KILLED, NODE_KILLED)}
"""What such a round may end with: the node was not told, which is read back, or it began anew."""
StartService = Callable[..., RunningService]


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[NodeProcess]:
    """A node that holds limits."""
    started = await start_node(tmp_path)
    yield started
    await started.kill()


def start(start_service: StartService, **more: Any) -> RunningService:
    """A service with the node as its arm."""
    options = {"node": NODE, "python": ros_python(), "domain": DOMAIN, "silence_s": 1.0}
    arm = {"id": "r12", "adapter": "ros2", "authority": "control", "options": options, **more}
    return start_service(arm=[arm])


async def follow(connect: ClientMaker, service: RunningService) -> Client:
    """A client that hears of the arm, once the arm is there."""
    client: Client = await connect("evt/r12/#", "state/r12/+", "meta/factsheet/r12", to=service)
    await client.document("state/r12/presence", lambda document: document["state"] == "online" and document["ready"])
    return client


def worker_pids() -> list[int]:
    """The worker processes of this process."""
    tasks = Path("/proc/self/task").glob("*/children")
    pids = [int(pid) for task in tasks for pid in task.read_text(encoding="ascii").split()]
    return [pid for pid in pids if b"ros2/worker.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]


async def test_a_request_changes_the_node_and_the_node_changes_itself(
    node: NodeProcess, start_service: StartService, connect: ClientMaker
) -> None:
    client = await follow(connect, start(start_service))
    sheet = await client.document("meta/factsheet/r12", lambda document: "joints" in document)
    assert sheet["joints"] == [{"name": f"joint_{number}", "type": "revolute"} for number in (1, 2)]
    assert sheet["items"] == ["joint_limits", "joint_safety", "joint_parameters"]
    assert sheet["resolution"] == {"angle_rad": 0.0, "others": "double"}
    assert "hard_limits" not in sheet

    reply = await client.change("r12", "SetJointParameters", {"parameters": {SPEED: 1.0}})
    assert (reply["stage"], reply["result"]) == ("applied", {"successful": True, "reason": ""})
    assert await node.holds(SPEED) == 1.0
    told = await client.document(EVENT, lambda event: event["cause"] == "applied")
    assert told["change"]["after"]["parameters"] == LIMITS | {SPEED: 1.0}

    began = asyncio.get_running_loop().time()
    await node.tell(set={SPEED: 0.5})
    told = await client.document(EVENT, lambda event: event["cause"] == "foreign")
    assert asyncio.get_running_loop().time() - began < 1.5
    assert told["change"]["after"]["parameters"] == LIMITS | {SPEED: 0.5}
    differing = await client.document("state/r12/config", lambda document: bool(document["differs"]))
    assert differing["differs"] == ["joint_parameters"]

    explained = await client.change("r12", "Explain", {"quantity": "velocity", "joint": "joint_1"})
    (number,) = explained["result"]["numbers"]
    assert (number["value"], number["source"], number["by"]) == (0.5, "ros:parameters", "@arm")
    client.inbox.clear()
    await client.change("r12", "SetJointParameters", {"parameters": {"joint_limits.joint_2.max_velocity": 2.0}})
    assert await node.holds(SPEED) == 0.5
    await client.document("state/r12/config", lambda document: document["differs"] == [])


async def test_what_the_node_refuses_is_refused_in_its_words(
    node: NodeProcess, start_service: StartService, connect: ClientMaker
) -> None:
    client = await follow(connect, start(start_service))
    await node.tell(reject="joint_1")
    refused = await client.call("r12", "SetJointParameters", {"parameters": {SPEED: 1.0}})
    assert (refused["ok"], refused["error"]["kind"]) == (False, "arm_refused")
    assert "joint_1 is locked" in refused["error"]["message"]
    refused = await client.call("r12", "SetJointParameters", {"parameters": {"joint_limits.joint_2.max_jerk": 1.0}})
    assert "joint_limits.joint_2.max_jerk is not declared by /arm/driver" in refused["error"]["message"]
    assert await node.holds(SPEED) == 1.5
    refused = await client.call("r12", "SetGravityVector", {"z": -9.81})
    assert refused["error"]["kind"] == "unknown_method"


async def test_a_refused_change_does_not_come_back_with_a_later_one(
    node: NodeProcess, start_service: StartService, connect: ClientMaker
) -> None:
    client = await follow(connect, start(start_service))
    other, third = "joint_limits.joint_2.max_velocity", "joint_limits.joint_1.max_position"
    await node.tell(reject=SPEED, delay=0.5)
    for id_, name, value in (("a", SPEED, 1.0), ("b", other, 2.0), ("c", third, 1.0)):
        await client.send("r12", "SetJointParameters", {"id": id_, "params": {"parameters": {name: value}}})
    refused = await client.reply("a")
    assert refused["error"]["kind"] == "arm_refused"
    assert [(await client.reply(id_))["stage"] for id_ in "bc"] == ["applied", "applied"]
    assert await node.tell(values=[]) == LIMITS | {other: 2.0, third: 1.0}
    config = await client.document("state/r12/config", lambda document: document["pending"] == [])
    assert config["differs"] == []


async def test_ruling_23_and_24_a_parameter_has_an_end_of_its_own_and_none_is_added_for_a_time(
    node: NodeProcess, start_service: StartService, connect: ClientMaker
) -> None:
    client = await follow(connect, start(start_service))
    other, absent = "joint_limits.joint_2.max_velocity", "joint_limits.joint_2.max_jerk"
    reply = await client.change("r12", "SetJointParameters", {"parameters": {SPEED: 1.0}}, valid_for_ms=600_000)
    config = await client.document("state/r12/config", lambda document: bool(document.get("overrides")))
    assert config["overrides"][0]["ground"] == {"joint_parameters": {SPEED: LIMITS[SPEED]}}
    await client.change("r12", "SetJointParameters", {"parameters": {other: 2.0}})
    third = "joint_limits.joint_1.max_position"
    await node.tell(set={third: 1.0})
    await client.document(EVENT, lambda event: event["cause"] == "foreign")
    assert (await client.change("r12", "EndOverride", {"rev": reply["rev"]}))["ok"]
    await client.document(EVENT, lambda event: event["cause"] == "returned")
    assert await node.tell(values=[]) == LIMITS | {other: 2.0, third: 1.0}
    refused = await client.call("r12", "SetJointParameters", {"parameters": {absent: 1.0}}, valid_for_ms=600_000)
    assert refused["error"]["kind"] == "not_applicable"
    assert f"r12 has no joint_parameters {absent}, and cannot lose it again" in refused["error"]["message"]


async def test_limits_that_make_no_sense_are_told_and_can_be_put_right(
    node: NodeProcess, start_service: StartService, connect: ClientMaker
) -> None:
    client = await follow(connect, start(start_service))
    await node.tell(set={"joint_limits.joint_1.max_position": -3.0})
    sheet = await client.document("meta/factsheet/r12", lambda document: bool(document.get("joint_reports")))
    assert "joint_1" in sheet["joint_reports"][0]
    await client.change("r12", "SetJointParameters", {"parameters": {"joint_limits.joint_1.max_position": 1.0}})
    await client.document("meta/factsheet/r12", lambda document: document.get("joint_reports") == [])


async def settled(client: Client, reply: dict[str, Any]) -> None:
    """Wait until a change that was accepted has ended, as what is desired and there."""
    if not reply["final"]:
        rev = reply["rev"]
        await client.document(
            "state/r12/config",
            lambda document: document["rev"] >= rev and not document["pending"] and not document["differs"],
        )


async def test_nothing_is_lost_or_doubled_when_workers_and_nodes_are_killed(
    tmp_path: Path, node: NodeProcess, start_service: StartService, connect: ClientMaker
) -> None:
    client = await follow(connect, start(start_service))
    for round_ in range(12):
        request_id = client.new_id()
        change = {SPEED: 1.4 - round_ / 100}
        await client.send("r12", "SetJointParameters", {"id": request_id, "params": {"parameters": change}})
        if round_ in WORKER_KILLED:
            for pid in worker_pids():
                os.kill(pid, 9)
        if round_ == NODE_KILLED:
            await node.kill()
            node = await start_node(tmp_path, LIMITS | {SPEED: 1.4})
        reply = await client.reply(request_id)
        if reply["ok"]:
            await settled(client, reply)
            assert await node.holds(SPEED) == change[SPEED]
        else:
            assert (round_, reply["error"]["kind"]) in REFUSALS
            assert await node.holds(SPEED) != change[SPEED]
    last = await client.change("r12", "SetJointParameters", {"parameters": {SPEED: 0.25}})
    assert last["rev"] > 12
    assert await node.holds(SPEED) == 0.25
    history = (await client.change("r12", "GetHistory", {"limit": 100}))["result"]["changes"]
    assert len({change["rev"] for change in history}) == len(history)
    await node.kill()
