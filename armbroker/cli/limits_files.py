"""The work of the commands of limits: files in, lines and files out."""

from pathlib import Path
from typing import NamedTuple

import typer

from armbroker.cli import limits_lines as lines
from armbroker.cli.exits import Exit
from armbroker.cli.limits_options import Asked, Motion, Written
from armbroker.cli.limits_read import Source, file_bytes, read_motion, read_sources
from limits.conversion.convert import Base, LossyError, convert
from limits.conversion.fitting import Fitted, fit
from limits.conversion.layers import joints_of, layers_of
from limits.conversion.limit_set import differences
from limits.conversion.unit_doubts import unit_doubts
from limits.errors import LimitsError, naming
from limits.formats.diagnostics import Weight, diagnostic_lines
from limits.stack.disagreement import disagreements
from limits.stack.fold import Effective, fold
from limits.stack.layer import Layer, Origin, Stack
from limits.stack.selection import Selected, select
from limits.trajectory import CHECK_JOINT_ACCELERATION, Trajectory, check_trajectory
from schema.enums import ControlMode
from schema.intrinsic import DynamicLimitsCheckMode

CHECK_NONE = DynamicLimitsCheckMode.DYNAMIC_LIMITS_CHECK_MODE_CHECK_NONE


class Together(NamedTuple):
    """All files on the joints of one of them, and whether each has at least one of those."""

    effective: Effective
    fits: bool


def show(asked: Asked, files: list[Path], plot: Path | None) -> Exit:
    """Show the limits of files, and draw them together.

    Raises:
        LimitsError: a file is refused.
        OSError: a file cannot be read or written.
    """
    sources = read_sources(files, asked)
    for source in sources:
        typer.echo(f"{source.path} ({source.kind})")
        _echo(lines.limit_lines(source.limits))
        _echo_notes(source)
    if plot is not None:
        _draw(plot, select(_together(sources).effective, None, None), None)
    return Exit.OK


def check(asked: Asked, files: list[Path], motion: Motion | None, mode: str | None, plot: Path | None) -> Exit:
    """Check files of limits, and a trajectory against all of them.

    REFUSED where something is violated, or a file has no joint in common with the others.

    Raises:
        LimitsError: a file or the mode is refused.
        OSError: a file cannot be read or written.
    """
    sources = read_sources(files, asked)
    for source in sources:
        _echo_notes(source)
        doubts = [one for one in source.limits.notes if one.weight is Weight.DOUBT]
        doubts += unit_doubts(source.limits, source.kind)
        _echo([f"doubtful: {source.path}, {line}" for line in diagnostic_lines(doubts)])
    effective, fits = _together(sources)
    chosen = _mode(mode)
    empty = effective.empty_ranges(chosen)
    _echo([f"joint {name}: the files together leave no position" for name in empty])
    end = Exit.OK if fits and not empty else Exit.REFUSED
    shown, trajectory = select(effective, chosen, None), None
    if motion is not None:
        moving, trajectory = read_motion(motion.path)
        shown = select(effective, chosen, moving, str(motion.path))
        end = end if _inside(shown, trajectory, motion) else Exit.REFUSED
    if plot is not None:
        _draw(plot, shown, trajectory)
    typer.echo("ok" if end is Exit.OK else "not ok")
    return end


def convert_file(asked: Asked, file: Path, written: Written) -> Exit:
    """Write the limits of a file in another format.

    Raises:
        LimitsError: a file is refused, or something would be lost.
        OSError: a file cannot be read or written.
    """
    (source,) = read_sources([file], asked)
    base = None if written.into is None else Base(file_bytes(written.into), str(written.into))
    converted = convert(
        source.limits,
        written.kind,
        into=base,
        node=written.node,
        as_json=written.as_json,
        lossy=written.lossy,
        file=str(file),
    )
    _echo_notes(source, below=Weight.LOSS)
    _echo([f"note: {written.path}, {note}" for note in converted.notes])
    _echo([f"lost: {one}" for one in converted.lost])
    written.path.write_bytes(converted.data)
    return Exit.OK


def diff(asked: Asked, left: Path, right: Path, tolerance: float) -> Exit:
    """Show what two files say differently; REFUSED where they differ.

    Raises:
        LimitsError: a file is refused.
        OSError: a file cannot be read.
    """
    first, second = read_sources([left, right], asked)
    _echo_notes(first)
    _echo_notes(second)
    a, b = first.limits, second.limits
    if a.counted and not b.counted:
        fitted = fit(b, a, str(left))
        a = fitted.limits
        _echo(_fitting_lines(fitted, second, first))
    else:
        fitted = fit(a, b, str(right))
        b = fitted.limits
        _echo(_fitting_lines(fitted, first, second))
    found = differences(a, b, tolerance)
    _echo([lines.difference_line(one) for one in found])
    return Exit.REFUSED if found or fitted.match.nothing_fits else Exit.OK


def refusal_lines(error: LimitsError) -> list[str]:
    """What is told of a refusal: each loss has a line."""
    if not isinstance(error, LossyError):
        return [str(error)]
    place = "" if error.file is None else f"{error.file}: "
    told = [f"{place}{error.holder}: {one}" for one in error.lost]
    return [*told, "nothing was written; --lossy writes the rest"]


def _together(sources: list[Source]) -> Together:
    """The fold of all files over the joints of one of them; what does not fit or agree is shown."""
    named = [source for source in sources if source.limits.joints and not source.limits.counted]
    arm = (named or sources)[0].limits
    with naming(str((named or sources)[0].path)):
        joints = joints_of(arm)
    fixed = frozenset(name for source in sources for name in source.limits.fixed)
    layers: list[Layer] = []
    fits = True
    for source in sources:
        origin = Origin(f"{source.kind}:{source.path}", "file", 0)
        with naming(str(source.path)):
            placed = layers_of(joints, source.limits, source.kind, origin, fixed=fixed)
        layers += placed.layers
        fits = fits and not placed.match.nothing_fits
        _echo([_nothing_line(origin.source, source, joints.names)] if placed.match.nothing_fits else placed.reports)
    stack = Stack.of(joints, layers)
    _echo([f"disagree: {one}" for one in disagreements(stack)])
    return Together(fold(stack), fits)


def _nothing_line(source: str, given: Source, names: tuple[str, ...]) -> str:
    """What is told of a file that has no joint of the arm."""
    told = lines.listing(joint.name for joint in given.limits.joints)
    line = (
        f"{source}: not one of its joints ({told}) is one of the arm's ({lines.listing(names)}); nothing was compared"
    )
    return f"{line}; its joints have no names, --joints gives them some" if given.limits.counted else line


def _fitting_lines(fitted: Fitted, base: Source, other: Source) -> list[str]:
    if fitted.match.nothing_fits:
        names = tuple(joint.name for joint in base.limits.joints)
        return [_nothing_line(str(other.path), other, names)]
    renamed = fitted.match.renamed.items()
    return [f"note: {other.path}, joint {there} is compared with {name}" for name, there in renamed]


def _inside(selected: Selected, trajectory: Trajectory, motion: Motion) -> bool:
    """Show the verdict on a trajectory."""
    count, wanted = trajectory.positions.shape[1], len(selected.names)
    if count != wanted:
        known = ", ".join(selected.names)
        reason = f"has {count} joints, the limits have {wanted}: {known}; `joints` lists those it has, in their order"
        raise LimitsError(reason, file=str(motion.path), key="positions")
    check_mode = CHECK_JOINT_ACCELERATION if motion.accelerations else CHECK_NONE
    verdict = check_trajectory(selected.bounds, trajectory, selected.names, check_mode, selected.laws)
    _echo(lines.check_lines(verdict))
    return not len(verdict)


def _mode(name: str | None) -> ControlMode | None:
    if name is None:
        return None
    if name not in ControlMode.__members__:
        raise LimitsError("is no control mode", key="--mode", value=name, bound=tuple(ControlMode.__members__))
    return ControlMode[name]


def _draw(path: Path, selected: Selected, trajectory: Trajectory | None) -> None:
    from armbroker.cli.limits_plot import plot  # noqa: PLC0415 - only --plot needs it

    plot(path, selected.names, selected.bounds, trajectory)


def _echo_notes(source: Source, below: Weight | None = None) -> None:
    """Show what was read past or read otherwise, up to a weight."""
    notes = [one for one in source.limits.notes if one.weight > Weight.DOUBT and (below is None or one.weight < below)]
    _echo([f"note: {source.path}, {line}" for line in diagnostic_lines(notes)])


def _echo(texts: list[str] | tuple[str, ...]) -> None:
    for text in texts:
        typer.echo(text)
