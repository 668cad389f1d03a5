"""An arm that was never read."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.journey import recording
from tests.journey.conftest import ClientMaker

MODE = {"control_mode": "CARTESIAN_JOYSTICK"}
VALUE = {**MODE, "twist_linear_soft_limit": 0.25}


@pytest.fixture
def absent() -> Iterator[str]:
    """The name of an arm that cannot be reached as long as it stands in `recording.ABSENT`."""
    recording.register()
    recording.ABSENT.add("never-there")
    yield "never-there"
    recording.ABSENT.discard("never-there")


async def test_an_arm_never_read_is_not_guessed_at(
    connect: ClientMaker, start_service: ClientMaker, absent: str
) -> None:
    arm = {"id": absent, "adapter": recording.NAME, "model": "gen3_7dof"}
    own = start_service(absent, arm=[arm])
    client = await connect("evt/#", "state/#", to=own)
    presence = await client.document(f"state/{absent}/presence", lambda one: one["state"] != "unknown")
    assert (presence["state"], presence["ready"], presence["rev"]) == ("offline", False, 0)
    reads = ("GetGravityVector", "GetControlMode", "GetAllKinematicSoftLimits", "GetDesiredSpeeds")
    writes: tuple[tuple[str, dict[str, Any]], ...] = (
        ("SetTwistLinearSoftLimit", VALUE),
        ("ResetGravityVector", {}),
        ("SetControlMode", MODE),
    )
    for method, params in [*((method, {}) for method in reads), *writes]:
        reply = await client.call(absent, method, params)
        shown = (reply["stage"], reply["error"]["kind"], reply["error"]["name"], reply["error"]["retry"], reply["rev"])
        assert shown == ("refused", "arm_not_read", "DEVICE_NOT_READY", "new_id", 0)
    hard = await client.change(absent, "GetKinematicHardLimits")
    assert hard["result"]["joint_speed_limits"] == [80.0] * 4 + [70.0] * 3
    assert "FROM_PROFILE" in [warning["name"] for warning in hard["warnings"]]
    assert recording.ARMS[absent].written == []
    recording.ABSENT.discard(absent)
    await client.document(f"state/{absent}/config", lambda one: one["rev"] == 1)
    await client.document(f"state/{absent}/presence", lambda one: one["state"] == "online" and one["ready"])
    assert recording.ARMS[absent].written == []
    assert (await client.change(absent, "SetTwistLinearSoftLimit", VALUE))["rev"] == 2
    assert [event["seq"] for event in client.events()] == [1]
