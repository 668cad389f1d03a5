"""The upkeep of a run."""

from pathlib import Path

from tests.virtual_plant import Plant, play

DAY_S = 24 * 3600.0
VALUE = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.25}


def test_every_hour_all_documents_are_published_again(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(1.0)
        retained = sorted(each.topic for each in plant.link.published if each.retained)
        after = len(plant.link.published)
        await plant.turn(3600.0)
        while len(plant.link.published) == after:
            await plant.turn()
        await plant.turn(1.0)
        again = {each.topic for each in plant.link.published[after:] if each.retained}
        assert again == set(retained)

    play(tmp_path, scenario)


def test_what_need_not_be_kept_is_dropped(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for _ in range(3):
            await plant.call("r1", "SetTwistLinearSoftLimit", VALUE)
        await plant.turn(8 * DAY_S)
        while (page := plant.store.events("r1", 0, 10, 10_000)).first_seq != 3:
            await plant.turn()
        assert (page.head_seq, len(page.events)) == (3, 1)

    play(tmp_path, scenario)


def test_a_start_takes_no_request_before_it_met_its_arms(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for arm in ("r1", "r2"):
            assert plant.session(arm).state.adopted

    play(tmp_path, scenario, sim={"latency_ms": 500})
