"""Files of limits and of a motion, read for the commands of limits."""

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from armbroker.cli.limits_options import Asked
from limits.conversion.formats import NAMELESS, Format
from limits.conversion.limit_set import LimitSet
from limits.conversion.reading import detect_format, read_limits
from limits.errors import LimitsError, naming
from limits.trajectory import Trajectory

MAX_BYTES = 16 * 1024 * 1024
"""Largest file that is read."""
_UNBOUNDED = {"min_position": "-Infinity", "max_position": "Infinity"}
"""Positions that a file has to have, and a reply leaves out where nothing limits them."""
_SPACE = b"\xef\xbb\xbf \t\r\n"
MOTION_KEYS = ("times", "positions", "velocities", "accelerations")


class Source(NamedTuple):
    """A file that was read."""

    path: Path
    data: bytes
    kind: Format
    limits: LimitSet


class _Reply(msgspec.Struct, frozen=True):
    """What of a reply tells that it is one."""

    method: str
    ok: bool
    stage: str
    result: msgspec.Raw = msgspec.Raw(b"{}")


class MotionFile(NamedTuple):
    """The names of the joints that a motion is of, if it gives them, and the motion."""

    joints: list[str] | None
    trajectory: Trajectory


def read_sources(paths: list[Path], asked: Asked) -> list[Source]:
    """The files of limits; names that were given are those of the joints of files without names.

    Raises:
        LimitsError: a file is refused, or names were given and every file has its own.
        OSError: a file cannot be read.
    """
    datas = [answered(file_bytes(path), str(path)) for path in paths]
    kinds = [asked.kind or detect_format(data, str(path)) for path, data in zip(paths, datas, strict=True)]
    names = None if asked.joints is None else asked.joints.split(",")
    if names is not None and NAMELESS.isdisjoint(kinds):
        reason = f"a file of format {kinds[0]} has names of its own"
        raise LimitsError(reason, file=str(paths[0]), key="--joints", value=names)
    sources = []
    for path, data, kind in zip(paths, datas, kinds, strict=True):
        given = names if kind in NAMELESS else None
        sources.append(Source(path, data, kind, read_limits(data, kind, file=str(path), names=given, node=asked.node)))
    return sources


def read_motion(path: Path) -> MotionFile:
    """The trajectory of a file: an object with times, positions and, if known, velocities, accelerations and joints.

    Raises:
        LimitsError: it is none, or its numbers make no sense.
        OSError: it cannot be read.
    """
    file = str(path)
    try:
        document = msgspec.json.decode(file_bytes(path), type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise LimitsError(f"is no trajectory: {error}", file=file) from error
    joints = document.pop("joints", None)
    unknown = [key for key in document if key not in MOTION_KEYS]
    missing = [key for key in MOTION_KEYS[:2] if key not in document]
    if unknown or missing:
        keys, what = (unknown, "is not known") if unknown else (missing, "is missing")
        raise LimitsError(f"is no trajectory: {what}", file=file, key=keys[0], bound=("joints", *MOTION_KEYS))
    if joints is not None and not (isinstance(joints, list) and all(isinstance(name, str) for name in joints)):
        raise LimitsError("is no list of names", file=file, key="joints", value=joints)
    with naming(file):
        return MotionFile(joints, Trajectory.of(**document))


def answered(data: bytes, file: str) -> bytes:
    """What a file holds; of a reply of the service, as `armbroker call --json` prints it, the result.

    Raises:
        LimitsError: the reply is a refusal.
    """
    if not data.lstrip(_SPACE).startswith(b"{"):
        return data
    try:
        reply = msgspec.json.decode(data, type=_Reply)
    except msgspec.MsgspecError:
        return data
    if not reply.ok:
        raise LimitsError("is a refusal of the service, there are no limits in it", file=file, value=reply.method)
    if reply.method != "GetJointLimits":
        return bytes(reply.result)
    given = msgspec.json.decode(reply.result, type=dict[str, dict[str, list[float | str]]])
    joints = max((len(each["values"]) for each in given.values()), default=0)
    return msgspec.json.encode({name: {"values": [text] * joints} for name, text in _UNBOUNDED.items()} | given)


def file_bytes(path: Path) -> bytes:
    """The content of a file.

    Raises:
        LimitsError: it is too large.
        OSError: it cannot be read.
    """
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise LimitsError("the file is too large", file=str(path), key="bytes", value=size, bound=MAX_BYTES)
    return path.read_bytes()
