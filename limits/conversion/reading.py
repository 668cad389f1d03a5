"""Reading limits of any format, told by the content where it can be."""

from collections.abc import Sequence

import msgspec

from limits.conversion.formats import NAMELESS, Format
from limits.conversion.limit_set import LimitSet
from limits.errors import LimitsError, naming
from schema.fields import camel_case

_MARK = b"\xef\xbb\xbf"
"""What some editors put before a text; no message of protobuf begins with it."""
_FIELDS: dict[Format, tuple[str, ...]] = {
    Format.SKELETON: ("links", "joints"),
    Format.JOINT_LIMITS: (
        "min_position",
        "max_position",
        "max_velocity",
        "max_acceleration",
        "max_jerk",
        "max_effort",
    ),
    Format.KINOVA: ("control_mode", "twist_linear", "twist_angular", "joint_speed_limits", "joint_acceleration_limits"),
}
_JSON_KEYS = {kind: frozenset({*fields, *map(camel_case, fields)}) for kind, fields in _FIELDS.items()}
"""What tells a message in JSON, in both spellings of protobuf."""


def detect_format(data: bytes, file: str | None = None) -> Format:
    """The format of a file by its content; binary files do not tell.

    Raises:
        LimitsError: it cannot be told.
    """
    start = b"" if b"\0" in data else data.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"<"):
        return Format.URDF
    if start.startswith(b"{"):
        keys = _keys(start)
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
    text = data.removeprefix(_MARK) if chosen in _FIELDS else data
    with naming(file):
        return _read(text, chosen, file, names, node)


def _read(data: bytes, kind: Format, file: str | None, names: Sequence[str] | None, node: str | None) -> LimitSet:
    """The limits of a file of a format; what only other formats need is not loaded."""
    match kind:
        case Format.URDF:
            from limits.conversion.urdf import limits_from_urdf  # noqa: PLC0415 - the writer of URDF stands beside it

            return limits_from_urdf(data, file)
        case Format.ROS:
            from limits.conversion.ros import limits_from_ros  # noqa: PLC0415 - loads YAML

            return limits_from_ros(data, node, file)
        case Format.SKELETON:
            from limits.conversion.skeleton import limits_from_skeleton  # noqa: PLC0415 - loads protobuf

            return limits_from_skeleton(data, file)
        case Format.JOINT_LIMITS:
            from limits.conversion.vectors import limits_from_vectors  # noqa: PLC0415 - loads protobuf

            return limits_from_vectors(data, names, file)
        case _:
            from limits.conversion.vectors import limits_from_kinova  # noqa: PLC0415 - loads protobuf

            return limits_from_kinova(data, names, file)


def _keys(data: bytes) -> set[str]:
    """The keys of a JSON object; none where it is none."""
    try:
        document = msgspec.json.decode(data)
    except msgspec.DecodeError:
        return set()
    return set(document)
