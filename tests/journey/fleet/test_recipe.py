"""Recipes over MQTT: the examples of the protocol in every codec, bounds, rights, hostile input."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.journey.client import Client
from tests.journey.conftest import ClientMaker
from tests.journey.running import RunningService

CODECS = ("json", "msgpack", "protobuf")
WELD: dict[str, Any] = {
    "tool_configuration": {"tool_mass": 0.8},
    "payload_information": {"payload_mass": 2.1},
    "twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.2},
}


async def put(client: Client, name: str, items: dict[str, Any] | None = None, **params: Any) -> dict[str, Any]:
    result: dict[str, Any] = (
        await client.change("@all", "PutRecipe", {"name": name, "items": items or WELD, **params})
    )["result"]
    return result


async def get(client: Client, name: str, **params: Any) -> dict[str, Any]:
    result: dict[str, Any] = (await client.change("@all", "GetRecipe", {"name": name, **params}))["result"]
    return result


@pytest.mark.parametrize("codec", CODECS)
async def test_a_recipe_is_put_read_listed_told_and_deleted(connect: ClientMaker, codec: str) -> None:
    client = await connect("evt/@all/recipe", codec=codec)
    name = f"weld-{codec}"
    first = await put(client, name, models=["gen3_7dof"], if_version=0)
    assert (first["version"], first["unchanged"], len(first["digest"])) == (1, False, 16)
    told = await client.document("evt/@all/recipe", lambda each: each["details"]["name"] == name)
    assert (told["arm"], told["event"], told["cause"], told["rev"]) == ("@all", "RECIPE_CHANGED", "put", 0)
    assert told["details"] == {"name": name, "version": 1, "digest": first["digest"]}
    assert (await put(client, name, models=["gen3_7dof"]))["unchanged"] is True
    second = await put(client, name, {"gravity_vector": {"x": 0, "y": 0, "z": -9.81}}, if_version=1)
    assert second["version"] == 2
    found = await get(client, name, version=1)
    assert found["items"] == WELD
    assert (found["models"], found["versions"], found["by"]["user"]) == (["gen3_7dof"], [1, 2], "alice")
    page = (await client.change("@all", "ListRecipes", {"prefix": name}))["result"]
    assert [(one["name"], one["version"], one["arms"]) for one in page["recipes"]] == [(name, 2, 0)]
    assert (await client.change("@all", "DeleteRecipe", {"name": name, "if_version": 2}))["result"] == {}
    gone = await client.document("evt/@all/recipe", lambda each: each["cause"] == "deleted")
    assert gone["details"]["version"] == 2
    refused = await client.call("@all", "GetRecipe", {"name": name})
    assert (refused["error"]["kind"], refused["error"]["name"]) == ("unknown_recipe", "ENTITY_NOT_FOUND")
    assert (await put(client, name))["version"] == 3


@pytest.mark.parametrize("codec", CODECS)
async def test_the_example_of_the_protocol(connect: ClientMaker, arm: str, codec: str) -> None:
    client = await connect(codec=codec)
    name = f"weld-from-{codec}"
    await put(client, name, {"gravity_vector": {}})
    await put(client, name)
    params = {"name": name, "models": ["gen3_7dof"], "if_version": 2, "from": {"arm": arm}}
    reply = await client.change("@all", "PutRecipe", params, id="30")
    assert (reply["id"], reply["stage"], reply["final"], reply["rev"]) == ("30", "stored", True, 0)
    assert {**reply["result"], "digest": ""} == {"name": name, "version": 3, "digest": "", "unchanged": False}
    again = await client.change("@all", "PutRecipe", params, id="30")
    assert (again["duplicate"], again["result"]) == (True, reply["result"])


@pytest.mark.parametrize("codec", CODECS)
async def test_the_values_of_a_recipe_are_set_and_one_for_another_model_is_refused(
    connect: ClientMaker, arm: str, codec: str
) -> None:
    client = await connect(f"evt/{arm}/#", f"state/{arm}/config", codec=codec)
    made = await put(client, f"apply-{codec}", models=["gen3_7dof"])
    told = {name: made[name] for name in ("name", "version", "digest")}
    reply = await client.change(arm, "ApplyRecipe", {"recipe": made["name"], "version": 1}, id="31")
    assert (reply["stage"], reply["final"], reply["rev"]) == ("applied", True, 2)
    paths = ("twist_linear_soft_limit/CARTESIAN_JOYSTICK", "tool_configuration", "payload_information")
    assert reply["result"] == {"items": dict.fromkeys(paths, "applied"), "recipe": told}
    event = await client.document(f"evt/{arm}/config/CONFIG_APPLIED", lambda each: each["rev"] == 2)
    assert event["details"] == reply["result"]
    document = await client.document(f"state/{arm}/config", lambda each: "recipe" in each)
    assert {name: document["recipe"][name] for name in told} == told
    assert document["recipe"]["drift"] == []
    diff = (await client.change(arm, "Diff", {"to": {"recipe": made["name"]}}))["result"]
    assert (diff["same"], diff["count"]) == (True, 0)
    again = await client.change(arm, "ApplyRecipe", {"recipe": made["name"], "version": 1}, id="31")
    assert (again["duplicate"], again["in_force"], again["result"]) == (True, True, reply["result"])
    await put(client, f"weld-6-{codec}", models=["gen3_6dof"])
    refused = await client.call(arm, "ApplyRecipe", {"recipe": f"weld-6-{codec}"}, id="33")
    assert (refused["error"]["kind"], refused["error"]["name"], refused["error"]["message"]) == (
        "not_applicable", "UNSUPPORTED_ROBOT_CONFIGURATION",
        f"recipe weld-6-{codec}@1 is for gen3_6dof, {arm} is gen3_7dof. Nothing was changed.",
    )  # fmt: skip
    unknown = await client.call(arm, "ApplyRecipe", {"recipe": "nowhere"})
    assert (unknown["error"]["kind"], unknown["error"]["retry"]) == ("unknown_recipe", "never")


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    ("params", "kind"),
    [
        ({"name": "we ld", "items": WELD}, "malformed"),
        ({"items": WELD}, "malformed"),
        ({"name": "x"}, "malformed"),
        ({"name": "x", "items": WELD, "if_version": 1}, "revision_conflict"),
        ({"name": "x", "items": {"gravity": {}}}, "unknown_field"),
        ({"name": "x", "items": {"control_mode": {"control_mode": "IDLE"}}}, "unsupported_option"),
        ({"name": "x", "items": {"twist_linear_soft_limit": {"IDLE": 0.2}}}, "mode_without_limit"),
        ({"name": "x", "items": WELD, "note": "n" * 1_001}, "out_of_limits"),
    ],
)
async def test_what_is_no_recipe_is_refused_in_every_codec(
    connect: ClientMaker, codec: str, params: dict[str, Any], kind: str
) -> None:
    client = await connect(codec=codec)
    reply = await client.call("@all", "PutRecipe", params)
    assert (reply["ok"], reply["error"]["kind"]) == (False, kind)
    assert reply["error"]["message"].startswith("params")
    listed = (await client.change("@all", "ListRecipes", {"prefix": "x"}))["result"]
    assert listed["recipes"] == []


async def test_one_arm_or_a_group_has_no_recipes(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    for method, params in (("PutRecipe", {"name": "x", "items": WELD}), ("GetRecipe", {"name": "x"})):
        reply = await client.call(arm, method, params)
        assert (reply["error"]["kind"], "no single arm" in reply["error"]["message"]) == ("unsupported_option", True)


async def test_options_that_mean_nothing_for_a_recipe_are_refused_by_name(connect: ClientMaker) -> None:
    client = await connect()
    for option in ({"valid_for_ms": 60_000}, {"when": "idle"}, {"if_rev": 1}, {"group": {"away": "skip"}}):
        reply = await client.call("@all", "PutRecipe", {"name": "x", "items": WELD}, **option)
        assert reply["error"]["kind"] == "unsupported_option", (option, reply)


async def test_who_may_not_write_to_every_arm_keeps_no_recipe(connect: ClientMaker) -> None:
    client = await connect(user="bob")
    reply = await client.call("@all", "PutRecipe", {"name": "bobs", "items": WELD})
    assert reply["error"]["kind"] == "not_permitted"
    assert (await client.change("@all", "ListRecipes", {"prefix": "bobs"}))["result"]["recipes"] == []


@pytest.mark.parametrize("codec", CODECS)
async def test_a_long_recipe_is_kept_and_read(connect: ClientMaker, codec: str) -> None:
    client = await connect(codec=codec)
    joints = {f"joint_{number}": dict.fromkeys(_GAINS, 0.125) for number in range(480)}
    await put(client, f"long-{codec}", {"joint_safety": {"joints": joints}})
    assert (await get(client, f"long-{codec}"))["items"]["joint_safety"]["joints"] == joints


_GAINS = ("soft_upper_limit", "soft_lower_limit", "k_position", "k_velocity")


@pytest.fixture
async def own(connect: ClientMaker, start_service: Any) -> tuple[RunningService, Client]:
    """A service of the test's own, and a client of it."""
    service = start_service("r1", "r2")
    return service, await connect(to=service)


async def test_recipes_are_there_after_a_restart_and_their_numbers_go_on(own: tuple[RunningService, Client]) -> None:
    service, client = own
    for mass in range(1, 103):
        await put(client, "weld", {"payload_information": {"payload_mass": mass / 100}})
    found = await get(client, "weld")
    assert found["versions"] == list(range(3, 103))
    service.restart()
    assert await get(client, "weld") == found
    reply = await client.call("@all", "GetRecipe", {"name": "weld", "version": 2})
    assert reply["error"]["message"] == "recipe weld: version 2 is not there: 3 to 102 are. Nothing was changed."
    assert (await put(client, "weld"))["version"] == 103
    events = (await client.change("@all", "GetEvents", {"after_seq": 100}))["result"]["events"]
    assert [json.loads(json.dumps(one))["details"]["version"] for one in events] == [101, 102, 103]


LINE = ("r11", "r12", "r13")
CELL = "cell-4"


@pytest.fixture
def line(start_service: Any) -> RunningService:
    """A service of three arms of one group."""
    arms = [{"id": arm, "adapter": "simulated", "model": "gen3_7dof", "groups": [CELL]} for arm in LINE]
    service: RunningService = start_service(*LINE, arm=arms)
    return service


@pytest.mark.parametrize("codec", CODECS)
async def test_the_example_of_a_group(connect: ClientMaker, line: RunningService, codec: str) -> None:
    client = await connect("state/+/config", to=line, codec=codec)
    await put(client, "weld", models=["gen3_7dof"])
    await client.change("r12", "ApplyRecipe", {"recipe": "weld"})
    options = {"group": {"all_or_nothing": True, "away": "refuse"}}
    reply = await client.change(f"@{CELL}", "ApplyRecipe", {"recipe": "weld", "version": 1}, id="31", **options)
    assert (reply["stage"], reply["final"], reply["rev"]) == ("applied", True, 0), reply
    plan = reply["result"]
    assert (plan["state"], plan["outcome"], plan["more"]) == ("ended", "done", False)
    assert plan["counts"] == {"total": 3, "applied": 2, "unchanged": 1}
    assert [(row["arm"], row["state"], row["final"]) for row in plan["rows"]] == [
        ("r11", "applied", True), ("r12", "unchanged", True), ("r13", "applied", True),
    ]  # fmt: skip
    for arm in LINE:
        await client.document(f"state/{arm}/config", lambda each: each.get("recipe", {}).get("version") == 1)
    await client.change("r13", "SetPayloadInformation", {"payload_mass": 1.0})
    diff = (await client.change(f"@{CELL}", "Diff", {"to": {"recipe": "weld"}}, id="32"))["result"]
    assert diff == {
        "rows": [
            {"arm": "r11", "same": True, "count": 0, "paths": []},
            {"arm": "r12", "same": True, "count": 0, "paths": []},
            {"arm": "r13", "same": False, "count": 1, "paths": ["payload_information"]},
        ],
        "counts": {"same": 2, "differ": 1, "failed": 0},
        "more": False,
    }
    found = (await client.change("@all", "FindArms", {"where": {"recipe": "weld@1", "recipe_drift": True}}))["result"]
    assert [row["arm"] for row in found["arms"]] == ["r13"]
    refused = await client.call(f"@{CELL}", "ApplyRecipe", {"recipe": "wled"})
    assert refused["error"]["kind"] == "unknown_recipe"


def has(digest: str, config: dict[str, Any]) -> bool:
    """Whether an arm had a recipe of this digest last, and has all of it."""
    told = config.get("recipe")
    return told is not None and (told["digest"], told["drift"]) == (digest, [])


async def test_ruling_29_a_plan_has_the_values_of_its_beginning(connect: ClientMaker, line: RunningService) -> None:
    client = await connect("state/+/config", to=line)
    made = await put(client, "weld")
    await client.change("r13", "SimFault", {"fault": "offline"})
    for restarts in (False, True):
        plan = await client.call(f"@{CELL}", "ApplyRecipe", {"recipe": "weld"}, id=f"plan-{restarts}")
        rows = {row["arm"]: row["state"] for row in plan["result"]["rows"]}
        assert rows["r13"] == "stored", plan
        await put(client, "weld", {"gravity_vector": {"x": 0, "y": 0, "z": -9.7}})
        await client.change("@all", "DeleteRecipe", {"name": "weld"})
        if restarts:
            line.restart()
        await client.change("r13", "SimFault", {"fault": "none"})
        await client.document("state/r13/config", partial(has, made["digest"]))
        made = await put(client, "weld", {"payload_information": {"payload_mass": 0.5}})
        await client.change("r13", "SimFault", {"fault": "offline"})


async def test_many_at_once_get_a_version_each(connect: ClientMaker) -> None:
    clients = [await connect(codec=codec) for codec in CODECS]
    for number in range(30):
        for at, client in enumerate(clients):
            items = {"payload_information": {"payload_mass": (number * len(clients) + at) / 1_000}}
            request = {"id": f"many-{number}", "params": {"name": "rush", "items": items}}
            await client.send("@all", "PutRecipe", request)
    made = [
        (await client.reply(f"many-{number}"))["result"] for number in range(30) for client in clients
    ]  # fmt: skip
    assert sorted(one["version"] for one in made) == list(range(1, 91))
    assert len({one["digest"] for one in made}) == 90
    for one in made[::10]:
        assert (await get(clients[0], "rush", version=one["version"]))["digest"] == one["digest"]


async def test_only_one_of_those_who_saw_the_same_version_changes_it(connect: ClientMaker) -> None:
    clients = [await connect() for _ in range(5)]
    await put(clients[0], "raced")
    for at, client in enumerate(clients):
        items = {"payload_information": {"payload_mass": (at + 1) / 10}}
        params = {"name": "raced", "items": items, "if_version": 1}
        await client.send("@all", "PutRecipe", {"id": "race", "params": params})
    replies = [await client.reply("race") for client in clients]
    assert [reply["ok"] for reply in replies].count(True) == 1
    assert {reply["error"]["kind"] for reply in replies if not reply["ok"]} == {"revision_conflict"}


RULES = """\
[[rule]]
name = "engineers keep recipes"
roles = ["engineer"]
allow = ["recipe"]
[[rule]]
name = "slower is for everybody"
roles = ["*"]
allow = ["tighten"]
[roles]
engineer = ["alice"]
"""


async def test_the_policy_says_who_keeps_recipes_and_slot_by_slot_what_may_be_applied(
    connect: ClientMaker, start_service: Any, tmp_path: Path
) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(RULES)
    service = start_service("r1", policy={"file": str(file)})
    alice, bob = await connect(to=service), await connect(user="bob", to=service)
    slow = {"twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.2}}
    refused = await bob.call("@all", "PutRecipe", {"name": "weld", "items": slow})
    assert (refused["error"]["kind"], refused["error"]["name"]) == ("not_permitted", "UPDATE_PERMISSION_DENIED")
    await put(alice, "weld", WELD)
    await put(alice, "slow", slow)
    refused = await bob.call("@all", "DeleteRecipe", {"name": "weld"})
    assert (refused["error"]["kind"], refused["error"]["name"]) == ("not_permitted", "DELETE_PERMISSION_DENIED")
    assert (await bob.call("r1", "ApplyRecipe", {"recipe": "weld"}))["error"]["kind"] == "not_permitted"
    assert (await bob.change("r1", "ApplyRecipe", {"recipe": "slow"}))["stage"] == "applied"
    assert (await get(bob, "slow"))["version"] == 1


async def test_ruling_29_a_rollout_has_the_values_of_its_beginning(connect: ClientMaker, line: RunningService) -> None:
    client = await connect("state/+/config", "evt/@all/plan", to=line)
    made = await put(client, "weld", models=["gen3_7dof"])
    params = {
        "method": "ApplyRecipe", "params": {"recipe": "weld"}, "on_failure": "pause", "canary": ["r11"], "soak_ms": 0,
        "pause_after": [0],
    }  # fmt: skip
    reply = await client.change(f"@{CELL}", "Rollout", params)
    plan = reply["plan"]
    await client.document("evt/@all/plan", lambda each: (each["plan"], each["event"]) == (plan, "PLAN_PAUSED"))
    await client.document("state/r11/config", partial(has, made["digest"]))
    await put(client, "weld", {"gravity_vector": {"x": 0, "y": 0, "z": -9.7}})
    await client.change("@all", "DeleteRecipe", {"name": "weld"})
    assert (await get(client, "weld", version=1))["digest"] == made["digest"]
    assert (await client.call("r12", "ApplyRecipe", {"recipe": "weld", "version": 1}))["error"][
        "kind"
    ] == "unknown_recipe"
    await client.change("@all", "SteerPlan", {"plan": plan, "action": "resume"})
    for arm in ("r12", "r13"):
        await client.document(f"state/{arm}/config", partial(has, made["digest"]))
    ended = await client.document("evt/@all/plan", lambda each: (each["plan"], each["event"]) == (plan, "PLAN_ENDED"))
    assert ended["cause"] == "done"
