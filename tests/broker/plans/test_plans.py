"""Requests to groups on a whole service in virtual time."""

from pathlib import Path
from typing import Any

import pytest

from schema.arms import Authority
from tests.virtual_plant import Plant, play

SET, TWIST, GRAVITY = "SetTwistLinearSoftLimit", "twist_linear_soft_limit", "SetGravityVector"
ARMS = ("r11", "r12", "r13")
CELL = [{"id": arm, "adapter": "simulated", "model": "gen3_7dof", "groups": ["cell-4"]} for arm in ARMS]


def twist(limit: float) -> dict[str, Any]:
    return {"control_mode": "CARTESIAN_JOYSTICK", TWIST: limit}


def rows(reply: dict[str, Any]) -> dict[str, str]:
    """The states of the rows by arm."""
    return {row["arm"]: row["state"] for row in reply["result"]["rows"]}


def plan_events(plant: Plant) -> list[tuple[str, str]]:
    return [(event["event"], event["cause"]) for event in plant.events("@all")]


async def steer(plant: Plant, plan: int, action: str, **fields: Any) -> dict[str, Any]:
    return await plant.call("@all", "SteerPlan", {"plan": plan, "action": action}, **fields)


async def told(plant: Plant, plan: int, **params: Any) -> dict[str, Any]:
    reply = await plant.call("@all", "GetPlan", {"plan": plan, **params})
    assert reply["ok"], reply
    found: dict[str, Any] = reply["result"]
    return found


def test_a_set_of_a_group_is_done_with_each_of_its_arms(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await plant.call("@all", SET, twist(0.2), id="50")
        assert (reply["ok"], reply["stage"], reply["final"], reply["plan"]) == (True, "applied", True, 1)
        assert (reply["arm"], reply["rev"], reply["seq"]) == ("@all", 0, 2)
        result = reply["result"]
        assert (result["state"], result["outcome"], result["more"]) == ("ended", "done", False)
        assert result["counts"] == {"total": 3, "applied": 3}
        assert [(row["arm"], row["state"], row["final"], row["rev"], row["seq"]) for row in result["rows"]] == [
            (arm, "applied", True, 2, 1) for arm in ARMS
        ]
        for arm in ARMS:
            (event,) = plant.events(arm)
            assert (event["request_id"], event["plan"]) == ("u/c/50", 1)
            history = await plant.call(arm, "GetHistory")
            assert [change.get("plan") for change in history["result"]["changes"]] == [1]
        assert plan_events(plant) == [("PLAN_STARTED", "checked"), ("PLAN_ENDED", "done")]
        ended = plant.events("@all")[-1]
        assert (ended["plan"], ended["request_id"], ended["details"]["counts"]) == (1, "u/c/50", result["counts"])
        assert "params" not in ended["details"]

    play(tmp_path, scenario, arms=ARMS)


def test_ruling_25_a_known_id_gets_the_latest_of_its_plan_and_no_other_request(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        first = await plant.call("@all", SET, twist(0.2), id="50")
        again = await plant.call("@all", SET, twist(0.2), id="50")
        assert (again["duplicate"], again["in_force"], again["result"]) == (True, True, first["result"])
        other = await plant.call("@all", SET, twist(0.2), id="50", group={"only": ["r11"]})
        assert other["error"]["kind"] == "id_reused"
        await plant.call("r12", SET, twist(0.15))
        again = await plant.call("@all", SET, twist(0.2), id="50")
        assert (again["duplicate"], again["in_force"]) == (True, False)
        assert [event["event"] for event in plant.events("r11")] == ["TWIST_LINEAR_SOFT_LIMIT_CHANGED"]

    play(tmp_path, scenario, arms=ARMS)


def test_one_arm_that_refuses_makes_it_partial(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await plant.call("@cell-4", SET, twist(0.3), id="50")
        assert (reply["ok"], reply["stage"], reply["final"]) == (False, "refused", True)
        assert reply["error"]["kind"] == "partial"
        assert reply["error"]["message"] == "1 of 3 arms did not take it: r13 out_of_limits."
        assert reply["result"]["outcome"] == "partial"
        assert reply["result"]["counts"] == {"total": 3, "applied": 2, "refused": 1}
        row = reply["result"]["rows"][2]
        assert (row["kind"], row["name"], row["rev"]) == ("out_of_limits", "VALUE_IS_ABOVE_MAXIMUM", 1)
        found = await told(plant, 1, arm="r13")
        (one,) = found["rows"]
        assert one["error"]["violations"][0]["bound"] == 0.2
        assert (await told(plant, 1, state="refused"))["rows"] == [row]

    caps = [CELL[0], CELL[1], {**CELL[2], "site_caps": {"twist_linear": 0.2}}]
    play(tmp_path, scenario, arms=(), arm=caps)


def test_all_rows_refused_have_the_kind_of_the_first(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await plant.call("@all", SET, twist(9.0))
        assert (reply["ok"], reply["stage"], reply["final"]) == (False, "refused", True)
        assert (reply["error"]["kind"], reply["result"]["outcome"]) == ("out_of_limits", "refused")
        assert reply["error"]["violations"][0]["suggest"] == 0.5

    play(tmp_path, scenario, arms=ARMS)


def test_all_or_nothing_changes_nothing_where_one_row_would_be_refused(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await plant.call("@cell-4", SET, twist(0.3), group={"all_or_nothing": True})
        assert (reply["ok"], reply["stage"], reply["final"]) == (False, "refused", True)
        assert (reply["error"]["kind"], reply["result"]["state"]) == ("out_of_limits", "ended")
        assert rows(reply) == {"r11": "skipped", "r12": "skipped", "r13": "refused"}
        assert [plant.session(arm).state.rev for arm in ARMS] == [1, 1, 1]
        assert plan_events(plant) == [("PLAN_ENDED", "refused")]
        reply = await plant.call("@cell-4", SET, twist(0.2), group={"all_or_nothing": True})
        assert (reply["stage"], rows(reply)) == ("applied", dict.fromkeys(ARMS, "applied"))

    caps = [CELL[0], CELL[1], {**CELL[2], "site_caps": {"twist_linear": 0.2}}]
    play(tmp_path, scenario, arms=(), arm=caps)


def test_ruling_39_all_or_nothing_with_an_observed_arm_is_refused(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r12", "SetAuthority", {"authority": "observe"})
        reply = await plant.call("@all", SET, twist(0.2), group={"all_or_nothing": True})
        assert (reply["ok"], reply["error"]["kind"]) == (False, "held")
        assert rows(reply) == {"r11": "skipped", "r12": "refused", "r13": "skipped"}
        await plant.call("r12", "SetAuthority", {"authority": "control"})
        await plant.fault("r12", "offline")
        await plant.turn(1.0)
        refused = await plant.call("@all", SET, twist(0.2), group={"all_or_nothing": True, "away": "refuse"})
        assert (refused["error"]["kind"], rows(refused)["r11"]) == ("arm_away", "skipped")
        skipped = await plant.call("@all", SET, twist(0.2), group={"all_or_nothing": True, "away": "skip"})
        assert (skipped["stage"], rows(skipped)["r12"]) == ("applied", "skipped")

    play(tmp_path, scenario, arms=ARMS)


def test_ruling_39_all_or_nothing_takes_256_arms_at_most(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await plant.call("@all", SET, twist(0.2), group={"all_or_nothing": True})
        assert reply["error"]["kind"] == "unsupported_option"
        assert "257 arms, at most 256" in reply["error"]["message"]
        some = list(plant.service.sessions)[:256]
        reply = await plant.call("@all", SET, twist(0.2), group={"all_or_nothing": True, "only": some})
        assert (reply["stage"], reply["result"]["counts"]) == ("applied", {"total": 256, "applied": 256})

    play(tmp_path, scenario, arms=tuple(f"a{number:03}" for number in range(257)))


def test_ruling_42_a_row_that_is_only_observed_makes_the_reply_checked(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r12", "SetAuthority", {"authority": Authority.ADVISE.value})
        reply = await plant.call("@all", SET, twist(0.2))
        assert (reply["ok"], reply["stage"], rows(reply)["r12"]) == (True, "checked", "checked")
        assert plant.session("r12").state.rev == 1

    play(tmp_path, scenario, arms=ARMS)


@pytest.mark.parametrize(
    ("away", "state", "stage"),
    [("wait", "stored", "stored"), ("refuse", "refused", "refused"), ("skip", "skipped", "applied")],
)
def test_an_arm_that_is_away(tmp_path: Path, away: str, state: str, stage: str) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r12", "offline")
        await plant.turn(1.0)
        reply = await plant.call("@all", SET, twist(0.2), group={"away": away})
        assert (rows(reply)["r12"], reply["stage"], reply["final"]) == (state, stage, state != "stored")
        assert reply["result"]["state"] == "ended"
        if away == "wait":
            await plant.fault("r12", "none")
            await plant.document("evt/r12/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", lambda _: True)
            found = await told(plant, 1)
            assert found["counts"] == {"total": 3, "applied": 3}

    play(tmp_path, scenario, arms=ARMS)
