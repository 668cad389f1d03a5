"""ApplyRecipe on the arm: what is told of it, what it becomes, what outlives it, over starts and kills."""

from pathlib import Path
from typing import Any

import pytest

from tests.broker.arms.test_fleet_change import arms, follow, online
from tests.broker.record.test_recipes import ask, put
from tests.virtual_plant import Plant, play, run

TWIST, PATH = "twist_linear_soft_limit", "twist_linear_soft_limit/CARTESIAN_JOYSTICK"
ITEMS: dict[str, Any] = {
    TWIST: {"CARTESIAN_JOYSTICK": 0.2},
    "payload_information": {"payload_mass": 2.0},
    "joint_limits": {"max_velocity": {"values": [0.5] * 7}},
}
MODE = {"control_mode": "CARTESIAN_JOYSTICK"}


async def config(plant: Plant, wanted: Any, after: int = 0) -> dict[str, Any]:
    document: dict[str, Any] = await plant.document("state/r1/config", wanted, after)
    return document


async def apply(plant: Plant, name: str = "weld", *, arm: str = "r1", **params: Any) -> dict[str, Any]:
    fields = {key: params.pop(key) for key in ("id", "dry_run", "reason", "wait", "valid_for_ms") if key in params}
    return await plant.call(arm, "ApplyRecipe", {"recipe": name, **params}, **fields)


def has(label: str, drift: list[str] | None = None) -> Any:
    """Whether a config document names a version, with a drift if it is given."""

    def wanted(document: dict[str, Any]) -> bool:
        told = document.get("recipe")
        if told is None or f"{told['name']}@{told['version']}" != label:
            return False
        return drift in (None, told["drift"])

    return wanted


async def sources(plant: Plant) -> list[str]:
    """The recipes that Explain names for the first joint's velocity."""
    reply = await plant.call("r1", "Explain", {"quantity": "velocity", "joint": "joint_1"})
    (number,) = reply["result"]["numbers"]
    return [said["recipe"] for said in number["stack"] if "recipe" in said]


async def blamed(plant: Plant) -> dict[str, str]:
    """The recipe that Blame names for each path, where it names one."""
    values = (await plant.call("r1", "Blame", {}))["result"]["values"]
    return {entry["path"]: entry["recipe"] for entry in values if "recipe" in entry}


def test_the_values_of_a_recipe_are_one_change_that_says_where_they_come_from(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        made = (await put(plant, items=ITEMS))["result"]
        reply = await apply(plant, reason="new part")
        told = {name: made[name] for name in ("name", "version", "digest")}
        assert (reply["stage"], reply["final"], reply["rev"]) == ("applied", True, 2), reply
        assert reply["result"] == {
            "items": dict.fromkeys(("joint_limits", PATH, "payload_information"), "applied"), "recipe": told,
        }  # fmt: skip
        last = plant.events()[-1]
        assert (last["event"], last["details"]) == ("CONFIG_APPLIED", reply["result"])
        document = await config(plant, has("weld@1"))
        by = {"user": "u", "connection": "c", "proven": False}
        assert document["recipe"] == {**told, "rev": 2, "at": document["recipe"]["at"], "by": by, "drift": []}
        assert (await ask(plant, "ListRecipes"))["recipes"][0]["arms"] == 1
        assert await sources(plant) == ["weld@1"]
        assert await blamed(plant) == dict.fromkeys(("joint_limits", PATH, "payload_information"), "weld@1")
        (entry,) = (await plant.call("r1", "GetHistory", {}))["result"]["changes"]
        assert (entry["method"], entry["recipe"], entry["rev"]) == ("ApplyRecipe", "weld@1", 2)

    play(tmp_path, scenario)


def test_what_is_set_otherwise_drifts_and_comes_from_the_recipe_no_longer(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await put(plant, items=ITEMS)
        await apply(plant)
        await plant.call("r1", "SetTwistLinearSoftLimit", {**MODE, TWIST: 0.1})
        await config(plant, has("weld@1", [PATH]))
        assert await blamed(plant) == dict.fromkeys(("joint_limits", "payload_information"), "weld@1")
        await plant.call("r1", "SetJointLimit", {"joint": "joint_1", "update": {"max_velocity": 0.4}})
        await config(plant, has("weld@1", [PATH, "joint_limits"]))
        assert await sources(plant) == []
        other = await plant.call("r1", "Explain", {"quantity": "velocity", "joint": "joint_2"})
        assert [said.get("recipe") for said in other["result"]["numbers"][0]["stack"] if "recipe" in said] == ["weld@1"]
        await plant.fault("r1", "foreign_change", item="payload_information", value={"payload_mass": 1.0})
        await config(plant, lambda each: "payload_information" in each.get("recipe", {}).get("drift", []))
        after = len(plant.link.published)
        again = await apply(plant)
        assert again["ok"], again
        await config(plant, has("weld@1", []), after)

    play(tmp_path, scenario)


def test_what_is_there_already_is_unchanged_and_the_recipe_is_the_last_one(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await put(plant, items=ITEMS)
        await put(plant, "copy", items=ITEMS)
        await apply(plant)
        reply = await apply(plant, "copy")
        assert (reply["ok"], set(reply["result"]["items"].values()), reply["rev"]) == (True, {"unchanged"}, 2)
        assert reply["result"]["recipe"]["name"] == "copy"
        await config(plant, has("copy@1", []))
        arms = {one["name"]: one["arms"] for one in (await ask(plant, "ListRecipes"))["recipes"]}
        assert arms == {"copy": 1, "weld": 0}
        assert (await blamed(plant))[PATH] == "weld@1"

    play(tmp_path, scenario)


def test_one_that_is_refused_or_fails_in_part_does_not_become_the_last_one(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await put(plant, items=ITEMS)
        await put(plant, "far", items={TWIST: {"CARTESIAN_JOYSTICK": 0.9}, "payload_information": {"payload_mass": 1}})
        refused = await apply(plant, "far")
        assert refused["error"]["violations"][0]["path"] == f"items.{TWIST}.CARTESIAN_JOYSTICK"
        await plant.fault("r1", "refuse", item="payload_information")
        partial = await apply(plant)
        assert (partial["error"]["kind"], partial["result"]["recipe"]["version"]) == ("partial", 1)
        assert plant.session().state.applied is None
        assert (await blamed(plant))[PATH] == "weld@1"
        await plant.fault("r1", "none")
        left = await apply(plant, "far", partial=True)
        assert (left["ok"], list(left["result"]["left_out"])) == (True, [PATH])
        await config(plant, has("far@1", [PATH]))
        after = len(plant.link.published)
        dry = await apply(plant, dry_run=True)
        assert (dry["stage"], dry["result"]["recipe"]["name"]) == ("checked", "weld")
        await plant.turn(1.0)
        assert not [each for each in plant.link.published[after:] if each.topic == "state/r1/config"]
        last = plant.session().state.applied
        assert last is not None
        assert last.name == "far"

    play(tmp_path, scenario)


def test_ruling_29_the_values_are_those_of_the_acceptance(tmp_path: Path) -> None:
    """A version that is new, and a deletion, while the change waits for its arm change nothing of it."""

    async def whole() -> None:
        async with Plant(tmp_path / "first") as plant:
            first = (await put(plant, items=ITEMS))["result"]
            await plant.fault("r1", "offline")
            reply = await apply(plant, id="wait", wait="stored")
            assert (reply["stage"], reply["final"]) == ("stored", False)
            await put(plant, items={TWIST: {"CARTESIAN_JOYSTICK": 0.05}})
            await ask(plant, "DeleteRecipe", name="weld")
            assert (await apply(plant))["error"]["kind"] == "unknown_recipe"
            await plant.committed()
            copy = plant.copy(tmp_path / "copy")
            await back(plant, first)
        async with Plant(copy) as plant:
            await back(plant, first)
            await ask(plant, "GetRecipe", name="weld", version=1)
        async with Plant(copy) as plant:
            assert plant.session().state.applied is not None
            assert (await ask(plant, "GetRecipe", name="weld", version=1))["digest"] == first["digest"]

    run(whole)


async def back(plant: Plant, made: dict[str, Any]) -> None:
    """The arm is back, and has what was accepted."""
    await plant.fault("r1", "none")
    document = await config(plant, has("weld@1", []))
    assert document["recipe"]["digest"] == made["digest"]
    again = await apply(plant, id="wait")
    assert (again["duplicate"], again["ok"], again["result"]["recipe"]["version"]) == (True, True, 1), again


def test_a_change_that_ends_unwritten_keeps_no_deleted_version(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await put(plant, items=ITEMS)
        await put(plant, "other", items=ITEMS)
        await plant.fault("r1", "offline")
        await apply(plant, wait="stored")
        await ask(plant, "DeleteRecipe", name="weld")
        assert plant.service.recipes.shelf.find("weld", 1) is not None
        assert (await plant.call("r1", "DiscardPending", {"all": True}))["ok"]
        await apply(plant, "other", arm="r2")
        assert plant.service.recipes.shelf.find("weld", 1) is None
        assert plant.session().state.applied is None

    play(tmp_path, scenario)


@pytest.mark.parametrize("version", [1, 2])
def test_the_last_recipe_and_its_provenance_are_there_after_a_start(tmp_path: Path, version: int) -> None:
    async def whole() -> None:
        async with Plant(tmp_path) as plant:
            await put(plant, items=ITEMS | {TWIST: {"CARTESIAN_JOYSTICK": 0.1}})
            await put(plant, items=ITEMS)
            await apply(plant, version=version)
            document = await config(plant, has(f"weld@{version}"))
        async with Plant(tmp_path) as plant:
            after = await config(plant, has(f"weld@{version}"))
            assert after["recipe"] == document["recipe"]
            assert await sources(plant) == [f"weld@{version}"]
            assert (await blamed(plant))["payload_information"] == f"weld@{version}"

    run(whole)


def test_another_arm_under_the_name_had_no_recipe(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path) as plant:
            await put(plant, items=ITEMS)
            await apply(plant)
            await plant.fault("r1", "swap_serial", for_ms=1_000)
            await plant.document("state/r1/presence", lambda one: one["state"] == "held")
            assert plant.session().state.applied is not None
            await plant.turn(5.0)
            after = len(plant.link.published)
            assert (await plant.call("r1", "ConfirmArm"))["ok"]
            await config(plant, lambda each: "recipe" not in each, after)
        async with Plant(tmp_path) as plant:
            assert plant.session().state.applied is None
            assert (await ask(plant, "ListRecipes"))["recipes"][0]["arms"] == 0

    run(whole)


def test_ruling_52_a_recipe_of_an_arm_is_of_what_lies_below_its_overrides(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        limit = {**MODE, TWIST: 0.3}
        await plant.call("r1", "SetTwistLinearSoftLimit", limit)
        await plant.call("r1", "SetTwistLinearSoftLimit", {**limit, TWIST: 0.1}, valid_for_ms=600_000)
        for source, value in (
            ({"arm": "r1"}, 0.3), ({"arm": "r1", "view": "reported"}, 0.1), ({"arm": "r1", "view": "desired"}, 0.1),
        ):  # fmt: skip
            await plant.call("@all", "PutRecipe", {"name": "from", "from": source})
            items = (await ask(plant, "GetRecipe", name="from"))["items"]
            assert items[TWIST]["CARTESIAN_JOYSTICK"] == value, source

    play(tmp_path, scenario)


def test_an_override_of_a_value_is_drift_until_its_end(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await put(plant, items=ITEMS)
        await apply(plant)
        await plant.call("r1", "SetTwistLinearSoftLimit", {**MODE, TWIST: 0.1}, valid_for_ms=5_000)
        await config(plant, has("weld@1", [PATH]))
        after = len(plant.link.published)
        await plant.turn(6.0)
        await config(plant, has("weld@1", []), after)

    play(tmp_path, scenario)


def test_a_recipe_with_an_end_is_not_the_last_one_and_what_lay_below_comes_back(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await put(plant, "glue", items={"payload_information": {"payload_mass": 1.0}})
        await put(plant, items=ITEMS)
        await apply(plant, "glue")
        after = len(plant.link.published)
        reply = await apply(plant, items=[TWIST, "payload_information"], valid_for_ms=5_000)
        assert (reply["ok"], "until" in reply) == (True, True), reply
        assert reply["result"]["recipe"]["name"] == "weld"
        document = await config(plant, has("glue@1", ["payload_information"]), after)
        (override,) = document["overrides"]
        assert set(override["paths"]) == {PATH, "payload_information"}
        assert (await blamed(plant))[PATH] == "weld@1"
        after = len(plant.link.published)
        await plant.turn(6.0)
        await config(plant, has("glue@1", []), after)

    play(tmp_path, scenario)


def test_what_is_written_back_is_no_value_of_the_recipe(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await put(plant, items=ITEMS)
        await plant.fault("r1", "refuse", item="payload_information")
        reply = await apply(plant, on_failure="reverse")
        assert (reply["ok"], reply["result"]["items"][PATH]) == (False, "reversed"), reply
        assert await sources(plant) == []
        assert plant.session().state.reported_by["twist_linear_soft_limit", 2].last.recipe == ""
        assert await blamed(plant) == {}
        assert plant.session().state.applied is None

    play(tmp_path, scenario)


def test_an_arm_that_is_added_later_or_comes_back_knows_the_recipes(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path) as plant:
            await put(plant, items=ITEMS)
            await apply(plant, arm="r2")
            await follow(plant, arms(r2=None, r3={}))
            await online(plant, "r3")
            assert (await apply(plant, arm="r3"))["ok"]
            await ask(plant, "DeleteRecipe", name="weld")
            after = len(plant.link.published)
            await follow(plant, arms(r2={}))
            await online(plant, "r2", after)
            document = await plant.document("state/r2/config", has("weld@1", []), after)
            assert document["recipe"]["rev"] == 2
        async with Plant(tmp_path, ("r1", "r3")) as plant:
            assert plant.session("r3").state.applied is not None
            after = len(plant.link.published)
            await follow(plant, arms(r2={}))
            await plant.document("state/r2/config", has("weld@1", []), after)

    run(whole)
