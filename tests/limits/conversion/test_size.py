"""Work grows with the joints, not with their square."""

import time
from collections.abc import Callable

import pytest

from limits.conversion.convert import Base, convert
from limits.conversion.fitting import fit
from limits.conversion.formats import Format
from limits.conversion.layers import joints_of, layers_of
from limits.conversion.limit_set import JointNumbers, LimitedJoint, LimitSet, differences
from limits.conversion.reading import read_limits
from limits.formats.diagnostics import diagnostic_lines
from limits.stack.disagreement import disagreements
from limits.stack.fold import fold
from limits.stack.layer import Origin, Stack
from limits.tesseract.joint_safety import JointSafety

FEW, MANY = 300, 2400
SAFETY = JointSafety(soft_lower_limit=-0.9, soft_upper_limit=0.9, k_position=3.0, k_velocity=2.0)


def robot(count: int, prefix: str = "", speed: float = 1.5) -> LimitSet:
    numbers = JointNumbers(position_lower=-1.0, position_upper=1.0, velocity=speed, effort=9.0)
    joints = (LimitedJoint(name=f"{prefix}axis_{n}", limits=numbers, safety=SAFETY) for n in range(count))
    return LimitSet(joints=tuple(joints))


def check(count: int) -> None:
    """Put two files together that disagree in every velocity, one of them with a prefix."""
    left, right = robot(count), robot(count, "left_", 1.25)
    joints = joints_of(left)
    layers = [
        layer
        for limits in (left, right)
        for layer in layers_of(joints, limits, Format.URDF, Origin(str(id(limits)), "x", 0)).layers
    ]
    assert len(disagreements(Stack.of(joints, layers))) == count
    fold(Stack.of(joints, layers))


def put_in(count: int) -> None:
    base = convert(robot(count), Format.URDF).data
    written = convert(robot(count, "left_", 1.25), Format.URDF, into=Base(base)).data
    assert b'velocity="1.25"' in written


def read_parameters(count: int) -> None:
    data = convert(robot(count), Format.ROS).data.replace(b"has_velocity_limits: true", b"note: 1")
    limits = read_limits(data)
    assert len(diagnostic_lines(limits.notes)) > count


def compare(count: int) -> None:
    assert len(differences(robot(count), fit(robot(count), robot(count, "left_", 1.25)).limits)) == count


def seconds(work: Callable[[int], None], count: int) -> float:
    """CPU time, the lesser of two runs."""
    spent = []
    for _ in range(2):
        start = time.process_time()
        work(count)
        spent.append(time.process_time() - start)
    return min(spent)


@pytest.mark.parametrize("work", [check, put_in, read_parameters, compare])
def test_eight_times_the_joints_take_less_than_four_times_that_time(work: Callable[[int], None]) -> None:
    work(10)
    ratio = seconds(work, MANY) / seconds(work, FEW)
    assert ratio < 4 * MANY / FEW, ratio  # the square would be 8 times
