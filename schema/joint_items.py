"""Records without a proto message, of what the service itself holds for an arm: JSON in every codec.

Params and results of the methods of these items, and their values.
"""

import msgspec

from schema.fields import Double, Parameter
from schema.intrinsic import JointLimitUpdate
from schema.messages import Message


class JointSafetyGains(Message, frozen=True):
    """Soft range (rad or m) and gains (1/s; N·m·s/rad or N·s/m) of one joint."""

    soft_upper_limit: Double = 0.0
    soft_lower_limit: Double = 0.0
    k_position: Double = 0.0
    k_velocity: Double = 0.0


class JointSafetyMap(Message, frozen=True):
    """The safety records of an arm by joint; a joint that is not named has none."""

    joints: dict[str, JointSafetyGains] = msgspec.field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(frozenset(self.joints.items()))


class JointParameterMap(Message, frozen=True):
    """ROS parameters of an arm by full name, `joint_limits.<joint>.<key>`: flags and numbers."""

    parameters: dict[str, Parameter] = msgspec.field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(frozenset(self.parameters.items()))


class JointLimitChange(Message, frozen=True):
    """A change of the application limits of one joint."""

    joint: str = ""
    update: JointLimitUpdate | None = None


class JointSafetyRecord(Message, frozen=True):
    """A whole record of one joint: each of the four numbers must be there."""

    soft_upper_limit: Double | None = None
    soft_lower_limit: Double | None = None
    k_position: Double | None = None
    k_velocity: Double | None = None


class JointSafetyChange(Message, frozen=True):
    """New records by joint; joints that are not named keep theirs."""

    joints: dict[str, JointSafetyRecord] = msgspec.field(default_factory=dict)


class JointNames(Message, frozen=True):
    """Joints of an arm; none named means all."""

    joints: tuple[str, ...] = ()


class ParameterNames(Message, frozen=True):
    """ROS parameters by full name; none named means all."""

    names: tuple[str, ...] = ()


class SetParametersResult(Message, frozen=True):
    """What ROS answers when parameters are set together."""

    successful: bool = False
    reason: str = ""
