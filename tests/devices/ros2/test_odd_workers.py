"""What the adapter makes of a worker that answers or tells nonsense."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from devices.adapter import ArmTimeoutError, ArmUnreadableError, Command, FleetContext, LinkState, Notice
from devices.ros2 import Ros2Arm
from devices.ros2.adapter import NO_EVENTS, SLOT
from schema.arms import Verb
from schema.joint_items import JointParameterMap
from tests.ros_nodes import LIMITS, SPEED

ODD = Path(__file__).with_name("odd_worker.py")
TYPED = {name: ["bool" if isinstance(value, bool) else "double", value] for name, value in LIMITS.items()}
THERE = {"distro": "kilted", "events": True, "ready": True, "why": ""}


def make_arm(directory: Path, told: dict[str, Any]) -> Ros2Arm:
    """An arm whose worker tells and answers this."""
    script = directory / "python"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -I {ODD} \'{json.dumps(told)}\' "$2" "$3"\n', encoding="utf-8")
    script.chmod(0o755)
    fleet = Ros2Arm.open_fleet(FleetContext(directory))
    return fleet.arm("r12", "lab arm", {"node": "/arm/driver", "python": str(script)})


@pytest.mark.parametrize("told", [{"describe": None}, {"describe": THERE}, {"describe": THERE, "get_parameters": [1]}])
async def test_an_answer_that_cannot_be_read(tmp_path: Path, told: dict[str, Any]) -> None:
    arm = make_arm(tmp_path, told)
    with pytest.raises(ArmUnreadableError):
        await arm.connect()
    await arm.close()


async def test_an_answer_to_a_set_that_cannot_be_read_leaves_the_outcome_open(tmp_path: Path) -> None:
    arm = make_arm(tmp_path, {"describe": THERE | {"events": False}, "get_parameters": TYPED, "set_parameters": 7})
    described = await arm.connect()
    assert (described.model, described.notes) == ("lab arm", (NO_EVENTS,))
    with pytest.raises(ArmUnreadableError):
        await arm.write(Command(1, 1, Verb.SET, SLOT, JointParameterMap({SPEED: 0.5})))
    await arm.write(Command(1, 2, Verb.SET, SLOT, JointParameterMap({SPEED: 1.5})))
    await arm.close()


async def test_a_notice_that_cannot_be_read_ends_the_worker(tmp_path: Path) -> None:
    notices: list[Notice] = []
    arm = make_arm(tmp_path, {"notice": {"notice": "changed", "values": 7}, "describe": THERE, "get_parameters": TYPED})
    arm.watch(notices.append)
    arm._link.open()
    await arm._link.wait_up(20)
    first = arm.worker_pid
    with pytest.raises(ArmTimeoutError, match="the worker's parameters cannot be read"):
        await arm._link.call("get_parameters", timeout_s=20.0)
    assert arm.worker_pid != first
    assert notices == []
    await arm.close()


async def test_an_arm_that_takes_no_change_says_so_before_it_is_described(tmp_path: Path) -> None:
    notices: list[Notice] = []
    arm = make_arm(tmp_path, {"describe": THERE | {"ready": False, "why": "tired"}, "get_parameters": TYPED})
    arm.watch(notices.append)
    await arm.connect()
    assert notices == [LinkState(online=True, ready=False, why="tired")]
    await arm.close()
