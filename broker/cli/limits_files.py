"""The work of the commands of limits: files in, lines and files out."""

import time
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import typer

from broker.cli import limits_lines as lines
from broker.cli.exits import Exit
from broker.cli.limits_options import Asked, Motion, Written
from broker.cli.limits_plot import plot as draw
from limits.conversion.convert import convert, detect_format, doubts, loss_text, read_limits
from limits.conversion.formats import Format
from limits.conversion.layers import joints_of, layers_of
from limits.conversion.limit_set import LimitSet, differences
from limits.errors import LimitsError
from limits.stack.disagreement import disagreements
from limits.stack.fold import Effective, fold
from limits.stack.law import position_laws
from limits.stack.layer import Layer, Origin, Stack
from limits.trajectory import CHECK_JOINT_ACCELERATION, Trajectory, check_trajectory
from schema.enums import ControlMode
from schema.intrinsic import DynamicLimitsCheckMode

MAX_BYTES = 16 * 1024 * 1024
"""Largest file that is read."""
CHECK_NONE = DynamicLimitsCheckMode.DYNAMIC_LIMITS_CHECK_MODE_CHECK_NONE


class Source(NamedTuple):
    """A file that was read."""

    path: Path
    data: bytes
    kind: Format
    limits: LimitSet


def show(asked: Asked, files: list[Path], plot: Path | None) -> Exit:
    """Show the limits of files, and draw them together.

    Raises:
        LimitsError: a file is refused.
        OSError: a file cannot be read or written.
    """
    sources = [_read(path, asked) for path in files]
    for source in sources:
        typer.echo(f"{source.path} ({source.kind})")
        _echo(lines.limit_lines(source.limits))
    if plot is not None:
        _draw(plot, _stacked(sources), None, None)
    return Exit.OK


def check(asked: Asked, files: list[Path], motion: Motion | None, mode: str | None, plot: Path | None) -> Exit:
    """Check files of limits, and a trajectory against all of them; REFUSED where something is violated.

    Raises:
        LimitsError: a file or the mode is refused.
        OSError: a file cannot be read or written.
    """
    sources = [_read(path, asked) for path in files]
    for source in sources:
        for doubt in doubts(source.data, source.kind, file=str(source.path), node=asked.node):
            typer.echo(f"doubtful: {source.path}, {doubt}")
    effective = _stacked(sources)
    chosen = _mode(mode)
    empty = effective.empty_ranges(chosen)
    _echo([f"joint {name}: the files together leave no position" for name in empty])
    end = Exit.REFUSED if empty else Exit.OK
    trajectory = None if motion is None else _trajectory(motion.path)
    if motion is not None and trajectory is not None:
        check_mode = CHECK_JOINT_ACCELERATION if motion.accelerations else CHECK_NONE
        laws = position_laws(effective)
        verdict = check_trajectory(effective.at(chosen), trajectory, effective.joints.names, check_mode, laws)
        _echo(lines.check_lines(verdict))
        end = Exit.REFUSED if len(verdict) else end
    if plot is not None:
        _draw(plot, effective, chosen, trajectory)
    typer.echo("ok" if end is Exit.OK else "not ok")
    return end


def convert_file(asked: Asked, file: Path, written: Written) -> Exit:
    """Write the limits of a file in another format.

    Raises:
        LimitsError: a file is refused, or something would be lost.
        OSError: a file cannot be read or written.
    """
    source = _read(file, asked)
    base = None if written.into is None else _bytes(written.into)
    converted = convert(
        source.limits, written.kind, into=base, node=written.node, as_json=written.as_json, lossy=written.lossy
    )
    _echo([f"lost: {loss_text(one)}" for one in converted.lost])
    written.path.write_bytes(converted.data)
    return Exit.OK


def diff(asked: Asked, left: Path, right: Path, tolerance: float) -> Exit:
    """Show what two files say differently; REFUSED where they differ.

    Raises:
        LimitsError: a file is refused.
        OSError: a file cannot be read.
    """
    first, second = (_read(path, asked).limits for path in (left, right))
    found = differences(first, second, tolerance)
    _echo([lines.difference_line(one) for one in found])
    return Exit.REFUSED if found else Exit.OK


def _read(path: Path, asked: Asked) -> Source:
    data = _bytes(path)
    kind = detect_format(data, str(path)) if asked.kind is None else asked.kind
    names = None if asked.joints is None else asked.joints.split(",")
    return Source(path, data, kind, read_limits(data, kind, file=str(path), names=names, node=asked.node))


def _bytes(path: Path) -> bytes:
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise LimitsError("the file is too large", file=str(path), key="bytes", value=size, bound=MAX_BYTES)
    return path.read_bytes()


def _stacked(sources: list[Source]) -> Effective:
    """The fold of all files over the joints of the first; what does not fit or agree is shown."""
    joints = joints_of(sources[0].limits)
    layers: list[Layer] = []
    for source in sources:
        origin = Origin(f"{source.kind}:{source.path}", "file", time.time_ns() // 1000)
        placed = layers_of(joints, source.limits, source.kind, origin)
        layers += placed.layers
        _echo(list(placed.reports))
    stack = Stack.of(joints, layers)
    _echo([f"disagree: {one}" for one in disagreements(stack)])
    return fold(stack)


def _mode(name: str | None) -> ControlMode | None:
    if name is None:
        return None
    if name not in ControlMode.__members__:
        raise LimitsError("is no control mode", key="--mode", value=name, bound=tuple(ControlMode.__members__))
    return ControlMode[name]


def _trajectory(path: Path) -> Trajectory:
    try:
        document = msgspec.json.decode(_bytes(path), type=dict[str, Any])
        return Trajectory.of(**document)
    except (msgspec.MsgspecError, TypeError) as error:
        raise LimitsError(f"is no trajectory: {error}", file=str(path)) from error


def _draw(path: Path, effective: Effective, mode: ControlMode | None, trajectory: Trajectory | None) -> None:
    draw(path, effective.joints.names, effective.at(mode), trajectory)


def _echo(texts: list[str]) -> None:
    for text in texts:
        typer.echo(text)
