import math
import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limits.errors import LimitsError
from limits.formats.urdf_records import JointType
from limits.stack.fold import fold
from limits.stack.joints import ArmJoints, Bounds
from limits.stack.law import PositionLaw, position_laws, state_bounds
from limits.stack.layer import Layer, LayerKind, Origin, Stack
from limits.stack.sources import safety_layer
from limits.tesseract.joint_safety import JointSafety
from limits.trajectory import CHECKS, Trajectory, check_trajectory
from schema.intrinsic import DynamicLimitsCheckMode

NAMES = ("a", "b")
JOINTS = ArmJoints(NAMES, (JointType.REVOLUTE, JointType.REVOLUTE))
NO_ACCELERATION = DynamicLimitsCheckMode.DYNAMIC_LIMITS_CHECK_MODE_CHECK_NONE
UNSPECIFIED = DynamicLimitsCheckMode.DYNAMIC_LIMITS_CHECK_MODE_TYPE_UNSPECIFIED


def bounds(**numbers: list[float]) -> Bounds:
    return JOINTS.bounds(JOINTS.ceilings(numbers))


ALL = bounds(
    position_lower=[-1.0, -1.0],
    position_upper=[1.0, 1.0],
    velocity=[2.0, 2.0],
    acceleration=[4.0, 4.0],
    deceleration=[8.0, 8.0],
)


def found(limits: Bounds, trajectory: Trajectory, mode: int = 1) -> list[tuple[str, int, str, float]]:
    check = check_trajectory(limits, trajectory, NAMES, mode)
    return [(one.check, one.point, one.joint, one.bound) for one in check.violations()]


def test_bounds_are_inclusive_and_a_lone_point_is_a_trajectory() -> None:
    trajectory = Trajectory.of([0.0], [[1.0, -1.0]], [[2.0, -2.0]], [[4.0, -4.0]])
    assert found(ALL, trajectory) == []


def test_every_number_beyond_its_bound_is_told_in_order() -> None:
    trajectory = Trajectory.of(
        [0.0, 10.0], [[0.0, 0.0], [1.5, -1.5]], [[3.0, 0.0], [0.0, -2.5]], [[0.0, 0.0], [0.0, 8.5]]
    )
    check = check_trajectory(ALL, trajectory, NAMES)
    assert [(one.check, one.point, one.joint, one.bound) for one in check.violations()] == [
        ("velocity", 0, "a", 2.0),
        ("position", 1, "a", 1.0),
        ("position", 1, "b", -1.0),
        ("velocity", 1, "b", -2.0),
        ("acceleration", 1, "b", 8.0),
    ]
    assert check.first is not None
    assert (check.first.time, check.first.value, check.first.excess) == (0.0, 3.0, 0.5)
    assert check.worst == check.first
    assert len(check.violations(2)) == 2


def test_the_earliest_of_equally_bad_ones_is_the_worst() -> None:
    trajectory = Trajectory.of([0.0, 10.0, 20.0], [[0.0, 1.1], [1.5, 0.0], [0.0, -1.5]])
    check = check_trajectory(ALL, trajectory, NAMES)
    assert check.worst is not None
    assert (check.worst.point, check.worst.joint, check.worst.excess) == (1, "a", 0.25)


def test_nothing_found_has_no_first_and_no_worst() -> None:
    check = check_trajectory(ALL, Trajectory.of([0.0], [[0.0, 0.0]]), NAMES)
    assert (len(check), check.first, check.worst, check.violations()) == (0, None, None, [])


def test_positions_imply_velocities_whatever_is_given() -> None:
    times, positions = [0.0, 0.1], [[0.0, 0.0], [0.25, 0.0]]
    for velocities in (None, [[0.0, 0.0], [0.0, 0.0]]):
        check = check_trajectory(ALL, Trajectory.of(times, positions, velocities), NAMES)
        (only,) = [one for one in check.violations() if one.check == "mean_velocity"]
        assert (only.point, only.joint, only.value) == (1, "a", 2.5)
        assert only.bound == pytest.approx(2.0, rel=2e-6)


def test_positions_alone_imply_accelerations() -> None:
    limits = bounds(acceleration=[4.0, 4.0])
    at = [0.0, 1.0, 2.0]
    assert found(limits, Trajectory.of(at, [[0.0, 0.0], [2.0, 0.0], [8.0, 0.0]])) == []
    assert [
        (check, point) for check, point, *_ in found(limits, Trajectory.of(at, [[0.0, 0.0], [2.0, 0.0], [8.1, 0.0]]))
    ] == [("mean_acceleration", 2)]


@pytest.mark.parametrize(
    ("velocities", "times", "expected"),
    [
        ([0.0, 1.0], 0.25, 0),  # speeding up at 4
        ([0.0, 1.0], 0.24, 1),
        ([-1.0, -2.0], 0.24, 1),
        ([1.0, 0.0], 0.125, 0),  # slowing down at 8
        ([1.0, 0.0], 0.12, 1),
        ([-1.0, 1.0], 0.25, 0),  # through 0: part of it slows down
        ([-1.0, 1.0], 0.24, 1),
    ],
)
def test_velocities_imply_accelerations(velocities: list[float], times: float, expected: int) -> None:
    limits = ALL._replace(velocity=np.full(2, np.inf))
    trajectory = Trajectory.of([0.0, times], [[0.0, 0.0]] * 2, [[v, 0.0] for v in velocities])
    assert len(check_trajectory(limits, trajectory, NAMES)) == expected


def test_an_acceleration_against_the_velocity_has_the_deceleration_as_bound() -> None:
    velocities = [[1.0, -1.0], [1.0, 0.0]]
    trajectory = Trajectory.of([0.0, 10.0], [[0.0, 0.0]] * 2, velocities, [[-8.0, -8.0], [5.0, 5.0]])
    assert found(ALL, trajectory) == [
        ("acceleration", 0, "b", -4.0),
        ("acceleration", 1, "a", 4.0),
        ("acceleration", 1, "b", 4.0),
    ]


def test_accelerations_without_velocities_have_the_larger_bound() -> None:
    trajectory = Trajectory.of([0.0], [[0.0, 0.0]], None, [[8.0, 8.5]])
    assert found(ALL, trajectory) == [("acceleration", 0, "b", 8.0)]


def test_the_mode_says_whether_accelerations_are_checked() -> None:
    trajectory = Trajectory.of([0.0], [[0.0, 2.0]], [[0.0, 3.0]], [[99.0, 0.0]])
    assert [name for name, *_ in found(ALL, trajectory, NO_ACCELERATION)] == ["position", "velocity"]
    assert [name for name, *_ in found(ALL, trajectory, UNSPECIFIED)] == ["position", "velocity", "acceleration"]
    with pytest.raises(LimitsError, match="unknown mode"):
        found(ALL, trajectory, 7)


def test_without_limits_nothing_is_wrong() -> None:
    trajectory = Trajectory.of([0.0, 1e-3], [[0.0, 0.0], [9e9, 0.0]], [[9e9, 0.0]] * 2, [[9e9, 0.0]] * 2)
    assert found(bounds(), trajectory) == []


def test_a_joint_that_may_not_move_and_a_range_with_nothing_in_it() -> None:
    still = bounds(velocity=[0.0, 1.0], position_upper=[1.0, np.inf])
    check = check_trajectory(still, Trajectory.of([0.0], [[2.0, 0.0]], [[0.1, 0.0]]), NAMES)
    assert [(one.check, one.excess) for one in check.violations()] == [("position", 1.0), ("velocity", math.inf)]
    crossed = ALL._replace(position_lower=np.array([2.0, -1.0]))
    check = check_trajectory(crossed, Trajectory.of([0.0], [[1.5, 0.0]]), NAMES)
    assert check.worst is not None
    assert (check.worst.bound, check.worst.excess) == (2.0, math.inf)


def test_numbers_that_overflow_are_beyond_every_bound() -> None:
    huge = [[-1e308, 0.0], [1e308, 0.0], [-1e308, 0.0]]
    limits = bounds(acceleration=[4.0, 4.0])
    trajectory = Trajectory.of([0.0, 1e-3, 2e-3], huge)
    (only,) = check_trajectory(limits, trajectory, NAMES).violations()
    assert (only.check, only.excess) == ("mean_acceleration", math.inf)


@pytest.mark.parametrize(
    ("build", "key", "joint"),
    [
        (lambda: Trajectory.of([], []), "times", None),
        (lambda: Trajectory.of(0.0, [[0.0]]), "times", None),
        (lambda: Trajectory.of([0.0], [0.0]), "positions", None),
        (lambda: Trajectory.of([0.0, 1.0], [[0.0]]), "positions", None),
        (lambda: Trajectory.of([0.0], [[0.0, 1.0]], [[0.0]]), "velocities", None),
        (lambda: Trajectory.of([0.0], [[0.0, math.nan]]), "positions", "1"),
        (lambda: Trajectory.of([math.inf], [[0.0]]), "times", None),
        (lambda: Trajectory.of([0.0, 0.0], [[0.0], [0.0]]), "times", None),
        (lambda: Trajectory.of([0.0, 1.0], [[0.0], [0.0, 1.0]]), "positions", None),
        (lambda: Trajectory.of([0.0], [["x"]]), "positions", None),
    ],
)
def test_what_is_no_trajectory_is_refused(build: Callable[[], object], key: str, joint: str | None) -> None:
    with pytest.raises(LimitsError) as caught:
        build()
    assert (caught.value.key, caught.value.joint) == (key, joint)


def test_joints_must_be_those_of_the_bounds() -> None:
    with pytest.raises(LimitsError, match="positions"):
        check_trajectory(ALL, Trajectory.of([0.0], [[0.0]]), NAMES)
    with pytest.raises(LimitsError, match="bounds"):
        check_trajectory(ALL, Trajectory.of([0.0], [[0.0]]), ("a",))


NUMBERS = st.floats(-3.0, 3.0)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=5))
def test_given_numbers_are_compared_as_a_plain_loop_does(rows: list[tuple[float, ...]]) -> None:
    trajectory = Trajectory.of(
        [10.0 * index for index in range(len(rows))],
        [row[:2] for row in rows],
        [row[2:4] for row in rows],
        [[3.0 * number for number in row[4:]] for row in rows],
    )
    expected = []
    for point, row in enumerate(rows):
        for name, start, low, high in (("position", 0, -1.0, 1.0), ("velocity", 2, -2.0, 2.0)):
            expected += [
                (name, point, NAMES[j], high if row[start + j] > high else low)
                for j in (0, 1)
                if not low <= row[start + j] <= high
            ]
        for j in (0, 1):
            acceleration, velocity = 3.0 * row[4 + j], row[2 + j]
            most = 8.0 if acceleration * velocity < 0 else 4.0
            if abs(acceleration) > most:
                expected.append(("acceleration", point, NAMES[j], math.copysign(most, acceleration)))
    assert found(ALL, trajectory) == expected


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=5), st.floats(0.1, 1.0))
def test_tighter_limits_never_allow_more(rows: list[tuple[float, float]], share: float) -> None:
    trajectory = Trajectory.of([0.5 * index for index in range(len(rows))], rows)
    tighter = Bounds(*(getattr(ALL, key) * share for key in ALL._fields))
    loose = {(one.check, one.point, one.joint) for one in check_trajectory(ALL, trajectory, NAMES).violations()}
    tight = {(one.check, one.point, one.joint) for one in check_trajectory(tighter, trajectory, NAMES).violations()}
    assert loose <= tight


def test_a_long_trajectory_is_checked_fast() -> None:
    times = np.arange(10_000) * 0.01
    wave = np.sin(times)[:, None] * np.full(7, 0.5)
    trajectory = Trajectory.of(times, wave, wave, wave)
    names = tuple("abcdefg")
    joints = ArmJoints(names, (JointType.REVOLUTE,) * 7)
    limits = joints.bounds(joints.ceilings({"velocity": np.full(7, 1.0), "acceleration": np.full(7, 4.0)}))
    durations = []
    for _ in range(10):
        started = time.process_time()
        assert len(check_trajectory(limits, trajectory, names)) == 0
        durations.append(time.process_time() - started)
    assert min(durations) < 0.02  # bench/limits_engine.py measures it; this only catches a change of its order


@pytest.mark.parametrize("fastest", [2.0, math.inf])
def test_velocities_keep_to_the_safety_law_at_their_positions(fastest: float) -> None:
    limits = ALL._replace(velocity=np.full(2, fastest))
    positions = [[0.0, 0.0], [0.8, 0.0], [-0.8, 0.0], [0.8, 0.0], [1.0, 0.0]]
    velocities = [[2.0, 2.0], [1.5, 2.0], [-1.5, 2.0], [-2.0, 2.0], [0.0, 2.0]]
    trajectory = Trajectory.of([0.0, 10.0, 20.0, 30.0, 40.0], positions, velocities)
    law = PositionLaw(0, -0.9, 0.9, 10.0)
    check = check_trajectory(limits, trajectory, NAMES, 2, [law])
    told = [(one.check, one.point, one.joint, one.value, round(one.bound, 9)) for one in check.violations()]
    assert told == [
        ("soft_velocity", 1, "a", 1.5, 1.0),
        ("soft_velocity", 2, "a", -1.5, -1.0),
        ("soft_velocity", 4, "a", 0.0, -1.0),
    ]
    assert check.first is not None
    assert check.first.excess == pytest.approx(0.25 if fastest == 2.0 else 0.5)
    without = Trajectory.of([0.0, 10.0], [[0.0, 0.0], [0.8, 0.0]])
    assert len(check_trajectory(limits, without, NAMES, 2, [law])) == 0


@given(st.floats(-2.0, 2.0), st.floats(-3.0, 3.0))
def test_the_law_of_trajectories_is_that_of_states(position: float, velocity: float) -> None:
    safety = JointSafety(soft_lower_limit=-0.9, soft_upper_limit=0.9, k_position=10.0, k_velocity=1.0)
    origin = Origin("test", "me", 0)
    plain = Layer(LayerKind.HARD, origin, JOINTS.ceilings({"velocity": [2.0, 2.0]}))
    effective = fold(Stack.of(JOINTS, [plain, safety_layer(JOINTS, {"b": safety}, origin)]))
    bounds, state = effective.at(None), state_bounds(effective, None, [0.0, position], [0.0, velocity])
    trajectory = Trajectory.of([0.0], [[0.0, position]], [[0.0, velocity]])
    check = check_trajectory(bounds, trajectory, NAMES, 1, position_laws(effective))
    slow = min(abs(velocity - state.velocity_min[1]), abs(velocity - state.velocity_max[1])) < 1e-5
    inside = bool(state.velocity_min[1] <= velocity <= state.velocity_max[1])
    assert slow or inside == (not any("velocity" in one.check for one in check.violations()))


def test_checks_have_different_names() -> None:
    assert len(set(CHECKS)) == len(CHECKS)
