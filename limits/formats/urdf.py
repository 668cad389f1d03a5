"""Reads a whole URDF: every joint with its limits, safety controller, mimic and axis, and `<ros2_control>`."""

from collections import Counter
from xml.etree.ElementTree import Element

from limits.errors import LimitsError
from limits.formats.diagnostics import Diagnostic
from limits.formats.urdf_control import read_control
from limits.formats.urdf_elements import Place, UrdfDialect, read_axis, read_limit, read_mimic, read_safety
from limits.formats.urdf_macros import note_macros
from limits.formats.urdf_records import RANGED_TYPES, JointType, UrdfJoint, UrdfRobot
from limits.formats.urdf_tree import check_mimics, check_tree
from limits.formats.xml import parse_xml

_READ_ONCE = ("parent", "child", "axis", "limit", "safety_controller", "mimic")
_KNOWN = frozenset({*_READ_ONCE, "origin", "dynamics", "calibration"})
"""Elements that a joint may have."""
_MAY_DIFFER = frozenset({"axis"})
"""Elements that say nothing about limits: the first of several counts, as for every reader."""
_WITHOUT_AXIS = frozenset({JointType.FIXED, JointType.FLOATING})
_WITHOUT_LIMIT_IN_TESSERACT = frozenset({JointType.FIXED, JointType.FLOATING, JointType.PLANAR})
_HARMLESS = frozenset({"link", "joint", "material", "gazebo", "transmission", "ros2_control"})
"""Top-level elements that are read, or that hold no limits."""


def read_urdf(text: str | bytes, file: str | None = None, dialect: UrdfDialect = UrdfDialect.STRICT) -> UrdfRobot:
    """Read a URDF; `file` is its name for errors.

    Raises:
        LimitsError: malformed XML, a joint the dialect refuses, names that are missing, unknown or twice there, links
            that form no tree. Nothing is read in part.
    """
    root = parse_xml(text, file)
    if root.tag != "robot":
        raise LimitsError("the document is no robot", file=file, key=root.tag)
    strict = dialect is UrdfDialect.STRICT
    notes: list[Diagnostic] = []
    if strict:
        note_macros(root, Place(file, None, notes))
    name = root.get("name")
    if not name:
        raise LimitsError("the robot has no name", file=file, key="name")
    links = tuple(_name(element, file) for element in root.iterfind("link"))
    joints = tuple(_read_joint(element, dialect, file, notes) for element in root.iterfind("joint"))
    names = tuple(joint.name for joint in joints)
    _refuse_twice("link", links, file)
    _refuse_twice("joint", names, file)
    check_tree(links, joints, file)
    if strict:
        check_mimics(joints, Place(file, None, notes))
    return UrdfRobot(
        name=name,
        version=root.get("version", ""),
        links=links,
        joints=joints,
        control=read_control(root, frozenset(names), Place(file, None, notes)) if strict else (),
        unread=tuple(sorted({child.tag for child in root} - _HARMLESS - {one.key for one in notes})),
        notes=tuple(notes),
    )


def _read_joint(element: Element, dialect: UrdfDialect, file: str | None, notes: list[Diagnostic]) -> UrdfJoint:
    """One `<joint>` of the robot."""
    name = _name(element, file)
    place = Place(file, name, notes)
    joint_type = _joint_type(element, place)
    if dialect is UrdfDialect.STRICT:
        _check_elements(element, place)
    axis = None if joint_type in _WITHOUT_AXIS else element.find("axis")
    limit, safety, mimic = (element.find(tag) for tag in ("limit", "safety_controller", "mimic"))
    if limit is None and joint_type in RANGED_TYPES:
        raise place.error(f"a {joint_type.value} joint needs this element", "limit")
    if dialect is UrdfDialect.TESSERACT and joint_type in _WITHOUT_LIMIT_IN_TESSERACT:
        limit = None
    return UrdfJoint(
        name=name,
        type=joint_type,
        parent=_link_of(element, "parent", place),
        child=_link_of(element, "child", place),
        axis=None if axis is None else read_axis(axis, dialect, place),
        limit=None if limit is None else read_limit(limit, dialect, place),
        safety=None if safety is None else read_safety(safety, dialect, place),
        mimic=None if mimic is None else read_mimic(mimic, dialect, place),
    )


def _joint_type(element: Element, place: Place) -> JointType:
    """The type of a joint, one of the six."""
    text = element.get("type", "")
    try:
        return JointType(text)
    except ValueError:
        raise place.error("is no type of joint", "type", text) from None


def _check_elements(element: Element, place: Place) -> None:
    """Of an element that stands twice the first counts, as for urdfdom; two that differ are refused, others told."""
    tags = Counter(child.tag for child in element)
    for tag in tags.keys() - _KNOWN:
        place.note("this element is not read; limits it holds are not known", tag)
    for tag in _READ_ONCE:
        if tags[tag] > 1:
            first, *others = element.findall(tag)
            if tag not in _MAY_DIFFER and any(other.attrib != first.attrib for other in others):
                raise place.error("this element is there twice, and they differ", tag)
            place.note("this element is there twice; the first counts", tag)


def _name(element: Element, file: str | None) -> str:
    """The name of a link or joint."""
    name = element.get("name")
    if not name:
        raise LimitsError(f"a {element.tag} has no name", file=file, key="name")
    return name


def _link_of(element: Element, tag: str, place: Place) -> str:
    """The link that `<parent>` or `<child>` names."""
    end = element.find(tag)
    link = None if end is None else end.get("link")
    if not link:
        raise place.error("names no link", tag)
    return link


def _refuse_twice(kind: str, names: tuple[str, ...], file: str | None) -> None:
    """Names are unique."""
    for name, count in Counter(names).items():
        if count > 1:
            raise LimitsError(f"the name of a {kind} is there {count} times", file=file, key="name", value=name)
