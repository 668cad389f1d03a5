"""What a person reads of limits: tables and lines, in rad, m and s."""

from collections.abc import Iterable, Sequence

import msgspec

from limits.conversion.limit_set import NUMBERS, Difference, JointNumbers, LimitSet
from limits.trajectory import TrajectoryCheck, TrajectoryViolation

_HEADS = {"position_lower": "lower", "position_upper": "upper"}
MOST_VIOLATIONS = 20
"""Violations of a trajectory that are shown."""


MOST_NAMES = 8
"""Joints that one line names."""


def number(value: float | None) -> str:
    """A number with six digits; `-` for none."""
    return "-" if value is None else f"{value + 0.0:.6g}"


def two_numbers(left: float, right: float) -> tuple[str, str]:
    """Two numbers with six digits, or with all they have where they would look alike."""
    short = number(left), number(right)
    return (repr(left + 0.0), repr(right + 0.0)) if left != right and short[0] == short[1] else short


def listing(names: Iterable[str]) -> str:
    """Names with commas between them, the first ones of many."""
    given = [*names]
    more = [f"and {len(given) - MOST_NAMES} more"] if len(given) > MOST_NAMES else []
    return ", ".join([*given[:MOST_NAMES], *more])


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows in columns: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return lines


def limit_lines(limits: LimitSet) -> list[str]:
    """The limits of a set: one line a joint, and one for its soft limits and its safety controller."""
    rows = [["joint", "type", *(_HEADS.get(key, key) for key in NUMBERS)]]
    for joint in limits.joints:
        rows.append([joint.name, joint.type.value, *_cells(joint.limits)])
        if joint.control is not None:
            rows.append([f"{joint.name} (ros2_control)", "", *_cells(joint.control)])
        if joint.soft is not None:
            rows.append([f"{joint.name} (soft)", "", *_cells(joint.soft)])
    lines = table(rows)
    for joint in limits.joints:
        if joint.safety is not None:
            values = msgspec.structs.asdict(joint.safety)
            lines.append(
                f"{joint.name} safety: " + ", ".join(f"{key} {number(value)}" for key, value in values.items())
            )
    for key, unit in (("twist_linear", "m/s"), ("twist_angular", "rad/s")):
        if getattr(limits, key) is not None:
            lines.append(f"{key} {number(getattr(limits, key))} {unit}")
    if limits.mode:
        lines.append(f"of control mode {limits.mode.name}")
    return lines


def difference_line(found: Difference) -> str:
    """One difference between two files."""
    what = found.key if found.joint is None else f"{found.joint} {found.key}"
    if isinstance(found.left, float) and isinstance(found.right, float):
        left, right = two_numbers(found.left, found.right)
    else:
        left, right = (
            number(side) if isinstance(side, float) else str(side or "-") for side in (found.left, found.right)
        )
    return f"{what}: {left} -> {right}"


def violation_line(found: TrajectoryViolation) -> str:
    """One violation of a trajectory."""
    place = f"point {found.point} at {found.time:.6g} s, joint {found.joint}"
    value, bound = two_numbers(found.value, found.bound)
    return f"{place}: {found.check} {value} beyond {bound}"


def check_lines(check: TrajectoryCheck) -> list[str]:
    """The verdict on a trajectory: how many violations, the worst, and the first ones."""
    if check.worst is None:
        return [f"trajectory: {check.times.size} points are inside the limits"]
    lines = [f"trajectory: {len(check)} violations, the worst: {violation_line(check.worst)}"]
    lines += [violation_line(one) for one in check.violations(MOST_VIOLATIONS)]
    left = len(check) - MOST_VIOLATIONS
    return [*lines, f"and {left} more"] if left > 0 else lines


def _cells(numbers: JointNumbers) -> list[str]:
    return [number(getattr(numbers, key)) for key in NUMBERS]
