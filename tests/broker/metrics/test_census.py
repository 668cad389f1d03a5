"""Arms are counted between requests, and looked at again only where something changed."""

from pathlib import Path

from broker.metrics.census import SLICE, Census, has_drifted
from tests.virtual_plant import Plant, play


def test_arms_are_counted_in_slices(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        turns = 0

        def turn() -> None:
            nonlocal turns
            turns += 1
            plant.loop.call_soon(turn)

        plant.loop.call_soon(turn)
        count = await Census().take(plant.service.sessions.values())
        assert turns >= 2
        assert count.arms == {("online", "control"): 2 * SLICE}

    play(tmp_path, scenario, arms=[f"r{number}" for number in range(2 * SLICE)])


def test_what_changed_is_looked_at_again(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        census, session = Census(), plant.session()
        slot = next(slot for slot in session.state.desired if slot[0] == "twist_linear_soft_limit")
        assert (await census.take(plant.service.sessions.values())).drifted == 0
        value = session.state.desired[slot]
        session.state.desired[slot] = session.state.reported["control_mode", 0]
        assert has_drifted(session)
        assert (await census.take(plant.service.sessions.values())).drifted == 0, "nothing tells of it"
        session.state.rev += 1
        assert (await census.take(plant.service.sessions.values())).drifted == 1
        session.state.desired[slot] = value
        session.state.seq += 1
        assert (await census.take(plant.service.sessions.values())).drifted == 0

    play(tmp_path, scenario)


def test_an_arm_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        census = Census()
        await census.take(plant.service.sessions.values())
        await census.take([plant.session()])
        assert census._drifted.keys() == {"r1"}
        assert census.last.arms.total() == 1

    play(tmp_path, scenario)
