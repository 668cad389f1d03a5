"""The Kinova adapter with its worker and a fake arm, beyond what the conformance suite asks."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from devices.adapter import (
    AdapterSettingError,
    ArmAwayError,
    ArmRefusedError,
    ArmTimeoutError,
    ArmUnreadableError,
    Command,
    FleetContext,
    LinkState,
)
from devices.conformance.rig import Heard
from devices.kinova_methods import CONTROL_CONFIG_METHODS
from devices.kortex import KortexArm
from limits.kinova_models import MODELS
from schema.arms import Slot, Verb
from schema.enums import ControlMode
from schema.messages import GravityVector, JointSpeedSoftLimits, Message
from tests.devices.kortex.plant import ArmProcess, environment

GRAVITY: Slot = ("gravity_vector", 0)
SPEEDS: Slot = ("joint_speed_soft_limits", 4)
SIDE, OTHER_SIDE = GravityVector(9.81, 0.0, 0.0), GravityVector(0.0, 9.81, 0.0)
OFTEN = 1_000_000
MakeArm = Callable[..., KortexArm]


def setting(number: int, value: Message = SIDE, slot: Slot = GRAVITY) -> Command:
    return Command(7, number, Verb.SET, slot, value)


async def test_an_arm_tells_what_it_is(arm: KortexArm) -> None:
    description = await arm.connect()
    assert (description.model, description.firmware, description.hard_source) == (
        "gen3_7dof",
        "simulated Gen3 1",
        "hard:device",
    )
    assert (description.modes_settable, description.notes, len(description.joints)) == ((), (), 7)
    assert arm.methods == CONTROL_CONFIG_METHODS


async def test_what_a_firmware_has_not_is_left_out_with_a_note(make_arm: MakeArm, process: ArmProcess) -> None:
    for method in ("GetDesiredSpeeds", "GetControlMode", "GetKinematicHardLimits", "GetSerialNumber", "GetArmState"):
        process.tell("error", method=method, times=OFTEN, code=3, sub=5)
    arm = make_arm()
    description = await arm.connect()
    assert description.hard_source == "hard:profile"
    assert description.hard_limits == MODELS["gen3_7dof"].hard
    notes = " | ".join(description.notes)
    for method in ("GetDesiredSpeeds", "GetControlMode", "GetSerialNumber"):
        assert method in notes
    assert "counts as ready" in notes
    assert CONTROL_CONFIG_METHODS - arm.methods == {
        "GetControlMode",
        "GetDesiredSpeeds",
        "SetDesiredLinearTwist",
        "SetDesiredAngularTwist",
        "SetDesiredJointSpeeds",
    }
    read = (await arm.read_all()).items
    assert ("control_mode", 0) not in read
    assert ("desired_joint_speeds", 0) not in read
    assert GRAVITY in read
    assert SPEEDS in read


async def test_soft_limits_are_read_mode_by_mode_where_there_is_no_list(make_arm: MakeArm, process: ArmProcess) -> None:
    arm = make_arm()
    await arm.connect()
    before = await arm.read_all()
    process.tell("error", method="GetAllKinematicSoftLimits", times=OFTEN, code=3, sub=5)
    assert "GetAllKinematicSoftLimits" in " ".join((await arm.connect()).notes)
    assert await arm.read_all() == before
    assert "SetJointSpeedSoftLimits" in arm.methods


async def test_soft_limits_are_read_from_the_list_where_there_is_no_other_call(
    make_arm: MakeArm, process: ArmProcess
) -> None:
    process.tell("error", method="GetKinematicSoftLimits", times=OFTEN, code=3, sub=2)
    arm = make_arm()
    await arm.connect()
    assert await arm.read(SPEEDS) == (await arm.read_all()).items[SPEEDS]


@pytest.mark.parametrize(
    ("options", "why"), [({"python": "/nowhere/python"}, "cannot be started"), ({"port": 1}, "refused")]
)
async def test_without_a_session_it_is_said_why(make_arm: MakeArm, options: dict[str, Any], why: str) -> None:
    arm = make_arm(**options, connect_timeout_s=3.0)
    with pytest.raises(ArmAwayError, match=why):
        await arm.connect()
    with pytest.raises(ArmAwayError):
        await arm.write(setting(1))


async def test_a_wrong_password_is_said_in_the_words_of_the_arm(make_arm: MakeArm, tmp_path: Path) -> None:
    arm = make_arm()
    (tmp_path / "r12.password").write_text("wrong\n")
    with pytest.raises(ArmAwayError, match="no such user or password"):
        await arm.connect()


async def test_the_default_login_is_refused_unless_allowed_by_name(make_arm: MakeArm, tmp_path: Path) -> None:
    arm = make_arm("r13", user="admin", connect_timeout_s=3.0)
    (tmp_path / "r13.password").write_text("admin\n")
    with pytest.raises(ArmAwayError, match="allow_default_login"):
        await arm.connect()
    allowed = make_arm("r14", user="admin", allow_default_login=True)
    (tmp_path / "r14.password").write_text("admin\n")
    await allowed.connect()


async def test_the_password_may_stand_in_a_variable(make_arm: MakeArm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARM_PASSWORD", "secret")
    arm = make_arm(password_file="", password_env="ARM_PASSWORD")
    await arm.connect()
    words = Path(f"/proc/{arm.worker_pid}/cmdline").read_bytes()
    assert b"secret" not in words
    assert str(environment()).encode() in words


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"password_file": ""}, "password_file"),
        ({"password_env": "P"}, "password_file"),
        ({"password_file": "relative"}, "password_file"),
        ({"port": 0}, "port"),
        ({"hots": "x"}, "hots"),
    ],
)
def test_options_that_cannot_be_used_are_named(
    process: ArmProcess, tmp_path: Path, options: dict[str, Any], option: str
) -> None:
    fleet = KortexArm.open_fleet(FleetContext(tmp_path))
    with pytest.raises(AdapterSettingError, match="arm r12") as error:
        fleet.arm("r12", "gen3_7dof", process.options(tmp_path / "password") | options)
    assert error.value.option == option
    with pytest.raises(AdapterSettingError, match="gen3_7dof, gen3_6dof, gen3_lite"):
        fleet.arm("r12", "gen4", process.options(tmp_path / "password"))
    fleet.close()


async def test_a_killed_worker_is_told_and_another_takes_over(arm: KortexArm, heard: Heard) -> None:
    pid = arm.worker_pid
    read = asyncio.create_task(arm.read_all())
    await asyncio.sleep(0)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises((ArmTimeoutError, ArmAwayError)):
        await read
    with pytest.raises(ArmAwayError):
        await arm.write(setting(1))
    await heard.until(lambda heard: len(heard.links) == 2, 20, "lost and back")
    assert [(link.online, link.ready) for link in heard.links] == [(False, False), (True, True)]
    assert "SIGKILL" in heard.links[0].why
    await arm.connect()
    await arm.write(setting(2))
    assert await arm.read(GRAVITY) == SIDE
    assert heard.foreign == []


async def test_a_hanging_worker_is_replaced(arm: KortexArm, heard: Heard) -> None:
    os.kill(arm.worker_pid, signal.SIGSTOP)
    await heard.until(lambda heard: bool(heard.links), 5, "lost")
    await heard.until(lambda heard: heard.links[-1].online, 20, "back")


async def test_after_a_write_without_answer_another_worker_reads_back(arm: KortexArm, process: ArmProcess) -> None:
    pid = arm.worker_pid
    process.tell("lose_answer")
    with pytest.raises(ArmTimeoutError):
        await arm.write(setting(1))
    assert await arm.read(GRAVITY) == SIDE
    assert arm.worker_pid not in (0, pid)


async def test_a_session_that_the_arm_forgot_is_opened_anew(arm: KortexArm, process: ArmProcess, heard: Heard) -> None:
    process.tell("error", method="SetGravityVector", times=1, code=3, sub=54)
    with pytest.raises(ArmRefusedError) as refusal:
        await arm.write(setting(1))
    assert (refusal.value.sub_code, refusal.value.name) == (54, "INVALID_USER_SESSION_ACCESS")
    await heard.until(lambda heard: [link.online for link in heard.links] == [False, True], 20, "lost and back")


async def test_a_timeout_that_the_arm_reports_leaves_the_outcome_unknown(arm: KortexArm, process: ArmProcess) -> None:
    process.tell("error", method="SetGravityVector", times=1, code=3, sub=131)
    with pytest.raises(ArmTimeoutError, match="SetGravityVector"):
        await arm.write(setting(1))


async def test_without_control_a_write_is_refused_with_the_pair_of_the_arm(arm: KortexArm, process: ArmProcess) -> None:
    process.tell("error", method="SetGravityVector", times=1, code=3, sub=130)
    with pytest.raises(ArmRefusedError) as refusal:
        await arm.write(setting(1))
    pair = (refusal.value.code, refusal.value.sub_code, refusal.value.name)
    assert pair == (3, 130, "SESSION_NOT_IN_CONTROL")


async def test_with_time_enough_it_waits_until_the_other_lets_go(make_arm: MakeArm, process: ArmProcess) -> None:
    arm = make_arm(write_timeout_s=10.0)
    await arm.connect()
    process.tell("error", method="SetGravityVector", times=1, code=3, sub=130)
    begun = asyncio.get_running_loop().time()
    await arm.write(setting(1))
    assert asyncio.get_running_loop().time() - begun >= 7.5
    assert await arm.read(GRAVITY) == SIDE


async def test_another_client_is_told_as_foreign_and_by_its_address(
    arm: KortexArm, heard: Heard, make_arm: MakeArm
) -> None:
    other = make_arm("other")
    await other.connect()
    for number in range(1, 4):
        await other.write(setting(number, SIDE if number % 2 else OTHER_SIDE))
        await arm.write(setting(number, JointSpeedSoftLimits(ControlMode(4), (float(number),) * 7), SPEEDS))
    await heard.until(lambda heard: len(heard.changes) == 6, 5, "six events")
    assert [(change.event, change.ours) for change in heard.changes] == [(2, False), (16, True)] * 3
    assert {change.connection.partition(":")[0] for change in heard.changes} == {"127.0.0.1"}


async def test_a_factory_restore_tells_of_everything(arm: KortexArm, process: ArmProcess, heard: Heard) -> None:
    process.tell("event", event=10)
    await heard.until(lambda heard: bool(heard.foreign), 5, "event 10")
    assert (arm.worker_pid > 0, heard.foreign[0].event, heard.foreign[0].slot) == (True, 10, None)


@pytest.mark.parametrize(("state", "why"), [(4, "in fault"), (9, "by hand"), (77, "state 77")])
async def test_an_arm_that_takes_no_change_says_why(
    arm: KortexArm, process: ArmProcess, heard: Heard, state: int, why: str
) -> None:
    process.tell("state", state=state)
    await heard.until(lambda heard: bool(heard.links), 5, "not ready")
    assert (heard.links[0].online, heard.links[0].ready) == (True, False)
    assert why in heard.links[0].why
    process.tell("state", state=7)
    await heard.until(lambda heard: heard.links[-1] == LinkState(online=True, ready=True), 5, "ready")
    assert arm.worker_pid


@pytest.mark.parametrize(
    ("command", "sub_code"),
    [
        (setting(1, SIDE, ("joint_limits", 0)), 5),
        (setting(1, SIDE, SPEEDS), 3),
        (setting(1, JointSpeedSoftLimits(ControlMode(1), (1.0,) * 7), SPEEDS), 3),
        (Command(7, 1, Verb.RESET, ("cartesian_reference_frame", 0), None), 5),
    ],
)
async def test_what_no_call_can_say_is_refused_without_a_call(
    arm: KortexArm, process: ArmProcess, command: Command, sub_code: int
) -> None:
    with pytest.raises(ArmRefusedError) as refusal:
        await arm.write(command)
    assert (refusal.value.code, refusal.value.sub_code) == (3, sub_code)
    assert process.taken() == []
    await arm.write(setting(1))


@pytest.mark.parametrize(("slot", "sub_code"), [(("joint_limits", 0), 5), (("joint_acceleration_soft_limits", 2), 1)])
async def test_a_slot_that_there_is_not_cannot_be_read(arm: KortexArm, slot: Slot, sub_code: int) -> None:
    with pytest.raises(ArmRefusedError) as refusal:
        await arm.read(slot)
    assert (refusal.value.code, refusal.value.sub_code) == (3, sub_code)


async def test_garbage_is_no_value(arm: KortexArm, process: ArmProcess) -> None:
    process.tell("garbage")
    with pytest.raises(ArmUnreadableError):
        await arm.read(GRAVITY)


async def test_a_six_joint_arm_is_described_with_its_own_joints(
    make_arm: MakeArm, start_arm: Callable[[str, str], ArmProcess]
) -> None:
    lite = start_arm("lite", "gen3_lite")
    assert len((await make_arm("lite", "gen3_lite", of=lite).connect()).joints) == 6
    wrong = await make_arm("wrong", of=lite).connect()
    assert [joint.name for joint in wrong.joints] == [f"joint_{number}" for number in range(1, 7)]
    assert "6 joints, gen3_7dof has 7" in wrong.notes[0]
