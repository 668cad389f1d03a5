"""Changes of parts that wait: none is written by another one, and what waits is superseded by its own parts alone."""

from pathlib import Path
from typing import Any

import pytest

from tests.broker.settle.overrides.test_override_parts import LIMITS, both, reset, there, velocity
from tests.broker.settle.overrides.test_overriding import HOUR, MINUTE, is_clean, overrides, states
from tests.virtual_plant import START_US, Plant, play


async def observed(plant: Plant, authority: str = "observe") -> None:
    """Say how far the service may go."""
    assert (await plant.call("r1", "SetAuthority", {"authority": authority, "reason": "r"}))["ok"]


def waiting(plant: Plant) -> list[int]:
    """The revisions of the changes that wait."""
    return [job.rev for job in plant.session().parked]


def test_a_permanent_change_and_an_override_of_another_joint_wait_side_by_side(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        await plant.call("r1", "SetControlMode", {"control_mode": "ANGULAR_TRAJECTORY"})
        first = await velocity(plant, 1, 0.6, HOUR, when="idle")
        second = await velocity(plant, 2, 0.4, when="idle")
        assert (first["stage"], second["stage"]) == ("stored", "stored")
        assert waiting(plant) == [first["rev"], second["rev"]]
        assert there(plant)[0] == [0.6, 0.4, 0.5]
        for rev in reversed(waiting(plant)):
            assert (await plant.call("r1", "ConfirmPending", {"rev": rev}))["ok"]
            await plant.turn(1.0)
        assert there(plant) == both(0.6, 0.4, 0.5)
        assert states(plant) == [(first["rev"], "loosening", "live")]
        assert overrides(plant)[0]["ground"] == {"joint_limits": {"max_velocity[0]": 0.5}}
        await plant.call("r1", "EndOverride", {"all": True})
        assert there(plant) == both(0.5, 0.4, 0.5)

    play(tmp_path, scenario)


def test_what_an_override_that_waits_wishes_for_is_written_by_nobody_else(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        first = await velocity(plant, 1, 0.6, HOUR, when="idle")
        assert first["stage"] == "stored"
        second = await velocity(plant, 2, 0.4)
        assert second["stage"] == "applied"
        assert there(plant) == ([0.6, 0.4, 0.5], [0.5, 0.4, 0.5])
        assert (await plant.call("r1", "DiscardPending", {"rev": first["rev"]}))["ok"]
        assert there(plant) == both(0.5, 0.4, 0.5)
        assert is_clean(plant)

    play(tmp_path, scenario)


@pytest.mark.parametrize("later", [2, 1])
def test_an_override_that_waits_gives_way_to_what_names_all_of_it(tmp_path: Path, later: int) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        first = await velocity(plant, 1, 0.6, HOUR, when="idle")
        second = await velocity(plant, later, 0.4)
        assert second["ok"]
        assert waiting(plant) == ([first["rev"]] if later != 1 else [])

    play(tmp_path, scenario)


def test_an_end_leaves_a_part_alone_for_which_somebody_waits(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        lists = {"max_velocity": {"values": [0.2, 0.2, 0.5, 0.5, 0.5, 0.5, 0.5]}}
        await plant.call("r1", "SetJointLimits", lists, valid_for_ms=10 * MINUTE)
        await plant.call("r1", "SetControlMode", {"control_mode": "ANGULAR_TRAJECTORY"})
        waits = await velocity(plant, 1, 0.7, when="idle")
        assert waits["stage"] == "stored"
        await plant.turn(601.0)
        assert there(plant) == ([0.7, 0.5, 0.5], [0.2, 0.5, 0.5])
        assert is_clean(plant)
        await plant.call("r1", "ConfirmPending", {"rev": waits["rev"]})
        await plant.turn(1.0)
        assert there(plant) == both(0.7, 0.5, 0.5)

    play(tmp_path, scenario)


def test_what_tightens_of_a_part_goes_before_what_somebody_waits_for(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        await velocity(plant, 1, 0.9, 10 * MINUTE)
        await plant.call("r1", "SetControlMode", {"control_mode": "ANGULAR_TRAJECTORY"})
        waits = await velocity(plant, 1, 0.8, when="idle")
        await plant.turn(601.0)
        assert there(plant) == ([0.8, 0.5, 0.5], [0.5, 0.5, 0.5])
        await plant.call("r1", "ConfirmPending", {"rev": waits["rev"]})
        await plant.turn(1.0)
        assert there(plant) == both(0.8, 0.5, 0.5)
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_an_override_that_waits_is_known_part_by_part_after_a_restart(tmp_path: Path) -> None:
    async def before(plant: Plant) -> None:
        await reset(plant)
        await plant.call("r1", "SetControlMode", {"control_mode": "ANGULAR_TRAJECTORY"})
        await velocity(plant, 1, 0.5, HOUR, when="idle")
        await velocity(plant, 2, 0.4, when="idle")
        await plant.committed()

    async def after(plant: Plant) -> None:
        first, second = plant.session().parked
        assert (first.named, second.named) == (frozenset({"max_velocity[0]"}), frozenset({"max_velocity[1]"}))
        for rev in reversed(waiting(plant)):
            assert (await plant.call("r1", "ConfirmPending", {"rev": rev}))["ok"]
            await plant.turn(1.0)
        assert there(plant) == both(0.5, 0.4, 0.5)
        assert overrides(plant)[0]["ground"] == {"joint_limits": {"max_velocity[0]": 0.5}}

    play(tmp_path, before)
    play(tmp_path, after)


def test_overrides_of_parts_and_their_debts_endure_a_restart(tmp_path: Path) -> None:
    revs: dict[str, int] = {}

    async def before(plant: Plant) -> None:
        await reset(plant)
        revs["live"] = (await velocity(plant, 1, 0.2, HOUR))["rev"]
        revs["owed"] = (await velocity(plant, 2, 0.9, MINUTE))["rev"]
        gains = {"soft_upper_limit": 1.0, "soft_lower_limit": -1.0, "k_position": 10.0, "k_velocity": 1.0}
        revs["safety"] = (await plant.call("r1", "SetJointSafety", {"joints": {"joint_1": gains}}, valid_for_ms=HOUR))[
            "rev"
        ]
        await observed(plant)
        await plant.turn(61.0)
        await plant.committed()

    async def after(plant: Plant) -> None:
        assert states(plant) == [
            (revs["live"], "tightening", "live"), (revs["owed"], "loosening", "overdue"),
            (revs["safety"], "tightening", "live"),
        ]  # fmt: skip
        assert [one["ground"] for one in overrides(plant)] == [
            {"joint_limits": {"max_velocity[0]": 0.5}}, {"joint_limits": {"max_velocity[1]": 0.5}},
            {"joint_safety": {"joint_1": None}},
        ]  # fmt: skip
        await observed(plant, "control")
        await plant.turn(1.0)
        assert there(plant) == both(0.2, 0.5, 0.5)
        assert (await plant.call("r1", "EndOverride", {"all": True}))["ok"]
        assert there(plant) == both(0.5, 0.5, 0.5)
        assert (await plant.call("r1", "GetJointSafety"))["result"]["joints"] == {}
        assert is_clean(plant)

    play(tmp_path, before)
    play(tmp_path, after)


def test_what_is_over_of_a_part_while_the_service_is_down_ends_at_its_start(tmp_path: Path) -> None:
    async def before(plant: Plant) -> None:
        await reset(plant)
        await velocity(plant, 1, 0.9, MINUTE)
        await velocity(plant, 2, 0.4)
        await plant.committed()

    async def after(plant: Plant) -> None:
        assert there(plant) == both(0.5, 0.4, 0.5)
        await plant.committed()
        newest = (await plant.call("r1", "GetHistory", {"limit": 1}))["result"]["changes"][0]
        assert (newest["method"], newest["returned_from"]) == ("EndOverride", 5)
        assert is_clean(plant)

    play(tmp_path, before)
    play(tmp_path, after, start_us=START_US + 120_000_000)


def test_a_batch_that_is_reversed_writes_only_its_own_parts_back(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        await velocity(plant, 1, 0.2, HOUR)
        gains = {"soft_upper_limit": 1.0, "soft_lower_limit": -1.0, "k_position": 1.0, "k_velocity": 1.0}
        items: dict[str, Any] = {
            "joint_safety": {"joints": {"joint_1": gains}},
            "joint_limits": {"max_jerk": {"values": [9.0] * 7}},
            "payload_information": {"payload_mass": 1.0},
        }
        await plant.fault("r1", "refuse", item="payload_information")
        reply = await plant.call("r1", "ApplyConfig", {"items": items, "on_failure": "reverse"})
        assert not reply["ok"]
        assert (await plant.call("r1", "GetJointSafety"))["result"]["joints"] == {}
        assert there(plant) == both(0.2, 0.5, 0.5)

    play(tmp_path, scenario)


def test_the_desired_limits_are_those_of_the_slot(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        first = (await velocity(plant, 1, 0.2, HOUR))["rev"]
        second = (await velocity(plant, 1, 0.3, HOUR))["rev"]
        assert states(plant) == [(first, "tightening", "covered"), (second, "loosening", "live")]
        await plant.call("r1", "EndOverride", {"rev": second})
        assert there(plant) == both(0.2, 0.5, 0.5)
        assert plant.session().state.desired_rev[LIMITS] == second + 1
        await plant.call("r1", "ExtendOverride", {"rev": first, "valid_for_ms": MINUTE})
        await plant.turn(61.0)
        assert there(plant) == both(0.5, 0.5, 0.5)
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_what_waits_is_not_kept_back_by_an_override_of_another_part(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await reset(plant)
        await velocity(plant, 1, 0.2, HOUR)
        await plant.call("r1", "SetControlMode", {"control_mode": "ANGULAR_TRAJECTORY"})
        waits = await velocity(plant, 2, 0.9, when="idle", user="plc")
        assert waits["stage"] == "stored"
        await velocity(plant, 1, 0.15, HOUR)
        assert (await plant.call("r1", "ConfirmPending", {"rev": waits["rev"]}))["ok"]
        await plant.turn(1.0)
        assert there(plant) == both(0.15, 0.9, 0.5)

    play(tmp_path, scenario)
