"""Skeleton: the tree of links, joints and frames, and the order of the degrees of freedom."""

import enum
from collections.abc import Sequence
from typing import NamedTuple

from limits.errors import LimitsError
from limits.intrinsic.dependency import is_fixed
from limits.intrinsic.geometry import pose_from_message, unit_vector
from schema.intrinsic import CoordinateFrame, Element, Joint, JointParameters, JointType, Link, Point, Skeleton


class Part(enum.Enum):
    """What an element of the tree is."""

    LINK = "link"
    JOINT = "joint"
    FRAME = "coordinate frame"


PARENTS: dict[Part, frozenset[Part]] = {
    Part.LINK: frozenset({Part.JOINT, Part.LINK}),
    Part.JOINT: frozenset({Part.LINK}),
    Part.FRAME: frozenset({Part.LINK, Part.FRAME}),
}
"""What each part may stand under."""


class Tree(NamedTuple):
    """A checked skeleton."""

    root: int
    """Element id of the root link."""
    parts: dict[int, Part]
    """By element id."""
    joints: tuple[Joint, ...]
    """The joints that are not FIXED, in DoF order."""


def joint_label(joint: Joint) -> str:
    """Name of a joint, or else its element id."""
    element = joint.element or Element()
    return element.name or str(element.id)


def _label(element: Element) -> str:
    return element.name or str(element.id)


def _elements(skeleton: Skeleton) -> tuple[dict[int, Element], dict[int, Part]]:
    """Elements and parts by id; ids are unique over all three lists."""
    elements: dict[int, Element] = {}
    parts: dict[int, Part] = {}
    lists: tuple[tuple[Part, str, Sequence[Link | Joint | CoordinateFrame]], ...] = (
        (Part.LINK, "links", skeleton.links),
        (Part.JOINT, "joints", skeleton.joints),
        (Part.FRAME, "coordinate_frames", skeleton.coordinate_frames),
    )
    for part, key, found in lists:
        for index, holder in enumerate(found):
            place = f"{key}[{index}].element"
            if holder.element is None:
                raise LimitsError("missing", key=place)
            if holder.element.id in elements:
                raise LimitsError("id stands twice", key=f"{place}.id", value=holder.element.id)
            elements[holder.element.id] = holder.element
            parts[holder.element.id] = part
    return elements, parts


def _check_links(elements: dict[int, Element], parts: dict[int, Part]) -> set[int]:
    """Check that children and parents agree and fit each other; give the ids that are somebody's child."""
    seen: set[int] = set()
    for element in elements.values():
        for child in element.children:
            if child not in elements:
                raise LimitsError("unknown child", key=_label(element), value=child)
            if child in seen:
                raise LimitsError("child stands twice", key=_label(element), value=child)
            seen.add(child)
            if elements[child].parent != element.id:
                raise LimitsError(
                    "parent and children disagree",
                    key=_label(elements[child]),
                    value=elements[child].parent,
                    bound=element.id,
                )
            if parts[element.id] not in PARENTS[parts[child]]:
                raise LimitsError(
                    f"a {parts[child].value} cannot stand under a {parts[element.id].value}",
                    key=_label(elements[child]),
                    value=element.id,
                )
    return seen


def _root(elements: dict[int, Element], parts: dict[int, Part], children: set[int]) -> int:
    roots = [element for element in elements.values() if element.id not in children]
    if len(roots) != 1:
        raise LimitsError("not exactly one root", value=[element.id for element in roots], bound=1)
    root = roots[0]
    if parts[root.id] is not Part.LINK:
        raise LimitsError("the root is no link", key=_label(root), value=parts[root.id].value)
    if root.parent not in (root.id, 0):
        raise LimitsError("parent and children disagree", key=_label(root), value=root.parent)
    return root.id


def _check_reached(elements: dict[int, Element], root: int) -> None:
    reached = set()
    waiting = [root]
    while waiting:
        element = elements[waiting.pop()]
        reached.add(element.id)
        waiting += element.children
    if len(reached) != len(elements):
        raise LimitsError("cycle: not reached from the root", value=sorted(elements.keys() - reached))


def axis_of(joint: Joint) -> Point:
    """The joint's axis scaled to length 1.

    Raises:
        LimitsError: the axis is absent, zero or not finite.
    """
    return unit_vector((joint.parameters or JointParameters()).axis or Point(), joint=joint_label(joint))


def _check_joint(joint: Joint) -> None:
    kind = (joint.parameters or JointParameters()).type
    if kind not in set(JointType):
        raise LimitsError("unknown joint type", joint=joint_label(joint), key="type", value=int(kind), bound=(0, 2))
    if kind != JointType.FIXED:
        axis_of(joint)


def _dof_order(skeleton: Skeleton) -> tuple[Joint, ...]:
    movable = {joint.element.id: joint for joint in skeleton.joints if joint.element and not is_fixed(joint)}
    index = skeleton.element_id_to_dof_index
    key = "element_id_to_dof_index"
    if index.keys() != movable.keys():
        found, wanted = sorted(index), sorted(movable)
        raise LimitsError("keys are not the joints that are not FIXED", key=key, value=found, bound=wanted)
    if sorted(index.values()) != list(range(len(index))):
        bound = f"0 to {len(index) - 1}, each once"
        raise LimitsError("not an order", key=key, value=dict(index), bound=bound)
    return tuple(movable[element] for element in sorted(index, key=index.__getitem__))


def check_skeleton(skeleton: Skeleton) -> Tree:
    """Require one tree with a link as root, unique ids, usable poses and axes, and an order of the movable joints.

    The root is the element in nobody's `children`; its `parent` is its own id or 0. An absent pose is identity.

    Raises:
        LimitsError: naming the element and what is wrong.
    """
    elements, parts = _elements(skeleton)
    children = _check_links(elements, parts)
    root = _root(elements, parts, children)
    _check_reached(elements, root)
    for element in elements.values():
        if element.parent_t_this is not None:
            pose_from_message(element.parent_t_this, key=f"{_label(element)}.parent_t_this")
    if skeleton.anchor_offset is not None:
        pose_from_message(skeleton.anchor_offset, key="anchor_offset")
    for joint in skeleton.joints:
        _check_joint(joint)
    return Tree(root, parts, _dof_order(skeleton))
