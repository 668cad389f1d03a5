"""What a start takes from the store; the whole of it is played in tests/journey/test_restart.py."""

from pathlib import Path

import msgspec

from broker.store.rows import ChangeRow, ItemRow
from broker.store.store import Store
from tests.stored import changes
from tests.virtual_plant import START_US, Plant, run

VALUE = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.25}


def test_counters_values_and_heads_come_back(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path) as plant:
            await plant.call("r1", "SetTwistLinearSoftLimit", VALUE)
            await plant.turn(1.0)
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
        assert changes(tmp_path / "store.sqlite3")[0].state == "accepted"

    run(whole)


def test_rows_of_arms_that_were_taken_up_are_not_kept_and_those_of_others_are(tmp_path: Path) -> None:
    async def whole() -> None:
        async with Plant(tmp_path) as plant:
            await plant.call("r2", "SetTwistLinearSoftLimit", VALUE)
        async with Plant(tmp_path, arms=("r1",)) as plant:
            loaded = plant.loaded
            assert {row.arm for row in loaded.arms} == {row.arm for row in loaded.items} == {"r2"}
            assert [msgspec.json.decode(row.heads) for row in loaded.arms] == [
                {"config/TWIST_LINEAR_SOFT_LIMIT_CHANGED": 1}
            ]
        async with Plant(tmp_path) as plant:
            assert plant.session("r2").state.seq == 1
            assert not plant.loaded.items

    run(whole)
