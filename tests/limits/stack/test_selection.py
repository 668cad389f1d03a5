import numpy as np
import pytest

from limits.errors import LimitsError
from limits.formats.urdf_records import JointType
from limits.stack.fold import Effective, fold
from limits.stack.joints import ArmJoints
from limits.stack.layer import Layer, LayerKind, Origin, Stack
from limits.stack.selection import select
from limits.stack.sources import safety_layer
from limits.tesseract.joint_safety import JointSafety

JOINTS = ArmJoints(("r_lift", "r_turn", "r_jaw"), (JointType.REVOLUTE,) * 3)


@pytest.fixture
def effective() -> Effective:
    speeds = Layer(LayerKind.URDF, Origin("f", "x", 0), JOINTS.ceilings({"velocity": [1.1, 2.2, 3.3]}))
    safety = JointSafety(soft_lower_limit=-1.0, soft_upper_limit=0.5, k_position=4.0, k_velocity=1.0)
    return fold(Stack.of(JOINTS, [speeds, safety_layer(JOINTS, {"r_turn": safety}, Origin("f", "x", 0))]))


def test_all_joints_in_the_order_of_the_arm(effective: Effective) -> None:
    found = select(effective, None, None)
    assert (found.names, [law.joint for law in found.laws]) == (JOINTS.names, [1])
    np.testing.assert_array_equal(found.bounds.velocity, [1.1, 2.2, 3.3])


@pytest.mark.parametrize("names", [["r_jaw", "r_turn"], ["jaw", "turn"]])
def test_some_joints_in_their_own_order(effective: Effective, names: list[str]) -> None:
    found = select(effective, None, names)
    assert found.names == ("r_jaw", "r_turn")
    np.testing.assert_array_equal(found.bounds.velocity, [3.3, 2.2])
    np.testing.assert_array_equal(found.bounds.position_upper, [np.inf, 0.5])
    [law] = found.laws
    assert (law.joint, law.upper, law.k_position) == (1, 0.5, 4.0)
    assert select(effective, None, ["r_lift"]).laws == ()


def test_what_is_no_joint_of_the_arm_is_refused(effective: Effective) -> None:
    for names, reason in ((["r_turn", "wheel"], "joint wheel, joints: is no joint of"), (["r_jaw", "r_jaw"], "twice")):
        with pytest.raises(LimitsError, match=f"m.json.*{reason}"):
            select(effective, None, names, "m.json")
