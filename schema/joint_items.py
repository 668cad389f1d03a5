"""Records of the items that the service itself holds for an arm and that have no proto message: JSON in every codec."""

import msgspec

from schema.fields import Double, Parameter
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
