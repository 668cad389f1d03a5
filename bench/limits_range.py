"""Range limiter (strict): numpy over n joints against plain Python per joint and a straightforward C++ loop.

Run: python bench/limits_range.py. The C++ loop is compiled with g++ -O2 where g++ is present. All three give the
same commands, which is checked before anything is timed.
"""

import ctypes
import shutil
import subprocess
import tempfile
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from limits.ros2.arrays import INTERFACES, Floats, JointValues
from limits.ros2.helpers import STATE_TOLERANCE
from limits.ros2.limiters import joint_range_limiter
from limits.ros2.records import JointLimits

DT = 0.004
SOURCE = Path(__file__).with_suffix(".cpp")
LIMITS = JointLimits(
    has_position_limits=True,
    min_position=-3.0,
    max_position=3.0,
    has_velocity_limits=True,
    max_velocity=2.0,
    has_acceleration_limits=True,
    max_acceleration=10.0,
    has_deceleration_limits=True,
    max_deceleration=12.0,
    has_jerk_limits=True,
    max_jerk=100.0,
    has_effort_limits=True,
    max_effort=50.0,
)


@dataclass(frozen=True)
class Case:
    """States and commands of n joints, about a tenth of which need limiting."""

    position: Floats
    velocity: Floats
    command: dict[str, Floats]

    @classmethod
    def of(cls, joints: int) -> "Case":
        """Return a case of so many joints, always the same."""
        rng = np.random.default_rng(7)
        position, velocity = rng.uniform(-2.9, 2.9, joints), rng.uniform(-0.5, 0.5, joints)
        return cls(
            position,
            velocity,
            {
                "position": position + rng.uniform(-0.0024, 0.0024, joints),
                "velocity": velocity + rng.uniform(-0.044, 0.044, joints),
                "effort": rng.uniform(-55.0, 55.0, joints),
                "acceleration": rng.uniform(-11.0, 11.0, joints),
                "jerk": rng.uniform(-110.0, 110.0, joints),
            },
        )


def between(wanted: float, lower: float, upper: float) -> float:
    return min(max(wanted, lower), upper)


def python_joint(hard: JointLimits, position: float, velocity: float, command: list[float]) -> list[float]:
    """Limit one joint by the same rules; nothing is remembered yet, so states are the references."""
    if position < hard.min_position - STATE_TOLERANCE or position > hard.max_position + STATE_TOLERANCE:
        raise ValueError(position)
    start = between(position, hard.min_position, hard.max_position)
    step = min(hard.max_velocity, abs(velocity) + hard.max_acceleration * DT) * DT
    low, high = max(hard.min_position, start - step), min(hard.max_position, start + step)
    least = max(-hard.max_velocity, min((hard.min_position - position) / DT, 0.0))
    most = min(hard.max_velocity, max((hard.max_position - position) / DT, 0.0))
    change = hard.max_acceleration * DT
    slow, fast = between(velocity - change, least, most), between(velocity + change, least, most)
    no_negative = (position <= hard.min_position and velocity <= 0.0) or velocity < -hard.max_velocity
    no_positive = (position >= hard.max_position and velocity >= 0.0) or velocity > hard.max_velocity
    against = command[3] * velocity < 0.0
    acceleration = hard.max_deceleration if against else hard.max_acceleration
    return [
        between(command[0], low, high),
        between(command[1], slow, fast),
        between(command[2], 0.0 if no_negative else -hard.max_effort, 0.0 if no_positive else hard.max_effort),
        between(command[3], -acceleration, acceleration),
        between(command[4], -hard.max_jerk, hard.max_jerk),
    ]


def python_loop(case: Case) -> Callable[[], list[list[float]]]:
    """Return the per-joint Python loop over lists."""
    rows = np.stack([case.command[name] for name in INTERFACES], axis=1).tolist()
    states = list(zip(case.position.tolist(), case.velocity.tolist(), rows, strict=True))
    return lambda: [python_joint(LIMITS, *state) for state in states]


def numpy_call(case: Case, interfaces: tuple[str, ...] = INTERFACES) -> Callable[[], JointValues]:
    """Return one call of our limiter, from an empty memory."""
    limiter = joint_range_limiter([LIMITS] * len(case.position))
    state = JointValues(position=case.position, velocity=case.velocity)
    command = JointValues(**{name: case.command[name] for name in interfaces})

    def call() -> JointValues:
        limiter.reset()
        return limiter.enforce(state, command, DT).desired

    return call


def cpp_loop(case: Case, library: ctypes.CDLL) -> Callable[[], Floats]:
    """Return one call of the C++ loop, from an empty memory."""
    joints = len(case.position)
    hard = LIMITS
    row = [hard.min_position, hard.max_position, hard.max_velocity, hard.max_acceleration]
    limits = np.tile([*row, hard.max_deceleration, hard.max_effort, hard.max_jerk], (joints, 1))
    given = np.stack([case.command[name] for name in INTERFACES], axis=1)
    command, last = given.copy(), np.full_like(given, np.nan)
    reasons = np.zeros((joints, len(INTERFACES)), dtype=np.uint8)
    arrays = (limits, case.position, case.velocity, last, command, reasons)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]

    def call() -> Floats:
        np.copyto(command, given)
        last.fill(np.nan)
        refused = library.limit_joints(joints, *pointers, ctypes.c_double(STATE_TOLERANCE), ctypes.c_double(DT))
        if refused >= 0:
            raise ValueError(refused)
        return command

    return call


def compiled(folder: str) -> ctypes.CDLL | None:
    """Compile the C++ loop; None without a compiler."""
    compiler = shutil.which("g++")
    if compiler is None:
        return None
    target = Path(folder) / "limits_range.so"
    subprocess.run(
        [compiler, "-O2", "-std=c++17", "-ffp-contract=off", "-shared", "-fPIC", "-o", target, SOURCE], check=True
    )
    return ctypes.CDLL(str(target))


def seconds(call: Callable[[], object]) -> float:
    """Return the time of one call while nothing else disturbs it: the best of many short runs."""
    timer = timeit.Timer(call)
    count = max(timer.autorange()[0] // 20, 1)
    return min(timer.repeat(repeat=100, number=count)) / count


def compare(joints: int, library: ctypes.CDLL | None) -> None:
    """Check that all give the same commands, then print their times and ratios."""
    case = Case.of(joints)
    ours, python = numpy_call(case), python_loop(case)
    desired = ours()
    expected = np.stack([getattr(desired, name) for name in INTERFACES], axis=1)
    np.testing.assert_allclose(python(), expected, rtol=1e-12, atol=1e-12)
    base = seconds(ours)
    print(f"{joints} joints x {len(INTERFACES)} quantities: limits/ros2 {base * 1e6:.1f} us a call")
    loop = seconds(python)
    print(f"  plain Python per joint  {loop * 1e6:10.1f} us  ours is {loop / base:.1f} times as fast")
    if library is None:
        print("  C++ loop                not compared: no g++ here")
        return
    cpp = cpp_loop(case, library)
    np.testing.assert_allclose(cpp(), expected, rtol=1e-12, atol=1e-12)
    fast = seconds(cpp)
    print(f"  C++ loop, g++ -O2       {fast * 1e6:10.1f} us  ours takes {base / fast:.1f} times as long")


def main() -> None:
    """Compare for one arm, a cell, a plant."""
    with tempfile.TemporaryDirectory() as folder:
        library = compiled(folder)
        for joints in (7, 100, 10_000):
            compare(joints, library)
    for interface in INTERFACES:
        one = seconds(numpy_call(Case.of(7), (interface,)))
        print(f"7 joints, one command of {interface}: {one * 1e6:.1f} us")


if __name__ == "__main__":
    main()
