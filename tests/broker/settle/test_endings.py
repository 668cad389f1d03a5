"""How changes end: revisions, desired and reported values, and what goes back."""

from pathlib import Path
from typing import Any

from tests.virtual_plant import Plant, play

SET = "SetTwistLinearSoftLimit"
ITEM, SLOT = "twist_linear_soft_limit", "CARTESIAN_JOYSTICK"
MODE = {"control_mode": SLOT}
SPEEDS = "SetJointSpeedSoftLimits"


def value(limit: float) -> dict[str, Any]:
    """Params of the Set."""
    return {**MODE, ITEM: limit}


async def config_at(plant: Plant, seq: int) -> dict[str, Any]:
    """The config document of arm r1 with its event `seq`."""
    document: dict[str, Any] = await plant.document("state/r1/config", lambda each: each["seq"] == seq)
    return document


def test_a_refusal_takes_back_only_its_own_wish(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "delay", delay_ms=500)
        await plant.fault("r1", "refuse", for_ms=700)
        first, second = plant.send("r1", SET, value(0.3)), plant.send("r1", SET, value(0.2))
        refused, applied = await plant.reply(first), await plant.reply(second)
        assert (refused["error"]["kind"], refused["rev"]) == ("arm_refused", 2)
        assert (applied["stage"], applied["rev"]) == ("applied", 3)
        config = await config_at(plant, 2)
        assert (config["items"][ITEM][SLOT], config["rev"], config["differs"]) == (0.2, 3, [])

    play(tmp_path, scenario)


def test_a_refusal_makes_a_revision_of_what_is_desired_again(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", SET, value(0.3))
        await plant.fault("r1", "refuse")
        reply = await plant.call("r1", SET, value(0.2))
        history = (await plant.call("r1", "GetHistory"))["result"]["changes"]
        assert [(each["rev"], each["outcome"], each["after"]) for each in history] == [
            (4, "reverted", 0.3),
            (3, "refused", 0.2),
            (2, "applied", 0.3),
        ]
        stale = await plant.call("r1", SET, value(0.25), if_rev=reply["rev"])
        assert stale["error"]["kind"] == "revision_conflict"

    play(tmp_path, scenario)


def test_a_rounded_value_stays_desired_and_is_no_difference(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        wanted = [30.1234567] * 7
        reply = await plant.call("r1", SPEEDS, {**MODE, "joint_speed_soft_limits": wanted})
        assert [warning["name"] for warning in reply["warnings"]] == ["ROUNDED"]
        config = await config_at(plant, 1)
        desired = config["items"]["joint_speed_soft_limits"][SLOT]
        read = (await plant.call("r1", "GetKinematicSoftLimits", MODE))["result"]["joint_speed_limits"]
        assert desired != read
        assert config["differs"] == []
        (event,) = plant.events()
        assert event["change"]["after"] == read

    play(tmp_path, scenario)


def test_a_reset_makes_what_was_read_desired(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", SET, value(0.3))
        reply = await plant.call("r1", "ResetTwistLinearSoftLimit", MODE)
        config = await config_at(plant, 2)
        assert config["items"][ITEM][SLOT] == reply["result"][ITEM] == plant.events()[-1]["change"]["after"]
        assert plant.events()[-1]["cause"] == "reset"
        assert config["differs"] == []

    play(tmp_path, scenario)


def test_a_wish_that_expired_gives_way_to_the_one_before_it(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang")
        first, second = plant.send("r1", SET, value(0.3)), plant.send("r1", SET, value(0.2), ttl_ms=100)
        assert (await plant.reply(second))["error"]["kind"] == "expired"
        config = await config_at(plant, 1)
        assert (config["items"][ITEM][SLOT], [each["rev"] for each in config["pending"]]) == (0.3, [2])
        await plant.fault("r1", "none")
        assert (await plant.reply(first))["stage"] == "applied"
        assert (await plant.call("r1", SET, value(0.3), id=first))["in_force"] is True
        assert (await config_at(plant, 2))["differs"] == []

    play(tmp_path, scenario)
