"""Changes with an end of parts of the joint items: each part has a ground and overrides of its own."""

import math
from pathlib import Path
from typing import Any

import pytest

from schema.arms import Slot
from schema.intrinsic import JointLimits
from tests.broker.settle.batches.test_reversals import undo
from tests.broker.settle.overrides.test_overriding import HOUR, MINUTE, is_clean, overrides, states, told
from tests.virtual_plant import Plant, play

LIMITS: Slot = ("joint_limits", 0)
SAFETY: Slot = ("joint_safety", 0)
PARAMETERS: Slot = ("joint_parameters", 0)
CHANGED = "JOINT_LIMITS_CHANGED"
RANGE_AND_SPEED = (("max_velocity", 0), ("min_position", 1), ("max_position", 1))
NAME = "joint_limits.joint_{}.max_velocity"


async def velocity(plant: Plant, joint: int, number: float, ms: int = 0, **more: Any) -> dict[str, Any]:
    """Set the limit of the speed of a joint, for a time if told."""
    envelope: dict[str, Any] = {"valid_for_ms": ms} if ms else {}
    params = {"joint": f"joint_{joint}", "update": {"max_velocity": number}}
    return await plant.call("r1", "SetJointLimit", params, **envelope, **more)


async def reset(plant: Plant) -> None:
    """Let joints 1 to 3 have limits of 0.5 rad/s."""
    for joint in (1, 2, 3):
        assert (await velocity(plant, joint, 0.5))["ok"]


def there(plant: Plant) -> tuple[list[float], list[float]]:
    """The limits of the speeds of joints 1 to 3, desired and reported."""
    state = plant.session().state
    found = []
    for values in (state.desired, state.reported):
        limits = values[LIMITS]
        assert isinstance(limits, JointLimits)
        assert limits.max_velocity is not None
        found.append([round(number, 6) for number in limits.max_velocity.values[:3]])
    return found[0], found[1]


def both(*numbers: float) -> tuple[list[float], list[float]]:
    """These, desired and reported."""
    return list(numbers), list(numbers)


async def ground(plant: Plant) -> list[float]:
    """The ground of the same."""
    reply = await plant.call("r1", "GetJointLimits", view="ground")
    return [round(number, 6) for number in reply["result"]["max_velocity"]["values"][:3]]


def test_ruling_23_a_permanent_change_of_another_joint_stands_beside_an_override(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        reply = await velocity(plant, 1, 0.2, 10 * MINUTE)
        rev = reply["rev"]
        assert (reply["ok"], reply["stage"]) == (True, "applied")
        assert states(plant) == [(rev, "tightening", "live")]
        (shown,) = overrides(plant)
        assert shown["paths"] == ["joint_limits"]
        assert shown["ground"] == {"joint_limits": {"max_velocity[0]": 0.5}}
        other = await velocity(plant, 2, 0.4)
        assert other.get("warnings", []) == []
        assert there(plant) == both(0.2, 0.4, 0.5)
        assert states(plant) == [(rev, "tightening", "live")]
        assert await ground(plant) == [0.5, 0.4, 0.5]
        await plant.turn(601.0)
        assert there(plant) == both(0.5, 0.4, 0.5)
        assert told(plant, "OVERRIDE_ENDED") == [("OVERRIDE_ENDED", "expired", rev)]
        assert told(plant, CHANGED)[-1] == (CHANGED, "returned", rev + 2)
        await plant.committed()
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_ruling_23_a_restore_does_not_make_an_override_permanent(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        await velocity(plant, 1, 0.2, 10 * MINUTE)
        beside = (await velocity(plant, 2, 0.4))["rev"]
        await plant.turn(601.0)
        await velocity(plant, 1, 0.3)
        await velocity(plant, 2, 0.3)
        reply = await plant.call("r1", "RestoreRevision", {"rev": beside, "items": ["joint_limits"]})
        assert reply["ok"], reply
        assert there(plant) == both(0.5, 0.4, 0.5)

    play(tmp_path, scenario)


def test_a_permanent_change_of_the_same_joint_ends_the_override(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        rev = (await velocity(plant, 1, 0.2, 10 * MINUTE))["rev"]
        reply = await velocity(plant, 1, 0.3)
        assert [one["name"] for one in reply["warnings"]] == ["OVERRIDE_ENDED"]
        assert told(plant, "OVERRIDE_ENDED") == [("OVERRIDE_ENDED", "superseded", rev)]
        assert is_clean(plant)
        await plant.turn(601.0)
        assert there(plant) == both(0.3, 0.5, 0.5)

    play(tmp_path, scenario)


def test_an_end_leads_only_its_own_part_back(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        first = (await velocity(plant, 1, 0.9, 20 * MINUTE))["rev"]
        await velocity(plant, 2, 0.2, 10 * MINUTE)
        assert there(plant) == both(0.9, 0.2, 0.5)
        await plant.turn(601.0)
        assert there(plant) == both(0.9, 0.5, 0.5)
        assert states(plant) == [(first, "loosening", "live")]
        assert (await plant.call("r1", "EndOverride", {"rev": first}))["ok"]
        assert there(plant) == both(0.5, 0.5, 0.5)
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_one_override_of_several_parts_loses_those_that_are_set_for_good(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        lists = {"max_velocity": {"values": [0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5]}}
        reply = await plant.call("r1", "SetJointLimits", lists, valid_for_ms=HOUR)
        assert reply["ok"], reply
        await velocity(plant, 2, 0.25)
        (shown,) = overrides(plant)
        assert sorted(shown["ground"]["joint_limits"]) == [f"max_velocity[{joint}]" for joint in (0, 2, 3, 4, 5, 6)]
        assert await ground(plant) == [0.5, 0.25, 0.5]
        assert (await plant.call("r1", "EndOverride", {"all": True}))["ok"]
        assert there(plant) == both(0.5, 0.25, 0.5)

    play(tmp_path, scenario)


def test_what_is_kept_of_a_part_is_for_good(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        rev = (await velocity(plant, 1, 0.2, HOUR))["rev"]
        await velocity(plant, 2, 0.3, HOUR)
        assert (await plant.call("r1", "EndOverride", {"rev": rev, "keep": True}))["ok"]
        assert await ground(plant) == [0.2, 0.5, 0.5]
        assert (await plant.call("r1", "EndOverride", {"all": True}))["ok"]
        assert there(plant) == both(0.2, 0.5, 0.5)
        history = await plant.call("r1", "GetHistory", {"item": "joint_limits", "limit": 20})
        kept = next(
            one for one in history["result"]["changes"] if one["method"] == "EndOverride" and "returned_from" not in one
        )
        values = [kept[name]["max_velocity"]["values"][:2] for name in ("before", "after")]
        assert values == [[0.5, 0.5], [0.2, 0.5]]

    play(tmp_path, scenario)


@pytest.mark.parametrize("method", ["ResetJointLimits", "RestoreFactory"])
def test_what_takes_all_back_ends_the_overrides_of_all_parts(tmp_path: Path, method: str) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        await velocity(plant, 1, 0.2, HOUR)
        await velocity(plant, 2, 0.9, HOUR)
        reply = await plant.call("r1", method, {})
        assert reply["ok"], reply
        assert is_clean(plant)
        assert [cause for _, cause, _ in told(plant, "OVERRIDE_ENDED")] == ["superseded", "superseded"]
        assert 0.5 not in there(plant)[1]

    play(tmp_path, scenario)


def test_ruling_11_of_another_user_only_the_part_is_kept_tighter(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        await velocity(plant, 1, 0.2, HOUR)
        refused = await velocity(plant, 1, 0.3, user="plc")
        assert refused["error"]["kind"] == "held"
        assert (await velocity(plant, 2, 0.6, user="plc"))["ok"]
        whole = {"max_velocity": {"values": [0.3, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7]}}
        assert (await plant.call("r1", "SetJointLimits", whole, user="plc"))["error"]["kind"] == "held"
        reply = await plant.call("r1", "ResetJointLimits", {}, user="plc")
        assert reply["error"]["kind"] == "held"

    play(tmp_path, scenario)


def test_ruling_20_a_return_of_a_part_passes_a_lock_where_it_tightens_and_else_waits(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        lists = {"max_velocity": {"values": [0.9, 0.2, 0.5, 0.5, 0.5, 0.5, 0.5]}}
        await plant.call("r1", "SetJointLimits", lists, valid_for_ms=10 * MINUTE)
        assert (await plant.call("r1", "HoldArm", {"reason": "r"}, user="bob"))["ok"]
        await plant.turn(601.0)
        assert there(plant)[1] == [0.5, 0.2, 0.5]
        assert (await plant.call("r1", "ReleaseArm", {}, user="bob"))["ok"]
        await plant.turn(1.0)
        assert there(plant) == both(0.5, 0.5, 0.5)
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_ruling_19_below_control_a_return_of_a_part_is_owed(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        rev = (await velocity(plant, 1, 0.9, 10 * MINUTE))["rev"]
        assert (await plant.call("r1", "SetAuthority", {"authority": "observe", "reason": "r"}))["ok"]
        await plant.turn(601.0)
        assert there(plant)[1] == [0.9, 0.5, 0.5]
        assert states(plant) == [(rev, "loosening", "overdue")]
        assert (await plant.call("r1", "SetAuthority", {"authority": "control", "reason": "r"}))["ok"]
        await plant.turn(1.0)
        assert there(plant) == both(0.5, 0.5, 0.5)
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_an_arm_that_is_away_has_its_held_parts_led_back_all_the_same(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        await velocity(plant, 1, 0.9, 10 * MINUTE)
        await plant.fault("r1", "offline")
        await plant.turn(601.0)
        assert there(plant) == both(0.5, 0.5, 0.5)
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_records_and_parameters_that_were_not_there_go_away_again(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        gains = {"soft_upper_limit": 1.0, "soft_lower_limit": -1.0, "k_position": 10.0, "k_velocity": 1.0}
        reply = await plant.call("r1", "SetJointSafety", {"joints": {"joint_1": gains}}, valid_for_ms=10 * MINUTE)
        assert reply["ok"], reply
        await plant.call("r1", "SetJointSafety", {"joints": {"joint_2": gains}})
        parameters = {"joint_limits.joint_1.has_velocity_limits": True, NAME.format(1): 0.1}
        reply = await plant.call("r1", "SetJointParameters", {"parameters": parameters}, valid_for_ms=10 * MINUTE)
        assert reply["ok"], reply
        assert [list(one["ground"].values()) for one in overrides(plant)] == [
            [{"joint_1": None}], [dict.fromkeys(sorted(parameters))],
        ]  # fmt: skip
        await plant.turn(601.0)
        assert list((await plant.call("r1", "GetJointSafety"))["result"]["joints"]) == ["joint_2"]
        assert (await plant.call("r1", "GetJointParameters"))["result"]["parameters"] == {}
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_ruling_24_a_parameter_that_the_arm_does_not_have_is_refused_by_name(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plant.session().state.arm_items |= {PARAMETERS[0]}
        parameters = {"parameters": {NAME.format(1): 0.1}}
        for method, params in (
            ("SetJointParameters", parameters),
            ("ApplyConfig", {"items": {"joint_parameters": parameters}}),
        ):
            reply = await plant.call("r1", method, params, valid_for_ms=MINUTE)
            assert reply["error"]["kind"] == "not_applicable"
            assert f"has no joint_parameters {NAME.format(1)}, and cannot lose it again" in reply["error"]["message"]

    play(tmp_path, scenario)


def test_a_batch_with_joint_items_and_an_end_is_one_override(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        lists = {"max_velocity": {"values": [0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5]}}
        items = {"joint_limits": lists, "twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.1}}
        reply = await plant.call("r1", "ApplyConfig", {"items": items}, valid_for_ms=10 * MINUTE)
        assert reply["ok"], reply
        (shown,) = overrides(plant)
        assert shown["paths"] == ["joint_limits", "twist_linear_soft_limit/CARTESIAN_JOYSTICK"]
        await velocity(plant, 3, 0.35)
        await plant.turn(601.0)
        assert there(plant) == both(0.5, 0.5, 0.35)
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_what_binds_and_who_set_it_is_told_part_by_part(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        await plant.turn(1.0)
        reply = await velocity(plant, 1, 0.2, HOUR)
        blame = await plant.call("r1", "Blame", {"items": ["joint_limits"]})
        parts = {one["part"]: one for one in blame["result"]["values"]}
        assert (parts["max_velocity[0]"]["rev"], parts["max_velocity[0]"]["until"]) == (reply["rev"], reply["until"])
        assert "until" not in parts["max_velocity[1]"]
        found = await plant.call("r1", "Explain", {"quantity": "velocity", "joint": "joint_1"})
        (number,) = found["result"]["numbers"]
        assert (number["rev"], number["until"]) == (reply["rev"], reply["until"])
        found = await plant.call("r1", "Explain", {"quantity": "velocity", "joint": "joint_2"})
        assert "until" not in found["result"]["numbers"][0]
        got = await plant.call("r1", "GetJointLimits")
        assert got["until"] == reply["until"]
        assert math.isclose(got["result"]["max_velocity"]["values"][0], 0.2)

    play(tmp_path, scenario)


def test_a_part_has_room_for_eight_overrides(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        for _ in range(8):
            assert (await velocity(plant, 1, 0.2, HOUR))["ok"]
        full = await velocity(plant, 1, 0.2, HOUR)
        assert full["error"]["kind"] == "no_room"
        assert "joint_limits max_velocity[0] of r1 has 8 overrides, 8 at most" in full["error"]["message"]
        assert (await velocity(plant, 2, 0.2, HOUR))["ok"]

    play(tmp_path, scenario)


def test_what_names_no_part_overrides_nothing(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        reply = await plant.call("r1", "SetJointLimit", {"joint": "joint_1", "update": {}}, valid_for_ms=HOUR)
        assert reply["ok"]
        assert overrides(plant) == []
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_ruling_23_a_change_that_is_undone_leaves_the_override_of_another_part(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        live = (await velocity(plant, 1, 0.2, HOUR))["rev"]
        beside = (await velocity(plant, 2, 0.4))["rev"]
        assert (await undo(plant, beside)).undone
        assert there(plant) == both(0.2, 0.5, 0.5)
        assert states(plant) == [(live, "tightening", "live")]
        assert (await undo(plant, live)).ended
        assert there(plant) == both(0.5, 0.5, 0.5)
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_a_revision_that_is_restored_for_a_time_is_an_override_of_all_parts(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        rev = plant.session().state.rev
        await reset(plant)
        restore = {"rev": rev, "items": ["joint_limits"]}
        reply = await plant.call("r1", "RestoreRevision", restore, valid_for_ms=10 * MINUTE)
        assert reply["ok"], reply
        assert 0.5 not in there(plant)[1]
        await velocity(plant, 2, 0.4)
        await plant.turn(601.0)
        assert there(plant) == both(0.5, 0.4, 0.5)
        beside = await plant.call("r1", "RestoreRevision", {"rev": reply["rev"] + 1, "items": ["joint_limits"]})
        assert beside["ok"], beside
        assert there(plant) == both(0.5, 0.4, 0.5)
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_a_plan_gives_each_arm_an_override_of_its_parts_and_ends_them_together(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        params = {"joint": "joint_1", "update": {"max_velocity": 0.2}}
        reply = await plant.call("@all", "SetJointLimit", params, valid_for_ms=HOUR)
        assert reply["ok"], reply
        plan = reply["plan"]
        assert [one["plan"] for one in overrides(plant)] == [plan]
        await velocity(plant, 2, 0.4)
        ended = await plant.call("@all", "EndOverride", {"plan": plan})
        assert ended["ok"], ended
        await plant.turn(1.0)
        assert overrides(plant) == []
        assert there(plant)[1][1] == 0.4

    play(tmp_path, scenario)


def lists(velocity: float, lower: float, upper: float) -> dict[str, Any]:
    """Limits of all joints: the speed of joint 1, the range of joint 2, as much as there may be of the others."""
    return {
        "max_velocity": {"values": [velocity, *[0.5] * 6]},
        "min_position": {"values": [-1.0, lower, *[-1.0] * 5]},
        "max_position": {"values": [1.0, upper, *[1.0] * 5]},
    }


def test_what_tightens_beside_a_range_that_cannot_go_back_in_steps_does_not_wait_for_a_lock(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        assert (await plant.call("r1", "SetJointLimits", lists(0.3, -1.0, -0.5)))["ok"]
        assert (await plant.call("r1", "SetJointLimits", lists(0.5, 0.5, 1.0), valid_for_ms=MINUTE))["ok"]
        assert (await plant.call("r1", "HoldArm", {"reason": "work"}, user="bob"))["ok"]
        await plant.turn(2 * MINUTE / 1_000)
        read = (await plant.call("r1", "GetJointLimits"))["result"]
        numbers = [read[name]["values"][joint] for name, joint in RANGE_AND_SPEED]
        assert numbers == [0.3, 0.5, 1.0]
        assert (await plant.call("r1", "ReleaseArm", user="bob"))["ok"]
        await plant.turn(MINUTE / 1_000)
        read = (await plant.call("r1", "GetJointLimits"))["result"]
        assert [read[name]["values"][joint] for name, joint in RANGE_AND_SPEED] == [0.3, -1.0, -0.5]
        assert is_clean(plant)

    play(tmp_path, scenario)
