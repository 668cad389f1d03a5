"""Writes limits into URDF, every number with the digits that give the same double back."""

from collections.abc import Iterable
from xml.etree import ElementTree as ET
from xml.parsers import expat

import msgspec

from limits.errors import LimitsError
from limits.formats.numbers import exact_text
from limits.formats.urdf import read_urdf
from limits.formats.urdf_checks import check_limit, check_safety
from limits.formats.urdf_elements import UrdfDialect
from limits.formats.urdf_records import RANGED_TYPES, UrdfJoint, UrdfMimic, UrdfRobot

_LIMIT, _SAFETY = "limit", "safety_controller"
_LEVEL = ["robot", "joint"]

Span = tuple[int, int]
"""First byte of an element and first byte after it."""


def write_urdf(robot: UrdfRobot) -> str:
    """Write a URDF that holds what the record holds: links by name, joints and their limits; no geometry.

    Raises:
        LimitsError: a limit or safety controller that the strict reader would refuse.
    """
    root = ET.Element("robot", name=robot.name)
    for link in robot.links:
        ET.SubElement(root, "link", name=link)
    for joint in robot.joints:
        _check(joint, None)
        element = ET.SubElement(root, "joint", name=joint.name, type=joint.type.value)
        ET.SubElement(element, "parent", link=joint.parent)
        ET.SubElement(element, "child", link=joint.child)
        if joint.axis is not None:
            ET.SubElement(element, "axis", xyz=" ".join(map(exact_text, joint.axis)))
        for tag, record in ((_LIMIT, joint.limit), (_SAFETY, joint.safety), ("mimic", joint.mimic)):
            if record is not None:
                ET.SubElement(element, tag, _attributes(record))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def replace_limits(
    text: str, joints: Iterable[UrdfJoint], file: str | None = None, dialect: UrdfDialect = UrdfDialect.STRICT
) -> str:
    """Put the limits and safety controllers of joints into a URDF; all else stays as it is, to the byte.

    Of each joint only name, limit and safety count; None takes the element away.

    Raises:
        LimitsError: the text is refused by `read_urdf`, has no such joint, or would be refused afterwards.
    """
    robot = read_urdf(text, file, dialect)
    data = text.encode()
    spans = _spans(data)
    edits: list[tuple[Span, str]] = []
    for joint in joints:
        known = robot.joint(joint.name)
        _check(msgspec.structs.replace(known, limit=joint.limit, safety=joint.safety), file)
        for tag, record in ((_LIMIT, joint.limit), (_SAFETY, joint.safety)):
            end = spans[joint.name]["joint"][1]
            span = spans[joint.name].get(tag, (end, end))
            edits.append((span, "" if record is None else _tag(tag, record)))
    for (first, last), new in sorted(edits, key=lambda edit: edit[0], reverse=True):
        data = data[:first] + new.encode() + data[last:]
    return data.decode()


def _check(joint: UrdfJoint, file: str | None) -> None:
    """The strict reader would accept the limits of a joint."""
    if joint.limit is None and joint.type in RANGED_TYPES:
        raise LimitsError(f"a {joint.type.value} joint needs it", file=file, joint=joint.name, key=_LIMIT)
    if joint.limit is not None:
        check_limit(joint.limit, joint=joint.name, file=file)
        for key, value in (("effort", joint.limit.effort), ("velocity", joint.limit.velocity)):
            if value is None:
                raise LimitsError("is missing", file=file, joint=joint.name, key=key)
    if joint.safety is not None:
        check_safety(joint.safety, joint=joint.name, file=file)
        if joint.safety.k_velocity is None:
            raise LimitsError("is missing", file=file, joint=joint.name, key="k_velocity")


def _attributes(record: msgspec.Struct) -> dict[str, str]:
    """The attributes of an element: what is given, numbers exact."""
    values = msgspec.structs.asdict(record)
    leader = {"joint": values.pop("joint")} if isinstance(record, UrdfMimic) else {}
    return leader | {key: exact_text(value) for key, value in values.items() if value is not None}


def _tag(tag: str, record: msgspec.Struct) -> str:
    """An element without content."""
    attributes = "".join(f' {key}="{value}"' for key, value in _attributes(record).items())
    return f"<{tag}{attributes}/>"


def _spans(data: bytes) -> dict[str, dict[str, Span]]:
    """Where each joint's limit and safety controller stand; `joint` itself ends where its closing tag begins."""
    spans: dict[str, dict[str, Span]] = {}
    path: list[str] = []
    starts: list[int] = []
    names: list[str] = []
    parser = expat.ParserCreate("utf-8")

    def start(tag: str, attributes: dict[str, str]) -> None:
        path.append(tag)
        starts.append(parser.CurrentByteIndex)
        if path == _LEVEL:
            names.append(attributes["name"])
            spans[names[-1]] = {}

    def end(tag: str) -> None:
        first, last = starts.pop(), parser.CurrentByteIndex
        if path == _LEVEL:
            spans[names[-1]]["joint"] = (first, last)
        elif path[:-1] == _LEVEL and tag in (_LIMIT, _SAFETY):
            if data.startswith(f"</{tag}".encode(), last):
                last = data.index(b">", last) + 1
            spans[names[-1]].setdefault(tag, (first, last))
        path.pop()

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.Parse(data, True)
    return spans
