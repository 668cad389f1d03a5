"""Changes that wait for an idle arm: what counts as idle for long enough, and what is told meanwhile."""

from pathlib import Path

from broker.arms.arm_session import ArmSession
from broker.settle.idle import WAITS
from schema.arms import Activity
from tests.virtual_plant import Plant, play

JOYSTICK = "CARTESIAN_JOYSTICK"
IDLE_FOR_S = 2.0
NOT_YET = "it was not idle for 2 s yet"


async def change_when_idle(plant: Plant) -> int:
    """A change that waits for its arm, which is idle; its revision."""
    value = {"control_mode": JOYSTICK, "twist_linear_soft_limit": 0.25}
    reply = await plant.call("r1", "SetTwistLinearSoftLimit", value, when="idle")
    assert reply["stage"] == "stored"
    assert plant.service._settler.idle.idle_for_s == IDLE_FOR_S
    return int(reply["rev"])


def waiting(plant: Plant) -> list[int]:
    """The revisions of what waits."""
    return [job.rev for job in plant.session().parked]


def test_a_reading_before_the_arm_was_idle_for_long_enough_lets_nothing_go(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        rev = await change_when_idle(plant)
        await plant.turn(IDLE_FOR_S / 4)
        read_at_us = plant.session().state.read_at_us
        plant.service._reconciler.contact_soon(plant.session(), "a test", connect=False)
        await plant.turn(IDLE_FOR_S / 4)
        assert plant.session().state.read_at_us > read_at_us
        assert waiting(plant) == [rev]
        idle, session = plant.service._settler.idle, plant.session()
        reads: list[ArmSession] = []
        read, idle.read = idle.read, reads.append
        await plant.turn(IDLE_FOR_S)
        assert reads == [session]
        assert not idle.may_go(session)
        read(session)
        await plant.turn(0.1)
        assert waiting(plant) == []
        assert plant.events()[-1]["cause"] == "applied"

    play(tmp_path, scenario)


def test_an_arm_that_was_taken_out_of_the_settings_and_is_back_begins_to_be_idle_anew(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await change_when_idle(plant)
        idle, session = plant.service._settler.idle, plant.session()
        idle.follow_settings(IDLE_FOR_S, {})
        await plant.turn(2 * IDLE_FOR_S)
        idle.wait(session)
        await plant.turn(IDLE_FOR_S / 4)
        assert idle.why(session) == NOT_YET
        await plant.turn(IDLE_FOR_S)
        assert waiting(plant) == []

    play(tmp_path, scenario)


def test_nothing_goes_to_an_arm_that_does_something_since_it_was_read(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await change_when_idle(plant)
        idle, session = plant.service._settler.idle, plant.session()
        reads: list[ArmSession] = []
        idle.read = reads.append
        await plant.turn(IDLE_FOR_S)
        assert reads == [session]
        idle.note_read(session)
        assert idle.may_go(session)
        session.state.activity = Activity.MOVING
        assert not idle.may_go(session)
        session.state.activity = Activity.IDLE
        assert idle.may_go(session)

    play(tmp_path, scenario)


def test_a_reason_that_others_gave_stays_and_its_own_follows_the_arm(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await change_when_idle(plant)
        [job] = plant.session().parked
        assert job.why == WAITS + NOT_YET
        idle, session = plant.service._settler.idle, plant.session()
        session.state.activity = Activity.MOVING
        idle.look(session)
        assert job.why == f"{WAITS}its activity is moving"
        job.why = "the authority over r1 is observe"
        session.state.activity = Activity.FAULT
        idle.look(session)
        assert job.why == "the authority over r1 is observe"

    play(tmp_path, scenario)
