"""Changes with an end on a whole service in memory: they take their place, stand, end, and lead back."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from schema.arms import Slot
from tests.broker.test_groups import follow
from tests.virtual_plant import Plant, play

SET, ITEM = "SetTwistLinearSoftLimit", "twist_linear_soft_limit"
PATH = f"{ITEM}/CARTESIAN_JOYSTICK"
SLOT: Slot = (ITEM, 2)
CHANGED = "TWIST_LINEAR_SOFT_LIMIT_CHANGED"
MINUTE = 60_000
HOUR = 60 * MINUTE


def value(number: float) -> dict[str, Any]:
    """Params of the Set."""
    return {"control_mode": "CARTESIAN_JOYSTICK", ITEM: number}


async def limit(plant: Plant, number: float, ms: int = 0, **more: Any) -> dict[str, Any]:
    """Set the limit, for a time if told."""
    envelope: dict[str, Any] = {"valid_for_ms": ms} if ms else {}
    return await plant.call("r1", SET, value(number), **envelope, **more)


async def payload(plant: Plant, mass: float, ms: int = 0, **more: Any) -> dict[str, Any]:
    """Set the payload, for a time if told."""
    envelope: dict[str, Any] = {"valid_for_ms": ms} if ms else {}
    return await plant.call("r1", "SetPayloadInformation", {"payload_mass": mass}, **envelope, **more)


def there(plant: Plant) -> tuple[float, float]:
    """What is desired and what is reported."""
    state = plant.session().state
    found: list[Any] = [state.desired[SLOT], state.reported[SLOT]]
    return found[0].twist_linear_soft_limit, found[1].twist_linear_soft_limit


def mass(plant: Plant) -> tuple[float, float]:
    """The same of the payload."""
    state = plant.session().state
    found: list[Any] = [state.desired["payload_information", 0], state.reported["payload_information", 0]]
    return found[0].payload_mass, found[1].payload_mass


def told(plant: Plant, name: str = "") -> list[tuple[str, str, int]]:
    """Name, cause and revision of the events of overrides and of the limit so far."""
    return [
        (event["event"], event["cause"], event["rev"])
        for event in plant.events()
        if event["event"] == name or (not name and (event["event"].startswith("OVERRIDE") or event["event"] == CHANGED))
    ]


def overrides(plant: Plant) -> list[dict[str, Any]]:
    """What the config document shows."""
    document: dict[str, Any] = plant.service._documents.build(plant.session(), "config")
    found: list[dict[str, Any]] = document.get("overrides", [])
    return found


def states(plant: Plant) -> list[tuple[int, str, str]]:
    """Revision, direction and state of each."""
    return [(one["rev"], one["direction"], one["state"]) for one in overrides(plant)]


def is_clean(plant: Plant) -> bool:
    """Whether nothing is live or owed, in memory and in the store."""
    connection = plant.store._writer._connection
    rows = [connection.execute(f"SELECT count(*) FROM {table}").fetchone() for table in ("override", "ground")]  # noqa: S608
    return plant.session().state.overrides is None and rows == [(0,), (0,)]


def test_an_override_ends_in_time_and_leads_back_to_its_ground(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.25)
        reply = await limit(plant, 0.4, 10 * MINUTE)
        assert (reply["ok"], reply["stage"], reply["rev"]) == (True, "applied", 3)
        assert reply["until"] == overrides(plant)[0]["until"]
        assert there(plant) == (0.4, 0.4)
        assert states(plant) == [(3, "loosening", "live")]
        assert overrides(plant)[0]["ground"] == {PATH: 0.25}
        await plant.turn(539.0)
        assert told(plant, "OVERRIDE_ENDING") == []
        await plant.turn(2.0)
        assert told(plant, "OVERRIDE_ENDING") == [("OVERRIDE_ENDING", "ending", 3)]
        assert there(plant) == (0.4, 0.4)
        await plant.turn(60.0)
        assert there(plant) == (0.25, 0.25)
        assert told(plant)[-2:] == [("OVERRIDE_ENDED", "expired", 3), (CHANGED, "returned", 4)]
        returned = plant.events()[-1]
        assert returned["by"] == {"user": "@service", "connection": "", "proven": True}
        assert returned["request_id"] == plant.events()[-4]["request_id"]
        assert (returned["change"]["before"], returned["change"]["after"]) == (0.4, 0.25)
        await plant.committed()
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_ruling_06_the_end_of_a_newer_override_leads_to_the_older_one(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.1, HOUR)
        await limit(plant, 0.05, 10 * MINUTE)
        assert states(plant) == [(2, "tightening", "covered"), (3, "tightening", "live")]
        await plant.turn(601.0)
        assert there(plant) == (0.1, 0.1)
        assert states(plant) == [(2, "tightening", "live")]
        await plant.turn(3_000.0)
        assert there(plant)[1] > 0.1
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_the_end_of_a_covered_override_writes_nothing(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.1, 10 * MINUTE)
        await limit(plant, 0.05, HOUR)
        await plant.turn(601.0)
        assert there(plant) == (0.05, 0.05)
        assert told(plant)[-1] == ("OVERRIDE_ENDED", "expired", 2)
        assert states(plant) == [(3, "tightening", "live")]

    play(tmp_path, scenario)


def test_ruling_07_a_change_for_good_that_the_arm_refuses_disarms_nothing(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.25)
        await limit(plant, 0.4, 10 * MINUTE)
        await plant.fault("r1", "refuse")
        assert (await limit(plant, 0.3))["error"]["kind"] == "arm_refused"
        await plant.fault("r1", "none")
        assert states(plant) == [(3, "loosening", "live")]
        await plant.turn(601.0)
        assert there(plant) == (0.25, 0.25)

    play(tmp_path, scenario)


def test_a_change_for_good_is_the_ground_and_ends_what_is_live(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.25)
        first = await limit(plant, 0.4, 10 * MINUTE)
        reply = await limit(plant, 0.3, user="v")
        (warning,) = reply["warnings"]
        assert warning["name"] == "OVERRIDE_ENDED"
        assert warning["message"] == f"it ended the override of u, revision 3, until {first['until']}"
        assert told(plant)[-2:] == [(CHANGED, "applied", 4), ("OVERRIDE_ENDED", "superseded", 3)]
        await plant.turn(1_000.0)
        assert there(plant) == (0.3, 0.3)
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_the_value_of_an_override_can_be_set_for_good(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.25)
        await limit(plant, 0.4, 10 * MINUTE)
        assert (await limit(plant, 0.4))["rev"] == 4
        await plant.turn(1_000.0)
        assert there(plant) == (0.4, 0.4)

    play(tmp_path, scenario)


def test_a_reset_and_a_factory_restore_end_what_is_live(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.1, HOUR)
        reply = await plant.call("r1", "ResetTwistLinearSoftLimit", {"control_mode": "CARTESIAN_JOYSTICK"})
        assert [one["name"] for one in reply["warnings"]] == ["OVERRIDE_ENDED"]
        assert is_clean(plant)
        await limit(plant, 0.1, HOUR)
        await payload(plant, 2.0, HOUR)
        assert (await plant.call("r1", "RestoreFactory", {}))["ok"]
        assert [cause for _, cause, _ in told(plant, "OVERRIDE_ENDED")] == ["superseded"] * 3
        await plant.committed()
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_ruling_08_a_return_takes_nobodys_place(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.25)
        await limit(plant, 0.4, 10 * MINUTE)
        await plant.fault("r1", "offline")
        await plant.turn(1.0)
        reply = await limit(plant, 0.3, user="v")
        assert reply["stage"] == "stored"
        await plant.turn(601.0)
        assert there(plant)[0] == 0.3
        assert states(plant) == [(3, "loosening", "returning")]
        pending = plant.service._documents.build(plant.session(), "config")["pending"]
        assert [(one["rev"], one["state"]) for one in pending] == [(4, "accepted"), (5, "accepted")]
        await plant.fault("r1", "none")
        await plant.turn(60.0)
        assert told(plant)[-2:] == [(CHANGED, "returned", 5), (CHANGED, "applied", 4)]
        assert there(plant) == (0.3, 0.3)
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_ruling_11_a_tightening_override_stands_against_others(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.25)
        until = (await limit(plant, 0.1, HOUR, reason="maintenance"))["until"]
        reply = await limit(plant, 0.25, user="plc")
        assert (reply["error"]["kind"], reply["rev"]) == ("held", 3)
        assert f"by u, revision 3, until {until}: maintenance" in reply["error"]["message"].replace(" (not proven)", "")
        reply = await plant.call("r1", "ResetTwistLinearSoftLimit", {"control_mode": "CARTESIAN_JOYSTICK"}, user="plc")
        assert reply["error"]["kind"] == "held"
        assert (await plant.call("r1", "RestoreFactory", {}, user="plc"))["error"]["kind"] == "held"
        assert (await limit(plant, 0.25, dry_run=True, user="plc"))["error"]["kind"] == "held"
        assert (await limit(plant, 0.05, 20 * MINUTE, user="plc"))["ok"]
        assert (await limit(plant, 0.2, user="plc"))["error"]["kind"] == "held"
        await plant.turn(1_300.0)
        assert there(plant) == (0.1, 0.1)
        assert (await limit(plant, 0.2))["ok"]
        assert (await limit(plant, 0.25, user="plc"))["ok"]

    play(tmp_path, scenario)


def test_ruling_12_whoever_may_ends_the_override_of_somebody_else(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.25)
        await limit(plant, 0.1, 30 * 24 * HOUR)
        reply = await plant.call("r1", "EndOverride", {"rev": 3}, user="v")
        assert (reply["stage"], reply["final"], reply["result"]) == ("stored", True, {"ended": [3], "left": []})
        await plant.turn(1.0)
        assert there(plant) == (0.25, 0.25)
        assert told(plant)[-2:] == [("OVERRIDE_ENDED", "ended", 3), (CHANGED, "returned", 4)]
        assert plant.events()[-2]["by"]["user"] == "v"
        assert (await limit(plant, 0.3, user="v"))["ok"]

    play(tmp_path, scenario)


async def drift(plant: Plant, number: float) -> None:
    """Somebody at the pendant changes the limit."""
    await plant.fault("r1", "foreign_change", item=ITEM, slot="CARTESIAN_JOYSTICK", value=number)
    await plant.turn(0.1)


def test_ruling_13_the_ground_is_what_was_reported(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.5)
        await drift(plant, 0.2)
        assert there(plant) == (0.5, 0.2)
        await limit(plant, 0.1, 10 * MINUTE)
        await plant.turn(601.0)
        assert there(plant) == (0.2, 0.2)

    play(tmp_path, scenario)


def test_ruling_14_what_the_pendant_set_is_loosened_by_nobody(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.25)
        await limit(plant, 0.1, 10 * MINUTE)
        await drift(plant, 0.15)
        await plant.turn(601.0)
        assert there(plant) == (0.25, 0.15)
        assert told(plant)[-1] == ("OVERRIDE_ENDED", "overwritten", 3)
        assert plant.service._documents.build(plant.session(), "config")["differs"] == [PATH]
        assert is_clean(plant)
        await limit(plant, 0.1)
        await limit(plant, 0.2, 10 * MINUTE)
        await drift(plant, 0.3)
        await plant.turn(601.0)
        assert there(plant) == (0.1, 0.1)

    play(tmp_path, scenario)


def test_ruling_15_an_arm_that_was_away_for_days_gets_the_tightening_first(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.25)
        await limit(plant, 0.4, 10 * MINUTE)
        await plant.fault("r1", "offline")
        await plant.turn(2.0)
        assert (await payload(plant, 1.0))["stage"] == "stored"
        await plant.call("r1", "HoldArm", {"reason": "work"}, user="bob")
        await plant.turn(2 * 86_400.0)
        assert states(plant) == [(3, "loosening", "returning")]
        reply = await plant.call("r1", "DiscardPending", {"rev": 5}, user="bob")
        assert reply["error"]["kind"] == "revision_conflict"
        assert "cannot be discarded" in reply["error"]["message"]
        await plant.call("r1", "HoldArm", {"reason": "work"}, user="bob")
        await plant.fault("r1", "none")
        await plant.turn(60.0)
        assert there(plant) == (0.25, 0.25)
        assert mass(plant)[1] == 0.0

    play(tmp_path, scenario)


def speeds(*degrees: float) -> dict[str, Any]:
    """Params of a Set of the speeds of seven joints."""
    return {"control_mode": "ANGULAR_JOYSTICK", "joint_speed_soft_limits": list(degrees)}


def speeds_there(plant: Plant) -> tuple[float, ...]:
    """What is reported, rounded."""
    found: Any = plant.session().state.reported["joint_speed_soft_limits", 1]
    return tuple(round(one, 1) for one in found.joint_speed_soft_limits)


def test_ruling_16_of_a_list_with_both_directions_the_tighter_of_both_goes_first(tmp_path: Path) -> None:
    method = "SetJointSpeedSoftLimits"

    async def scenario(plant: Plant) -> None:
        await plant.call("r1", method, speeds(20, 20, 10, 10, 10, 10, 10))
        await plant.call("r1", method, speeds(40, 10, 10, 10, 10, 10, 10), valid_for_ms=10 * MINUTE)
        await plant.fault("r1", "offline")
        await plant.turn(2 * 86_400.0)
        await plant.fault("r1", "none")
        await plant.turn(60.0)
        assert speeds_there(plant) == (20, 10, 10, 10, 10, 10, 10)
        pending = plant.service._documents.build(plant.session(), "config")["pending"]
        assert [(one["item"], one["state"]) for one in pending] == [("joint_speed_soft_limits", "held")]
        assert (await plant.call("r1", "ConfirmPending", {"all": True}))["ok"]
        await plant.turn(1.0)
        assert speeds_there(plant) == (20, 20, 10, 10, 10, 10, 10)
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_a_list_with_both_directions_goes_whole_where_it_may(tmp_path: Path) -> None:
    method = "SetJointSpeedSoftLimits"

    async def scenario(plant: Plant) -> None:
        await plant.call("r1", method, speeds(20, 20, 10, 10, 10, 10, 10))
        await plant.call("r1", method, speeds(40, 10, 10, 10, 10, 10, 10), valid_for_ms=10 * MINUTE)
        await plant.turn(601.0)
        assert speeds_there(plant) == (20, 20, 10, 10, 10, 10, 10)
        assert [event["cause"] for event in plant.events() if event["event"].startswith("JOINT_SPEED")] == [
            "applied", "applied", "returned",
        ]  # fmt: skip
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_ruling_17_an_old_return_of_an_item_without_order_is_held(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await payload(plant, 1.0)
        await payload(plant, 2.0, 10 * MINUTE)
        assert states(plant) == [(3, "unordered", "live")]
        await plant.fault("r1", "offline")
        await plant.turn(2 * 86_400.0)
        await plant.fault("r1", "none")
        await plant.turn(60.0)
        assert mass(plant) == (1.0, 2.0)
        pending = plant.service._documents.build(plant.session(), "config")["pending"]
        assert [(one["item"], one["state"]) for one in pending] == [("payload_information", "held")]
        assert (await plant.call("r1", "DiscardPending", {"all": True}))["ok"]
        assert mass(plant) == (2.0, 2.0)
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_ruling_18_a_return_that_fails_is_tried_again_after_ever_longer_times(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.25)
        await limit(plant, 0.4, 10 * MINUTE)
        await plant.fault("r1", "refuse")
        await plant.turn(601.0)
        assert states(plant) == [(3, "loosening", "overdue")]
        await plant.turn(60.0 + 120.0 + 240.0 + 480.0 + 960.0 + 1_920.0 + 3_600.0 + 3_600.0)
        failed = [event for event in plant.events() if event["event"] == "CHANGE_NOT_APPLIED"]
        assert len(failed) == 9
        assert {event["cause"] for event in failed} == {"refused"}
        assert there(plant) == (0.25, 0.4)
        await plant.fault("r1", "none")
        await plant.turn(3_600.0)
        assert there(plant) == (0.25, 0.25)
        await plant.committed()
        assert is_clean(plant)

    play(tmp_path, scenario)


@pytest.mark.parametrize("authority", ["observe", "advise"])
def test_ruling_19_nothing_is_written_below_control_and_at_once_under_it(tmp_path: Path, authority: str) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.25)
        await limit(plant, 0.4, 10 * MINUTE)
        await plant.call("r1", "SetAuthority", {"authority": authority})
        await plant.turn(601.0)
        assert states(plant) == [(3, "loosening", "overdue")]
        assert there(plant) == (0.25, 0.4)
        await plant.call("r1", "SetAuthority", {"authority": "control"})
        await plant.turn(1.0)
        assert there(plant) == (0.25, 0.25)
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_ruling_20_a_tightening_passes_a_lock_and_a_loosening_waits(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.25)
        await limit(plant, 0.4, 10 * MINUTE)
        await plant.call("r1", "HoldArm", {"reason": "work"}, user="bob")
        await plant.turn(601.0)
        assert there(plant) == (0.25, 0.25)
        await plant.call("r1", "ReleaseArm", {}, user="bob")
        await limit(plant, 0.1, 10 * MINUTE)
        await plant.call("r1", "HoldArm", {"reason": "work"}, user="bob")
        await plant.turn(601.0)
        assert there(plant) == (0.25, 0.1)
        await plant.call("r1", "ReleaseArm", {}, user="bob")
        await plant.turn(1.0)
        assert there(plant) == (0.25, 0.25)
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_ruling_22_a_clock_that_jumps_ends_what_loosens_and_not_what_tightens(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        ahead = [0]
        wall = plant.clock.wall_us
        plant.clock.wall_us = lambda: wall() + ahead[0]
        await limit(plant, 0.25)
        await limit(plant, 0.4, HOUR)
        await plant.call(
            "r1",
            "SetTwistAngularSoftLimit",
            {"control_mode": "CARTESIAN_JOYSTICK", "twist_angular_soft_limit": 10.0},
            valid_for_ms=HOUR,
        )
        ahead[0] = 2 * 3_600_000_000
        await plant.turn(700.0)
        assert there(plant) == (0.25, 0.25)
        assert states(plant) == [(4, "tightening", "live")]
        await plant.turn(3_000.0)
        assert is_clean(plant)

    play(tmp_path, scenario)


@pytest.mark.parametrize("fault", ["offline", "moving"])
def test_ruling_45_an_override_that_is_over_before_it_began_leaves_nothing(tmp_path: Path, fault: str) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.25)
        await plant.fault("r1", fault)
        await plant.turn(1.0)
        reply = await limit(plant, 0.1, MINUTE)
        assert (reply["stage"], "until" in reply) == ("stored", True)
        await plant.turn(61.0)
        assert plant.events()[-1]["cause"] == "expired"
        await plant.fault("r1", "none")
        await plant.turn(60.0)
        assert there(plant) == (0.25, 0.25)
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_ruling_46_another_arm_that_is_confirmed_has_no_overrides(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.1, HOUR)
        await plant.fault("r1", "swap_serial")
        await plant.turn(60.0)
        assert (await plant.call("r1", "ConfirmArm", {}))["ok"]
        await plant.turn(10.0)
        assert told(plant, "OVERRIDE_ENDED") == [("OVERRIDE_ENDED", "discarded", 2)]
        await plant.committed()
        assert is_clean(plant)

    play(tmp_path, scenario)


REAPPLYING = {"arm": [{"id": "r1", "adapter": "simulated", "model": "gen3_7dof", "drift": "reapply"}]}


def test_ruling_51_what_drifts_is_compared_with_what_is_in_force(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.1)
        await limit(plant, 0.3, HOUR)
        await drift(plant, 0.4)
        await plant.turn(61.0)
        assert there(plant) == (0.3, 0.3)
        assert states(plant) == [(3, "loosening", "live")]
        await plant.turn(3_600.0)
        assert there(plant) == (0.1, 0.1)

    play(tmp_path, scenario, arms=("r1",), **REAPPLYING)


def test_what_was_clamped_is_what_the_override_gave(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.1)
        await plant.fault("r1", "clamp")
        reply = await limit(plant, 0.4, 10 * MINUTE)
        clamped = there(plant)[1]
        assert ([one["name"] for one in reply["warnings"]], clamped < 0.4) == (["CLAMPED"], True)
        await plant.fault("r1", "none")
        await plant.turn(601.0)
        assert there(plant) == (0.1, 0.1)

    play(tmp_path, scenario)


def test_an_end_can_be_moved(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.25)
        await limit(plant, 0.4, 10 * MINUTE)
        await plant.turn(590.0)
        assert len(told(plant, "OVERRIDE_ENDING")) == 1
        reply = await plant.call("r1", "ExtendOverride", {"rev": 3, "valid_for_ms": 10 * MINUTE})
        ((extended,), stage) = reply["result"]["overrides"], reply["stage"]
        assert (extended["rev"], stage, extended["until"]) == (3, "stored", overrides(plant)[0]["until"])
        assert told(plant)[-1] == ("OVERRIDE_EXTENDED", "extended", 3)
        await plant.turn(590.0)
        assert (there(plant), len(told(plant, "OVERRIDE_ENDING"))) == ((0.4, 0.4), 2)
        assert (await plant.call("r1", "ExtendOverride", {"all": True, "valid_for_ms": 1_000}))["ok"]
        await plant.turn(2.0)
        assert there(plant) == (0.25, 0.25)

    play(tmp_path, scenario)


def test_what_is_kept_is_the_ground(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.25)
        await limit(plant, 0.3, HOUR)
        await limit(plant, 0.4, HOUR)
        assert (await plant.call("r1", "EndOverride", {"rev": 4, "keep": True}))["ok"]
        assert [(cause, rev) for _, cause, rev in told(plant, "OVERRIDE_ENDED")] == [("kept", 4), ("superseded", 3)]
        await plant.turn(3_700.0)
        assert there(plant) == (0.4, 0.4)
        assert is_clean(plant)
        reply = await plant.call("r1", "EndOverride", {"rev": 4, "keep": True})
        assert reply["error"]["kind"] == "revision_conflict"
        assert reply["error"]["message"] == "params.rev: 4 is no live override of r1; live: none. Nothing was changed."

    play(tmp_path, scenario)


def test_a_repeat_of_the_id_never_moves_the_end(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.25)
        first = await limit(plant, 0.4, 10 * MINUTE, id="once")
        await plant.turn(300.0)
        again = await limit(plant, 0.4, 10 * MINUTE, id="once")
        assert (again["duplicate"], again["in_force"], again["until"]) == (True, True, first["until"])
        await plant.turn(301.0)
        again = await limit(plant, 0.4, 10 * MINUTE, id="once")
        assert (again["duplicate"], again["in_force"], there(plant)[1]) == (True, False, 0.25)

    play(tmp_path, scenario)


def test_gets_tell_the_end_and_the_ground(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await payload(plant, 1.0)
        until = (await payload(plant, 2.0, HOUR))["until"]
        reply = await plant.call("r1", "GetPayloadInformation")
        assert (reply["result"]["payload_mass"], reply["until"]) == (2.0, until)
        reply = await plant.call("r1", "GetPayloadInformation", view="ground")
        assert reply["result"]["payload_mass"] == 1.0
        assert "until" not in await plant.call("r1", "GetGravityVector")

    play(tmp_path, scenario)


def test_only_so_many_overrides_are_live(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for number in range(8):
            assert (await limit(plant, 0.1 + number / 100, HOUR))["ok"]
        reply = await limit(plant, 0.3, HOUR)
        assert (reply["error"]["kind"], reply["error"]["message"]) == (
            "no_room", f"{PATH} of r1 has 8 overrides, 8 at most. Nothing was changed.",
        )  # fmt: skip
        assert (await plant.call("r1", "EndOverride", {"all": True}))["result"]["ended"] == list(range(2, 10))
        await plant.turn(1.0)
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_everything_goes_on_after_a_restart(tmp_path: Path) -> None:
    async def first(plant: Plant) -> None:
        await limit(plant, 0.25)
        await limit(plant, 0.4, 10 * MINUTE)
        await payload(plant, 2.0, HOUR)
        await plant.committed()

    async def in_time(plant: Plant) -> None:
        assert states(plant) == [(3, "loosening", "live"), (4, "unordered", "live")]
        await plant.turn(601.0)
        assert there(plant) == (0.25, 0.25)
        assert states(plant) == [(4, "unordered", "live")]
        await plant.committed()

    async def late(plant: Plant) -> None:
        await plant.turn(60.0)
        assert mass(plant) == (0.0, 0.0)
        assert is_clean(plant)

    play(tmp_path, first)
    play(tmp_path, in_time)
    play(tmp_path, late, start_us=1_800_000_000_000_000 + 7_200_000_000)


BOTH = {"items": {ITEM: {"CARTESIAN_JOYSTICK": 0.1}, "payload_information": {"payload_mass": 2.0}}}


def test_a_batch_is_one_override_over_what_took_effect_of_it(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.25)
        reply = await plant.call("r1", "ApplyConfig", BOTH, valid_for_ms=10 * MINUTE)
        assert (reply["ok"], "until" in reply) == (True, True)
        assert states(plant) == [(3, "unordered", "live")]
        assert sorted(overrides(plant)[0]["paths"]) == ["payload_information", PATH]
        events = [event for event in plant.events() if event["rev"] == 3]
        assert [event.get("until") for event in events] == [reply["until"]] * 3
        reply = await limit(plant, 0.2, user="plc")
        assert reply["ok"], "one of the slots has no order"
        assert overrides(plant)[0]["paths"] == ["payload_information"]
        await plant.turn(601.0)
        assert (there(plant), mass(plant)) == ((0.2, 0.2), (0.0, 0.0))
        assert len(told(plant, "OVERRIDE_ENDED")) == 1
        await plant.committed()
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_a_batch_that_is_there_already_counts_for_its_time(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", "ApplyConfig", BOTH)
        assert (await plant.call("r1", "ApplyConfig", BOTH, valid_for_ms=10 * MINUTE))["ok"]
        assert len(overrides(plant)) == 1
        await plant.turn(601.0)
        assert (there(plant), mass(plant)) == ((0.1, 0.1), (2.0, 2.0))
        assert is_clean(plant)

    play(tmp_path, scenario)


@pytest.mark.parametrize("on_failure", ["leave", "reverse"])
def test_of_a_batch_that_failed_only_what_took_effect_ends(tmp_path: Path, on_failure: str) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.25)
        await plant.fault("r1", "refuse", item="payload_information")
        reply = await plant.call("r1", "ApplyConfig", {**BOTH, "on_failure": on_failure}, valid_for_ms=10 * MINUTE)
        assert not reply["ok"]
        await plant.fault("r1", "none")
        await plant.turn(1.0)
        if on_failure == "reverse":
            assert (there(plant), is_clean(plant)) == ((0.25, 0.25), True)
            return
        assert overrides(plant)[0]["paths"] == [PATH]
        await plant.turn(601.0)
        assert there(plant) == (0.25, 0.25)
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_ruling_11_a_batch_that_is_looser_in_one_slot_is_refused(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.1, HOUR)
        loose = {"items": {ITEM: {"CARTESIAN_JOYSTICK": 0.2}, "gravity_vector": {"z": -9.81}}}
        assert (await plant.call("r1", "ApplyConfig", loose, user="plc"))["error"]["kind"] == "held"
        tight = {"items": {ITEM: {"CARTESIAN_JOYSTICK": 0.05}, "gravity_vector": {"z": -9.81}}}
        assert (await plant.call("r1", "ApplyConfig", tight, user="plc", valid_for_ms=MINUTE))["ok"]

    play(tmp_path, scenario)


def test_ruling_22_a_start_with_a_clock_behind_ends_what_loosens_alone(tmp_path: Path) -> None:
    async def first(plant: Plant) -> None:
        await limit(plant, 0.25)
        await limit(plant, 0.4, HOUR)
        angular = {"control_mode": "CARTESIAN_JOYSTICK", "twist_angular_soft_limit": 10.0}
        await plant.call("r1", "SetTwistAngularSoftLimit", angular, valid_for_ms=HOUR)
        await plant.turn(60.0)
        await payload(plant, 1.0)
        await plant.committed()

    async def behind(plant: Plant) -> None:
        await plant.turn(10.0)
        assert there(plant) == (0.25, 0.25)
        assert states(plant) == [(4, "tightening", "live")]

    play(tmp_path, first)
    play(tmp_path, behind, start_us=1_800_000_000_000_000 - 86_400_000_000)


def test_what_is_over_at_a_start_ends_before_a_request_is_taken(tmp_path: Path) -> None:
    async def first(plant: Plant) -> None:
        await limit(plant, 0.25)
        await limit(plant, 0.1, MINUTE, user="bob")
        await plant.committed()

    async def late(plant: Plant) -> None:
        reply = await limit(plant, 0.3)
        assert reply["ok"], "nobody's override stands any more"
        assert told(plant)[:2] == [("OVERRIDE_ENDED", "expired", 3), (CHANGED, "returned", 4)]

    play(tmp_path, first)
    play(tmp_path, late, start_us=1_800_000_000_000_000 + 600_000_000)


def test_a_return_that_was_owed_is_written_after_a_restart(tmp_path: Path) -> None:
    async def first(plant: Plant) -> None:
        await limit(plant, 0.25)
        await limit(plant, 0.4, MINUTE)
        await plant.call("r1", "SetAuthority", {"authority": "observe"})
        await plant.turn(61.0)
        assert states(plant) == [(3, "loosening", "overdue")]
        await plant.committed()

    async def again(plant: Plant) -> None:
        await plant.turn(5.0)
        assert states(plant) == [(3, "loosening", "overdue")]
        await plant.call("r1", "SetAuthority", {"authority": "control"})
        await plant.turn(1.0)
        assert there(plant) == (0.25, 0.25)
        await plant.committed()
        assert is_clean(plant)

    play(tmp_path, first)
    play(tmp_path, again, start_us=1_800_000_000_000_000 + 600_000_000)


def test_an_override_whose_rows_are_damaged_holds_its_arm(tmp_path: Path) -> None:
    async def first(plant: Plant) -> None:
        await limit(plant, 0.4, HOUR)
        await plant.committed()

    async def again(plant: Plant) -> None:
        await plant.turn(5.0)
        assert plant.session().state.distrust
        assert (await plant.call("r1", "ConfirmArm", {}))["ok"]
        await plant.turn(5.0)
        assert is_clean(plant)

    play(tmp_path, first)
    with sqlite3.connect(tmp_path / "store.sqlite3") as connection:
        connection.execute("UPDATE ground SET value = x'7b'")
    play(tmp_path, again, start_us=1_800_000_000_000_000 + 600_000_000)


CELL = {
    "arm": [{"id": arm, "adapter": "simulated", "model": "gen3_7dof", "groups": ["cell"]} for arm in ("r1", "r2", "r3")]
}


def test_ruling_43_the_overrides_of_a_group_have_one_end_and_are_named_by_their_plan(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await plant.call("@cell", SET, value(0.1), valid_for_ms=10 * MINUTE)
        assert reply["ok"], reply
        plan = reply["plan"]
        ends = {
            (override.until_us, override.plan)
            for arm in ("r1", "r2", "r3")
            for override in plant.session(arm).state.overrides.live  # type: ignore[union-attr]
        }
        assert len(ends) == 1
        assert ends.pop()[1] == plan
        await plant.turn(60.0)
        moved = await plant.call("@cell", "ExtendOverride", {"plan": plan, "valid_for_ms": HOUR})
        assert moved["ok"], moved
        await plant.turn(1_000.0)
        assert there(plant)[1] == 0.1
        ended = await plant.call("@cell", "EndOverride", {"plan": plan})
        assert ended["ok"], ended
        await plant.turn(1.0)
        assert all(plant.session(arm).state.overrides is None for arm in ("r1", "r2", "r3"))
        assert there(plant)[1] > 0.1
        again = await plant.call("@cell", "EndOverride", {"plan": plan})
        assert {row["state"] for row in again["result"]["rows"]} == {"skipped"}

    play(tmp_path, scenario, **CELL)


def test_ruling_28_what_is_over_of_a_removed_arm_ends_when_it_is_back(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.25)
        await limit(plant, 0.4, 10 * MINUTE)
        await follow(plant, r2=[])
        await plant.turn(1_000.0)
        assert told(plant, "OVERRIDE_ENDED") == []
        await follow(plant, r1=[], r2=[])
        await plant.turn(60.0)
        assert told(plant)[-2:] == [("OVERRIDE_ENDED", "expired", 3), (CHANGED, "returned", 4)]
        assert there(plant) == (0.25, 0.25)
        await plant.committed()
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_ruling_28_a_return_that_waits_when_its_arm_is_removed_is_owed_on(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.25)
        await limit(plant, 0.4, MINUTE)
        await plant.fault("r1", "offline", for_ms=120_000)
        await plant.turn(70.0)
        assert states(plant) == [(3, "loosening", "returning")]
        await follow(plant, r2=[])
        await plant.turn(100.0)
        await follow(plant, r1=[], r2=[])
        await plant.turn(120.0)
        assert there(plant) == (0.25, 0.25)
        await plant.committed()
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_ruling_45_one_that_waits_for_idle_is_over_all_the_same(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit(plant, 0.25)
        assert (await plant.call("r1", "SetControlMode", {"control_mode": "ANGULAR_TRAJECTORY"}))["ok"]
        reply = await limit(plant, 0.1, MINUTE, when="idle")
        assert (reply["stage"], "until" in reply) == ("stored", True)
        await plant.turn(61.0)
        assert plant.events()[-1]["cause"] == "expired"
        await plant.call("r1", "SetControlMode", {"control_mode": "IDLE"})
        await plant.turn(60.0)
        assert there(plant) == (0.25, 0.25)
        assert is_clean(plant)

    play(tmp_path, scenario)
