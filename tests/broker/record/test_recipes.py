"""Recipes: memory, rows and event move together, over starts and copies that a kill would leave."""

from pathlib import Path
from typing import Any

from broker.service import Service
from broker.store.meta_keys import RECIPE_FLOOR, RECIPE_TOP
from handlers.state.recipes import Applied, Recipe
from schema.arms import Fault
from schema.envelope import Author
from tests.broker.test_damaged_rows import alter
from tests.virtual_plant import Plant, play, run

ITEMS = {"payload_information": {"payload_mass": 2}}
OTHER = {"payload_information": {"payload_mass": 3}}
ALICE = Author("alice", "c1", proven=False)


async def put(plant: Plant, name: str = "weld", items: dict[str, Any] = ITEMS, **params: Any) -> dict[str, Any]:
    return await plant.call("@all", "PutRecipe", {"name": name, "items": items, **params})


async def ask(plant: Plant, method: str, **params: Any) -> dict[str, Any]:
    result: dict[str, Any] = (await plant.call("@all", method, params))["result"]
    return result


def recipe(plant: Plant, name: str, version: int | None = None) -> Recipe:
    found = plant.service.recipes.shelf.find(name, version)
    assert found is not None
    return found


def applied(one: Recipe, rev: int = 5) -> Applied:
    return Applied(one.name, one.version, one.digest, rev, 7, ALICE)


def test_a_version_is_answered_told_and_there_after_a_start(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path) as plant:
            reply = await put(plant, note="first")
            assert (reply["ok"], reply["stage"], reply["final"], reply["rev"]) == (True, "stored", True, 0)
            told = await plant.document("evt/@all/recipe", lambda each: each["seq"] == 1)
            assert (told["event"], told["cause"], told["rev"]) == ("RECIPE_CHANGED", "put", 0)
            digest = reply["result"]["digest"]
            assert told["details"] == {"name": "weld", "version": 1, "digest": digest}
            assert reply["result"] == {"name": "weld", "version": 1, "digest": digest, "unchanged": False}
            again = await put(plant)
            assert (again["result"]["unchanged"], again["seq"]) == (True, 1)
            await put(plant, items=OTHER)
            before = await ask(plant, "GetRecipe", name="weld", version=1)
        async with Plant(tmp_path) as plant:
            assert await ask(plant, "GetRecipe", name="weld", version=1) == before
            assert (await ask(plant, "ListRecipes"))["recipes"][0]["version"] == 2
            assert (await ask(plant, "DeleteRecipe", name="weld")) == {}
            gone = await plant.document("evt/@all/recipe", lambda each: each["cause"] == "deleted")
            assert (gone["seq"], gone["details"]["version"]) == (3, 2)
        async with Plant(tmp_path) as plant:
            assert (await plant.call("@all", "GetRecipe", {"name": "weld"}))["error"]["kind"] == "unknown_recipe"
            assert (await put(plant))["result"]["version"] == 3

    run(whole)


def test_an_id_is_answered_once_whatever_was_put_meanwhile(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        params = {"name": "weld", "items": ITEMS}
        first = await plant.call("@all", "PutRecipe", params, id="one")
        await put(plant, items=OTHER)
        again = await plant.call("@all", "PutRecipe", params, id="one")
        assert (again["duplicate"], again["result"]) == (True, first["result"])
        assert (await ask(plant, "GetRecipe", name="weld"))["versions"] == [1, 2]
        other = await plant.call("@all", "PutRecipe", {**params, "items": OTHER}, id="one")
        assert other["error"]["kind"] == "id_reused"

    play(tmp_path, scenario)


def test_a_dry_run_keeps_nothing(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await plant.call("@all", "PutRecipe", {"name": "weld", "items": ITEMS}, dry_run=True)
        assert (reply["stage"], reply["result"]) == ("checked", {})
        refused = await plant.call("@all", "DeleteRecipe", {"name": "weld"}, dry_run=True)
        assert refused["error"]["kind"] == "unknown_recipe"
        assert await ask(plant, "ListRecipes") == {"recipes": [], "more": False}
        assert plant.events("@all") == []

    play(tmp_path, scenario)


def test_a_copy_that_a_kill_leaves_has_every_version_that_was_answered(tmp_path: Path) -> None:
    async def whole() -> None:
        answered = []
        async with Plant(tmp_path / "first") as plant:
            for mass in range(1, 6):
                reply = await put(plant, items={"payload_information": {"payload_mass": mass}})
                answered.append(reply["result"])
            copy = plant.copy(tmp_path / "copy")
        async with Plant(copy) as plant:
            for one in answered:
                found = await ask(plant, "GetRecipe", name="weld", version=one["version"])
                assert found["digest"] == one["digest"]
            assert (await put(plant, items=OTHER))["result"]["version"] == 6

    run(whole)


def test_a_damaged_version_is_told_and_no_number_comes_again(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path) as plant:
            await put(plant)
            await put(plant, items=OTHER)
        alter(tmp_path, "UPDATE recipe SET body = x'7b7d' WHERE version = 2")
        async with Plant(tmp_path) as plant:
            assert [(one.table, one.key) for one in plant.loaded.damages] == [("recipe", "weld/2")]
            assert (await ask(plant, "GetRecipe", name="weld"))["versions"] == [1]
            assert (await put(plant, items=OTHER))["result"]["version"] == 3
            assert all(session.state.distrust == "" for session in plant.service.sessions.values())
        async with Plant(tmp_path) as plant:
            assert plant.loaded.damages == []
            assert (plant.loaded.meta[RECIPE_FLOOR], plant.loaded.meta[RECIPE_TOP]) == ("2", "3")

    run(whole)


def test_what_an_arm_had_last_is_kept_over_starts_deletions_and_a_new_name(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path) as plant:
            await put(plant)
            one = recipe(plant, "weld")
            plant.service.recipes.took(plant.session("r1"), applied(one))
            plant.service.recipes.took(plant.session("r2"), None)
            assert plant.session("r1").state.applied == applied(one)
            assert (await ask(plant, "ListRecipes"))["recipes"][0]["arms"] == 1
            await ask(plant, "DeleteRecipe", name="weld")
        async with Plant(tmp_path, ("new", "r2"), arm=[renamed("new", "r1"), renamed("r2")]) as plant:
            assert plant.session("new").state.applied == applied(one)
            assert plant.session("r2").state.applied is None
            assert recipe(plant, "weld", 1).body == one.body
            assert (await ask(plant, "ListRecipes"))["recipes"] == []
            plant.service.recipes.took(plant.session("new"), None)
            await plant.committed()
        async with Plant(tmp_path, ("new", "r2")) as plant:
            assert plant.session("new").state.applied is None
            assert plant.service.recipes.shelf.find("weld", 1) is None
            assert (await put(plant))["result"]["version"] == 2

    run(whole)


def test_the_values_of_an_arm_are_kept_as_it_is_or_was_but_never_its_mode(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", "SetPayloadInformation", {"payload_mass": 2.0})
        await plant.call("r1", "SetPayloadInformation", {"payload_mass": 1.0})
        rev = plant.session().state.rev
        for source, mass in (
            ({"arm": "r1"}, 1.0), ({"arm": "r1", "view": "reported"}, 1.0), ({"arm": "r1", "rev": rev - 1}, 2.0),
            ({"arm": "r2", "view": "desired"}, 0.0), ({"recipe": "from"}, 0.0),
        ):  # fmt: skip
            reply = await plant.call("@all", "PutRecipe", {"name": "from", "from": source})
            assert reply["ok"], reply
            items = (await ask(plant, "GetRecipe", name="from"))["items"]
            assert (items["payload_information"]["payload_mass"], "control_mode" in items) == (mass, False)
            assert len(items) == 14
        assert reply["result"]["unchanged"]
        for source, kind in (
            ({"arm": "r3"}, "unknown_arm"), ({"arm": "r1", "rev": 99}, "out_of_limits"), ({}, "malformed"),
        ):  # fmt: skip
            refused = await plant.call("@all", "PutRecipe", {"name": "from", "from": source})
            assert refused["error"]["kind"] == kind
            dry = await plant.call("@all", "PutRecipe", {"name": "from", "from": source}, dry_run=True)
            assert dry["error"] == refused["error"]
        assert (await ask(plant, "GetRecipe", name="from"))["versions"] == [1, 2, 3]

    play(tmp_path, scenario)


def test_an_arm_that_was_never_read_has_no_values_to_keep(tmp_path: Path) -> None:
    async def whole() -> None:
        def absent(service: Service) -> None:
            service.sessions["r2"].adapter.inject(Fault("offline"))  # type: ignore[attr-defined]  # it is simulated

        async with Plant(tmp_path, prepare=absent) as plant:
            refused = await plant.call("@all", "PutRecipe", {"name": "from", "from": {"arm": "r2"}})
            assert refused["error"]["kind"] == "arm_not_read"

    run(whole)


def renamed(arm: str, was: str = "") -> dict[str, Any]:
    return {"id": arm, "adapter": "simulated", "model": "gen3_7dof", "was": was}
