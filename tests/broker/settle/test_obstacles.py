"""What keeps a change from beginning."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from broker.arms.arm_session import is_clear
from broker.arms.jobs import ChangeJob
from broker.life import Origin
from broker.settle.idle import IdleWatch
from broker.settle.obstacles import End, Obstacle, Obstacles
from broker.settle.rights.policing import Policing
from broker.store.rows import Terms
from broker.timers import Timers
from handlers.state.arm_state import Hold
from schema.arms import Authority, Slot, Verb
from schema.enums import ControlMode
from schema.envelope import Author
from schema.intrinsic import JointLimits
from schema.items import ITEMS
from schema.messages import KinematicLimits, TwistLinearSoftLimit
from tests.virtual_plant import START_US, Plant, play

MODE = ControlMode.CARTESIAN_JOYSTICK
SLOT = ("twist_linear_soft_limit", int(MODE))
AGE_US = 60_000_000


def job(slot: Slot = SLOT, **given: Any) -> ChangeJob:
    """A change as accepted at START_US."""
    values: dict[str, Any] = {
        "n": 1, "request_n": 1, "rev": 2, "verb": Verb.SET, "wanted": TwistLinearSoftLimit(MODE, 0.4),
        "loosening": False, "unchanged": False, "author": Author("u", "c", proven=False), "request_id": "u/c/1",
        "method": "Set", "reason": "", "at_us": START_US, **given,
    }  # fmt: skip
    return ChangeJob(slot=slot, item=ITEMS[slot[0]], **values)


def told(obstacle: Obstacle | None) -> str:
    """An obstacle in words."""
    if obstacle is None:
        return "begins"
    if isinstance(obstacle, End):
        return f"{obstacle.cause} {obstacle.error.kind}"
    return "held" if obstacle.held else f"waits: {obstacle.why}: {', '.join(one.name for one in obstacle.warnings)}"


def obstacles_of(plant: Plant) -> Obstacles:
    """What looks at changes of a plant."""
    idle = IdleWatch(Timers(plant.loop), plant.service._documents, plant.clock.monotonic, 2.0)
    return Obstacles(plant.clock, AGE_US, Policing(plant.clock), idle)


RESET = {"verb": Verb.RESET, "wanted": None}
MODE_SLOT = ("control_mode", 0)
OLD = {"loosening": True, "at_us": START_US - AGE_US, "wanted": TwistLinearSoftLimit(MODE, 0.5)}
IDLE = {"terms": Terms(when_idle=True), "expires": 99.0}
LOOSER = {"reported": TwistLinearSoftLimit(MODE, 0.2)}
HOLD = Hold(Author("ann", "hmi", proven=True), "service", START_US)


@pytest.mark.parametrize(
    ("state", "given", "expected"),
    [
        ({}, {}, "begins"),
        ({"distrust": "another arm"}, {}, "waits: r1 is held: another arm: DEVICE_NOT_READY"),
        ({"distrust": "another arm"}, RESET, "refused held"),
        ({"online": False}, {}, "waits: r1 is not connected: DEVICE_DISCONNECTED"),
        ({"online": False}, RESET, "refused arm_away"),
        ({"online": False}, {"slot": MODE_SLOT}, "refused arm_away"),
        ({"online": False}, {"slot": ("joint_limits", 0), "wanted": JointLimits()}, "begins"),
        (
            {"distrust": "x"},
            {"slot": ("joint_limits", 0), "wanted": JointLimits()},
            "waits: r1 is held: x: DEVICE_NOT_READY",
        ),
        ({"ready": False}, {}, "waits: r1 takes no change now: DEVICE_NOT_READY"),
        ({"ready": False}, RESET, "refused arm_not_ready"),
        ({"authority": Authority.OBSERVE}, {}, "waits: the authority over r1 is observe: DEVICE_NOT_READY"),
        ({"authority": Authority.OBSERVE}, RESET, "refused held"),
        ({"hold": HOLD}, RESET, "refused held"),
        ({"hold": HOLD}, {"author": Author("ann", "c", proven=True)}, "begins"),
        ({"online": False}, {"expires": 0.5}, "expired expired"),
        ({}, {"expires": 99.0}, "begins"),
        ({}, {"origin": Origin.FOUND}, "begins"),
        ({}, {"origin": Origin.FOUND, **RESET}, "expired expired"),
        ({}, {"origin": Origin.FOUND, "slot": MODE_SLOT}, "expired expired"),
        (LOOSER, {"origin": Origin.WAITED}, "begins"),
        (LOOSER, {"origin": Origin.WAITED, **OLD}, "held"),
        (LOOSER, {"origin": Origin.WAITED, "confirmed": True, **OLD}, "begins"),
        (LOOSER, {"origin": Origin.WAITED, "since": -AGE_US / 1e6}, "held"),
        (LOOSER, {"origin": Origin.FOUND, "since": -AGE_US / 1e6}, "begins"),
        (LOOSER, {"origin": Origin.FOUND, **OLD}, "held"),
        (LOOSER, {"origin": Origin.WAITED, "unchanged": True, **OLD}, "begins"),
        ({}, {"origin": Origin.WAITED, "at_us": START_US - AGE_US}, "begins"),
        (LOOSER, OLD, "begins"),
        ({}, IDLE, "waits: waits for idle: it was not idle for 2 s yet: WAITS_FOR_IDLE"),
        ({"idle_modes": {4}}, IDLE, "waits: waits for idle: mode is IDLE: WAITS_FOR_IDLE"),
        (
            {"online": False},
            IDLE,
            "waits: waits for idle: r1 is not connected: WAITS_FOR_IDLE, DEVICE_DISCONNECTED",
        ),
        ({}, {**IDLE, "confirmed": True}, "begins"),
        (
            LOOSER,
            {"origin": Origin.WAITED, **OLD, **IDLE},
            "waits: waits for idle: it was not idle for 2 s yet: WAITS_FOR_IDLE",
        ),
        ({}, {**IDLE, "expires": 0.5}, "expired expired"),
        ({}, {"reverts": 7, "wanted": TwistLinearSoftLimit(MODE, 9.0)}, "refused out_of_limits"),
        ({}, {"wanted": TwistLinearSoftLimit(MODE, 9.0)}, "begins"),
    ],
)
def test_obstacles(tmp_path: Path, state: dict[str, Any], given: dict[str, Any], expected: str) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(1.0)
        session = plant.session()
        for name, value in state.items():
            if name == "reported":
                session.state.reported[SLOT] = value
            else:
                setattr(session.state, name, value)
        assert told(obstacles_of(plant).of(session, job(**given))) == expected
        assert expected == "begins" or not is_clear(session, job(**given))

    play(tmp_path, scenario)


def test_nothing_stands_in_the_way_of_what_is_new_to_an_arm_that_is_ready(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(1.0)
        session = plant.session()
        assert is_clear(session, job())
        session.state.ready = False
        assert not is_clear(session, job())

    play(tmp_path, scenario)


def test_a_recovered_change_is_checked_against_the_arm_of_now(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        session = plant.session()
        description = session.state.description
        assert description is not None
        lower = msgspec.structs.replace(description.hard_limits, twist_linear=0.3)
        assert isinstance(lower, KinematicLimits)
        session.state.description = msgspec.structs.replace(description, hard_limits=lower)
        obstacles = obstacles_of(plant)
        assert obstacles.of(session, job()) is None
        found = obstacles.of(session, job(origin=Origin.WAITED))
        assert told(found) == "refused out_of_limits"

    play(tmp_path, scenario)


def test_an_age_that_cannot_be_known_counts_as_old(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        session = plant.session()
        session.state.reported[SLOT] = TwistLinearSoftLimit(MODE, 0.2)
        found = job(origin=Origin.FOUND)
        obstacles = obstacles_of(plant)
        assert told(obstacles.of(session, found)) == "begins"
        plant.clock.not_before(plant.clock.now_us() + 1)
        assert told(obstacles.of(session, found)) == "held"
        assert told(obstacles.of(session, job(origin=Origin.WAITED))) == "begins"

    play(tmp_path, scenario)
