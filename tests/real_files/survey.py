"""Runs the commands of limits over the files of robots that a package brings, beside readers that know no better."""

import importlib.metadata
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

import yaml
from typer.testing import CliRunner

from armbroker.cli.exits import Exit
from armbroker.cli.limits import app
from limits.conversion.convert import Base, LossyError, convert
from limits.conversion.formats import Format
from limits.conversion.limit_set import LimitSet, differences
from limits.conversion.reading import read_limits
from limits.formats.diagnostics import Weight

TRIPS = (Format.URDF, Format.ROS, Format.SKELETON, Format.JOINT_LIMITS)
"""Where limits go and come back from; a KinematicLimits rounds them."""
_KEYS = {"lower": "position_lower", "upper": "position_upper"}
_RANGED = frozenset({"revolute", "prismatic"})


class Survey(NamedTuple):
    """What became of the files of a package, by their names."""

    read: tuple[str, ...]
    refused: dict[str, str]
    """Files that were refused, each with the reason."""
    changed: tuple[str, ...]
    """What came out otherwise than it stands in the file, or was not told."""


def files_of(package: str) -> list[Path]:
    """The URDFs and the YAML files with joint limits of an installed package."""
    files = importlib.metadata.distribution(package).files or ()
    paths = [Path(str(file.locate())) for file in files if file.suffix in {".urdf", ".yaml", ".yml"}]
    return [path for path in paths if path.suffix == ".urdf" or b"joint_limits:" in path.read_bytes()]


def survey(package: str, folder: Path) -> Survey:
    """Show, check, convert and compare every file of a package; `folder` takes what is written."""
    read, refused, changed = [], {}, []
    for path in files_of(package):
        name = "/".join(path.parts[-2:])
        shown = CliRunner().invoke(app, ["show", str(path)])
        if shown.exit_code != Exit.OK:
            refused[name] = shown.output.strip().removeprefix(f"{path}, ").removeprefix(f"{path}: ")
            continue
        read.append(name)
        faults = (*_of_commands(path, shown.output), *_of_reading(path), *_of_trips(path), *_of_writing(path, folder))
        changed += [f"{name}: {fault}" for fault in faults]
    return Survey(tuple(read), refused, tuple(changed))


def _of_commands(path: Path, shown: str) -> Iterator[str]:
    """Check and diff end well, and tell every number that does not count, as show does."""
    checked = CliRunner().invoke(app, ["check", str(path)])
    if (checked.exit_code, checked.output.splitlines()[-1:]) != (Exit.OK, ["ok"]):
        yield f"check ends with {checked.exit_code}"
    same = CliRunner().invoke(app, ["diff", str(path), str(path)])
    if same.exit_code != Exit.OK:
        yield f"differs from itself: {same.output}"
    for note in read_limits(path.read_bytes(), file=str(path)).notes:
        if note.weight is Weight.LOSS:
            line = f"note: {path}, {note}"
            yield from (f"not told: {line}" for output in (shown, checked.output) if line not in output)


def _of_reading(path: Path) -> Iterator[str]:
    """The numbers are those that a plain reader of XML or YAML finds."""
    limits = read_limits(path.read_bytes(), file=str(path))
    plain = _plain_urdf(path) if path.suffix == ".urdf" else _plain_parameters(path)
    ours = {joint.name: joint for joint in limits.joints}
    if ours.keys() != plain.keys():
        yield f"joints {sorted(ours.keys() ^ plain.keys())}"
    for name in ours.keys() & plain.keys():
        for key, value in plain[name].items():
            if getattr(ours[name].limits, key) != value:
                yield f"{key} of {name}: {getattr(ours[name].limits, key)} for {value}"


def _plain_urdf(path: Path) -> dict[str, dict[str, float]]:
    found = {}
    text = re.sub(
        rb"(<|</|\s)([\w.-]+):(?=[\w.-]+[\s=/>])", rb"\1\2_", path.read_bytes()
    )  # prefixes that are not declared
    for joint in ET.fromstring(text).iterfind("joint"):  # noqa: S314 - a file that was read safely before
        kind, limit = joint.get("type"), joint.find("limit")
        if kind == "fixed":
            continue
        given = {} if limit is None else limit.attrib
        numbers = {_KEYS.get(key, key): float(text) for key, text in given.items() if re.fullmatch(r"[a-z]+", key)}
        if kind in _RANGED:
            numbers = {"position_lower": 0.0, "position_upper": 0.0, **numbers}
        else:
            numbers = {key: value for key, value in numbers.items() if not key.startswith("position")}
        known = ("position_lower", "position_upper", "velocity", "effort", "acceleration", "deceleration", "jerk")
        found[joint.attrib["name"]] = {key: value for key, value in numbers.items() if key in known}
    return found


def _plain_parameters(path: Path) -> dict[str, dict[str, float]]:
    found = {}
    for joint, keys in yaml.safe_load(path.read_text())["joint_limits"].items():
        flags = [key[4:-7] for key, value in keys.items() if key.startswith("has_") and value is True]
        found[joint] = {flag: float(keys[f"max_{flag}"]) for flag in flags if flag != "position"}
    return found


def _of_trips(path: Path) -> Iterator[str]:
    """What comes back from another format and is put into the file again changes not one byte of it."""
    data = path.read_bytes()
    limits = read_limits(data, file=str(path))
    if not limits.joints:
        return
    for kind in TRIPS:
        there = convert(limits, kind, lossy=True, file=str(path))
        back = read_limits(there.data, kind)
        if path.suffix != ".urdf":
            yield from _unlike(limits, back, kind)
        elif len(back.joints) == len(limits.joints) or back.named:
            home = convert(back, Format.URDF, into=Base(data, str(path)), lossy=True).data
            if home != data:
                yield f"comes back otherwise from {kind}"
        told = {(one.joint, one.key) for one in there.lost}
        wanted = {(None, "names"), *((one.joint, one.key) for one in differences(limits, back))}
        if kind is not Format.JOINT_LIMITS and not wanted - {(None, "names")} <= told:
            yield f"lost without a word in {kind}: {wanted - told}"


def _unlike(limits: LimitSet, back: LimitSet, kind: Format) -> Iterator[str]:
    for before, after in zip(limits.joints, back.joints, strict=True):
        if kind is Format.ROS and before != after:
            yield f"joint {before.name} comes back otherwise from {kind}"


def _of_writing(path: Path, folder: Path) -> Iterator[str]:
    """The command writes what the library does, or refuses and names all that would be lost."""
    target = folder / "written.yaml"
    target.unlink(missing_ok=True)
    limits = read_limits(path.read_bytes(), file=str(path))
    if not limits.joints:
        return
    try:
        expected = convert(limits, Format.ROS, file=str(path)).data
    except LossyError as error:
        refused = CliRunner().invoke(app, ["convert", str(path), str(target), "--to", "ros"])
        if (
            refused.exit_code != Exit.REFUSED
            or target.exists()
            or len(refused.output.splitlines()) != len(error.lost) + 1
        ):
            yield f"is not refused line by line: {refused.output}"
        return
    done = CliRunner().invoke(app, ["convert", str(path), str(target), "--to", "ros"])
    if done.exit_code != Exit.OK or target.read_bytes() != expected:
        yield f"convert ends with {done.exit_code}: {done.output}"
