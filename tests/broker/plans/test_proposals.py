"""Proposals on a whole service in virtual time: a second person approves, rejects, or comes too late."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from broker.plans import proposals
from broker.plans.driver import Driver
from broker.settings.policy_file import load_policy
from tests.virtual_plant import Plant, play, run

SET, TWIST = "SetTwistLinearSoftLimit", "twist_linear_soft_limit"
ARMS = ("r11", "r12", "r13")
CELL = [{"id": arm, "adapter": "simulated", "model": "gen3_7dof", "groups": ["cell-4"]} for arm in ARMS]
RULES = """\
proposal_age = "1h"
[roles]
engineer = ["alice", "carol"]
[[rule]]
name = "slower is for everybody"
roles = ["*"]
allow = ["tighten", "hold"]
[[rule]]
name = "engineers loosen"
roles = ["engineer"]
items = ["twist_linear_soft_limit", "payload_information"]
allow = ["loosen"]
ceilings = { twist_linear = 0.25 }
two_person = true
[[rule]]
name = "engineers approve"
roles = ["engineer"]
allow = ["approve", "steer"]
"""


def twist(limit: float) -> dict[str, Any]:
    return {"control_mode": "CARTESIAN_JOYSTICK", TWIST: limit}


def plant_of(tmp_path: Path, rules: str = RULES, data: str = "data") -> dict[str, Any]:
    """What makes a plant with these rules, whose server proves users."""
    file = tmp_path / "policy.toml"
    file.write_text(rules, encoding="utf-8")
    return {
        "data": tmp_path / data, "arms": ARMS, "arm": CELL, "mqtt": {"identity": "server-acl"},
        "policy": {"file": str(file)},
    }  # fmt: skip


def proposing(tmp_path: Path, scenario: Callable[[Plant], Awaitable[None]], rules: str = RULES) -> None:
    """Play on such a plant; all arms have 0.2 m/s for the joystick."""
    play(scenario=scenario_of(scenario), **plant_of(tmp_path, rules))


def scenario_of(scenario: Callable[[Plant], Awaitable[None]]) -> Callable[[Plant], Awaitable[None]]:
    """All arms have 0.2 m/s for the joystick first."""

    async def whole(plant: Plant) -> None:
        for arm in ARMS:
            assert (await plant.call(arm, SET, twist(0.2), user="zoe"))["stage"] == "applied"
        await scenario(plant)

    return whole


def reloaded(plant: Plant, rules: str) -> None:
    """Let other rules count."""
    Path(plant.settings.policy.file).write_text(rules, encoding="utf-8")
    plant.service._settler.policing.follow(load_policy(plant.settings))


async def proposed(plant: Plant, limit: float = 0.22, arm: str = "r12", **fields: Any) -> dict[str, Any]:
    """The reply to what alice proposes."""
    reply = await plant.call(arm, SET, twist(limit), user="alice", **fields)
    assert (reply["ok"], reply["stage"], reply["final"]) == (True, "stored", False), reply
    return reply


async def steer(plant: Plant, plan: int, action: str, user: str = "carol", **params: Any) -> dict[str, Any]:
    return await plant.call("@all", "SteerPlan", {"plan": plan, "action": action, **params}, user=user)


async def steered(plant: Plant, plan: int, action: str, user: str = "carol", **params: Any) -> dict[str, Any]:
    reply = await steer(plant, plan, action, user, **params)
    assert (reply["ok"], reply["stage"], reply["final"]) == (True, "stored", True), reply
    return reply


async def told(plant: Plant, plan: int, **params: Any) -> dict[str, Any]:
    reply = await plant.call("@all", "GetPlan", {"plan": plan, **params})
    assert reply["ok"], reply
    found: dict[str, Any] = reply["result"]
    return found


async def ended(plant: Plant, plan: int) -> dict[str, Any]:
    event: dict[str, Any] = await plant.document(
        "evt/@all/plan", lambda each: each["event"] == "PLAN_ENDED" and each["plan"] == plan
    )
    return event


async def reported(plant: Plant, arm: str = "r12") -> float:
    reply = await plant.call(arm, "GetKinematicSoftLimits", {"control_mode": "CARTESIAN_JOYSTICK"})
    value: float = reply["result"]["twist_linear"]
    return value


def refused(reply: dict[str, Any], kind: str, part: str) -> None:
    assert (reply["ok"], reply["error"]["kind"]) == (False, kind), reply
    assert part in reply["error"]["message"]


def test_a_change_waits_for_a_second_person_and_takes_effect_with_both_names(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await proposed(plant, id="70", reason="new gripper")
        assert (reply["plan"], reply["rev"], reply["arm"]) == (1, 2, "r12")
        (warning,) = reply["warnings"]
        assert warning["name"] == "PROPOSED"
        assert warning["message"].startswith('rule "engineers loosen": plan 1 waits for a second person until 2027-')
        assert await reported(plant) == 0.2
        state = plant.session("r12").state
        assert (state.unsettled, state.desired_rev[TWIST, 2], state.rev) == (0, 2, 2)
        plan = await told(plant, 1)
        assert (plan["kind"], plan["state"], plan["target"], plan["method"]) == ("single", "proposed", "r12", SET)
        assert (plan["params"], plan["reason"], plan["by"]["user"]) == (twist(0.22), "new gripper", "alice")
        assert plan["counts"] == {"total": 1, "waiting": 1}
        approved = await steered(plant, 1, "approve", digest=plan["digest"])
        assert approved["result"] == {"plan": 1, "state": "checking"}
        end = await ended(plant, 1)
        assert (end["cause"], end["details"]["approved_by"], end["request_id"]) == ("done", "carol", "alice/c/70")
        assert await reported(plant) == 0.22
        event = plant.events("r12")[-1]
        assert (event["request_id"], event["plan"], event["by"]["user"]) == ("alice/c/70", 1, "alice")
        entry = (await plant.call("r12", "GetHistory"))["result"]["changes"][0]
        assert (entry["approved_by"], entry["plan"], entry["request_id"]) == ("carol", 1, "alice/c/70")
        names = [(each["event"], each["cause"]) for each in plant.events("@all")]
        assert names == [("PLAN_PROPOSED", "needs_second"), ("PLAN_STARTED", "checked"), ("PLAN_ENDED", "done")]
        again = await plant.call("r12", SET, twist(0.22), user="alice", id="70", reason="new gripper")
        assert (again["duplicate"], again["stage"], again["final"], again["in_force"]) == (True, "applied", True, True)
        assert (again["rev"], again["seq"], again["plan"]) == (3, 2, 1)

    proposing(tmp_path, scenario)


def test_repeats_before_the_approval_get_the_proposal(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        first = await proposed(plant, id="70")
        again = await plant.call("r12", SET, twist(0.22), user="alice", id="70")
        assert (again["duplicate"], again["plan"], again["warnings"]) == (True, 1, first["warnings"])
        assert (await plant.call("r12", SET, twist(0.23), user="alice", id="70"))["error"]["kind"] == "id_reused"

    proposing(tmp_path, scenario)


def test_ruling_34_who_proposed_is_no_second_person_from_another_connection_either(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plan = (await proposed(plant))["plan"]
        for action in ("approve", "reject"):
            refused(await steer(plant, plan, action, user="alice"), "not_permitted", "who proposed it is no second")
        payload = json.dumps({"id": "x1", "params": {"plan": plan, "action": "approve"}})
        plant.link.deliver("req/alice/desk/@all/SteerPlan", payload.encode())
        taken = await plant.link.take(lambda each: each.topic == "res/alice/desk/x1")
        refused(taken.document, "not_permitted", "who proposed it is no second person")
        assert (await told(plant, plan))["state"] == "proposed"

    proposing(tmp_path, scenario)


def test_ruling_35_an_approval_of_another_content_is_refused(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        first, second = (await proposed(plant))["plan"], (await proposed(plant, 0.23))["plan"]
        digests = [(await told(plant, plan))["digest"] for plan in (first, second)]
        assert digests[0] != digests[1]
        refused(await steer(plant, second, "approve", digest=digests[0]), "revision_conflict", digests[0])
        await steered(plant, second, "approve", digest=digests[1])
        await ended(plant, second)
        assert await reported(plant) == 0.23

    proposing(tmp_path, scenario)


def test_an_approval_needs_the_right_on_every_arm(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plan = (await proposed(plant))["plan"]
        reply = await steer(plant, plan, "approve", user="bob")
        refused(reply, "not_permitted", 'rule "engineers approve" is for engineer')
        reloaded(plant, RULES.replace('allow = ["approve", "steer"]', 'allow = ["approve"]\narms = ["r11"]'))
        refused(await steer(plant, plan, "approve"), "not_permitted", "is not for r12")
        refused(await steer(plant, plan, "abort"), "not_permitted", "may not steer")

    proposing(tmp_path, scenario)


def test_what_is_rejected_is_not_permitted_to_whoever_asks_again(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await proposed(plant, id="70")
        await steered(plant, 1, "reject", reason="too fast")
        end = await ended(plant, 1)
        assert (end["cause"], end["by"]["user"], end["reason"]) == ("rejected", "carol", "too fast")
        again = await plant.call("r12", SET, twist(0.22), user="alice", id="70")
        assert (again["duplicate"], again["stage"], again["final"]) == (True, "refused", True)
        refused(again, "not_permitted", "plan 1 ended rejected: reject by carol/c")
        refused(await steer(plant, 1, "approve"), "revision_conflict", "plan 1 is ended")
        assert await reported(plant) == 0.2

    proposing(tmp_path, scenario)


def test_whoever_proposed_may_take_it_back(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await proposed(plant, id="70")
        await steered(plant, 1, "abort", user="alice")
        assert (await ended(plant, 1))["cause"] == "aborted"
        refused(await plant.call("r12", SET, twist(0.22), user="alice", id="70"), "not_permitted", "ended aborted")

    proposing(tmp_path, scenario)


def test_what_nobody_approves_in_time_is_expired(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await proposed(plant, id="70")
        await plant.turn(3_601.0)
        refused(await steer(plant, 1, "approve"), "revision_conflict", "plan 1")
        await plant.turn(61.0)
        assert (await told(plant, 1))["outcome"] == "expired"
        refused(await plant.call("r12", SET, twist(0.22), user="alice", id="70"), "expired", "plan 1 ended expired")
        await plant.turn(2.0)
        document = await plant.document("state/@all/plan-1", lambda each: each["state"] == "ended")
        assert document["outcome"] == "expired"

    proposing(tmp_path, scenario)


def test_ruling_33_an_approval_decides_by_the_rules_of_its_time_for_both(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await proposed(plant, id="70")
        await proposed(plant, 0.24, id="71")
        reloaded(plant, RULES.replace('items = ["', 'hours = ["Mon 00:00-00:01"]\nitems = ["'))
        await steered(plant, 1, "approve")
        assert (await ended(plant, 1))["cause"] == "refused"
        again = await plant.call("r12", SET, twist(0.22), user="alice", id="70")
        refused(again, "not_permitted", 'rule "engineers loosen" counts Mon 00:00-00:01 (UTC)')
        assert again["duplicate"] is True
        reloaded(plant, RULES.replace("0.25", "0.23"))
        await steered(plant, 2, "approve")
        assert (await ended(plant, 2))["cause"] == "refused"
        refused(await plant.call("r12", SET, twist(0.24), user="alice", id="71"), "out_of_limits", "0.24 m/s > 0.23")
        assert await reported(plant) == 0.2

    proposing(tmp_path, scenario)


def test_ruling_32_a_role_that_is_lost_at_a_reload_refuses_the_rows(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await proposed(plant, id="70")
        reloaded(plant, RULES.replace('["alice", "carol"]', '["carol"]'))
        await steered(plant, 1, "approve")
        assert (await ended(plant, 1))["cause"] == "refused"
        refused(
            await plant.call("r12", SET, twist(0.22), user="alice", id="70"), "not_permitted",
            'alice may not loosen twist_linear_soft_limit of r12: rule "engineers loosen" is for engineer',
        )  # fmt: skip

    proposing(tmp_path, scenario)


def test_a_revision_that_was_to_be_is_asked_of_the_approval(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await proposed(plant, id="70", if_rev=2)
        await plant.call("r12", SET, twist(0.19), user="zoe")
        await steered(plant, 1, "approve")
        assert (await ended(plant, 1))["cause"] == "refused"
        refused(
            await plant.call("r12", SET, twist(0.22), user="alice", id="70", if_rev=2), "revision_conflict", "if_rev"
        )

    proposing(tmp_path, scenario)


def test_what_was_accepted_between_proposal_and_approval_does_not_win(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await proposed(plant)
        await plant.call("r12", SET, twist(0.15), user="zoe")
        await steered(plant, 1, "approve")
        assert (await ended(plant, 1))["cause"] == "done"
        assert await reported(plant) == 0.22

    proposing(tmp_path, scenario)


def test_the_time_to_live_begins_with_the_approval(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await proposed(plant, ttl_ms=5_000)
        await plant.turn(60.0)
        await steered(plant, 1, "approve")
        assert (await ended(plant, 1))["cause"] == "done"

    proposing(tmp_path, scenario)


def test_an_arm_that_is_away_takes_it_when_it_is_back(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reloaded(plant, RULES.replace('allow = ["tighten", "hold"]', 'allow = ["tighten", "hold", "fault"]'))
        await proposed(plant, id="70")
        await plant.fault("r12", "offline")
        await plant.document("state/r12/presence", lambda each: each["state"] == "offline")
        await steered(plant, 1, "approve")
        assert (await ended(plant, 1))["details"]["counts"] == {"total": 1, "stored": 1}
        again = await plant.call("r12", SET, twist(0.22), user="alice", id="70")
        assert (again["stage"], again["final"]) == ("stored", False)
        await plant.fault("r12", "none")
        await plant.document("evt/r12/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", lambda each: each.get("plan") == 1)
        again = await plant.call("r12", SET, twist(0.22), user="alice", id="70")
        assert (again["stage"], again["final"], again["in_force"]) == ("applied", True, True)

    proposing(tmp_path, scenario)


def test_one_row_that_needs_a_second_person_makes_the_whole_plan_a_proposal(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r13", SET, twist(0.24), user="zoe")
        assert (await plant.call("r11", SET, twist(0.1), user="zoe"))["ok"]
        reply = await plant.call("@cell-4", SET, twist(0.15), user="alice", id="50")
        assert (reply["ok"], reply["stage"], reply["final"], reply["plan"]) == (True, "stored", False, 1)
        assert reply["result"]["state"] == "proposed"
        assert [warning["name"] for warning in reply["warnings"]] == ["PROPOSED"]
        assert [await reported(plant, arm) for arm in ARMS] == [0.1, 0.2, 0.2]
        preview = await told(plant, 1, arm="r11")
        assert (preview["preview"]["state"], "second person" in preview["preview"]["message"]) == ("checked", True)
        assert preview["rows"][0]["state"] == "waiting"
        await steered(plant, 1, "approve")
        assert (await ended(plant, 1))["details"]["counts"] == {"total": 3, "applied": 3}
        assert [await reported(plant, arm) for arm in ARMS] == [0.15] * 3
        again = await plant.call("@cell-4", SET, twist(0.15), user="alice", id="50")
        assert (again["duplicate"], again["stage"], again["result"]["outcome"]) == (True, "applied", "done")

    proposing(tmp_path, scenario)


def test_a_group_proposal_that_is_rejected_is_not_permitted(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("@cell-4", SET, twist(0.22), user="alice", id="50")
        await steered(plant, 1, "reject")
        again = await plant.call("@cell-4", SET, twist(0.22), user="alice", id="50")
        assert (again["duplicate"], again["stage"], again["final"]) == (True, "refused", True)
        refused(again, "not_permitted", "plan 1 ended rejected")

    proposing(tmp_path, scenario)


@pytest.mark.parametrize("action", ["approve", "reject", "abort"])
def test_a_dry_run_of_a_decision_decides_nothing(tmp_path: Path, action: str) -> None:
    async def scenario(plant: Plant) -> None:
        await proposed(plant)
        params = {"plan": 1, "action": action}
        reply = await plant.call("@all", "SteerPlan", params, user="carol", dry_run=True)
        assert (reply["ok"], reply["stage"], reply["result"]) == (True, "checked", {"plan": 1, "state": "proposed"})
        assert (await told(plant, 1))["state"] == "proposed"
        assert await reported(plant) == 0.2

    proposing(tmp_path, scenario)


@pytest.mark.parametrize("arm", ["r12", "@cell-4"])
def test_what_was_rejected_is_not_taken_back_and_stays_rejected(tmp_path: Path, arm: str) -> None:
    async def scenario(plant: Plant) -> None:
        await proposed(plant, arm=arm, id="50")
        await steered(plant, 1, "reject")
        refused(await steer(plant, 1, "reverse"), "revision_conflict", "plan 1 ended rejected, and none of its rows")
        again = await plant.call(arm, SET, twist(0.22), user="alice", id="50")
        refused(again, "not_permitted", "plan 1 ended rejected")

    proposing(tmp_path, scenario)


def test_a_dry_run_of_a_group_tells_which_rows_would_wait(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await plant.call("@cell-4", SET, twist(0.22), user="alice", dry_run=True)
        assert (reply["ok"], reply["stage"]) == (True, "checked")
        assert {row["message"] for row in reply["result"]["rows"]} == {
            'loosening; rule "engineers loosen" needs a second person'
        }
        assert [warning["name"] for warning in reply["warnings"]] == ["PROPOSED"]

    proposing(tmp_path, scenario)


def test_with_all_or_nothing_a_row_that_is_refused_refuses_before_anybody_is_asked(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reloaded(plant, RULES.replace('items = ["', 'arms = ["r11", "r12"]\nitems = ["'))
        both = {"all_or_nothing": True}
        reply = await plant.call("@cell-4", SET, twist(0.22), user="alice", group=both)
        assert (reply["ok"], reply["stage"], reply["error"]["kind"]) == (False, "refused", "not_permitted")
        assert (await told(plant, 1))["outcome"] == "refused"

    proposing(tmp_path, scenario)


ONE_PERSON = RULES.replace("two_person = true\n", "").replace(
    "[[rule]]", '[rates]\n"*" = "2/min"\n[[rule]]', 1
)  # fmt: skip
"""Engineers loosen alone, twice a minute."""


def test_a_request_to_a_group_counts_one_and_one_that_tightens_none(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reloaded(plant, ONE_PERSON)
        for number in range(4):
            assert (await plant.call("@cell-4", SET, twist(0.19 - 0.01 * number), user="alice"))["stage"] == "applied"
        for number in range(2):
            assert (await plant.call("@cell-4", SET, twist(0.2 + 0.01 * number), user="alice"))["stage"] == "applied"
        reply = await plant.call("@cell-4", SET, twist(0.22), user="alice")
        assert (reply["stage"], reply["final"], reply["error"]["kind"]) == ("refused", False, "rate_limited")
        assert (await plant.call("@cell-4", SET, twist(0.22), user="alice", dry_run=True))["stage"] == "checked"
        assert (await plant.call("@cell-4", SET, twist(0.1), user="alice"))["stage"] == "applied"

    proposing(tmp_path, scenario)


def test_each_row_of_a_group_needs_its_right_and_its_refusal_names_the_rule(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reloaded(plant, ONE_PERSON.replace('items = ["', 'arms = ["r11", "r13"]\nitems = ["'))
        reply = await plant.call("@cell-4", SET, twist(0.22), user="alice")
        assert (reply["ok"], reply["error"]["kind"]) == (False, "partial")
        found = {row["arm"]: (row["state"], row.get("kind", "")) for row in reply["result"]["rows"]}
        assert found == {"r11": ("applied", ""), "r12": ("refused", "not_permitted"), "r13": ("applied", "")}
        (text,) = [row["message"] for row in reply["result"]["rows"] if row["arm"] == "r12"]
        assert 'rule "engineers loosen" is not for r12' in text
        refused(await plant.call("@cell-4", SET, twist(0.24), user="bob"), "not_permitted", "engineers loosen")
        held = await plant.call("@cell-4", "HoldArm", {"reason": "x"}, user="bob")
        assert {row["state"] for row in held["result"]["rows"]} == {"stored"}
        refused(
            await plant.call("@cell-4", "SetAuthority", {"authority": "observe"}, user="zoe"),
            "not_permitted",
            "authority",
        )

    proposing(tmp_path, scenario)


ROLLS = RULES.replace('allow = ["approve", "steer"]', 'allow = ["approve", "steer", "rollout"]')


def rollout(limit: float, **params: Any) -> dict[str, Any]:
    return {"method": SET, "params": twist(limit), "on_failure": "pause", "soak_ms": 0, **params}


def test_a_rollout_needs_its_right_on_each_of_its_arms(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await plant.call("@cell-4", "Rollout", rollout(0.15), user="alice")
        refused(reply, "not_permitted", "alice may not roll out to r11: no rule allows rollout")
        reloaded(plant, ROLLS.replace('allow = ["approve", "steer", "rollout"]', 'allow = ["rollout"]\narms = ["r11"]'))
        reply = await plant.call("@cell-4", "Rollout", rollout(0.15), user="alice")
        refused(reply, "not_permitted", 'rule "engineers approve" is not for r12')
        reply = await plant.call("@cell-4", "Rollout", rollout(0.15), user="alice", group={"only": ["r11"]})
        assert (reply["ok"], reply["plan"]) == (True, 1)
        assert (await ended(plant, 1))["cause"] == "done"

    proposing(tmp_path, scenario)


def test_a_rollout_waits_for_a_second_person(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await plant.call("@cell-4", "Rollout", rollout(0.22), user="alice", id="60")
        assert (reply["ok"], reply["stage"], [one["name"] for one in reply["warnings"]]) == (
            True,
            "stored",
            ["PROPOSED"],
        )
        assert reply["result"]["state"] == "proposed"
        await steered(plant, 1, "approve")
        end = await ended(plant, 1)
        assert (end["cause"], end["details"]["approved_by"]) == ("done", "carol")
        assert [await reported(plant, arm) for arm in ARMS] == [0.22] * 3

    proposing(tmp_path, scenario, ROLLS)


def test_ruling_32_a_rollout_whose_owner_loses_the_role_pauses_and_others_decide(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        alone = ROLLS.replace("two_person = true\n", "")
        reloaded(plant, alone)
        asked = rollout(0.22, canary=["r11"], soak_ms=60_000)
        assert (await plant.call("@cell-4", "Rollout", asked, user="alice"))["ok"]
        await plant.turn(10.0)
        reloaded(plant, alone.replace('["alice", "carol"]', '["carol"]'))
        event = await plant.document("evt/@all/plan", lambda each: each["event"] == "PLAN_PAUSED")
        assert event["details"]["counts"]["refused"] >= 1
        rows = (await told(plant, 1))["rows"]
        assert {(row["arm"], row["state"], row.get("kind", "")) for row in rows} >= {("r11", "applied", "")}
        assert "not_permitted" in {row.get("kind", "") for row in rows}
        refused(await steer(plant, 1, "abort", user="bob"), "not_permitted", "may not steer plan 1")
        await steered(plant, 1, "reverse")
        assert (await ended(plant, 1))["cause"] == "reversed"
        assert await reported(plant, "r11") == 0.2

    proposing(tmp_path, scenario)


def test_so_many_proposals_wait_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposals, "PROPOSALS_MOST", 18)

    async def scenario(plant: Plant) -> None:
        for number in range(16):
            await proposed(plant, 0.22 + 0.001 * number)
        reply = await plant.call("r12", SET, twist(0.24), user="alice", id="x")
        assert (reply["error"]["name"], reply["error"]["retry"]) == ("NO_MORE_STORAGE_SPACE", "new_id")
        refused(reply, "no_room", "16 proposals of alice wait")
        group = await plant.call("@cell-4", SET, twist(0.24), user="alice")
        assert (group["ok"], group["error"]["kind"]) == (False, "no_room")
        for number in range(2):
            assert (await plant.call("r12", SET, twist(0.24 + 0.001 * number), user="carol"))["stage"] == "stored"
        refused(await plant.call("r12", SET, twist(0.249), user="carol"), "no_room", "18 proposals wait")
        await steered(plant, 1, "reject")
        assert (await proposed(plant, 0.24))["plan"] > 16

    proposing(tmp_path, scenario)


ANYTHING = RULES.replace('items = ["twist_linear_soft_limit", "payload_information"]\n', "").replace(
    "ceilings = { twist_linear = 0.25 }\n", ""
)
"""Engineers loosen everything with a second person."""


@pytest.mark.parametrize(
    ("method", "params", "result"),
    [
        (
            "ApplyConfig",
            {"items": {"payload_information": {"payload_mass": 1.5}, TWIST: {"CARTESIAN_JOYSTICK": 0.3}}},
            {"items": {"payload_information": "applied", f"{TWIST}/CARTESIAN_JOYSTICK": "applied"}},
        ),
        ("RestoreRevision", {"rev": 1}, None),
        ("RestoreFactory", {}, None),
        (
            "ResetTwistLinearSoftLimit",
            {"control_mode": "CARTESIAN_JOYSTICK"},
            {"control_mode": "CARTESIAN_JOYSTICK", TWIST: 0.5},
        ),
    ],
)
def test_whatever_loosens_can_wait_for_a_second_person(
    tmp_path: Path, method: str, params: dict[str, Any], result: dict[str, Any] | None
) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await plant.call("r12", method, params, user="alice", id="70")
        assert (reply["ok"], reply["stage"], [one["name"] for one in reply["warnings"]]) == (
            True,
            "stored",
            ["PROPOSED"],
        )
        assert plant.session("r12").state.rev == 2
        await steered(plant, 1, "approve")
        assert (await ended(plant, 1))["cause"] == "done"
        again = await plant.call("r12", method, params, user="alice", id="70")
        assert (again["ok"], again["duplicate"], again["stage"]) == (True, True, "applied"), again
        if result is not None:
            assert again["result"] == result
        entry = (await plant.call("r12", "GetHistory"))["result"]["changes"][0]
        assert (entry["method"], entry["approved_by"], entry["plan"]) == (method, "carol", 1)

    proposing(tmp_path, scenario, ANYTHING)


def test_to_end_a_tightening_override_may_need_a_second_person(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        rev = (await plant.call("r12", SET, twist(0.1), user="zoe", valid_for_ms=3_600_000))["rev"]
        reply = await plant.call("r12", "EndOverride", {"rev": rev}, user="alice", id="70")
        assert (reply["stage"], reply["plan"]) == ("stored", 1)
        await steered(plant, 1, "approve")
        assert (await ended(plant, 1))["cause"] == "done"
        await plant.document("evt/r12/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", lambda each: each["cause"] == "returned")
        assert await reported(plant) == 0.2

    proposing(tmp_path, scenario, ANYTHING)


def test_a_proposal_outlives_a_restart(tmp_path: Path) -> None:
    parts = plant_of(tmp_path)

    async def whole() -> None:
        async with Plant(**parts) as plant:
            for arm in ARMS:
                await plant.call(arm, SET, twist(0.2), user="zoe")
            await proposed(plant, id="70")
            await proposed(plant, 0.23, id="71")
            await plant.committed()
        async with Plant(**parts) as plant:
            assert (await told(plant, 1))["state"] == "proposed"
            again = await plant.call("r12", SET, twist(0.22), user="alice", id="70")
            assert (again["duplicate"], again["warnings"][0]["name"]) == (True, "PROPOSED")
            await steered(plant, 1, "approve")
            await ended(plant, 1)
            assert await reported(plant) == 0.22
            await plant.committed()
        async with Plant(**parts) as plant:
            again = await plant.call("r12", SET, twist(0.22), user="alice", id="70")
            assert (again["duplicate"], again["stage"], again["in_force"]) == (True, "applied", True)
            await steered(plant, 2, "reject")
            refused(await plant.call("r12", SET, twist(0.23), user="alice", id="71"), "not_permitted", "rejected")

    run(whole)


def test_who_may_not_write_by_the_settings_approves_nothing(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await proposed(plant)
        refused(await steer(plant, 1, "approve"), "not_permitted", "it has no right to write to r12, by the settings")
        plant.service._settler.policing.follow(None)
        refused(await steer(plant, 1, "approve"), "not_permitted", "it has no right to write to r12, by the settings")

    play(
        scenario=scenario_of(scenario), **plant_of(tmp_path), clients={"carol": {"rights": ["write"], "arms": ["r11"]}}
    )


def test_an_arm_that_is_taken_out_meanwhile_is_told(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await proposed(plant, id="70")
        del plant.service.sessions["r12"]
        await steered(plant, 1, "approve")
        await ended(plant, 1)
        refused(await plant.call("r12", SET, twist(0.22), user="alice", id="70"), "unknown_arm", "taken out of the")

    proposing(tmp_path, scenario)


def test_what_was_approved_long_after_it_was_asked_goes_on_after_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = plant_of(tmp_path)

    async def whole() -> None:
        async with Plant(**parts) as plant:
            await plant.call("r12", SET, twist(0.2), user="zoe")
            await proposed(plant, id="70")
            await plant.turn(3_000.0)
            with monkeypatch.context() as standing:
                standing.setattr(Driver, "_pick", lambda _self, _now_s: None)
                await steered(plant, 1, "approve")
                await plant.committed()
                copy = plant.copy(tmp_path / "copy")
        async with Plant(**{**parts, "data": copy}) as plant:
            await ended(plant, 1)
            assert await reported(plant) == 0.22
            again = await plant.call("r12", SET, twist(0.22), user="alice", id="70")
            assert (again["stage"], again["duplicate"]) == ("applied", True)

    run(whole)


def test_an_end_counts_from_the_approval(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await proposed(plant, valid_for_ms=600_000)
        await plant.turn(1_200.0)
        await steered(plant, 1, "approve")
        await ended(plant, 1)
        assert await reported(plant) == 0.22
        await plant.turn(590.0)
        assert await reported(plant) == 0.22
        event = await plant.document(
            "evt/r12/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", lambda each: each["cause"] == "returned"
        )
        assert (event["change"]["after"], event["plan"]) == (0.2, 1)

    proposing(tmp_path, scenario)


def test_without_a_policy_whoever_may_write_approves_what_still_waits(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await proposed(plant)
        plant.service._settler.policing.follow(None)
        await steered(plant, 1, "approve", user="zoe")
        assert (await ended(plant, 1))["cause"] == "done"

    proposing(tmp_path, scenario)
