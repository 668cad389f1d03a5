"""The table of docs/limits_service.md: a change of each layer moves the effective limits, seen over MQTT."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from limits.kinova_models import MODELS
from tests.effective import number_in
from tests.journey.client import Client
from tests.journey.conftest import ClientMaker
from tests.journey.limit_files import skeleton, urdf
from tests.journey.running import RunningService

Starter = Callable[..., RunningService]

JOYSTICK, TRAJECTORY = "ANGULAR_JOYSTICK", "ANGULAR_TRAJECTORY"
HARD = 1.4
"""Speed limit of the first joints, rad/s."""
SAFETY = {"soft_upper_limit": 1.5, "soft_lower_limit": -1.0, "k_position": 5.0, "k_velocity": 0.0}
NAMED = {"id": "r1", "model": "gen3_7dof"}


def number(
    document: dict[str, Any], quantity: str, joint: str | None = "joint_2", mode: str = "IDLE"
) -> tuple[float, str] | None:
    """Value with two digits and source of a number; None where it is not limited."""
    found = number_in(document, quantity, joint, "unknown_mode" if mode == "UNKNOWN" else mode)
    return None if found is None else (round(found["value"], 2), found["source"])


def degrees(value: float) -> float:
    """An angle as `number` gives it."""
    return round(math.radians(value), 2)


async def effective(client: Client, arm: str, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The next document of effective limits that is as wanted."""
    return await client.document(f"state/{arm}/effective", wanted)


async def watching(connect: ClientMaker, arm: str, to: RunningService | None = None) -> Client:
    """A client that follows the effective limits of an arm."""
    client: Client = await connect(f"state/{arm}/effective", to=to)
    return client


async def of_service(connect: ClientMaker, start_service: Starter, **settings: Any) -> dict[str, Any]:
    """The effective limits of r1 in a new service with these settings of it."""
    own = start_service("r1", arm=[NAMED | settings])
    client = await watching(connect, "r1", own)
    return await effective(client, "r1", lambda one: bool(one["rev"]))


async def test_hard_limits(connect: ClientMaker, start_service: Starter, monkeypatch: pytest.MonkeyPatch) -> None:
    own = start_service("r1")
    client = await watching(connect, "r1", own)
    document = await effective(client, "r1", lambda one: bool(one["rev"]))
    assert number(document, "velocity") == (HARD, "hard:device")
    model = MODELS["gen3_7dof"]
    slower = msgspec.structs.replace(model.hard, joint_speed_limits=(20.0,) * 7)
    monkeypatch.setitem(MODELS, model.name, msgspec.structs.replace(model, hard=slower))
    own.restart()
    document = await effective(client, "r1", lambda one: number(one, "velocity") == (degrees(20.0), "hard:device"))
    for mode in (JOYSTICK, TRAJECTORY, "UNKNOWN"):
        assert number(document, "velocity", mode=mode) == (degrees(20.0), "hard:device")


async def test_urdf(connect: ClientMaker, start_service: Starter, tmp_path: Path) -> None:
    document = await of_service(connect, start_service, urdf=urdf(tmp_path / "a.urdf", velocity=1.2))
    assert number(document, "velocity") == (1.2, "urdf:a.urdf")
    assert number(document, "position_upper") == (2.0, "urdf:a.urdf")
    document = await of_service(connect, start_service, urdf=urdf(tmp_path / "b.urdf", velocity=0.7, upper=1.0))
    assert number(document, "velocity") == number(document, "velocity", mode=JOYSTICK) == (0.7, "urdf:b.urdf")
    assert number(document, "position_upper", mode="UNKNOWN") == (1.0, "urdf:b.urdf")


async def test_ros_parameters(connect: ClientMaker, arm: str) -> None:
    client = await watching(connect, arm)
    slow = {"joint_limits.joint_2.has_velocity_limits": True, "joint_limits.joint_2.max_velocity": 0.6}
    await client.change(arm, "SetJointParameters", {"parameters": slow})
    document = await effective(client, arm, lambda one: number(one, "velocity") == (0.6, "ros:parameters"))
    assert number(document, "velocity", "joint_1") == (HARD, "hard:device")
    off = {"joint_limits.joint_2.has_velocity_limits": False}
    await client.change(arm, "SetJointParameters", {"parameters": off})
    await effective(client, arm, lambda one: number(one, "velocity") == (HARD, "hard:device"))


async def test_skeleton(connect: ClientMaker, start_service: Starter, tmp_path: Path) -> None:
    document = await of_service(connect, start_service, skeleton=skeleton(tmp_path / "a.json", velocity=0.9))
    assert number(document, "velocity") == (0.9, "skeleton:a.json")
    assert number(document, "effort") == (40.0, "skeleton:a.json")
    file = skeleton(tmp_path / "b.json", velocity=0.9, soft_velocity=0.5)
    document = await of_service(connect, start_service, skeleton=file)
    assert number(document, "velocity") == number(document, "velocity", mode=JOYSTICK) == (0.5, "skeleton:b.json#soft")


async def test_application_limits(connect: ClientMaker, arm: str) -> None:
    client = await watching(connect, arm)
    await client.change(arm, "SetJointLimits", {"max_velocity": {"values": [0.4] * 7}})
    document = await effective(client, arm, lambda one: number(one, "velocity") == (0.4, "application"))
    assert number(document, "velocity", mode=TRAJECTORY) == (0.4, "application")
    await client.change(arm, "SetJointLimit", {"joint": "joint_2", "update": {"max_velocity": 0}})
    document = await effective(client, arm, lambda one: number(one, "velocity") == (0.0, "application"))
    assert number(document, "velocity", "joint_1") == (0.4, "application")
    await client.change(arm, "ResetJointLimits")
    await effective(client, arm, lambda one: number(one, "velocity") == (HARD, "hard:device"))


async def test_soft_limits(connect: ClientMaker, arm: str) -> None:
    client = await watching(connect, arm)
    params = {"control_mode": JOYSTICK, "joint_speed_soft_limits": [10.0] * 7}
    await client.change(arm, "SetJointSpeedSoftLimits", params)
    slow = (degrees(10.0), f"soft:{JOYSTICK}")
    document = await effective(client, arm, lambda one: number(one, "velocity", mode=JOYSTICK) == slow)
    assert number(document, "velocity", mode="UNKNOWN") == slow
    assert number(document, "velocity", mode=TRAJECTORY) == (degrees(25.0), f"soft:{TRAJECTORY}")
    assert number(document, "velocity") == (HARD, "hard:device")


async def test_soft_limits_that_are_not_read_back(connect: ClientMaker, arm: str) -> None:
    client = await watching(connect, arm)
    await client.change(arm, "SimFault", {"fault": "hang"})
    mixed = {"control_mode": JOYSTICK, "joint_speed_soft_limits": [60.0, 10.0, *[50.0] * 5]}
    await client.send(arm, "SetJointSpeedSoftLimits", {"id": "mixed", "params": mixed})

    def tightened(document: dict[str, Any]) -> bool:
        return number(document, "velocity", mode=JOYSTICK) == (degrees(10.0), f"soft:{JOYSTICK}")

    document = await effective(client, arm, tightened)
    assert number(document, "velocity", "joint_1", JOYSTICK) == (degrees(50.0), f"soft:{JOYSTICK}")
    await client.change(arm, "SimFault", {"fault": "none"})
    loosened = (degrees(60.0), f"soft:{JOYSTICK}")
    document = await effective(client, arm, lambda one: number(one, "velocity", "joint_1", JOYSTICK) == loosened)
    assert tightened(document)


async def test_soft_limits_of_another_writer(connect: ClientMaker, arm: str) -> None:
    client = await watching(connect, arm)
    foreign = {
        "fault": "foreign_change", "item": "joint_speed_soft_limits", "slot": JOYSTICK, "value": [15.0] * 7
    }  # fmt: skip
    await client.change(arm, "SimFault", foreign)
    slow = (degrees(15.0), f"soft:{JOYSTICK}")
    document = await effective(client, arm, lambda one: number(one, "velocity", mode=JOYSTICK) == slow)
    found = number_in(document, "velocity", "joint_2", JOYSTICK)
    assert found is not None
    assert found["by"].startswith("@arm")


async def test_joint_safety(connect: ClientMaker, arm: str) -> None:
    client = await watching(connect, arm)
    await client.change(arm, "SetJointSafety", {"joints": {"joint_2": SAFETY}})
    document = await effective(client, arm, lambda one: number(one, "position_upper") == (1.5, "joint_safety"))
    assert number(document, "position_lower") == (-1.0, "joint_safety")
    assert number(document, "effort") == (0.0, "joint_safety")
    await client.change(arm, "ClearJointSafety", {"joints": ["joint_2"]})
    document = await effective(client, arm, lambda one: number(one, "velocity") == (0.0, "joint_safety"))
    assert number(document, "position_upper") is None
    await client.change(arm, "ResetJointSafety")
    document = await effective(client, arm, lambda one: number(one, "velocity") == (HARD, "hard:device"))
    assert number(document, "effort") is None


async def test_site_caps(connect: ClientMaker, start_service: Starter) -> None:
    document = await of_service(connect, start_service)
    assert number(document, "twist_linear", None) == (0.5, "hard:device")
    caps = {"twist_linear": 0.2, "velocity": [1.0, 0.3, 1.0, 1.0, 1.0, 1.0, 1.0]}
    document = await of_service(connect, start_service, site_caps=caps)
    assert number(document, "twist_linear", None, "CARTESIAN_JOYSTICK") == (0.2, "policy:site")
    assert number(document, "velocity", mode=JOYSTICK) == (0.3, "policy:site")
    assert number(document, "velocity", "joint_1") == (1.0, "policy:site")
