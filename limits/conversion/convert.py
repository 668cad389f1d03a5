"""Reading, writing and converting limits between the formats; what a format cannot hold is named, and refused."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from limits.conversion.formats import Format
from limits.conversion.limit_set import Difference, LimitSet, counted_names, differences
from limits.conversion.ros import ANY_NODE, limits_from_ros, limits_to_ros
from limits.conversion.skeleton import limits_from_skeleton, limits_to_skeleton
from limits.conversion.text import utf8_text
from limits.conversion.urdf import limits_from_urdf, limits_to_urdf
from limits.conversion.vectors import limits_from_kinova, limits_from_vectors, limits_to_kinova, limits_to_vectors
from limits.errors import LimitsError
from limits.formats.intrinsic_files import read_skeleton
from limits.formats.urdf import read_urdf
from limits.formats.urdf_checks import Diagnostic, diagnose
from limits.ros2.parameters import joint_names, load_joint_limits
from limits.ros2.store import ParameterStore

NAMELESS = frozenset({Format.JOINT_LIMITS, Format.KINOVA})
"""Formats whose joints have no names."""
ROUNDING = 1e-6
"""Relative difference that the float32 degrees of a KinematicLimits make; it is no loss."""

_JSON_KEYS: dict[Format, frozenset[str]] = {
    Format.SKELETON: frozenset({"links", "joints"}),
    Format.JOINT_LIMITS: frozenset(
        f"{end}{dash}{kind}"
        for end, kinds in (("min", ("position",)), ("max", ("position", "velocity", "acceleration", "jerk", "effort")))
        for name in kinds
        for dash, kind in (("_", name), ("", name.capitalize()))
    ),
    Format.KINOVA: frozenset(
        {"control_mode", "twist_linear", "twist_angular", "joint_speed_limits", "joint_acceleration_limits"}
    ),
}


class Converted(NamedTuple):
    """A file, and what it does not hold of the limits that were to be written."""

    data: bytes
    lost: tuple[Difference, ...]


def detect_format(data: bytes, file: str | None = None) -> Format:
    """The format of a file by its content; binary files do not tell.

    Raises:
        LimitsError: it cannot be told.
    """
    start = b"" if b"\0" in data else data.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"<"):
        return Format.URDF
    if start.startswith(b"{"):
        keys = _keys(data)
        found = [name for name, known in _JSON_KEYS.items() if keys & known]
        if len(found) == 1:
            return found[0]
    if b"joint_limits" in start:
        return Format.ROS
    raise LimitsError("the format cannot be told from the content; name it", file=file, bound=tuple(map(str, Format)))


def read_limits(
    data: bytes,
    kind: Format | None = None,
    *,
    file: str | None = None,
    names: Sequence[str] | None = None,
    node: str | None = None,
) -> LimitSet:
    """The limits of a file; `names` of the joints for formats without names, `node` for files of ROS parameters.

    Raises:
        LimitsError: the format cannot be told, or its reader refuses the file; names where the file has its own.
    """
    chosen = detect_format(data, file) if kind is None else kind
    if names is not None and chosen not in NAMELESS:
        raise LimitsError(f"a file of format {chosen} has names of its own", file=file, key="names", value=list(names))
    match chosen:
        case Format.URDF:
            return limits_from_urdf(data, file)
        case Format.ROS:
            return limits_from_ros(data, node, file)
        case Format.SKELETON:
            return limits_from_skeleton(data, file)
        case Format.JOINT_LIMITS:
            return limits_from_vectors(data, names, file)
        case _:
            return limits_from_kinova(data, names, file)


def convert(
    limits: LimitSet,
    kind: Format,
    *,
    into: bytes | None = None,
    node: str | None = None,
    as_json: bool = False,
    lossy: bool = False,
) -> Converted:
    """Write limits in a format: into an existing URDF or Skeleton, or as a new file.

    Lost is what reading the file back does not give: so nothing is lost unnoticed, whatever the format. What stays of
    `into` because the limits do not say it is no loss.

    Raises:
        LimitsError: something is lost and `lossy` is not set, naming all of it; or the format refuses the limits.
    """
    if into is not None and kind not in {Format.URDF, Format.SKELETON}:
        raise LimitsError(f"a file of format {kind} has nothing but limits to be put into", key="into")
    written = _written(limits, kind, into, node, as_json=as_json)
    lost = losses(limits, written, kind)
    if into is not None:
        lost = tuple(one for one in lost if one.left is not None)
    if lost and not lossy:
        raise LimitsError(f"{kind} cannot hold: {'; '.join(map(loss_text, lost))}", key="lossy", value=len(lost))
    return Converted(written, lost)


def losses(limits: LimitSet, written: bytes, kind: Format) -> tuple[Difference, ...]:
    """What a written file does not give back; joints it has beyond these limits do not count."""
    names = [joint.name for joint in limits.joints]
    back = read_limits(written, kind, names=names if kind in NAMELESS else None)
    wanted = set(names)
    back = msgspec.structs.replace(back, joints=tuple(joint for joint in back.joints if joint.name in wanted))
    lost = differences(limits, back, ROUNDING if kind is Format.KINOVA else 0.0)
    if kind in NAMELESS and limits.named and tuple(names) != counted_names(len(names)):
        lost = (Difference(None, "names", ", ".join(names), None), *lost)
    return lost


def loss_text(lost: Difference) -> str:
    """One loss in words."""
    what = lost.key if lost.joint is None else f"{lost.key} of joint {lost.joint}"
    return f"{what} ({lost.left})" if lost.right is None else f"{what} ({lost.left} becomes {lost.right})"


def _written(limits: LimitSet, kind: Format, into: bytes | None, node: str | None, *, as_json: bool) -> bytes:
    match kind:
        case Format.URDF:
            return limits_to_urdf(limits, into)
        case Format.ROS:
            return limits_to_ros(limits, node or ANY_NODE)
        case Format.SKELETON:
            return limits_to_skeleton(limits, into, as_json=as_json)
        case Format.JOINT_LIMITS:
            return limits_to_vectors(limits, as_json=as_json)
        case _:
            return limits_to_kinova(limits)


def _keys(data: bytes) -> set[str]:
    """The keys of a JSON object; none where it is none."""
    try:
        document = msgspec.json.decode(data)
    except msgspec.DecodeError:
        return set()
    return set(document)


def doubts(data: bytes, kind: Format, *, file: str | None = None, node: str | None = None) -> tuple[str, ...]:
    """What is legal but doubtful in a file that was read, in words.

    Raises:
        LimitsError: the file is refused.
    """
    match kind:
        case Format.URDF:
            notes = diagnose(read_urdf(data, file))
        case Format.ROS:
            store = ParameterStore.read(utf8_text(data, file), node, file=file)
            load_joint_limits(joint_names(store), store)
            notes = tuple(store.diagnostics)
        case Format.SKELETON:
            return read_skeleton(data, file).warnings
        case _:
            return ()
    return tuple(_note_text(note) for note in notes)


def _note_text(note: Diagnostic) -> str:
    place = note.key if note.joint is None else f"joint {note.joint}, {note.key}"
    value = "" if note.value is None else f" (got {note.value!r})"
    return f"{place}: {note.reason}{value}"
