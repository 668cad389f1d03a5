"""Limits engine: CheckTrajectory, CheckCommand and the effective limits, each against plain Python of the same rules.

Run: python bench/limits_engine.py. Results are compared before anything is timed.
"""

import math
import timeit
from collections.abc import Callable
from functools import partial

import numpy as np

from limits.command import CommandChecker, LimiterKind, joint_values
from limits.kinova_models import MODELS
from limits.stack.fold import Effective, fold
from limits.stack.joints import QUANTITIES, Bounds
from limits.stack.law import position_laws
from limits.stack.layer import SLOTS, Layer, Origin, Stack
from limits.stack.sources import joints_of_model, kinova_layer, safety_layer, site_layer
from limits.tesseract.joint_safety import JointSafety
from limits.trajectory import Trajectory, check_trajectory

MODEL = MODELS["gen3_7dof"]
JOINTS = joints_of_model(MODEL)
POINTS = 10_000
ARMS = 1_000
DT = 0.004


def stack() -> Stack:
    """Return a stack with every kind of number: hard, five modes of soft limits, JointSafety, site caps."""
    maker, user = Origin("hard:device", "arm", 0), Origin("soft", "alice/hmi", 1)
    layers: list[Layer] = [kinova_layer(JOINTS, MODEL.hard, maker)]
    layers += [kinova_layer(JOINTS, message, user) for message in MODEL.soft_defaults.values()]
    safety = JointSafety(soft_lower_limit=-2.0, soft_upper_limit=2.0, k_position=10.0, k_velocity=5.0)
    layers.append(safety_layer(JOINTS, {"joint_2": safety, "joint_4": safety}, user))
    layers.append(site_layer(JOINTS, {"position_lower": -3.0, "position_upper": 3.0, "effort": 39.0}, maker))
    return Stack.of(JOINTS, layers)


def python_fold(whole: Stack) -> list[list[tuple[float, int]]]:
    """Return the tightest number and its layer, number by number, then the tightest over the modes."""
    ceilings = [layer.ceilings.tolist() for layer in whole.layers]
    rows = []
    for mode in SLOTS:
        row = []
        for cell in range(JOINTS.cells):
            best, binding = math.inf, -1
            for index, layer in enumerate(whole.layers):
                if layer.mode in (None, mode) and ceilings[index][cell] < best:
                    best, binding = ceilings[index][cell], index
            row.append((best, binding))
        rows.append(row)
    rows.append([min((row[cell] for row in rows), key=lambda one: one[0]) for cell in range(JOINTS.cells)])
    return rows


def python_trajectory(bounds: Bounds, lists: dict[str, list[list[float]]], times: list[float]) -> int:
    """Return the number of violations, point by point and joint by joint."""
    lower, upper, velocity = bounds.position_lower.tolist(), bounds.position_upper.tolist(), bounds.velocity.tolist()
    speeding, slowing = bounds.acceleration.tolist(), bounds.deceleration.tolist()
    positions, velocities, accelerations = lists["positions"], lists["velocities"], lists["accelerations"]
    found = 0
    for point, time in enumerate(times):
        for joint in range(len(lower)):
            x, v, a = positions[point][joint], velocities[point][joint], accelerations[point][joint]
            found += not lower[joint] <= x <= upper[joint]
            found += not abs(v) <= velocity[joint]
            found += not abs(a) <= (slowing[joint] if a * v < 0.0 else speeding[joint])
            if point:
                span, before = time - times[point - 1], velocities[point - 1][joint]
                mean = (x - positions[point - 1][joint]) / span
                found += not abs(mean) <= velocity[joint] * (1 + 1e-6)
                change = (v - before) / span
                if change * before >= 0.0 and change * v >= 0.0:
                    most = speeding[joint]
                elif change * before <= 0.0 and change * v <= 0.0:
                    most = slowing[joint]
                else:
                    most = max(speeding[joint], slowing[joint])
                found += not abs(change) <= most * (1 + 1e-6)
    return found


def python_velocity(bounds: Bounds, position: list[float], velocity: list[float], wanted: list[float]) -> list[float]:
    """Return a velocity command inside the bounds, joint by joint, as the strict range limiter does."""
    result = []
    for joint, value in enumerate(wanted):
        x, v, most = position[joint], velocity[joint], float(bounds.velocity[joint])
        low = max(-most, min((float(bounds.position_lower[joint]) - x) / DT, 0.0))
        high = min(most, max((float(bounds.position_upper[joint]) - x) / DT, 0.0))
        change = float(bounds.acceleration[joint]) * DT
        low, high = min(max(v - change, low), high), max(min(v + change, high), low)
        result.append(min(max(value, low), high))
    return result


def seconds(call: Callable[[], object], repeat: int = 50) -> float:
    """Return the time of one call while nothing else disturbs it: the best of many short runs."""
    timer = timeit.Timer(call)
    count = max(timer.autorange()[0] // 20, 1)
    return min(timer.repeat(repeat=repeat, number=count)) / count


def show(what: str, ours: float, target: float, python: float | None = None) -> None:
    """Print a time, its target and, if it was compared, how much faster it is than plain Python."""
    ratio = "" if python is None else f"  plain Python takes {python / ours:.1f} times as long"
    print(f"{what:<64} {ours * 1e6:10,.1f} us (target {target * 1e6:,.0f}){ratio}")


def bench_effective() -> Effective:
    whole = stack()
    effective = fold(whole)
    expected = python_fold(whole)
    np.testing.assert_array_equal(effective.ceilings, [[number for number, _ in row] for row in expected])
    np.testing.assert_array_equal(effective.binding, [[binding for _, binding in row] for row in expected])
    ours = seconds(lambda: [fold(whole) for _ in range(ARMS)], 3)
    plain = seconds(lambda: python_fold(whole), 5) * ARMS
    numbers = len(SLOTS) * len(QUANTITIES)
    show(f"effective, {ARMS} arms, {len(whole.layers)} layers, {numbers} rows each", ours, 1.0, plain)
    return effective


def bench_trajectory(effective: Effective) -> None:
    bounds, laws = effective.at(None), position_laws(effective)
    times = np.arange(POINTS) * 0.01
    rate = np.linspace(0.1, 0.4, len(JOINTS.names))
    phase = times[:, None] * rate
    for size, kind in ((0.9, "inside"), (2.2, "many outside")):
        arrays = {
            "positions": size * np.sin(phase),
            "velocities": size * rate * np.cos(phase),
            "accelerations": -size * rate**2 * np.sin(phase),
        }
        trajectory = Trajectory.of(times, **arrays)
        lists = {key: values.tolist() for key, values in arrays.items()}
        at = times.tolist()
        check = check_trajectory(bounds, trajectory, JOINTS.names)
        if len(check) != python_trajectory(bounds, lists, at):
            raise ValueError(len(check))
        ours = seconds(partial(check_trajectory, bounds, trajectory, JOINTS.names))
        plain = seconds(partial(python_trajectory, bounds, lists, at), 3)
        show(f"CheckTrajectory, {POINTS} x 7, {kind}, {len(check)} violations", ours, 5e-3, plain)
        guarded = seconds(partial(check_trajectory, bounds, trajectory, JOINTS.names, 0, laws))
        show(f"  and with JointSafety of {len(laws)} joints", guarded, 5e-3)


def bench_command(effective: Effective) -> None:
    checker, bounds = CommandChecker(effective), effective.at(None)
    position, velocity = [0.1] * 7, [0.05] * 7
    for kind in LimiterKind:
        for speed in (0.0501, 0.9):
            wanted = [speed] * 7
            now = joint_values({"position": position, "velocity": velocity})
            command = joint_values({"velocity": wanted})
            plain = None
            if kind is LimiterKind.RANGE:
                expected = python_velocity(bounds, position, velocity, wanted)
                limited = checker.check(kind, now, command, DT).command.velocity
                if limited is None or not np.allclose(limited, expected, rtol=1e-12):
                    raise ValueError(limited)
                plain = seconds(partial(python_velocity, bounds, position, velocity, wanted))
            ours = seconds(partial(checker.check, kind, now, command, DT))
            what = "limited" if speed > 0.5 else "passes"
            show(f"CheckCommand, {kind}, 7 joints, one velocity command, {what}", ours, 60e-6, plain)
    show("set up of the limiters of one arm and mode", seconds(lambda: CommandChecker(effective)), 1e-3)


def main() -> None:
    """Measure all three."""
    effective = bench_effective()
    bench_trajectory(effective)
    bench_command(effective)


if __name__ == "__main__":
    main()
