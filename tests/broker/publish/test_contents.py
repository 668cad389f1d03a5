"""What documents say of an arm: every value as in a document that is encoded whole."""

from pathlib import Path

from broker.publish.contents import differs
from schema.arms import Slot
from tests.handlers.builders import linear
from tests.virtual_plant import Plant, play

SPEEDS: Slot = ("joint_speed_soft_limits", 1)
TWIST: Slot = ("twist_linear_soft_limit", 2)


def test_slots_differ_where_the_arm_has_another_value(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        session = plant.session()
        assert differs(session) == []
        reported = session.state.reported[TWIST]
        session.state.reported[TWIST] = linear(0.123)
        assert differs(session) == ["twist_linear_soft_limit/CARTESIAN_JOYSTICK"]
        session.state.reported[TWIST] = reported
        del session.state.reported[SPEEDS]
        assert differs(session) == ["joint_speed_soft_limits/ANGULAR_JOYSTICK"]

    play(tmp_path, scenario)
