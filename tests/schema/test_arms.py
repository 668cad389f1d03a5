import pytest

from schema.arms import Description, Fault, JointInfo, Verb
from schema.messages import KinematicLimits


def test_verbs() -> None:
    assert [verb.value for verb in Verb] == ["set", "reset"]


def test_a_fault_lasts_until_none_unless_told() -> None:
    assert Fault("hang") == Fault("hang", for_ms=0, delay_ms=0, slot=None, value=None)


def test_a_description_is_frozen() -> None:
    joints = (JointInfo("joint_1", "continuous"),)
    description = Description("gen3_7dof", "S1", "2.3", joints, KinematicLimits(), "hard:device", 4.0, (1, 2))
    assert description.notes == ()
    with pytest.raises(AttributeError):
        description.serial = "S2"  # type: ignore[misc]  # what the test is about
