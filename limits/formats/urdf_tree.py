"""How the parts of a URDF hang together: links by joints, joints by what they follow."""

from limits.errors import LimitsError
from limits.formats.diagnostics import Weight
from limits.formats.urdf_elements import Place
from limits.formats.urdf_records import UrdfJoint


def check_tree(links: tuple[str, ...], joints: tuple[UrdfJoint, ...], file: str | None) -> None:
    """Require one tree of links: all declared, one root, one parent for each of the others, all reached.

    Raises:
        LimitsError: naming joint and link.
    """
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


def check_mimics(joints: tuple[UrdfJoint, ...], place: Place) -> None:
    """Require that a mimic follows in the end a joint that moves by itself; one that follows nobody is told.

    Raises:
        LimitsError: joints follow each other.
    """
    leaders = {joint.name: joint.mimic.joint if joint.mimic else None for joint in joints}
    settled: set[str] = set()
    for joint in joints:
        chain: dict[str, None] = {}
        follower: str | None = joint.name
        while follower is not None and follower not in settled:
            chain[follower] = None
            leader = leaders[follower]
            if leader in chain:
                raise place._replace(joint=joint.name).error("joints follow each other", "mimic", leader)
            if leader is not None and leader not in leaders:
                lost = place._replace(joint=follower)
                lost.note("follows what is no joint of the robot", "mimic", leader, Weight.DOUBT)
                leader = None
            follower = leader
        settled.update(chain)
