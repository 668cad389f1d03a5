"""The commands `armbroker limits show|check|convert|diff`, and their help."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from armbroker.cli.exits import Exit
from armbroker.cli.limits_options import Asked, Motion, Written
from limits.conversion.formats import Format
from limits.errors import LimitsError

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Joint limits in files: URDF, parameters of ROS nodes, intrinsic JointLimits and Skeleton, Kinova's
    KinematicLimits.

    \b
    examples:
      armbroker limits show gen3.urdf
      armbroker limits check gen3.urdf joint_limits.yaml --trajectory move.json --plot move.png
      armbroker limits convert gen3.urdf joint_limits.yaml --to ros
      armbroker limits diff gen3.urdf joint_limits.yaml

    Exit codes: 0 ok, 1 refused, different or violated, 2 usage.
    """,
)

Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files with limits, of one arm.")]
From = Annotated[Format | None, typer.Option("--from", help="Format of the files; told by the content if it can be.")]
Node = Annotated[str | None, typer.Option(help="Node whose ROS parameters are read.")]
Joints = Annotated[str | None, typer.Option(metavar="A,B,...", help="Names of the joints, for formats without names.")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the limits (and trajectory); needs [plot].")]


@app.command(
    short_help="Show the limits of files: armbroker limits show gen3.urdf",
    help="""Show the limits of files, in rad, m and s; - is unlimited.

    \b
    examples:
      armbroker limits show gen3.urdf
      armbroker limits show limits.pb --from joint_limits --joints j1,j2,j3 --plot limits.png
    """,
)
def show(files: Files, kind: From = None, node: Node = None, joints: Joints = None, plot: Plot = None) -> None:
    """Read and show."""
    _end(lambda work: work.show(Asked(kind, node, joints), files, plot))


@app.command(
    short_help="Check limits, and a trajectory against them: armbroker limits check gen3.urdf --trajectory move.json",
    help="""Check files of limits: each by itself, then against the others (joints that do not fit, numbers that
    disagree), then all together, the tightest counts; a file that has no joint of the arm is an error. The arm's joints
    are those of the first file that names its own. With --trajectory, check one against them: a JSON object with
    times [s], positions and, if known, velocities and accelerations, a list of joints for each time, and, if it is of
    some joints only, their names as joints.

    \b
    examples:
      armbroker limits check gen3.urdf joint_limits.yaml
      armbroker limits check gen3.urdf --trajectory move.json --no-accelerations
    """,
)
def check(
    files: Files,
    kind: From = None,
    node: Node = None,
    joints: Joints = None,
    trajectory: Annotated[Path | None, typer.Option(metavar="FILE", help="Trajectory, JSON.")] = None,
    accelerations: Annotated[bool, typer.Option(help="Check accelerations too.")] = True,
    mode: Annotated[str | None, typer.Option(help="Control mode; the tightest of all without.")] = None,
    plot: Plot = None,
) -> None:
    """Read, compare, check."""
    motion = None if trajectory is None else Motion(trajectory, accelerations)
    _end(lambda work: work.check(Asked(kind, node, joints), files, motion, mode, plot))


@app.command(
    name="convert",
    short_help="Write limits in another format: armbroker limits convert gen3.urdf limits.yaml --to ros",
    help="""Write the limits of FILE in another format. What that format cannot hold is named and the conversion
    refused, unless --lossy. With --into, a URDF or Skeleton gets the limits that FILE gives and stays as it is
    otherwise; without, links are made up for it.

    \b
    examples:
      armbroker limits convert gen3.urdf limits.yaml --to ros --lossy
      armbroker limits convert limits.yaml new.urdf --to urdf --into gen3.urdf
      armbroker limits convert arm.json limits.pb --to joint_limits
    """,
)
def convert_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File with limits.")],
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="File to write.")],
    to: Annotated[Format, typer.Option(help="Format to write.")],
    kind: From = None,
    node: Node = None,
    to_node: Annotated[
        str | None, typer.Option(help="Node under which ROS parameters are written; that of --node, else any.")
    ] = None,
    joints: Joints = None,
    into: Annotated[Path | None, typer.Option(metavar="FILE", help="URDF or Skeleton to put the limits into.")] = None,
    binary: Annotated[bool, typer.Option("--binary", help="JointLimits and Skeleton as protobuf, not JSON.")] = False,
    lossy: Annotated[bool, typer.Option("--lossy", help="Write although something is lost.")] = False,
) -> None:
    """Read, convert, write."""
    asked = Asked(kind, node, joints)
    written = Written(target, to, into, to_node or node, as_json=not binary, lossy=lossy)
    _end(lambda work: work.convert_file(asked, file, written))


@app.command(
    short_help="Show how two files differ: armbroker limits diff gen3.urdf limits.yaml",
    help="""Show what two files say differently, number by number; exit code 1 if they differ.

    \b
    examples:
      armbroker limits diff gen3.urdf limits.yaml
      armbroker limits diff old.json new.json --tolerance 1e-6
    """,
)
def diff(
    left: Annotated[Path, typer.Argument(metavar="LEFT")],
    right: Annotated[Path, typer.Argument(metavar="RIGHT")],
    kind: From = None,
    node: Node = None,
    joints: Joints = None,
    tolerance: Annotated[float, typer.Option(min=0.0, help="Relative difference that counts as none.")] = 0.0,
) -> None:
    """Read both, compare."""
    _end(lambda work: work.diff(Asked(kind, node, joints), left, right, tolerance))


def _end(run: Callable[[ModuleType], Exit]) -> None:
    """Run a command; what is refused is told on stderr."""
    from armbroker.cli import limits_files as work  # noqa: PLC0415 - numpy and the engine, only for these commands

    try:
        code = run(work)
    except LimitsError as error:
        for line in work.refusal_lines(error):
            typer.echo(line, err=True)
        code = Exit.REFUSED
    except OSError as error:
        if error.filename is None:
            raise  # a closed pipe, which typer ends quietly
        typer.echo(f"{error.filename}: {error.strerror}", err=True)
        code = Exit.USAGE
    raise typer.Exit(code)
