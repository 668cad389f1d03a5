"""What the store keeps of refusals and reads: bounded, and only what the settings ask for."""

import json
from pathlib import Path
from typing import Any

from tests.stored import audited
from tests.virtual_plant import Plant, play

SET = "SetTwistLinearSoftLimit"


def entries(plant: Plant, decision: str) -> list[dict[str, Any]]:
    """The audited requests that ended so."""
    rows = map(json.loads, audited(plant.store._connection))
    return [entry for entry in rows if entry.get("decision") == decision]


async def ask(plant: Plant) -> None:
    """A refused write, a refused read, a read, a dry run and a refused dry run, by ids of their names."""
    wrong = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 99.0}
    await plant.call("r1", SET, wrong, id="write")
    await plant.call("nobody", "GetGravityVector", id="lost")
    await plant.call("r1", "GetGravityVector", id="read")
    await plant.call("r1", SET, {**wrong, "twist_linear_soft_limit": 0.2}, id="dry", dry_run=True)
    await plant.call("r1", SET, wrong, id="wrong-dry", dry_run=True)
    await plant.turn(1.0)


def test_reads_and_what_refuses_them_are_counted_not_kept(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await ask(plant)
        assert [(entry["id"], entry["kind"]) for entry in entries(plant, "refused")] == [("write", "out_of_limits")]
        assert entries(plant, "read") == entries(plant, "checked") == []
        assert plant.service._counters.totals()["request_refused"] == 3

    play(tmp_path, scenario)


def test_reads_are_audited_where_the_settings_say_so(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await ask(plant)
        assert [entry["id"] for entry in entries(plant, "refused")] == ["write", "lost", "wrong-dry"]
        assert [entry["id"] for entry in entries(plant, "read")] == ["read"]
        assert [entry["id"] for entry in entries(plant, "checked")] == ["dry"]

    play(tmp_path, scenario, audit={"reads": True})


def test_long_names_are_cut_wherever_they_are_kept_or_shown_and_stay_different_requests(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        first = await plant.call("r1", "y" * 60_000, id="x")
        assert (first["error"]["kind"], first["method"]) == ("unknown_method", "y" * 65)
        assert (await plant.call("r1", "y" * 60_000, id="x"))["duplicate"]
        other = await plant.call("r1", "y" * 60_001, id="x")
        assert other["error"]["kind"] == "id_reused"
        arm = await plant.call("r" * 60_000, SET, {}, id="z")
        assert (arm["error"]["kind"], arm["arm"]) == ("bad_arm_id", "r" * 65)
        longest = "SELECT max(length(accepted) + length(arm) + length(reply)) FROM job"
        assert plant.store._connection.execute(longest).fetchone()[0] < 2_000
        assert max(map(len, audited(plant.store._connection))) < 1_000

    play(tmp_path, scenario)


def test_integers_of_more_than_64_bits_are_refused_and_remembered(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for arm, method, params in (("r1", "ApplyConfig", {"items": 2**64}), ("@all", "PutRecipe", {"name": -(2**64)})):
            first = await plant.call(arm, method, params, id=method)
            assert first["error"]["kind"] == "malformed"
            assert (await plant.call(arm, method, params, id=method))["duplicate"]

    play(tmp_path, scenario)
