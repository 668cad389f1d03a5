"""Authorities and locks: kept, shown, ended in time."""

import json
from pathlib import Path
from typing import Any

import pytest

from broker.settle.authority import LONGEST_WAIT_S
from schema.arms import Authority
from schema.codecs.times import format_time
from tests.virtual_plant import START_US, Plant, play, run

SET = "SetTwistLinearSoftLimit"
VALUE = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.25}
OBSERVED = [{"id": "r1", "model": "gen3_7dof", "authority": "observe"}]
HELD = {"reason": "gripper change"}


def meta(plant: Plant, key: str) -> Any:
    """A small value of the store; None where there is none."""
    row = plant.store._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return json.loads(row[0]) if row is not None and row[0] else None


def audits(plant: Plant, decision: str) -> list[dict[str, Any]]:
    """The entries of the audit of a decision."""
    rows = plant.store._connection.execute("SELECT entry FROM audit ORDER BY n").fetchall()
    return [entry for (body,) in rows if (entry := json.loads(body)).get("decision") == decision]


def until(seconds: float) -> str:
    """A time after virtual time 0."""
    return format_time(START_US + int(seconds * 1e6))


def test_an_authority_is_stored_with_its_author_and_audited(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await plant.call("r1", "SetAuthority", {"authority": "advise", "reason": "night"})
        assert (reply["ok"], reply["stage"], reply["final"], reply["result"]) == (True, "stored", True, {})
        assert plant.session().state.authority is Authority.ADVISE
        row = meta(plant, "authority/r1")
        assert (row["value"], row["file"], row["reason"]) == ("advise", "control", "night")
        assert row["by"] == {"user": "u", "connection": "c", "proven": False}
        (entry,) = audits(plant, "authority")
        assert (entry["arm"], entry["authority"], entry["by"], entry["reason"]) == ("r1", "advise", "u/c", "night")
        assert plant.session("r2").state.authority is Authority.CONTROL

    play(tmp_path, scenario)


def test_presence_and_factsheet_show_authority_and_lock(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for topic in ("state/r1/presence", "meta/factsheet/r1"):
            shown = await plant.document(topic, lambda document: bool(document["arm"]))
            assert shown["authority"] == "control"
            assert "hold" not in shown
        await plant.call("r1", "SetAuthority", {"authority": "observe"})
        await plant.call("r1", "HoldArm", {**HELD, "until": until(60)})
        for topic in ("state/r1/presence", "meta/factsheet/r1"):
            shown = await plant.document(topic, lambda document: "hold" in document)
            assert shown["authority"] == "observe"
            assert shown["hold"]["by"] == {"user": "u", "connection": "c", "proven": False}
            assert (shown["hold"]["reason"], shown["hold"]["until"]) == ("gripper change", until(60))
        presence = await plant.document("state/r1/presence", lambda document: "hold" in document)
        assert (presence["state"], presence["ready"]) == ("online", True)

    play(tmp_path, scenario)


def test_a_stored_authority_counts_until_the_settings_name_another(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path, arm=OBSERVED) as plant:
            assert plant.session().state.authority is Authority.OBSERVE
            await plant.call("r1", "SetAuthority", {"authority": "control"})
        async with Plant(tmp_path, arm=OBSERVED) as plant:
            assert plant.session().state.authority is Authority.CONTROL
        async with Plant(tmp_path, ["r1"]) as plant:
            assert plant.session().state.authority is Authority.CONTROL
            await plant.committed()
            assert meta(plant, "authority/r1") is None
            assert audits(plant, "authority")[-1]["by"] == "settings"
        async with Plant(tmp_path, arm=OBSERVED) as plant:
            assert plant.session().state.authority is Authority.OBSERVE

    run(whole)


def test_settings_that_are_read_again_count_where_they_name_another_authority(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        session = plant.session()
        await plant.call("r1", "SetAuthority", {"authority": "advise"})
        for named, counts in ((Authority.CONTROL, Authority.ADVISE), (Authority.OBSERVE, Authority.OBSERVE)):
            plant.service._authorities.follow_settings(session, named)
            assert session.state.authority is counts
        await plant.document("state/r1/presence", lambda document: document["authority"] == "observe")
        assert meta(plant, "authority/r1") is None

    play(tmp_path, scenario)


def test_a_lock_is_stored_and_its_holder_may_change_it(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", "HoldArm", HELD)
        first = meta(plant, "hold/r1")
        assert (first["by"]["user"], first["reason"]) == ("u", "gripper change")
        await plant.turn(5.0)
        await plant.call("r1", "HoldArm", {"reason": "still", "until": until(60)})
        second = meta(plant, "hold/r1")
        assert (second["reason"], second["since_us"]) == ("still", first["since_us"])
        assert second["until_us"] == START_US + 60_000_000
        await plant.call("r1", "ReleaseArm")
        assert meta(plant, "hold/r1") is None
        assert plant.session().state.hold is None
        assert [entry["by"] for entry in audits(plant, "hold") + audits(plant, "release")] == ["u/c"] * 3

    play(tmp_path, scenario)


def test_a_lock_ends_by_itself_however_far_its_end_is(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        end_s = LONGEST_WAIT_S * 2 + 60
        await plant.call("r1", "HoldArm", {**HELD, "until": until(end_s)})
        await plant.turn(end_s - plant.loop.time() - 1.0)
        assert plant.session().state.hold is not None
        after = len(plant.link.published)
        await plant.turn(1.5)
        assert plant.session().state.hold is None
        await plant.document("state/r1/presence", lambda document: "hold" not in document, after)
        await plant.document("meta/factsheet/r1", lambda document: "hold" not in document, after)
        assert meta(plant, "hold/r1") is None
        assert audits(plant, "release")[0]["by"] == "clock"

    play(tmp_path, scenario)


@pytest.mark.parametrize("down_s", [10.0, 100.0])
def test_a_lock_outlives_a_restart_and_ends_in_time(tmp_path: Path, down_s: float) -> None:
    async def whole() -> None:
        async with Plant(tmp_path) as plant:
            await plant.call("r1", "HoldArm", {**HELD, "until": until(60)})
            await plant.call("r2", "HoldArm", HELD)
        start_us = START_US + int(down_s * 1e6)
        async with Plant(tmp_path, start_us=start_us) as plant:
            held = (await plant.call("r1", SET, VALUE, user="bob")).get("error", {}).get("kind")
            assert held == ("held" if down_s < 60 else None)
            await plant.turn(70.0)
            assert plant.session().state.hold is None
            assert (await plant.call("r1", SET, VALUE, user="bob"))["ok"]
            kept = plant.session("r2").state.hold
            assert kept is not None
            assert (kept.by.user, kept.reason) == ("u", "gripper change")
            assert (await plant.call("r2", SET, VALUE, user="bob"))["error"]["kind"] == "held"

    run(whole)


def test_another_takes_a_lock_whose_end_is_reached_before_its_timer(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", "HoldArm", {**HELD, "until": until(60)})
        plant.clock.not_before(START_US + 61_000_000)
        assert (await plant.call("r1", "HoldArm", {"reason": "mine"}, user="bob"))["ok"]
        await plant.turn(120.0)
        hold = plant.session().state.hold
        assert hold is not None
        assert (hold.by.user, hold.since_us >= START_US + 61_000_000) == ("bob", True)

    play(tmp_path, scenario)
