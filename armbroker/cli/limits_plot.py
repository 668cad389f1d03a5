"""Pictures of limits and of a checked trajectory, with matplotlib (`pip install armbroker[plot]`)."""

from pathlib import Path
from typing import Any

import numpy as np

from limits.errors import LimitsError
from limits.stack.joints import Bounds
from limits.trajectory import Trajectory

ROWS: tuple[tuple[str, str, str, str], ...] = (
    ("positions", "position_lower", "position_upper", "position [rad or m]"),
    ("velocities", "velocity", "velocity", "velocity [per s]"),
    ("accelerations", "acceleration", "acceleration", "acceleration [per s²]"),
)
"""Field of a trajectory, the bounds of it, and what stands beside the picture."""


def plot(path: Path, names: tuple[str, ...], bounds: Bounds, trajectory: Trajectory | None = None) -> None:
    """Draw the bounds of each joint, and the trajectory in them, into a file of the kind its name ends in.

    Raises:
        LimitsError: matplotlib is not installed, or does not write such files.
        OSError: the file cannot be written.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra that only --plot needs
    except ImportError as error:
        raise LimitsError("needs matplotlib: pip install armbroker[plot]", key="--plot") from error
    figure = Figure(figsize=(3.0 * max(len(names), 2), 7.0), layout="constrained")
    for row, (field, low, high, label) in enumerate(ROWS):
        lower, upper = getattr(bounds, low), getattr(bounds, high)
        values = None if trajectory is None else getattr(trajectory, field)
        for joint, name in enumerate(names):
            axes = figure.add_subplot(len(ROWS), len(names), row * len(names) + joint + 1)
            ends = (float(lower[joint]) * (1.0 if row == 0 else -1.0), float(upper[joint]))
            _draw(axes, ends, trajectory, None if values is None else values[:, joint])
            if row == 0:
                axes.set_title(name)
            if joint == 0:
                axes.set_ylabel(label)
    try:
        figure.savefig(path)
    except ValueError as error:
        raise LimitsError(f"cannot be drawn: {error}", file=str(path), key="--plot") from error


def _draw(axes: Any, ends: tuple[float, float], trajectory: Trajectory | None, values: Any) -> None:
    """One quantity of one joint: its bounds as red lines, its values in blue, those outside as red dots."""
    for end in ends:
        if np.isfinite(end):
            axes.axhline(end, color="tab:red", linewidth=1.0)
    if trajectory is None or values is None:
        axes.set_xticks([])
        return
    axes.plot(trajectory.times, values, color="tab:blue", linewidth=1.0)
    outside = (values < ends[0]) | (values > ends[1])
    axes.plot(trajectory.times[outside], values[outside], ".", color="tab:red")
