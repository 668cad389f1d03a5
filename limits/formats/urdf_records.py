"""What a URDF says about the limits of its joints, attribute by attribute; None is what it leaves out."""

import enum
import re

import msgspec

from limits.errors import LimitsError
from limits.formats.diagnostics import Diagnostic


class JointType(enum.Enum):
    """Types of joint that URDF knows, by their names in the file."""

    REVOLUTE = "revolute"
    CONTINUOUS = "continuous"
    PRISMATIC = "prismatic"
    FIXED = "fixed"
    FLOATING = "floating"
    PLANAR = "planar"


MOTION_VERSION = (1, 2)
"""The version of URDF from which on `<limit>` has an acceleration, a deceleration and a jerk."""
MOTION_KEYS = ("acceleration", "deceleration", "jerk")

RANGED_TYPES = frozenset({JointType.REVOLUTE, JointType.PRISMATIC})
"""Types whose position has two ends, and which must have a `<limit>`."""


class UrdfLimit(msgspec.Struct, frozen=True, kw_only=True):
    """A `<limit>` element: position in rad or m, effort in N·m or N, the derivatives per s, s² and s³."""

    lower: float | None = None
    upper: float | None = None
    effort: float | None = None
    velocity: float | None = None
    acceleration: float | None = None
    deceleration: float | None = None
    jerk: float | None = None

    def position_range(self) -> tuple[float, float]:
        """The ends of the position, rad or m; an end that is left out is 0, as the format says."""
        return self.lower or 0.0, self.upper or 0.0


class UrdfSafety(msgspec.Struct, frozen=True, kw_only=True):
    """A `<safety_controller>` element: soft range in rad or m, gains in 1/s and N·m·s/rad (or N·s/m)."""

    soft_lower_limit: float | None = None
    soft_upper_limit: float | None = None
    k_position: float | None = None
    k_velocity: float | None = None


class UrdfMimic(msgspec.Struct, frozen=True, kw_only=True):
    """A `<mimic>` element: position = multiplier (1 if left out) * position of `joint` + offset (0 if left out)."""

    joint: str
    multiplier: float | None = None
    offset: float | None = None


class UrdfJoint(msgspec.Struct, frozen=True, kw_only=True):
    """A `<joint>`: type, links, axis (as written, not normalised; left out it is x) and limits."""

    name: str
    type: JointType
    parent: str
    child: str
    axis: tuple[float, float, float] | None = None
    limit: UrdfLimit | None = None
    safety: UrdfSafety | None = None
    mimic: UrdfMimic | None = None


class UrdfControl(msgspec.Struct, frozen=True, kw_only=True):
    """What the command interfaces of `<ros2_control>` say about a joint; `lower` and the like as in UrdfLimit."""

    joint: str
    limit: UrdfLimit


class UrdfRobot(msgspec.Struct, frozen=True, kw_only=True):
    """A whole URDF: names of its links, its joints in the order of the file, and elements that were not read."""

    name: str
    version: str = ""
    links: tuple[str, ...] = ()
    joints: tuple[UrdfJoint, ...] = ()
    control: tuple[UrdfControl, ...] = ()
    unread: tuple[str, ...] = ()
    notes: tuple[Diagnostic, ...] = ()
    """What was read past, or read otherwise than some other reader does."""

    def motion_limits_count(self) -> bool:
        """Tell whether acceleration, deceleration and jerk count for every reader: from version 1.2 on."""
        found = re.fullmatch(r"([0-9]{1,9})\.([0-9]{1,9})", self.version, re.ASCII)
        return found is not None and (int(found[1]), int(found[2])) >= MOTION_VERSION

    def joint(self, name: str) -> UrdfJoint:
        """The joint of a name.

        Raises:
            LimitsError: there is none.
        """
        for joint in self.joints:
            if joint.name == name:
                return joint
        raise LimitsError(f"robot {self.name} has no such joint", joint=name)
