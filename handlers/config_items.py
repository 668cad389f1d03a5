"""The table of config items: one row yields Get, Set and Reset of one item."""

import enum
from collections.abc import Callable
from typing import Any

import msgspec

from handlers import checks, held_checks, parameter_checks
from handlers.arm_state import ArmState
from limits.bounds import JOINT_ACCELERATION, JOINT_SPEED, TWIST_ANGULAR, TWIST_LINEAR, Quantity
from limits.kinova_models import SOFT_LIMIT_MODES
from schema.arms import Slot
from schema.enums import ControlConfigurationEvent as E
from schema.enums import ControlMode
from schema.envelope import Warned
from schema.events import OwnEvent
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

Check = Callable[[ArmState, Any], tuple[Warned, ...]]


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

    `verbs` is any of G, S, R; `modes` the control modes with a slot of their own (empty: one slot); `field` the field of
    the message that holds the bare value of a slot; `quantity` what its numbers measure (None: mixed or none). An item
    with `held_by_service` is held by the service unless the arm holds it: see `held_by_service`.
    """

    key: str
    noun: str
    message: type[Message]
    verbs: str
    event: E | OwnEvent | None
    check: Check
    order: Order
    zero: Zero
    field: str = ""
    quantity: Quantity | None = None
    modes: tuple[int, ...] = ()
    held_by_service: bool = False


_MODES = SOFT_LIMIT_MODES

# fmt: off
CONFIG_ITEMS: tuple[ConfigItem, ...] = (
    #          key                              noun                          message                      verbs  event                                     check                             order            zero
    ConfigItem("gravity_vector",                "GravityVector",              GravityVector,               "GSR", E.GRAVITY_VECTOR_CHANGED,                 checks.gravity_is_plausible,      Order.UNORDERED, Zero.VALUE),
    ConfigItem("payload_information",           "PayloadInformation",         PayloadInformation,          "GSR", E.PAYLOAD_CONFIGURATION_CHANGED,          checks.payload_is_plausible,      Order.UNORDERED, Zero.VALUE),
    ConfigItem("tool_configuration",            "ToolConfiguration",          ToolConfiguration,           "GSR", E.TOOL_CONFIGURATION_CHANGED,             checks.tool_is_plausible,         Order.UNORDERED, Zero.VALUE),
    ConfigItem("cartesian_reference_frame",     "CartesianReferenceFrame",    CartesianReferenceFrameInfo, "GS",  E.CARTESIAN_REFERENCE_CHANGED,            checks.frame_is_known,            Order.UNORDERED, Zero.REFUSE),
    ConfigItem("joint_speed_soft_limits",       "JointSpeedSoftLimits",       JointSpeedSoftLimits,        "SR",  E.JOINT_SPEED_SOFT_LIMITS_CHANGED,        checks.joint_speeds_within_limits,  Order.UPPER,     Zero.VALUE,  "joint_speed_soft_limits",        JOINT_SPEED,        _MODES["joint_speed_soft_limits"]),
    ConfigItem("joint_acceleration_soft_limits", "JointAccelerationSoftLimits", JointAccelerationSoftLimits, "SR", E.JOINT_ACCELERATION_SOFT_LIMITS_CHANGED, checks.joint_accelerations_within_limits, Order.UPPER, Zero.VALUE, "joint_acceleration_soft_limits", JOINT_ACCELERATION, _MODES["joint_acceleration_soft_limits"]),
    ConfigItem("twist_linear_soft_limit",       "TwistLinearSoftLimit",       TwistLinearSoftLimit,        "SR",  E.TWIST_LINEAR_SOFT_LIMIT_CHANGED,        checks.twist_linear_within_limits,  Order.UPPER,     Zero.REFUSE, "twist_linear_soft_limit",        TWIST_LINEAR,       _MODES["twist_linear_soft_limit"]),
    ConfigItem("twist_angular_soft_limit",      "TwistAngularSoftLimit",      TwistAngularSoftLimit,       "SR",  E.TWIST_ANGULAR_SOFT_LIMIT_CHANGED,       checks.twist_angular_within_limits, Order.UPPER,     Zero.REFUSE, "twist_angular_soft_limit",       TWIST_ANGULAR,      _MODES["twist_angular_soft_limit"]),
    ConfigItem("desired_linear_twist",          "DesiredLinearTwist",         LinearTwist,                 "S",   E.DESIRED_TWIST_LINEAR_SPEED_CHANGED,     checks.desired_linear_within_limits, Order.UPPER,    Zero.VALUE,  quantity=TWIST_LINEAR),
    ConfigItem("desired_angular_twist",         "DesiredAngularTwist",        AngularTwist,                "S",   E.DESIRED_TWIST_ANGULAR_SPEED_CHANGED,    checks.desired_angular_within_limits, Order.UPPER,   Zero.VALUE,  quantity=TWIST_ANGULAR),
    ConfigItem("desired_joint_speeds",          "DesiredJointSpeeds",         JointSpeeds,                 "S",   E.DESIRED_JOINT_SPEED_CHANGED,            checks.desired_joints_within_limits, Order.UPPER,    Zero.VALUE,  quantity=JOINT_SPEED),
    ConfigItem("joint_limits",                  "JointLimits",                JointLimits,                 "",    OwnEvent.JOINT_LIMITS_CHANGED,            held_checks.limits_within_system, Order.INTERVAL,  Zero.VALUE,  held_by_service=True),
    ConfigItem("joint_safety",                  "JointSafety",                JointSafetyMap,              "",    OwnEvent.JOINT_SAFETY_CHANGED,            held_checks.safety_within_system, Order.INTERVAL,  Zero.VALUE,  held_by_service=True),
    ConfigItem("joint_parameters",              "JointParameters",            JointParameterMap,           "",    OwnEvent.JOINT_PARAMETERS_CHANGED,        parameter_checks.parameters_within_system, Order.INTERVAL, Zero.VALUE, held_by_service=True),
    ConfigItem("control_mode",                  "ControlMode",                ControlModeInformation,      "",    None,                                     checks.mode_is_settable,          Order.UNORDERED, Zero.REFUSE),
)
# fmt: on

ITEMS: dict[str, ConfigItem] = {item.key: item for item in CONFIG_ITEMS}

ANGLE_FIELDS = frozenset({"theta_x", "theta_y", "theta_z"})
"""Fields that hold degrees in messages of mixed units."""


def slots() -> tuple[Slot, ...]:
    """Every slot of an arm, in the order of the table."""
    return tuple((item.key, int(mode)) for item in CONFIG_ITEMS for mode in item.modes or (0,))


def held_by_service(state: ArmState, key: str) -> bool:
    """Whether an item is no value of the arm: nothing is written to it, and what is desired is what is there."""
    return ITEMS[key].held_by_service and key not in state.arm_items


HELD_SLOTS: tuple[Slot, ...] = tuple((item.key, 0) for item in CONFIG_ITEMS if item.held_by_service)
"""The slots that the service itself holds, unless the arm holds them."""


def slot_name(slot: Slot) -> str:
    """Name of a slot's mode; empty for an item without modes."""
    return ControlMode(slot[1]).name if slot[1] else ""


def slot_path(slot: Slot) -> str:
    """`item`, or `item/MODE`."""
    name = slot_name(slot)
    return f"{slot[0]}/{name}" if name else slot[0]
