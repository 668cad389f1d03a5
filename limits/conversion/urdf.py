"""Limit sets from and to URDF; an unlimited number that URDF wants is the largest finite double."""

from limits.conversion.limit_set import JointNumbers, LimitedJoint, LimitSet, overlay
from limits.conversion.text import utf8_text
from limits.formats.urdf import read_urdf
from limits.formats.urdf_checks import diagnose
from limits.formats.urdf_records import MOTION_KEYS, RANGED_TYPES, JointType, UrdfJoint, UrdfLimit, UrdfRobot
from limits.formats.urdf_writer import replace_limits, write_urdf
from limits.ros2.records import LARGEST
from limits.tesseract.joint_safety import joint_safety_from_urdf, joint_safety_to_urdf

MAXIMA = ("velocity", "acceleration", "deceleration", "jerk", "effort")


def limits_from_urdf(text: bytes, file: str | None = None) -> LimitSet:
    """The limits of all joints that are not fixed.

    Raises:
        LimitsError: see `read_urdf`.
    """
    return limits_of_robot(read_urdf(text, file))


def limits_of_robot(robot: UrdfRobot) -> LimitSet:
    """The limits of all joints of a robot that are not fixed."""
    control = {one.joint: one.limit for one in robot.control}
    joints = (_joint(joint, control.get(joint.name)) for joint in robot.joints if joint.type is not JointType.FIXED)
    fixed = tuple(joint.name for joint in robot.joints if joint.type is JointType.FIXED)
    return LimitSet(joints=tuple(joints), fixed=fixed, notes=diagnose(robot))


def limits_to_urdf(limits: LimitSet, into: bytes | None = None, file: str | None = None) -> bytes:
    """A URDF with these limits: `into` with them put in, or else a chain of links made up for the joints.

    Numbers that `limits` does not give stay as `into` has them, as does all that is no limit; joints that `into` does
    not have are passed over.

    Raises:
        LimitsError: `into` is refused; limits that URDF refuses.
    """
    if into is not None:
        base = limits_from_urdf(into, file)
        before = {joint.name: joint for joint in base.joints}
        changed = [joint for joint in overlay(base, limits).joints if joint != before[joint.name]]
        elements = [_element(joint, 0) for joint in changed]
        return replace_limits(utf8_text(into, file), elements, file).encode()
    links = tuple(f"link_{index}" for index in range(len(limits.joints) + 1))
    joints = tuple(_element(joint, index) for index, joint in enumerate(limits.joints))
    version = "1.2" if any(_motion_keys(joint) for joint in limits.joints) else ""
    return write_urdf(UrdfRobot(name="arm", version=version, links=links, joints=joints)).encode()


def passed_over(limits: LimitSet, into: bytes, file: str | None = None) -> list[str]:
    """Which of these limits readers of URDF 1.0 pass over in a file that they were put into, in words.

    Raises:
        LimitsError: `into` is refused.
    """
    robot = read_urdf(into, file)
    if robot.motion_limits_count():
        return []
    known = {joint.name for joint in robot.joints}
    joints: dict[tuple[str, ...], list[str]] = {}
    for joint in limits.joints:
        keys = _motion_keys(joint)
        if keys and joint.name in known:
            joints.setdefault(keys, []).append(joint.name)
    why = 'they count from version="1.2" of <robot> on, which older readers refuse'
    return [
        f"readers of URDF 1.0 pass over {' and '.join(keys)} of {', '.join(names)}: {why}"
        for keys, names in joints.items()
    ]


def _motion_keys(joint: LimitedJoint) -> tuple[str, ...]:
    return tuple(key for key in MOTION_KEYS if getattr(joint.limits, key) is not None)


def _joint(joint: UrdfJoint, control: UrdfLimit | None) -> LimitedJoint:
    numbers: dict[str, float | None] = {}
    if joint.limit is not None:
        numbers = {key: _limited(getattr(joint.limit, key)) for key in MAXIMA}
        if joint.type in RANGED_TYPES:
            lower, upper = joint.limit.position_range()
            numbers |= {"position_lower": _limited(lower), "position_upper": _limited(upper)}
    return LimitedJoint(
        name=joint.name,
        type=joint.type,
        limits=JointNumbers(**numbers),
        control=None if control is None else _control(control),
        safety=None if joint.safety is None else joint_safety_from_urdf(joint.safety),
        mimic=joint.mimic,
    )


def _control(limit: UrdfLimit) -> JointNumbers:
    """What `<ros2_control>` says of a joint."""
    numbers = {key: _limited(getattr(limit, key)) for key in MAXIMA}
    return JointNumbers(**numbers, position_lower=_limited(limit.lower), position_upper=_limited(limit.upper))


def _limited(value: float | None) -> float | None:
    return None if value is None or abs(value) == LARGEST else value


def _element(joint: LimitedJoint, index: int) -> UrdfJoint:
    """The joint between two links of the chain."""
    return UrdfJoint(
        name=joint.name,
        type=joint.type,
        parent=f"link_{index}",
        child=f"link_{index + 1}",
        axis=(0.0, 0.0, 1.0),
        limit=_limit(joint.limits, ranged=joint.type in RANGED_TYPES),
        safety=None if joint.safety is None else joint_safety_to_urdf(joint.safety),
        mimic=joint.mimic,
    )


def _limit(numbers: JointNumbers, *, ranged: bool) -> UrdfLimit | None:
    if numbers == JointNumbers() and not ranged:
        return None
    given = {key: getattr(numbers, key) for key in ("acceleration", "deceleration", "jerk")}
    wanted = {key: _finite(getattr(numbers, key), LARGEST) for key in ("velocity", "effort")}
    lower, upper = numbers.position_lower, numbers.position_upper
    ends = {"lower": _finite(lower, -LARGEST), "upper": _finite(upper, LARGEST)} if ranged else {}
    return UrdfLimit(**given, **wanted, **ends)


def _finite(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
