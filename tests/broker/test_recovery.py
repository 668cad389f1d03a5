"""What a start takes from the store; the whole of it is played in tests/journey/test_restart.py."""

import sqlite3
from pathlib import Path

import msgspec

from broker.store.rows import ChangeRow, ItemRow
from broker.store.store import Store
from tests.virtual_plant import START_US, Plant, run

VALUE = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.25}


def test_counters_values_and_heads_come_back(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path) as plant:
            await plant.call("r1", "SetTwistLinearSoftLimit", VALUE)
            before = plant.session()
        async with Plant(tmp_path) as plant:
            after = plant.session()
            assert (after.state.rev, after.state.seq, after.cmd_seq) == (before.state.rev, before.state.seq, 1)
            assert after.state.desired == before.state.desired
            assert after.state.desired_rev == before.state.desired_rev
            assert after.state.last_rev == before.state.last_rev
            assert after.heads == before.heads
            assert after.state.description is not None
            assert (before.cmd_seq, after.state.description.fence) == (1, (1, 1))
            assert msgspec.structs.replace(after.state.description, fence=(0, 0)) == before.state.description
            assert after.serial == before.serial
            assert plant.events() == []

    run(whole)


def test_items_of_another_version_are_passed_over(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path):
            pass
        store = Store.open(tmp_path, lambda: START_US)
        store.load()
        store.batch.put_item(ItemRow(arm="r1", key="tool_colour", desired=b"{}", reported=b"{}"))
        change = ChangeRow(n=1, arm="r1", rev=9, verb="set", key="tool_colour", at_us=1, user="u", conn="c")
        store.batch.add_change(change)
        store.close()
        async with Plant(tmp_path) as plant:
            assert (await plant.call("r1", "SetTwistLinearSoftLimit", VALUE))["stage"] == "applied"
        rows = sqlite3.connect(tmp_path / "store.sqlite3")
        assert rows.execute("SELECT state FROM change WHERE n = 1").fetchone() == ("accepted",)
        rows.close()

    run(whole)


def test_rows_of_arms_that_were_taken_up_are_not_kept_and_those_of_others_are(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path) as plant:
            await plant.call("r2", "SetTwistLinearSoftLimit", VALUE)
        async with Plant(tmp_path, arms=("r1",)) as plant:
            loaded = plant.loaded
            assert {row.arm for row in loaded.arms} == {row.arm for row in loaded.items} == {"r2"}
            assert {arm for arm, _ in loaded.topic_heads} == {"r2"}
        async with Plant(tmp_path) as plant:
            assert plant.session("r2").state.seq == 1
            assert not plant.loaded.items

    run(whole)
