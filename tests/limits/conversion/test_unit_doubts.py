import pytest

from limits.conversion.formats import Format
from limits.conversion.limit_set import JointNumbers, LimitedJoint, LimitSet
from limits.conversion.reading import read_limits
from limits.conversion.unit_doubts import unit_doubts
from limits.formats.urdf_records import JointType


def doubted(numbers: JointNumbers, kind: JointType = JointType.REVOLUTE) -> list[str]:
    limits = LimitSet(joints=(LimitedJoint(name="j", type=kind, limits=numbers),))
    return [doubt.key for doubt in unit_doubts(limits, Format.URDF)]


@pytest.mark.parametrize(
    ("numbers", "keys"),
    [
        (JointNumbers(position_lower=-165.0, position_upper=160.0), ["position_lower", "position_upper"]),
        (JointNumbers(position_lower=0.0, position_upper=13.0), ["position_upper"]),
        (JointNumbers(position_lower=-6.2832, position_upper=9.6), []),
        (JointNumbers(position_lower=-1e9, position_upper=1e9), []),
        (JointNumbers(velocity=120.0), ["velocity"]),
        (JointNumbers(velocity=33.0), []),
        (JointNumbers(velocity=100.0), []),
        (JointNumbers(velocity=1e6), []),
    ],
)
def test_degrees_for_radians(numbers: JointNumbers, keys: list[str]) -> None:
    assert doubted(numbers) == keys
    assert doubted(numbers, JointType.CONTINUOUS) == keys
    assert doubted(numbers, JointType.PRISMATIC) == []


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ('{"jointSpeedLimits": [0.7, 1.2, 0]}', ["joint_speed_limits"]),
        ('{"joint_speed_limits": [0.7, 2.5]}', []),
        ('{"joint_speed_limits": [0, 0]}', []),
        ('{"joint_acceleration_limits": [5.2, 9.9]}', ["joint_acceleration_limits"]),
        ('{"joint_acceleration_limits": [5.2, 60]}', []),
        ('{"twist_linear": 0.3, "twist_angular": 0.6}', ["twist_angular"]),
        ('{"twist_angular": 45}', []),
    ],
)
def test_radians_for_degrees(text: str, keys: list[str]) -> None:
    doubts = unit_doubts(read_limits(text.encode(), Format.KINOVA), Format.KINOVA)
    assert [doubt.key for doubt in doubts] == keys
    assert all("radians are likely" in doubt.reason for doubt in doubts)
