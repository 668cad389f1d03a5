"""Reads a whole URDF: every joint with its limits, safety controller, mimic and axis."""

from collections import Counter
from xml.etree.ElementTree import Element

from limits.errors import LimitsError
from limits.formats.urdf_elements import Place, UrdfDialect, read_axis, read_limit, read_mimic, read_safety
from limits.formats.urdf_records import RANGED_TYPES, JointType, UrdfJoint, UrdfRobot
from limits.formats.xml import parse_xml

_READ_ONCE = ("parent", "child", "axis", "limit", "safety_controller", "mimic")
_WITHOUT_AXIS = frozenset({JointType.FIXED, JointType.FLOATING})
_WITHOUT_LIMIT_IN_TESSERACT = frozenset({JointType.FIXED, JointType.FLOATING, JointType.PLANAR})
_HARMLESS = frozenset({"link", "joint", "material", "gazebo", "transmission"})
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
    if strict:
        _refuse_macros(root, file)
    name = root.get("name")
    if not name:
        raise LimitsError("the robot has no name", file=file, key="name")
    links = tuple(_name(element, file) for element in root.iterfind("link"))
    joints = tuple(_read_joint(element, dialect, file) for element in root.iterfind("joint"))
    _refuse_twice("link", links, file)
    _refuse_twice("joint", tuple(joint.name for joint in joints), file)
    _check_tree(links, joints, file)
    if strict:
        _check_mimics(joints, file)
    unread = tuple(sorted({child.tag for child in root} - _HARMLESS))
    return UrdfRobot(name=name, links=links, joints=joints, unread=unread)


def _read_joint(element: Element, dialect: UrdfDialect, file: str | None) -> UrdfJoint:
    """One `<joint>` of the robot."""
    name = _name(element, file)
    place = Place(file, name)
    joint_type = _joint_type(element, place)
    if dialect is UrdfDialect.STRICT:
        for tag in _READ_ONCE:
            if len(element.findall(tag)) > 1:
                raise place.error("this element is there twice", tag)
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
        axis=None if axis is None else read_axis(axis, dialect, joint=name, file=file),
        limit=None if limit is None else read_limit(limit, dialect, joint=name, file=file),
        safety=None if safety is None else read_safety(safety, dialect, joint=name, file=file),
        mimic=None if mimic is None else read_mimic(mimic, dialect, joint=name, file=file),
    )


def _joint_type(element: Element, place: Place) -> JointType:
    """The type of a joint, one of the six."""
    text = element.get("type", "")
    try:
        return JointType(text)
    except ValueError:
        raise place.error("is no type of joint", "type", text) from None


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


def _refuse_macros(root: Element, file: str | None) -> None:
    """A file of macros says nothing until they are expanded."""
    for element in root.iter():
        if element.tag.startswith("xacro:"):
            raise LimitsError("macros are not expanded here; expand the file first", file=file, key=element.tag)


def _refuse_twice(kind: str, names: tuple[str, ...], file: str | None) -> None:
    """Names are unique."""
    for name, count in Counter(names).items():
        if count > 1:
            raise LimitsError(f"the name of a {kind} is there {count} times", file=file, key="name", value=name)


def _check_tree(links: tuple[str, ...], joints: tuple[UrdfJoint, ...], file: str | None) -> None:
    """The links form one tree: all declared, one root, one parent for each of the others, all reached."""
    declared = set(links)
    children: dict[str, list[str]] = {link: [] for link in links}
    roots = set(links)
    for joint in joints:
        for key, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in declared:
                raise LimitsError("is no link of the robot", file=file, joint=joint.name, key=key, value=link)
        if joint.child not in roots:
            raise LimitsError("has a parent already", file=file, joint=joint.name, key="child", value=joint.child)
        roots.remove(joint.child)
        children[joint.parent].append(joint.child)
    if len(roots) != 1:
        raise LimitsError("the links need exactly one root", file=file, key="link", value=sorted(roots))
    reached = set(roots)
    front = list(roots)
    while front:
        front = [child for link in front for child in children[link]]
        reached.update(front)
    if reached != declared:
        raise LimitsError("links form a ring", file=file, key="link", value=sorted(declared - reached))


def _check_mimics(joints: tuple[UrdfJoint, ...], file: str | None) -> None:
    """A mimic follows a joint of the robot, and in the end one that moves by itself."""
    leaders = {joint.name: joint.mimic.joint if joint.mimic else None for joint in joints}
    for joint in joints:
        seen = [joint.name]
        leader = leaders[joint.name]
        while leader is not None:
            if leader not in leaders:
                raise LimitsError("is no joint of the robot", file=file, joint=seen[-1], key="mimic", value=leader)
            if leader in seen:
                raise LimitsError("joints follow each other", file=file, joint=joint.name, key="mimic", value=leader)
            seen.append(leader)
            leader = leaders[leader]
