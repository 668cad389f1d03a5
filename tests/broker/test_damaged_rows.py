"""Rows of the store that are not what was written: told, never used; their arm is held, others are served."""

import contextlib
import sqlite3
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from broker.store.anchor import FILE as ANCHOR
from broker.store.digest import sql_digest
from broker.store.errors import StoreBrokenError
from broker.store.store import FILE
from broker.store.tables import ITEM
from tests.virtual_plant import Plant, run

SET = "SetTwistLinearSoftLimit"
SLOT = "CARTESIAN_JOYSTICK"
VALUE = {"control_mode": SLOT, "twist_linear_soft_limit": 0.25}
READ = {"control_mode": SLOT}
Scenario = Callable[[Plant], Awaitable[None]]


def alter(data: Path, *statements: str) -> None:
    """Change rows behind the back of their hashes."""
    with contextlib.closing(sqlite3.connect(data / FILE, isolation_level=None)) as connection:
        connection.create_function("replaced", 3, lambda blob, old, new: blob.replace(old.encode(), new.encode()))
        for statement in statements:
            assert connection.execute(statement).rowcount > 0, statement


def of(request_id: str) -> str:
    """The condition of the job of a request."""
    return f"instr(accepted, CAST('{request_id}' AS BLOB))"


def play_twice(data: Path, before: Scenario, statements: tuple[str, ...], after: Scenario, **options: Any) -> None:
    """A run, damage, and the run after it."""

    async def whole() -> None:
        async with Plant(data, **options) as plant:
            await before(plant)
            await plant.turn(1.0)
        alter(data, *statements)
        async with Plant(data, **options) as plant:
            await after(plant)

    run(whole)


async def change(plant: Plant) -> None:
    """A change of each arm that took effect, and one of r1 that was refused."""
    for arm in ("r1", "r2"):
        assert (await plant.call(arm, SET, VALUE, id=f"first-{arm}"))["stage"] == "applied"
    await plant.call("r1", SET, {**VALUE, "twist_linear_soft_limit": 99.0}, id="refused")


def told(plant: Plant, topic: str) -> dict[str, Any]:
    """The last document on a topic."""
    document: dict[str, Any] = [each.document for each in plant.link.published if each.topic == topic][-1]
    return document


def commands(plant: Plant) -> int:
    """How often the arm r1 was told something."""
    return plant.session().cmd_seq


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE item SET desired = x'00' WHERE arm = 'r1' AND key = 'twist_linear_soft_limit' AND mode = 2", "item"),
        (
            "UPDATE item SET desired = CAST('{\"twist_linear_soft_limit\":0.1}' AS BLOB) WHERE arm = 'r1' AND mode = 2",
            "item",
        ),
        ("UPDATE item SET reported = x'' WHERE arm = 'r1' AND key = 'gravity_vector'", "item"),
        ("UPDATE item SET hash = 6 WHERE arm = 'r1' AND key = 'gravity_vector'", "item"),
        ("UPDATE item SET arm = 'r0' WHERE arm = 'r1' AND key = 'gravity_vector'", "item"),
        ("UPDATE item SET key = CAST(x'ff' AS TEXT) WHERE arm = 'r1' AND key = 'gravity_vector'", "item"),
        ("UPDATE description SET description = x'7b' WHERE arm = 'r1'", "description"),
        ("UPDATE first_value SET value = x'7b' WHERE arm = 'r1'", "first_value"),
        ("UPDATE arm SET seq = 0 WHERE arm = 'r1'", "arm"),
        ("UPDATE arm SET arm = 'r5' WHERE arm = 'r1'", "arm"),
    ],
)
def test_an_arm_with_a_damaged_row_is_held_until_it_is_confirmed(tmp_path: Path, statement: str, named: str) -> None:
    async def after(plant: Plant) -> None:
        await plant.turn(5.0)
        presence = told(plant, "state/r1/presence")
        assert presence["state"] == "held"
        assert named in presence["why"]
        assert "ConfirmArm" in presence["why"]
        assert plant.service._counters.totals()["row_damaged"] >= 1
        assert commands(plant) == 0 or plant.session().fence == (0, 0)
        for method, params in ((SET, VALUE), ("GetKinematicSoftLimits", READ)):
            reply = await plant.call("r1", method, params)
            assert (reply["ok"], reply["error"]["kind"]) == (False, "held")
        assert (await plant.call("r2", SET, {**VALUE, "twist_linear_soft_limit": 0.2}))["stage"] == "applied"
        assert (await plant.call("r1", "ConfirmArm"))["ok"]
        await plant.turn(5.0)
        assert told(plant, "state/r1/presence")["state"] == "online"
        reply = await plant.call("r1", SET, {**VALUE, "twist_linear_soft_limit": 0.2})
        assert reply["stage"] == "applied"
        assert reply["seq"] > 1

    async def again(plant: Plant) -> None:
        await plant.turn(5.0)
        assert told(plant, "state/r1/presence")["state"] == "online"

    play_twice(tmp_path, change, (statement,), after)
    run_once(tmp_path, again)


def run_once(data: Path, scenario: Scenario, **options: Any) -> None:
    """One more run."""

    async def whole() -> None:
        async with Plant(data, **options) as plant:
            await scenario(plant)

    run(whole)


def test_an_arm_stays_held_over_restarts(tmp_path: Path) -> None:
    async def held(plant: Plant) -> None:
        await plant.turn(5.0)
        assert told(plant, "state/r1/presence")["state"] == "held"

    play_twice(tmp_path, change, ("UPDATE arm SET rev = 0 WHERE arm = 'r1'",), held)
    run_once(tmp_path, held)


def test_a_damaged_wish_is_not_written_to_an_arm_that_drifted(tmp_path: Path) -> None:
    arms = [{"id": "r1", "adapter": "simulated", "model": "gen3_7dof", "drift": "reapply"}]

    async def before(plant: Plant) -> None:
        assert (await plant.call("r1", SET, VALUE))["stage"] == "applied"

    async def after(plant: Plant) -> None:
        before = commands(plant)
        foreign = {"item": "twist_linear_soft_limit", "slot": SLOT, "value": 0.4}
        await plant.call("r1", "SimFault", {"fault": "foreign_change", **foreign})
        await plant.turn(200.0)
        assert commands(plant) == before
        assert plant.events("r1") == []

    flip = "UPDATE item SET desired = replaced(desired, '0.25', '0.05') WHERE arm = 'r1' AND mode = 2"
    play_twice(tmp_path, before, (flip,), after, arm=arms)


def test_a_repeat_of_a_damaged_request_is_answered_that_nobody_knows(tmp_path: Path) -> None:
    async def after(plant: Plant) -> None:
        before = commands(plant)
        for number in (1, 2):
            reply = await plant.call("r1", SET, VALUE, id="first-r1")
            assert (reply["ok"], reply["stage"], reply["final"]) == (False, "stored", False), number
            assert (reply["error"]["kind"], reply["error"]["retry"]) == ("outcome_unknown", "repeat")
            assert "damaged" in reply["error"]["message"]
        reply = await plant.call("r1", SET, {**VALUE, "twist_linear_soft_limit": 99.0}, id="refused")
        assert reply["error"]["kind"] == "outcome_unknown"
        assert (await plant.call("r2", SET, VALUE, id="first-r2"))["duplicate"]
        await plant.turn(5.0)
        assert commands(plant) == before
        assert plant.events("r1") == []

    statements = (
        f"UPDATE job SET reply = CAST(reply || x'00' AS BLOB) WHERE {of('first-r1')}",  # noqa: S608 - constants
        f"UPDATE job SET accepted = replaced(accepted, '{SET}', 'GetTwistLinearSoftLimit') WHERE {of('refused')}",  # noqa: S608 - constants
    )
    play_twice(tmp_path, change, statements, after)


def test_a_damaged_event_is_a_gap_that_can_be_passed(tmp_path: Path) -> None:
    async def before(plant: Plant) -> None:
        for number in range(6):
            value = {**VALUE, "twist_linear_soft_limit": 0.2 + number / 100}
            assert (await plant.call("r1", SET, value))["stage"] == "applied"

    async def after(plant: Plant) -> None:
        result = (await plant.call("r1", "GetEvents", {"after_seq": 0}))["result"]
        assert [event["seq"] for event in result["events"]] == [1, 4]
        assert result["missing"] == [{"first": 2, "last": 3}, {"first": 5, "last": 6}]
        assert (result["first_seq"], result["head_seq"], result["more"]) == (1, 6, False)
        page = (await plant.call("r1", "GetEvents", {"after_seq": 1, "limit": 1}))["result"]
        assert (page["events"], page["missing"], page["more"]) == ([], [{"first": 2, "last": 2}], True)
        history = (await plant.call("r1", "GetHistory"))["result"]
        assert [entry["rev"] for entry in history["changes"]] == [5, 2]
        assert history["missing"] == [{"first": rev, "last": rev} for rev in (7, 6, 3)]
        assert (await plant.call("r1", SET, VALUE))["seq"] == 7

    statements = (
        "UPDATE job SET ended = replaced(ended, 'applied', 'refused') WHERE arm = 'r1' AND seq = 2",
        "DELETE FROM job WHERE arm = 'r1' AND seq = 3",
        "UPDATE job SET ended = CAST(x'ff' AS BLOB) WHERE arm = 'r1' AND seq = 6",
        "UPDATE job SET accepted = replaced(accepted, '0.24', '0.04') WHERE arm = 'r1' AND rev = 6",
    )
    play_twice(tmp_path, before, statements, after)


def test_a_damaged_authority_or_lock_holds_its_arm(tmp_path: Path) -> None:
    async def before(plant: Plant) -> None:
        await plant.call("r1", "SetAuthority", {"authority": "observe"})
        await plant.call("r1", "HoldArm", {"reason": "work"})

    async def after(plant: Plant) -> None:
        await plant.turn(5.0)
        presence = told(plant, "state/r1/presence")
        assert presence["state"] == "held"
        assert "meta authority/r1, meta hold/r1" in presence["why"]
        assert told(plant, "state/r2/presence")["state"] == "online"

    play_twice(
        tmp_path, before, ("UPDATE meta SET value = ' ' || value WHERE key IN ('authority/r1', 'hold/r1')",), after
    )


@pytest.mark.parametrize(
    ("flip", "outcomes"),
    [("accepted = replaced(accepted, '0.25', '0.05')", []), ("ended = x'97'", ["damaged"]), ("arm = 'r0'", [])],
)
def test_a_damaged_change_that_waited_is_over_and_its_arm_is_held(
    tmp_path: Path, flip: str, outcomes: list[str]
) -> None:
    async def before(plant: Plant) -> None:
        await plant.call("r1", "SimFault", {"fault": "offline"})
        await plant.turn(1.0)
        assert (await plant.call("r1", SET, VALUE, id="waits"))["stage"] == "stored"

    async def after(plant: Plant) -> None:
        await plant.turn(5.0)
        assert told(plant, "state/r1/presence")["state"] == "held"
        assert (await plant.call("r1", "ConfirmArm"))["ok"]
        await plant.turn(5.0)
        assert told(plant, "state/r1/config")["pending"] == []
        assert [event["event"] for event in plant.events("r1")] == ["ARM_CONFIRMED"]
        assert (await plant.call("r1", SET, VALUE, id="waits"))["stage"] == "stored"
        history = (await plant.call("r1", "GetHistory"))["result"]["changes"]
        assert [entry["outcome"] for entry in history if entry["item"] != "arm"] == outcomes
        assert (await plant.call("r1", SET, VALUE))["stage"] == "applied"

    play_twice(tmp_path, before, (f"UPDATE job SET {flip} WHERE state = 'pending'",), after)  # noqa: S608 - constants


def test_a_value_that_is_right_and_cannot_be_used_holds_its_arm(tmp_path: Path) -> None:
    """As an older file may hold it, from before there were hashes."""

    async def after(plant: Plant) -> None:
        await plant.turn(5.0)
        presence = told(plant, "state/r1/presence")
        assert presence["state"] == "held"
        assert "item gravity_vector" in presence["why"]
        assert told(plant, "state/r2/presence")["state"] == "online"
        assert (await plant.call("r1", "ConfirmArm"))["ok"]
        await plant.turn(5.0)
        assert told(plant, "state/r1/presence")["state"] == "online"

    async def whole() -> None:
        async with Plant(tmp_path) as plant:
            await change(plant)
        with contextlib.closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as connection:
            connection.create_function("digest", -1, sql_digest)
            connection.execute("UPDATE item SET desired = x'7b' WHERE arm = 'r1' AND key = 'gravity_vector'")
            columns = ", ".join(ITEM.columns)
            connection.execute(f"UPDATE item SET hash = digest({columns})")  # noqa: S608 - constants
        async with Plant(tmp_path) as plant:
            await after(plant)

    run(whole)


def test_the_epoch_survives_either_of_its_rows(tmp_path: Path) -> None:
    async def nothing(plant: Plant) -> None:
        await plant.turn()

    async def second(plant: Plant) -> None:
        assert plant.loaded.epoch == 2
        assert plant.clock.now_us() >= plant.loaded.last_time_us > 0
        await plant.turn()

    async def third(plant: Plant) -> None:
        assert plant.loaded.epoch == 3
        await plant.turn()

    async def fourth(plant: Plant) -> None:
        assert plant.loaded.epoch == 4
        await plant.turn()

    play_twice(tmp_path, change, ("UPDATE service SET epoch = 0",), second)
    alter(tmp_path, "UPDATE meta SET value = '0' WHERE key = 'epoch'")
    run_once(tmp_path, third)
    alter(tmp_path, "UPDATE meta SET value = '0' WHERE key = 'epoch'", "UPDATE service SET epoch = 0")
    run_once(tmp_path, fourth)  # the anchor knows it, too
    alter(tmp_path, "UPDATE service SET epoch = 0")
    (tmp_path / ANCHOR).unlink()
    with pytest.raises(StoreBrokenError, match="and so is what could stand in for it: restore the store from a backup"):
        run_once(tmp_path, nothing)


def test_what_is_damaged_while_the_service_runs_is_told_within_a_day(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path) as plant:
            await change(plant)
            await plant.turn(1.0)
            alter(tmp_path, f"UPDATE job SET reply = x'00' WHERE {of('first-r1')}")  # noqa: S608 - constants
            await plant.turn(25 * 3600.0)
            limit = time.monotonic() + 60
            while not plant.service._counters.totals()["row_damaged"] and time.monotonic() < limit:
                await plant.turn(0.1)
            assert plant.service._counters.totals()["row_damaged"] == 1
            assert (await plant.call("r2", SET, {**VALUE, "twist_linear_soft_limit": 0.2}))["stage"] == "applied"

    run(whole)
