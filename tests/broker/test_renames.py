"""An arm of the settings that had another name before: what was set for it binds, and everybody is told."""

from pathlib import Path
from typing import Any

import pytest

from broker.store.errors import RenameRefusedError
from tests.memory_link import BASE
from tests.virtual_plant import Plant, run

SET = "SetTwistLinearSoftLimit"
VALUE = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.25}


def arms(*settings: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"adapter": "simulated", "model": "gen3_7dof", **one} for one in settings]


async def change(plant: Plant) -> str:
    """Changes of r13 and its serial number."""
    assert (await plant.call("r13", SET, VALUE, id="first"))["stage"] == "applied"
    assert (await plant.call("r13", "SetAuthority", {"authority": "advise", "reason": "trial"}))["stage"] == "stored"
    held = await plant.call("r13", "HoldArm", {"reason": "mine"})
    assert held["stage"] == "stored"
    await plant.committed()
    return plant.session("r13").serial


def values(plant: Plant, arm: str) -> dict[str, Any]:
    """What an arm has, is to have, and had first, with revisions and who set it."""
    state, session = plant.session(arm).state, plant.session(arm)
    return {
        "desired": dict(state.desired), "reported": dict(state.reported), "first": dict(state.first),
        "by": dict(state.desired_by), "revs": dict(state.desired_rev), "rev": state.rev, "cmd_seq": session.cmd_seq,
    }  # fmt: skip


def test_what_is_known_counts_under_the_new_name(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path, arm=arms({"id": "r13"}, {"id": "s7"})) as plant:
            serial, known = await change(plant), values(plant, "r13")
            retained = dict(plant.link.retained)
        assert f"{BASE}/state/r13/config" in retained
        renamed = arms({"id": "r12", "was": "r13"}, {"id": "s7"})
        async with Plant(tmp_path, retained=retained, arm=renamed) as plant:
            session = plant.session("r12")
            assert (session.serial, session.state.distrust, session.state.online) == (serial, "", True)
            assert (session.state.authority, session.state.hold is not None) == ("advise", True)
            assert values(plant, "r12") == known
            await plant.turn(1.0)
            [told] = [event for event in plant.events("r12") if event["event"] == "ARM_RENAMED"]
            assert (told["change"]["before"], told["change"]["after"]) == ("r13", "r12")
            assert told["by"]["user"] == "@settings"
            assert (await plant.call("r12", SET, VALUE, id="first"))["error"]["kind"] == "id_reused"
            refused = await plant.call("r13", SET, VALUE)
            assert refused["error"]["kind"] == "unknown_arm"
            assert "it is called r12 now" in refused["error"]["message"]
            await plant.turn(1.0)
            assert not [topic for topic, payload in plant.link.retained.items() if "r13" in topic and payload]
            history = await plant.call("r12", "GetHistory", {})
            assert SET in {entry["method"] for entry in history["result"]["changes"]}
            await plant.committed()
        async with Plant(tmp_path, arm=arms({"id": "r12"}, {"id": "s7"})) as plant:
            assert (plant.session("r12").serial, plant.session("r12").state.distrust) == (serial, "")
            assert [event for event in plant.events("r12") if event["event"] == "ARM_RENAMED"] == []

    run(whole)


def test_a_change_that_waits_goes_over(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path / "first", arm=arms({"id": "r13"})) as plant:
            await plant.fault("r13", "hang")
            plant.send("r13", SET, VALUE, id="waits")
            await plant.document("state/r13/config", lambda document: len(document["pending"]) == 1)
            await plant.committed()
            data = plant.copy(tmp_path / "copy")
        async with Plant(data, arm=arms({"id": "r12", "was": "r13"})) as plant:
            reply = await plant.reply("waits")
            assert (reply["stage"], reply["rev"]) == ("applied", 2)
            assert [event["arm"] for event in plant.events("r12") if event["event"] != "ARM_RENAMED"] == ["r12"]

    run(whole)


def test_two_arms_that_are_known_are_refused_at_the_start(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path, arm=arms({"id": "r13"}, {"id": "r12"})) as plant:
            await change(plant)
        with pytest.raises(RenameRefusedError, match="arm r12: was = 'r13'"):
            await Plant(tmp_path, arm=arms({"id": "r12", "was": "r13"})).__aenter__()
        async with Plant(tmp_path, arm=arms({"id": "r13"}, {"id": "r12"})) as plant:
            assert plant.session("r13").state.authority == "advise"

    run(whole)
