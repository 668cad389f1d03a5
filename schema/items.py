"""The table of config items: every fact of an item once, for handlers and adapters alike.

What has to be decided stands elsewhere: whether a value is right in `handlers.items.checks`, what an arm makes of it in its
adapter.
"""

import enum

import msgspec

from schema.arms import Slot
from schema.enums import ControlConfigurationEvent as E
from schema.enums import ControlMode
from schema.events import CONTROL_MODE_CHANGED, OwnEvent
from schema.intrinsic import JointLimits
from schema.joint_items import JointParameterMap, JointSafetyMap
from schema.messages import (
    AngularTwist,
    CartesianReferenceFrameInfo,
    ControlModeInformation,
    GravityVector,
    JointAccelerationSoftLimits,
    JointSpeeds,
    JointSpeedSoftLimits,
    LinearTwist,
    Message,
    PayloadInformation,
    ToolConfiguration,
    TwistAngularSoftLimit,
    TwistLinearSoftLimit,
)
from schema.quantities import JOINT_ACCELERATION, JOINT_SPEED, TWIST_ANGULAR, TWIST_LINEAR, Quantity


class Order(enum.StrEnum):
    """How values of an item compare: smaller is tighter, inside is tighter, or not at all."""

    UPPER = "upper"
    INTERVAL = "interval"
    UNORDERED = "unordered"


class Zero(enum.StrEnum):
    """What zero means on the arm: a value like others, "no limit set", and so refused in a Set."""

    VALUE = "value"
    REFUSE = "refuse"


class ConfigItem(msgspec.Struct, frozen=True):
    """One named value of an arm.

    `noun` ends the names of its methods, `verbs` (any of G, S, R) begins them: Get, Set, Reset. `event` tells of a
    change (None: a control mode event). `modes` are the control modes with a slot of their own (none: one slot);
    `field` is the field of the record that holds the bare value of such a slot. `quantity` is what its numbers measure
    (None: mixed or none), and `hard` the field of KinematicLimits that bounds these numbers from above. An item with
    `kept_by_service` is held by the service unless the arm holds it; all others are those of a Kinova arm.
    """

    key: str
    noun: str
    record: type[Message]
    verbs: str
    event: E | OwnEvent | None
    order: Order
    zero: Zero
    quantity: Quantity | None = None
    hard: str = ""
    field: str = ""
    modes: tuple[ControlMode, ...] = ()
    kept_by_service: bool = False
    event_name: str = ""
    """The name of `event`, or that of control mode events."""

    def __post_init__(self) -> None:
        name = CONTROL_MODE_CHANGED if self.event is None else self.event.name
        msgspec.structs.force_setattr(self, "event_name", name)

    @property
    def resettable(self) -> bool:
        """Whether an arm has a default of its own that a Reset brings back."""
        return "R" in self.verbs

    @property
    def event_number(self) -> int:
        """Kinova's number of that event; 0 for a control mode event and for an item of the service."""
        return self.event.value if isinstance(self.event, E) else 0


_SPEED_MODES = (
    ControlMode.ANGULAR_JOYSTICK,
    ControlMode.CARTESIAN_JOYSTICK,
    ControlMode.ANGULAR_TRAJECTORY,
    ControlMode.CARTESIAN_TRAJECTORY,
    ControlMode.CARTESIAN_WAYPOINT_TRAJECTORY,
)
_ACCELERATION_MODES = (ControlMode.ANGULAR_JOYSTICK, ControlMode.ANGULAR_TRAJECTORY)
_TWIST_MODES = (
    ControlMode.CARTESIAN_JOYSTICK,
    ControlMode.CARTESIAN_TRAJECTORY,
    ControlMode.CARTESIAN_WAYPOINT_TRAJECTORY,
)

# fmt: off
CONFIG_ITEMS: tuple[ConfigItem, ...] = (
    #          key                               noun                           record                       verbs  event                                     order            zero          quantity            hard                         field                             modes
    ConfigItem("gravity_vector",                 "GravityVector",               GravityVector,               "GSR", E.GRAVITY_VECTOR_CHANGED,                 Order.UNORDERED, Zero.VALUE),
    ConfigItem("payload_information",            "PayloadInformation",          PayloadInformation,          "GSR", E.PAYLOAD_CONFIGURATION_CHANGED,          Order.UNORDERED, Zero.VALUE),
    ConfigItem("tool_configuration",             "ToolConfiguration",           ToolConfiguration,           "GSR", E.TOOL_CONFIGURATION_CHANGED,             Order.UNORDERED, Zero.VALUE),
    ConfigItem("cartesian_reference_frame",      "CartesianReferenceFrame",     CartesianReferenceFrameInfo, "GS",  E.CARTESIAN_REFERENCE_CHANGED,            Order.UNORDERED, Zero.REFUSE),
    ConfigItem("joint_speed_soft_limits",        "JointSpeedSoftLimits",        JointSpeedSoftLimits,        "SR",  E.JOINT_SPEED_SOFT_LIMITS_CHANGED,        Order.UPPER,     Zero.VALUE,   JOINT_SPEED,        "joint_speed_limits",        "joint_speed_soft_limits",        _SPEED_MODES),
    ConfigItem("joint_acceleration_soft_limits", "JointAccelerationSoftLimits", JointAccelerationSoftLimits, "SR",  E.JOINT_ACCELERATION_SOFT_LIMITS_CHANGED, Order.UPPER,     Zero.VALUE,   JOINT_ACCELERATION, "joint_acceleration_limits", "joint_acceleration_soft_limits", _ACCELERATION_MODES),
    ConfigItem("twist_linear_soft_limit",        "TwistLinearSoftLimit",        TwistLinearSoftLimit,        "SR",  E.TWIST_LINEAR_SOFT_LIMIT_CHANGED,        Order.UPPER,     Zero.REFUSE,  TWIST_LINEAR,       "twist_linear",              "twist_linear_soft_limit",        _TWIST_MODES),
    ConfigItem("twist_angular_soft_limit",       "TwistAngularSoftLimit",       TwistAngularSoftLimit,       "SR",  E.TWIST_ANGULAR_SOFT_LIMIT_CHANGED,       Order.UPPER,     Zero.REFUSE,  TWIST_ANGULAR,      "twist_angular",             "twist_angular_soft_limit",       _TWIST_MODES),
    ConfigItem("desired_linear_twist",           "DesiredLinearTwist",          LinearTwist,                 "S",   E.DESIRED_TWIST_LINEAR_SPEED_CHANGED,     Order.UPPER,     Zero.VALUE,   TWIST_LINEAR,       "twist_linear"),
    ConfigItem("desired_angular_twist",          "DesiredAngularTwist",         AngularTwist,                "S",   E.DESIRED_TWIST_ANGULAR_SPEED_CHANGED,    Order.UPPER,     Zero.VALUE,   TWIST_ANGULAR,      "twist_angular"),
    ConfigItem("desired_joint_speeds",           "DesiredJointSpeeds",          JointSpeeds,                 "S",   E.DESIRED_JOINT_SPEED_CHANGED,            Order.UPPER,     Zero.VALUE,   JOINT_SPEED,        "joint_speed_limits"),
    ConfigItem("joint_limits",                   "JointLimits",                 JointLimits,                 "",    OwnEvent.JOINT_LIMITS_CHANGED,            Order.INTERVAL,  Zero.VALUE,   kept_by_service=True),
    ConfigItem("joint_safety",                   "JointSafety",                 JointSafetyMap,              "",    OwnEvent.JOINT_SAFETY_CHANGED,            Order.INTERVAL,  Zero.VALUE,   kept_by_service=True),
    ConfigItem("joint_parameters",               "JointParameters",             JointParameterMap,           "",    OwnEvent.JOINT_PARAMETERS_CHANGED,        Order.INTERVAL,  Zero.VALUE,   kept_by_service=True),
    ConfigItem("control_mode",                   "ControlMode",                 ControlModeInformation,      "",    None,                                     Order.UNORDERED, Zero.REFUSE),
)
# fmt: on

ITEMS: dict[str, ConfigItem] = {item.key: item for item in CONFIG_ITEMS}

ANGLE_FIELDS = frozenset({"theta_x", "theta_y", "theta_z"})
"""Fields that hold degrees in messages of mixed units."""

KINOVA_ITEMS = frozenset(item.key for item in CONFIG_ITEMS if not item.kept_by_service)
"""Keys of the config items whose values an arm of Kinova holds."""
OWN_SLOTS: tuple[Slot, ...] = tuple((item.key, 0) for item in CONFIG_ITEMS if item.kept_by_service)
"""The slots that the service itself holds, unless the arm holds them."""

SOFT_LIMITS = tuple(item for item in CONFIG_ITEMS if item.hard and item.modes)
"""The items that GetKinematicSoftLimits reads, each as the field `hard` of KinematicLimits."""
SOFT_LIMIT_MODES: dict[str, tuple[ControlMode, ...]] = {item.key: item.modes for item in SOFT_LIMITS}
"""The control modes that take each soft limit, by key of the config item."""
DESIRED_SPEEDS = tuple(item for item in CONFIG_ITEMS if item.hard and not item.modes)
"""The items that GetDesiredSpeeds reads, each as the field `NUMBER_FIELDS` of DesiredSpeeds."""
NUMBER_FIELDS: dict[str, str] = {
    item.key: item.field or item.record.__struct_fields__[0] for item in CONFIG_ITEMS if item.hard
}
"""The field of the record that holds the bounded numbers, by key of each item with a bound from above."""


MODE_NAMES = {mode.value: mode.name for mode in ControlMode} | {0: ""}
"""Names of control modes by number; empty for that of a slot without modes."""


def methods_by_verb(verb: str) -> dict[str, str]:
    """The Kinova methods of one verb (Get, Set, Reset), by key of the item that each reads or writes."""
    return {item.key: f"{verb}{item.noun}" for item in CONFIG_ITEMS if verb[0] in item.verbs}


def slots_of(key: str) -> tuple[Slot, ...]:
    """Every slot of an item, in the order of its modes.

    Raises:
        KeyError: there is no such item.
    """
    return tuple((key, int(mode)) for mode in ITEMS[key].modes or (0,))


def slots() -> tuple[Slot, ...]:
    """Every slot of an arm, in the order of the table."""
    return tuple(slot for item in CONFIG_ITEMS for slot in slots_of(item.key))


def slot_name(slot: Slot) -> str:
    """Name of a slot's mode; empty for an item without modes."""
    return MODE_NAMES[slot[1]]


def slot_path(slot: Slot) -> str:
    """`item`, or `item/MODE`."""
    name = slot_name(slot)
    return f"{slot[0]}/{name}" if name else slot[0]


SLOT_OF: dict[str, Slot] = {slot_path(slot): slot for slot in slots()}
"""The slot of each path."""
