"""What keeps a change from beginning."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from broker.jobs import ChangeJob
from broker.obstacles import Obstacles
from handlers.config_items import ITEMS
from schema.arms import Slot, Verb
from schema.enums import ControlMode
from schema.envelope import Author
from schema.messages import KinematicLimits, TwistLinearSoftLimit
from tests.virtual_plant import START_US, Plant, play

MODE = ControlMode.CARTESIAN_JOYSTICK
AGE_US = 60_000_000


def job(slot: Slot = ("twist_linear_soft_limit", int(MODE)), **given: Any) -> ChangeJob:
    """A change as accepted at START_US."""
    values: dict[str, Any] = {
        "n": 1, "request_n": 1, "rev": 2, "verb": Verb.SET, "wanted": TwistLinearSoftLimit(MODE, 0.4),
        "loosening": False, "unchanged": False, "author": Author("u", "c", proven=False), "request_id": "u/c/1",
        "method": "Set", "reason": "", "at_us": START_US, **given,
    }  # fmt: skip
    return ChangeJob(slot=slot, item=ITEMS[slot[0]], **values)


@pytest.mark.parametrize(
    ("state", "given", "kind"),
    [
        ({}, {}, None),
        ({"held": "another arm"}, {}, "held"),
        ({"online": False}, {}, "arm_away"),
        ({"ready": False}, {}, "arm_not_ready"),
        ({}, {"expires": 0.5}, "expired"),
        ({}, {"expires": 99.0}, None),
        ({}, {"recovered": True}, None),
        ({}, {"recovered": True, "verb": Verb.RESET, "wanted": None}, "expired"),
        ({}, {"recovered": True, "slot": ("control_mode", 0)}, "expired"),
        ({}, {"recovered": True, "loosening": True}, None),
        ({}, {"recovered": True, "loosening": True, "at_us": START_US - AGE_US}, "expired"),
        ({}, {"recovered": True, "at_us": START_US - AGE_US}, None),
        ({}, {"loosening": True, "at_us": START_US - AGE_US}, None),
        ({}, {"reverts": 7, "wanted": TwistLinearSoftLimit(MODE, 9.0)}, "out_of_limits"),
        ({}, {"wanted": TwistLinearSoftLimit(MODE, 9.0)}, None),
    ],
)
def test_obstacles(tmp_path: Path, state: dict[str, Any], given: dict[str, Any], kind: str | None) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.turn(1.0)
        session = plant.session()
        for name, value in state.items():
            setattr(session.state, name, value)
        found = Obstacles(plant.clock, AGE_US).of(session, job(**given))
        assert (found.kind if found else None) == kind

    play(tmp_path, scenario)


def test_a_recovered_change_is_checked_against_the_arm_of_now(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        session = plant.session()
        description = session.state.description
        assert description is not None
        lower = msgspec.structs.replace(description.hard_limits, twist_linear=0.3)
        assert isinstance(lower, KinematicLimits)
        session.state.description = msgspec.structs.replace(description, hard_limits=lower)
        obstacles = Obstacles(plant.clock, AGE_US)
        assert obstacles.of(session, job()) is None
        found = obstacles.of(session, job(recovered=True))
        assert found is not None
        assert found.kind == "out_of_limits"

    play(tmp_path, scenario)
