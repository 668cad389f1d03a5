"""Every method of the service on one page."""

from functools import partial

from handlers import control_mode, items, kinematic_limits, notifications, queries, simulation
from handlers.config_items import CONFIG_ITEMS, ConfigItem
from handlers.rpc import Access, Rpc
from schema.messages import (
    ControlModeInformation,
    DesiredSpeeds,
    Empty,
    KinematicLimits,
    KinematicLimitsList,
    Message,
    NotificationHandle,
    NotificationOptions,
)

READ, WRITE = Access.READ, Access.WRITE


def _unit(item: ConfigItem) -> str:
    """`deg` where the item's numbers are degrees; the tool mixes units, but all its angles are degrees."""
    if item.key == "tool_configuration":
        return "deg"
    return "deg" if item.quantity is not None and item.quantity.angular else ""


def _rows_of(item: ConfigItem) -> list[Rpc]:
    """Get, Set and Reset of one item, as its verbs say."""
    key, noun, message, unit, text = item.key, item.noun, item.message, _unit(item), item.key.replace("_", " ")
    of_slot = ControlModeInformation if item.modes else Empty
    # fmt: off
    rows = {
        "S": Rpc(f"Set{noun}",   WRITE, message, Empty,   partial(items.set_item, item),   f"Set the {text}",                         key, unit),
        "G": Rpc(f"Get{noun}",   READ,  Empty,   message, partial(items.get_item, item),   f"Read the {text}",                        key, unit),
        "R": Rpc(f"Reset{noun}", WRITE, of_slot, message, partial(items.reset_item, item), f"Reset the {text} to the arm's default", key, unit),
    }
    # fmt: on
    return [row for verb, row in rows.items() if verb in item.verbs]


# fmt: off
_EXPLICIT = (
    #   name                           access request                  reply                decide
    Rpc("ControlConfigurationTopic",   WRITE, NotificationOptions,    NotificationHandle,   notifications.open_config_topic,      "Open a handle for configuration events"),
    Rpc("ControlModeTopic",            WRITE, NotificationOptions,    NotificationHandle,   notifications.open_mode_topic,        "Open a handle for control mode events"),
    Rpc("Unsubscribe",                 WRITE, NotificationHandle,     Empty,                notifications.unsubscribe,            "Close a handle"),
    Rpc("GetControlMode",              READ,  Empty,                  ControlModeInformation, control_mode.get_control_mode,      "Read the control mode last seen", "control_mode"),
    Rpc("SetControlMode",              WRITE, ControlModeInformation, Empty,                control_mode.set_control_mode,        "Ask the arm to change its control mode", "control_mode", ttl_ms=control_mode.MODE_TTL_MS),
    Rpc("GetKinematicHardLimits",      READ,  Empty,                  KinematicLimits,      kinematic_limits.get_hard_limits,     "Read the hard limits", unit="deg"),
    Rpc("GetKinematicSoftLimits",      READ,  ControlModeInformation, KinematicLimits,      kinematic_limits.get_soft_limits,     "Read the soft limits of one mode", unit="deg"),
    Rpc("GetAllKinematicSoftLimits",   READ,  Empty,                  KinematicLimitsList,  kinematic_limits.get_all_soft_limits, "Read the soft limits of the five modes that take them", unit="deg"),
    Rpc("GetDesiredSpeeds",            READ,  Empty,                  DesiredSpeeds,        kinematic_limits.get_desired_speeds,  "Read the desired joystick speeds", unit="deg"),
    Rpc("GetHistory",                  READ,  None,                   None,                 queries.get_history,                  "Read the changes of the arm, newest first"),
    Rpc("GetEvents",                   READ,  None,                   None,                 queries.get_events,                   "Read the events of the arm again, oldest first"),
    Rpc("WhoAmI",                      READ,  None,                   None,                 queries.who_am_i,                     "What the service understood of the sender", any_arm=True),
    Rpc("SimFault",                    WRITE, None,                   None,                 simulation.sim_fault,                 "Tell a simulated arm to misbehave"),
)
# fmt: on

UNIMPLEMENTED = (
    "RestoreFactory", "ConfirmPending", "DiscardPending", "ConfirmArm", "SetAuthority", "HoldArm", "ReleaseArm",
    "SetJointLimits", "SetJointLimit", "GetJointLimits", "ResetJointLimits",
    "GetJointSafety", "SetJointSafety", "ClearJointSafety", "ResetJointSafety",
    "GetJointParameters", "SetJointParameters", "DescribeJointParameters",
    "GetSkeleton", "Explain", "CheckTrajectory", "CheckCommand",
)  # fmt: skip
"""Methods that are described but not there yet: refused by name."""


def _table(rows: list[Rpc]) -> dict[str, Rpc]:
    """The rows by name.

    Raises:
        ValueError: a name stands twice.
    """
    table = {row.name: row for row in rows}
    if len(table) != len(rows):
        raise ValueError("a method stands twice in the table")
    return table


RPC_TABLE: dict[str, Rpc] = _table([*(row for item in CONFIG_ITEMS for row in _rows_of(item)), *_EXPLICIT])
"""Every method by name, Kinova's thirty and our own."""

SERVICE_METHODS = frozenset({"SetControlMode", "GetHistory", "GetEvents", "WhoAmI", "SimFault"})
"""Methods beyond the thirty of Kinova; all but SetControlMode need nothing of the arm."""


def reply_message(name: str) -> type[Message] | None:
    """The message of a method's reply; None for a mapping or an unknown method."""
    row = RPC_TABLE.get(name)
    return row.reply if row is not None else None
