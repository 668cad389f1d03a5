"""A client made from the AsyncAPI document alone does what a line does: recipes, ends, plans, waves, the way back."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tests.journey.generated import Generated
from tests.links import peer

pytestmark = pytest.mark.mqtt
ARMS = ("r1", "r2", "r3")
SET = "SetTwistLinearSoftLimit"


def twist(value: float) -> dict[str, Any]:
    return {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": value}


@pytest.fixture
async def client(start_service: Callable[..., Any]) -> AsyncIterator[Generated]:
    """A client of a service of three arms, all in the group cell-4; it is addressed to r1."""
    arms = [{"id": arm, "adapter": "simulated", "model": "gen3_7dof", "groups": ["cell-4"]} for arm in ARMS]
    service = start_service(arm=arms)
    async with peer(service.port, "gen-1") as connection:
        made = Generated(connection, aiter(connection.messages), f"{service.root}/", user="gen", conn="gen-1", arm="r1")
        await made.follow("reply", "statePlan", "stateFleet", "planEvent")
        yield made


async def test_it_sets_many_values_with_an_end_and_leads_them_back(client: Generated) -> None:
    items = {"payload_information": {"payload_mass": 1.2}, "twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.2}}
    before = await client.GetPayloadInformation()
    done = await client.with_(valid_for_ms=600_000, reason="one shift").ApplyConfig(items=items)
    assert (done["ok"], done["stage"]) == (True, "applied")
    assert (await client.with_(view="ground").GetPayloadInformation())["result"] == before["result"]
    longer = await client.ExtendOverride(all=True, valid_for_ms=900_000)
    assert longer["ok"], longer
    ended = await client.EndOverride(all=True)
    assert ended["ok"], ended
    assert (await client.GetPayloadInformation())["result"] == before["result"]
    told = await client.GetHistory(limit=10)
    assert len(told["result"]["changes"]) >= 2
    assert (await client.RestoreRevision(rev=done["rev"]))["ok"]
    assert (await client.Blame())["ok"]


async def test_it_gives_a_recipe_to_a_group_and_finds_who_has_it(client: Generated) -> None:
    fleet, cell = client.at("@all"), client.at("@cell-4")
    put = await fleet.PutRecipe(name="weld", items={"payload_information": {"payload_mass": 0.8}})
    assert put["result"]["version"] == 1
    checked_only = await cell.with_(dry_run=True).ApplyRecipe(recipe="weld")
    assert checked_only["stage"] == "checked"
    applied = await cell.with_(group={"all_or_nothing": True}).ApplyRecipe(recipe="weld")
    assert {row["arm"]: row["state"] for row in applied["result"]["rows"]} == dict.fromkeys(ARMS, "applied")
    found = await cell.FindArms(where={"recipe": "weld@1"})
    assert found["result"]["count"] == len(ARMS)
    await client.told("stateFleet", lambda each: each["recipes"] == {"weld@1": 3}, group="cell-4")
    differs = await cell.Diff(**{"from": {"arm": "r2"}, "to": {"view": "reported"}})
    assert differs["ok"], differs
    assert (await cell.GetFleetHistory(limit=5))["result"]["changes"]


async def test_it_follows_a_rollout_by_its_document_and_takes_it_back(client: Generated) -> None:
    fleet, cell = client.at("@all"), client.at("@cell-4")
    began = await cell.Rollout(method=SET, params=twist(0.2), on_failure="pause", canary=1, pause_after=[0], soak_ms=0)
    assert (began["stage"], began["final"]) == ("stored", False)
    plan = began["result"]["plan"]
    levels = {"plan": str(plan)}
    paused = await client.told("statePlan", lambda each: each["state"] == "paused", **levels)
    assert (paused["counts"]["applied"], paused["counts"]["waiting"]) == (1, 2)
    assert (await fleet.SteerPlan(plan=plan, action="resume"))["ok"]
    ended = await client.told("statePlan", lambda each: each["state"] == "ended", **levels)
    assert (ended["outcome"], ended["counts"]["applied"]) == ("done", 3)
    assert (await fleet.SteerPlan(plan=plan, action="reverse", reason="of no use"))["ok"]
    reversed_ = await client.told("statePlan", lambda each: each.get("outcome") == "reversed", **levels)
    assert reversed_["counts"]["reversed"] == len(ARMS)
    whole = await fleet.GetPlan(plan=plan)
    assert {row["state"] for row in whole["result"]["rows"]} == {"reversed"}
    assert plan in [each["plan"] for each in (await fleet.ListPlans())["result"]["plans"]]
    now = await client.GetKinematicSoftLimits(control_mode="CARTESIAN_JOYSTICK")
    assert now["result"]["twist_linear"] == pytest.approx(0.5)
