"""Authorities and locks: kept, shown, ended in time."""

import json
from pathlib import Path
from typing import Any

import pytest

from broker.settle.rights.authority import LONGEST_WAIT_S
from schema.arms import Authority
from schema.codecs.times import format_time
from tests.stored import audited
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
    rows = map(json.loads, audited(plant.store._connection))
    return [entry for entry in rows if entry.get("decision") == decision]


def admin(plant: Plant) -> list[dict[str, Any]]:
    """What was told of administration."""
    return [each.document for each in plant.link.published if each.topic == "evt/r1/admin"]


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
        async with Plant(tmp_path, ["r1"]) as plant:
            assert plant.session().state.authority is Authority.CONTROL
            await plant.call("r1", "SetAuthority", {"authority": "advise"})
        async with Plant(tmp_path, ["r1"]) as plant:
            assert plant.session().state.authority is Authority.ADVISE
            assert admin(plant) == []
        async with Plant(tmp_path, arm=OBSERVED) as plant:
            assert plant.session().state.authority is Authority.OBSERVE
            await plant.committed()
            assert meta(plant, "authority/r1") is None
            assert audits(plant, "authority")[-1]["by"] == "settings"
            (event,) = admin(plant)
            assert (event["event"], event["change"]["before"], event["change"]["after"]) == (
                "AUTHORITY_CHANGED",
                "advise",
                "observe",
            )
            assert event["by"] == {"user": "@settings", "connection": "file", "proven": True}
        async with Plant(tmp_path, ["r1"]) as plant:
            assert plant.session().state.authority is Authority.CONTROL

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


def test_each_act_of_administration_is_an_event_an_entry_of_the_history_and_to_be_fetched(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        ids = [
            (await plant.call("r1", "SetAuthority", {"authority": "advise", "reason": "night"}))["id"],
            (await plant.call("r1", "HoldArm", {**HELD, "until": until(60)}))["id"],
            (await plant.call("r1", "ReleaseArm", reason="done"))["id"],
        ]
        await plant.call("r1", "HoldArm", {**HELD, "until": until(61)})
        await plant.turn(70)
        events = admin(plant)
        assert [event["event"] for event in events] == [
            "AUTHORITY_CHANGED", "ARM_HELD", "ARM_RELEASED", "ARM_HELD", "ARM_RELEASED",
        ]  # fmt: skip
        assert [event["reason"] for event in events] == [
            "night", "gripper change", "done", "gripper change", "its end was reached",
        ]  # fmt: skip
        assert [event.get("request_id") for event in events[:3]] == [f"u/c/{one}" for one in ids]
        assert [event["by"]["user"] for event in events] == ["u"] * 4 + ["@service"]
        assert [event["prev"] for event in events] == [0, *(event["seq"] for event in events[:-1])]
        assert [event["notification"] for event in events] == [None] * 5
        assert (events[0]["change"]["item"], events[0]["change"]["before"]) == ("authority", "control")
        assert (events[2]["change"]["before"]["until"], events[2]["change"]["after"]) == (until(60), None)
        fetched = (await plant.call("r1", "GetEvents", {"after_seq": 0}))["result"]["events"]
        assert [event for event in fetched if event in events] == events
        history = (await plant.call("r1", "GetHistory"))["result"]["changes"]
        assert [entry["seq"] for entry in history] == [event["seq"] for event in reversed(events)]
        only = (await plant.call("r1", "GetHistory", {"item": "authority"}))["result"]["changes"]
        assert [(entry["method"], entry["before"], entry["after"], entry["reason"]) for entry in only] == [
            ("SetAuthority", "control", "advise", "night")
        ]

    play(tmp_path, scenario)


def test_who_may_unlock_ends_or_takes_over_the_lock_of_another(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for method, params in (("ReleaseArm", {}), ("HoldArm", {"reason": "mine now"})):
            await plant.call("r1", "HoldArm", HELD)
            assert (await plant.call("r1", method, params, user="bob"))["error"]["kind"] == "held"
            assert (await plant.call("r1", method, params, user="chief"))["ok"]
        hold = plant.session().state.hold
        assert hold is not None
        assert hold.by.user == "chief"
        assert (await plant.call("r1", SET, VALUE))["error"]["kind"] == "held"
        assert [event["by"]["user"] for event in admin(plant)] == ["u", "chief", "u", "chief"]

    clients = {"bob": {"rights": ["write"]}, "chief": {"rights": ["unlock"]}}
    play(tmp_path, scenario, clients=clients)


def test_a_lock_without_an_end_of_an_older_store_gets_the_longest(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path) as plant:
            row = json.dumps({"by": {"user": "u", "connection": "c", "proven": True}, "reason": "old", "since_us": 5})
            plant.store.batch.set_meta("hold/r1", row)
            plant.store.flush_soon()
            await plant.committed()
        async with Plant(tmp_path, locks={"longest": "90s"}) as plant:
            hold = plant.session().state.hold
            assert hold is not None
            assert 80_000_000 <= hold.until_us - START_US <= 100_000_000
            await plant.turn(100.0)
            assert plant.session().state.hold is None

    run(whole)


def test_a_lower_ceiling_counts_at_a_reload(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        session = plant.session()
        session.state.ceiling = Authority.ADVISE
        plant.service._authorities.follow_settings(session, session.file_authority)
        assert session.state.authority is session.file_authority
        assert [event["by"]["user"] for event in await told(plant)] == ["@settings"]

    async def told(plant: Plant) -> list[dict[str, Any]]:
        await plant.committed()
        return admin(plant)

    play(tmp_path, scenario)
