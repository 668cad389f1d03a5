"""FindArms and GetFleetHistory: answered beside other requests, page by page."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from broker.accept import fleet_questions
from broker.record import fleet_history
from tests.broker.test_damaged_rows import alter
from tests.virtual_plant import Plant, play, run

SET = "SetTwistLinearSoftLimit"
PATH = "twist_linear_soft_limit/CARTESIAN_JOYSTICK"
MASS = "SetPayloadInformation"


def cell(*names: str) -> list[dict[str, Any]]:
    return [{"id": name, "model": "gen3_7dof", "groups": ["cell-4"]} for name in names]


def play_cell(data: Path, scenario: Callable[[Plant], Awaitable[None]], **more: Any) -> None:
    """Run a scenario on r11 to r13 in a group and r20 beside it."""
    arms = [*cell("r13", "r11", "r12"), {"id": "r20", "model": "gen3_7dof"}]
    play(data, scenario, arm=arms, **more)


def twist(value: float) -> dict[str, Any]:
    return {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": value}


async def found(plant: Plant, address: str = "@cell-4", **params: Any) -> dict[str, Any]:
    reply = await plant.call(address, "FindArms", params)
    assert (reply["ok"], reply["stage"], reply["final"], reply["rev"]) == (True, "read", True, 0), reply
    result: dict[str, Any] = reply["result"]
    return result


async def changes(plant: Plant, address: str = "@cell-4", **params: Any) -> dict[str, Any]:
    reply = await plant.call(address, "GetFleetHistory", params)
    assert (reply["ok"], reply["stage"]) == (True, "read"), reply
    result: dict[str, Any] = reply["result"]
    return result


def test_arms_are_found_by_their_values_and_told_in_order(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r11", SET, twist(0.2))
        await plant.call("r12", SET, twist(0.3))
        await plant.call("r20", SET, twist(0.3))
        await plant.call("r13", SET, twist(0.28))
        value = [{"path": PATH, "op": ">", "than": 0.27}]
        result = await found(plant, where={"presence": "online", "value": value}, show=[PATH])
        told = [(each["arm"], each["values"]) for each in result["arms"]]
        assert told == [("r12", {PATH: 0.3}), ("r13", {PATH: 0.28})]
        assert (result["count"], result["more"]) == (2, False)
        assert result["arms"][0]["rev"] == 2
        assert (await found(plant, "@all", where={"value": value}))["count"] == 3

    play_cell(tmp_path, scenario)


def test_pages_go_on_behind_an_arm_and_count_all_that_match(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        first = await found(plant, limit=2)
        assert ([each["arm"] for each in first["arms"]], first["count"], first["more"]) == (["r11", "r12"], 3, True)
        rest = await found(plant, limit=2, after="r12")
        assert ([each["arm"] for each in rest["arms"]], rest["count"], rest["more"]) == (["r13"], 3, False)

    play_cell(tmp_path, scenario)


def test_a_page_of_many_bytes_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(plant: Plant) -> None:
        monkeypatch.setattr(fleet_questions, "PAGE_BYTES", 10)
        result = await found(plant)
        assert ([each["arm"] for each in result["arms"]], result["count"], result["more"]) == (["r11"], 3, True)

    play_cell(tmp_path, scenario)


def test_five_questions_at_once_are_one_too_many_and_other_requests_come_between(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for number in range(fleet_questions.AT_ONCE + 1):
            plant.send("@all", "FindArms", {}, id=f"q{number}")
        refused = await plant.reply(f"q{fleet_questions.AT_ONCE}")
        assert (refused["error"]["kind"], refused["error"]["retry"]) == ("busy", "same_id")
        for number in range(fleet_questions.AT_ONCE):
            assert (await plant.reply(f"q{number}"))["result"]["count"] == 300
        assert (await found(plant, "@all"))["count"] == 300
        assert plant.service._replies.owed == {}

    play(tmp_path, scenario, arm=cell(*(f"a{number:03d}" for number in range(300))))


def test_what_waits_for_its_answer_at_the_end_is_refused(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plant.send("@all", "FindArms", {}, id="late")
        while not plant.service._stage_1.acceptor.questions._running:
            await plant.turn()
        plant.service._stage_1.acceptor.questions.close()
        assert (await plant.reply("late"))["error"]["kind"] == "shutting_down"

    play(tmp_path, scenario, arm=cell(*(f"a{number:03d}" for number in range(300))))


def test_a_failure_is_an_internal_error_of_that_question_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> bool:
        raise ZeroDivisionError

    async def scenario(plant: Plant) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(fleet_questions, "matches", fail)
            assert (await plant.call("@all", "FindArms", {}))["error"]["kind"] == "internal"
        assert (await found(plant, "@all"))["count"] == 4

    play_cell(tmp_path, scenario)


def test_the_changes_of_a_group_are_told_newest_first_in_pages(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for number, arm in enumerate(["r11", "r20", "r12", "r13", "r11"]):
            assert (await plant.call(arm, SET, twist(0.1 + number / 100)))["stage"] == "applied"
        page = await changes(plant, limit=2)
        assert [(each["arm"], each["rev"]) for each in page["changes"]] == [("r11", 3), ("r13", 2)]
        assert page["more"]
        (newest,) = (await plant.call("r11", "GetHistory", {"limit": 1}))["result"]["changes"]
        assert page["changes"][0] == {"arm": "r11", **newest}
        rest = await changes(plant, limit=2, cursor=page["cursor"])
        assert [(each["arm"], each["rev"]) for each in rest["changes"]] == [("r12", 2), ("r11", 2)]
        last = await changes(plant, limit=9, cursor=rest["cursor"])
        assert (last["changes"], last["more"]) == ([], False)
        assert len((await changes(plant, "@all"))["changes"]) == 5

    play_cell(tmp_path, scenario)


def test_changes_are_found_by_who_what_when_and_what_came_of_them(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r11", SET, twist(0.1), user="bob")
        await plant.turn(60)
        await plant.call("r12", MASS, {"payload_mass": 1.0})
        await plant.turn(60)
        await plant.fault("r13", "refuse")
        await plant.call("r13", MASS, {"payload_mass": 2.0})
        await plant.call("r12", "HoldArm", {"reason": "a look"})

        async def arms(**params: Any) -> list[str]:
            return [each["arm"] for each in (await changes(plant, **params))["changes"]]

        assert await arms() == ["r12", "r13", "r13", "r12", "r11"]  # what was refused is taken back
        assert await arms(user="bob") == ["r11"]
        assert await arms(item="payload_information") == ["r13", "r13", "r12"]
        assert await arms(item="lock") == ["r12"]
        assert await arms(method=SET) == ["r11"]
        assert await arms(outcome="refused") == ["r13"]
        assert await arms(plan=1) == []
        when = {each["arm"]: each["at"] for each in (await changes(plant))["changes"]}
        assert await arms(since=when["r13"]) == ["r12", "r13", "r13"]
        assert await arms(until=when["r11"]) == ["r11"]
        assert await arms(since=when["r11"], until=when["r11"]) == ["r11"]

    play_cell(tmp_path, scenario)


def test_what_was_restored_touches_its_items(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r11", MASS, {"payload_mass": 1.0})
        assert (await plant.call("r11", "RestoreFactory"))["stage"] == "applied"
        for item, count in (("payload_information", 2), ("gravity_vector", 1), ("control_configuration", 1)):
            assert len((await changes(plant, item=item))["changes"]) == count

    play_cell(tmp_path, scenario)


def test_a_page_looks_at_so_many_changes_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(plant: Plant) -> None:
        for number in range(20):
            await plant.call("r11", SET, twist(0.1 + number / 100), user="bob" if number == 0 else "u")
        monkeypatch.setattr(fleet_history, "LOOKED_MOST", 5)
        monkeypatch.setattr(fleet_history, "SPAN", 3)
        cursor: dict[str, str] = {}
        told, pages = [], 0
        while True:
            page = await changes(plant, user="bob", **cursor)
            told += page["changes"]
            pages += 1
            if not page["more"]:
                break
            cursor = {"cursor": page["cursor"]}
        assert [each["by"]["user"] for each in told] == ["bob"]
        assert pages > 3

    play_cell(tmp_path, scenario)


def test_pages_and_entries_stay_below_their_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(plant: Plant) -> None:
        for number in range(4):
            await plant.call("r11", SET, twist(0.1 + number / 100), reason="x" * 200)
        monkeypatch.setattr(fleet_history, "PAGE_BYTES", 1_200)
        page = await changes(plant)
        assert (len(page["changes"]), page["more"]) == (2, True)
        assert (await changes(plant, cursor=page["cursor"]))["changes"][0]["rev"] == 3
        monkeypatch.setattr(fleet_history, "ENTRY_BYTES", 400)
        first = (await changes(plant))["changes"][0]
        assert first["left_out"]
        assert len(json.dumps(first)) < 500

    play_cell(tmp_path, scenario)


def test_changes_of_arms_that_were_taken_out_are_told_of_all(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path, arm=cell("r11", "r12")) as plant:
            await plant.call("r11", SET, twist(0.1))
            await plant.call("r12", SET, twist(0.1))
        async with Plant(tmp_path, arm=cell("r12")) as plant:
            assert [each["arm"] for each in (await changes(plant, "@all"))["changes"]] == ["r12", "r11"]
            assert [each["arm"] for each in (await changes(plant))["changes"]] == ["r12"]

    run(whole)


def test_a_damaged_change_is_left_out(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path, arm=cell("r11")) as plant:
            await plant.call("r11", SET, twist(0.1))
            await plant.call("r11", SET, twist(0.2), id="bad")
            await plant.turn(1.0)
        alter(tmp_path, "UPDATE job SET accepted = x'00' WHERE instr(accepted, CAST('bad' AS BLOB))")
        async with Plant(tmp_path, arm=cell("r11")) as plant:
            assert [each["rev"] for each in (await changes(plant))["changes"]] == [2]

    run(whole)


def test_nothing_is_told_before_the_first_change(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        assert await changes(plant) == {"changes": [], "cursor": "000000000001", "more": False}

    play_cell(tmp_path, scenario)


def test_a_group_is_compared_arm_by_arm(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for arm in ("r11", "r12"):
            await plant.call(arm, SET, twist(0.2))

        async def compared(**params: Any) -> Any:
            return (await plant.call("@cell-4", "Diff", params))["result"]

        items = {"twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.2}}
        assert await compared(to={"items": items}) == {
            "rows": [
                {"arm": "r11", "same": True, "count": 0, "paths": []},
                {"arm": "r12", "same": True, "count": 0, "paths": []},
                {"arm": "r13", "same": False, "count": 1, "paths": [PATH]},
            ],
            "counts": {"same": 2, "differ": 1, "failed": 0},
            "more": False,
        }
        page = await compared(to={"arm": "r13"}, after="r11", limit=1)
        assert ([each["arm"] for each in page["rows"]], page["more"]) == (["r12"], True)
        assert page["counts"] == {"same": 1, "differ": 2, "failed": 0}
        past = await compared(**{"from": {"rev": 1}, "to": {"rev": 2}})
        assert past["counts"] == {"same": 0, "differ": 2, "failed": 1}
        failed = past["rows"][2]
        assert (failed["arm"], failed["kind"]) == ("r13", "out_of_limits")
        assert failed["message"].startswith("params.to.rev")

    play_cell(tmp_path, scenario)


def test_a_comparison_of_a_group_with_nothing_that_is_there_is_refused(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        async def kind(params: dict[str, Any], address: str = "@cell-4") -> str:
            return str((await plant.call(address, "Diff", params))["error"]["kind"])

        assert await kind({"to": {"recipe": "weld"}}) == "unknown_recipe"
        assert await kind({"to": {"arm": "r99"}}) == "unknown_arm"
        assert await kind({"from": {"arm": "r99"}, "to": {}}) == "unknown_arm"
        assert await kind({"to": {}, "limit": 501}) == "out_of_limits"
        assert await kind({"to": {}, "limit": 5}, "r11") == "unknown_field"

    play_cell(tmp_path, scenario)


def test_what_is_too_old_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(plant: Plant) -> None:
        for arm in ("r20", "r20", "r11"):
            await plant.call(arm, SET, twist(0.1), user="bob")
            await plant.turn(60)
        monkeypatch.setattr(fleet_history, "OPEN_US", 30_000_000)
        monkeypatch.setattr(fleet_history, "SPAN", 1)
        monkeypatch.setattr(fleet_history, "LOOKED_MOST", 3)
        newest = (await plant.call("r11", "GetHistory"))["result"]["changes"][0]["at"]
        page = await changes(plant, since=newest)
        assert ([each["arm"] for each in page["changes"]], page["more"]) == (["r11"], False)

    play_cell(tmp_path, scenario)
