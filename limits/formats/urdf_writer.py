"""Writes limits into URDF, every number with the digits that give the same double back."""

import re
from collections.abc import Iterable
from typing import NamedTuple
from xml.etree import ElementTree as ET
from xml.parsers import expat

import msgspec

from limits.errors import LimitsError
from limits.formats.numbers import exact_text
from limits.formats.urdf import read_urdf
from limits.formats.urdf_checks import DRAKE_ACCELERATION, check_limit, check_safety
from limits.formats.urdf_elements import UrdfDialect
from limits.formats.urdf_records import RANGED_TYPES, UrdfJoint, UrdfMimic, UrdfRobot
from limits.formats.xml import blanks_before_declaration

_LIMIT, _SAFETY = "limit", "safety_controller"
_LEVEL = ["robot", "joint"]

_QUOTED_OR_END = re.compile(rb"""\"[^"]*\"|'[^']*'|\s*/?>""")


class Span(NamedTuple):
    """First byte of an element and first byte after it, and its attributes."""

    first: int
    last: int
    attributes: dict[str, str]


def write_urdf(robot: UrdfRobot) -> str:
    """Write a URDF that holds what the record holds: links by name, joints and their limits; no geometry.

    Raises:
        LimitsError: a limit or safety controller that the strict reader would refuse.
    """
    version = {"version": robot.version} if robot.version else {}
    root = ET.Element("robot", {"name": robot.name, **version})
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

    Of each joint only name, limit and safety count; None takes the element away. What is equal already is left alone;
    attributes that are not read stay, and an acceleration goes where Drake looks for it if that is where it stands.

    Raises:
        LimitsError: the text is refused by `read_urdf`, has no such joint, or would be refused afterwards.
    """
    robot = read_urdf(text, file, dialect)
    known = {joint.name: joint for joint in robot.joints}
    data = text.encode()
    spans = _spans(data)
    edits: list[tuple[int, int, bytes]] = []
    for joint in joints:
        old = known.get(joint.name) or robot.joint(joint.name)
        _check(msgspec.structs.replace(old, limit=joint.limit, safety=joint.safety), file)
        for tag, record, before in ((_LIMIT, joint.limit, old.limit), (_SAFETY, joint.safety, old.safety)):
            if record == before:
                continue
            end = spans[joint.name]["joint"].last
            span = spans[joint.name].get(tag, Span(end, end, {}))
            edits.append(_edit(data, span, tag, record))
    parts = []
    at = 0
    for first, last, new in sorted(edits):
        parts += [data[at:first], new]
        at = last
    return b"".join([*parts, data[at:]]).decode()


def _edit(data: bytes, span: Span, tag: str, record: msgspec.Struct | None) -> tuple[int, int, bytes]:
    """What takes the place of an element: nothing, a new element, or the old one with other numbers in it."""
    if record is None:
        return span.first, span.last, b""
    attributes = _attributes(record)
    if span.first == span.last:
        return span.first, span.last, f"<{tag}{_written(attributes)}/>".encode()
    if DRAKE_ACCELERATION in span.attributes and "acceleration" not in span.attributes:
        attributes = {DRAKE_ACCELERATION if key == "acceleration" else key: text for key, text in attributes.items()}
    kept = {key: text for key, text in span.attributes.items() if key not in {*record.__struct_fields__, *attributes}}
    last = next(one.start() for one in _QUOTED_OR_END.finditer(data, span.first) if one[0].endswith(b">"))
    return span.first, last, f"<{tag}{_written({**attributes, **kept})}".encode()


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


def _written(attributes: dict[str, str]) -> str:
    """Attributes, each with a blank before it."""
    return "".join(f" {key}={_quoted(text)}" for key, text in attributes.items())


def _quoted(text: str) -> str:
    """The value of an attribute between the quotes that fit it."""
    for sign, name in (("&", "amp"), ("<", "lt"), (">", "gt"), ("\n", "#10"), ("\r", "#13"), ("\t", "#9")):
        text = text.replace(sign, f"&{name};")
    if '"' not in text:
        return f'"{text}"'
    return f"'{text}'" if "'" not in text else '"' + text.replace('"', "&quot;") + '"'


def _spans(data: bytes) -> dict[str, dict[str, Span]]:
    """Where each joint's limit and safety controller stand; `joint` itself ends where its closing tag begins."""
    spans: dict[str, dict[str, Span]] = {}
    path: list[str] = []
    starts: list[tuple[int, dict[str, str]]] = []
    names: list[str] = []
    blanks = blanks_before_declaration(data)
    parser = expat.ParserCreate("utf-8")

    def start(tag: str, attributes: dict[str, str]) -> None:
        path.append(tag)
        starts.append((blanks + parser.CurrentByteIndex, attributes))
        if path == _LEVEL:
            names.append(attributes["name"])
            spans[names[-1]] = {}

    def end(tag: str) -> None:
        first, attributes = starts.pop()
        last = blanks + parser.CurrentByteIndex
        if path == _LEVEL:
            spans[names[-1]]["joint"] = Span(first, last, attributes)
        elif path[:-1] == _LEVEL and tag in (_LIMIT, _SAFETY):
            if data.startswith(f"</{tag}".encode(), last):
                last = data.index(b">", last) + 1
            spans[names[-1]].setdefault(tag, Span(first, last, attributes))
        path.pop()

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.Parse(data[blanks:], True)
    return spans
