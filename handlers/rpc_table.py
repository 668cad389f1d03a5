"""Every method of the service on one page."""

from functools import partial

from handlers.fleet import find_arms, history
from handlers.items import verbs
from handlers.methods import (
    apply_config,
    apply_recipe,
    authority,
    command_check,
    compare,
    control_mode,
    explain,
    factory,
    joint_limits,
    joint_parameters,
    joint_safety,
    kinematic_limits,
    kinematics,
    notifications,
    overrides,
    pending,
    plans,
    queries,
    recipes,
    restore_revision,
    simulation,
    trajectory_check,
)
from handlers.rpc.row import Access, Address, Guard, Option, Right, Rpc
from schema.intrinsic import JointLimits, JointLimitsUpdate, Skeleton
from schema.items import CONFIG_ITEMS, ITEMS, ConfigItem, Order
from schema.joint_items import (
    JointLimitChange,
    JointNames,
    JointParameterMap,
    JointSafetyChange,
    JointSafetyMap,
    ParameterNames,
    SetParametersResult,
)
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
HOLD, LOCK, AUTHORITY = Guard.HOLD, Guard.LOCK, Guard.AUTHORITY
MAY_WRITE = Right.WRITE
EACH, FLEET = Address.ARM | Address.ROWS, Address.ARM | Address.FLEET


def _unit(item: ConfigItem) -> str:
    """`deg` where the item's numbers are degrees; the tool mixes units, but all its angles are degrees."""
    if item.key == "tool_configuration":
        return "deg"
    return "deg" if item.quantity is not None and item.quantity.angular else ""


def _rows_of(item: ConfigItem) -> list[Rpc]:
    """Get, Set and Reset of one item, as its verbs say."""
    key, noun, message, unit, text = item.key, item.noun, item.record, _unit(item), item.key.replace("_", " ")
    of_slot = ControlModeInformation if item.modes else Empty
    # fmt: off
    rows = {
        "S": Rpc(f"Set{noun}",   WRITE, message, Empty,   partial(verbs.set_item, item),   f"Set the {text}",                         key, unit, guard=AUTHORITY, right=MAY_WRITE, address=EACH),
        "G": Rpc(f"Get{noun}",   READ,  Empty,   message, partial(verbs.get_item, item),   f"Read the {text}",                        key, unit),
        "R": Rpc(f"Reset{noun}", WRITE, of_slot, message, partial(verbs.reset_item, item), f"Reset the {text} to the arm's default", key, unit, guard=AUTHORITY, right=MAY_WRITE, address=EACH),
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
    Rpc("SetControlMode",              WRITE, ControlModeInformation, Empty,                control_mode.set_control_mode,        "Ask the arm to change its control mode", "control_mode", ttl_ms=control_mode.MODE_TTL_MS, guard=AUTHORITY, right=MAY_WRITE),
    Rpc("GetKinematicHardLimits",      READ,  Empty,                  KinematicLimits,      kinematic_limits.get_hard_limits,     "Read the hard limits", unit="deg"),
    Rpc("GetKinematicSoftLimits",      READ,  ControlModeInformation, KinematicLimits,      kinematic_limits.get_soft_limits,     "Read the soft limits of one mode", unit="deg"),
    Rpc("GetAllKinematicSoftLimits",   READ,  Empty,                  KinematicLimitsList,  kinematic_limits.get_all_soft_limits, "Read the soft limits of the five modes that take them", unit="deg"),
    Rpc("GetDesiredSpeeds",            READ,  Empty,                  DesiredSpeeds,        kinematic_limits.get_desired_speeds,  "Read the desired joystick speeds", unit="deg"),
    Rpc("GetJointLimits",              READ,  Empty,                  JointLimits,          joint_limits.get_limits,              "Read the application limits", "joint_limits", "rad"),
    Rpc("SetJointLimits",              WRITE, JointLimitsUpdate,      JointLimits,          joint_limits.set_limits,              "Set application limits list by list", "joint_limits", "rad", guard=AUTHORITY, right=MAY_WRITE, address=EACH),
    Rpc("SetJointLimit",               WRITE, JointLimitChange,       JointLimits,          joint_limits.set_limit,               "Set application limits of one joint", "joint_limits", "rad", guard=AUTHORITY, right=MAY_WRITE, address=EACH),
    Rpc("ResetJointLimits",            WRITE, Empty,                  JointLimits,          joint_limits.reset_limits,            "Reset the application limits to those of the machine", "joint_limits", "rad", guard=AUTHORITY, right=MAY_WRITE, address=EACH),
    Rpc("GetJointSafety",              READ,  Empty,                  JointSafetyMap,       joint_safety.get_safety,              "Read the JointSafety records", "joint_safety", "rad"),
    Rpc("SetJointSafety",              WRITE, JointSafetyChange,      JointSafetyMap,       joint_safety.set_safety,              "Set JointSafety records of joints", "joint_safety", "rad", guard=AUTHORITY, right=MAY_WRITE, address=EACH),
    Rpc("ClearJointSafety",            WRITE, JointNames,             JointSafetyMap,       joint_safety.clear_safety,            "Set JointSafety records to four zeros, which freezes the joints", "joint_safety", "rad", guard=AUTHORITY, right=MAY_WRITE, address=EACH),
    Rpc("ResetJointSafety",            WRITE, JointNames,             JointSafetyMap,       joint_safety.reset_safety,            "Reset JointSafety records to those of the URDF, or to none", "joint_safety", "rad", guard=AUTHORITY, right=MAY_WRITE, address=EACH),
    Rpc("GetJointParameters",          READ,  ParameterNames,         JointParameterMap,    joint_parameters.get_parameters,      "Read the ROS parameters of the joints", "joint_parameters", "rad"),
    Rpc("SetJointParameters",          WRITE, JointParameterMap,      SetParametersResult,  joint_parameters.set_parameters,      "Set ROS parameters of the joints, all or none", "joint_parameters", "rad", present=joint_parameters.successful, guard=AUTHORITY, right=MAY_WRITE, address=EACH),
    Rpc("DescribeJointParameters",     READ,  ParameterNames,         None,                 joint_parameters.describe_parameters, "Types, units and ranges of the ROS parameters", "joint_parameters", "rad"),
    Rpc("Explain",                     READ,  None,                   None,                 explain.explain_limits,               "The layers behind each effective limit: value, source, author, time"),
    Rpc("GetSkeleton",                 READ,  Empty,                  Skeleton,             kinematics.get_skeleton,              "Read the kinematic tree of the arm's skeleton file", unit="rad"),
    Rpc("CheckTrajectory",             READ,  None,                   None,                 trajectory_check.check_trajectory_of, "Compare a trajectory with the effective limits; nothing is relayed", unit="rad", lists=trajectory_check.LISTS),
    Rpc("CheckCommand",                READ,  None,                   None,                 command_check.check_command,          "Put one command through a limiter; nothing is relayed", unit="rad"),
    Rpc("GetHistory",                  READ,  None,                   None,                 queries.get_history,                  "Read the changes of the arm, newest first"),
    Rpc("GetEvents",                   READ,  None,                   None,                 queries.get_events,                   "Read the events of the arm again, oldest first", address=FLEET),
    Rpc("Diff",                        READ,  None,                   None,                 compare.diff,                         "Tell what two sources of values say differently: arms, revisions, recipes, values of the request", address=Address.ARM | Address.GROUP),
    Rpc("Blame",                       READ,  None,                   None,                 compare.blame,                        "Tell who set each value that is in force, and with which change"),
    Rpc("FindArms",                    READ,  None,                   None,                 find_arms.find_arms,                  "Find the arms of a group by what is known of them", address=Address.GROUP),
    Rpc("GetFleetHistory",             READ,  None,                   None,                 history.get_fleet_history,            "Read the changes of the arms of a group, newest first", address=Address.GROUP),
    Rpc("WhoAmI",                      READ,  None,                   None,                 queries.who_am_i,                     "What the service understood of the sender", any_arm=True),
    Rpc("ConfirmPending",              WRITE, None,                   None,                 pending.confirm_pending,              "Let held changes go out after all: `rev`, or `all`", guard=AUTHORITY, right=Right.CONFIRM, address=EACH),
    Rpc("DiscardPending",              WRITE, None,                   None,                 pending.discard_pending,              "End pending and held changes without a write: `rev`, or `all`", guard=HOLD, right=MAY_WRITE, address=EACH),
    Rpc("ConfirmArm",                  WRITE, None,                   None,                 pending.confirm_arm,                  "Take the arm that answers for the one that was known; discards what is pending", guard=HOLD, right=Right.CONFIRM),
    Rpc(factory.RESTORE_FACTORY,       WRITE, None,                   None,                 factory.restore_factory,              "Reset every item that can be reset, set the others to what was adopted first", guard=AUTHORITY, right=Right.FACTORY),
    Rpc("ApplyConfig",                 WRITE, None,                   None,                 apply_config.apply_config,            "Set values of several items as one change", guard=AUTHORITY, right=MAY_WRITE, address=EACH),
    Rpc("ApplyRecipe",                 WRITE, None,                   None,                 apply_recipe.apply_recipe,            "Set the values of a recipe, or some of them, as one change", guard=AUTHORITY, right=MAY_WRITE, address=EACH),
    Rpc("RestoreRevision",             WRITE, None,                   None,                 restore_revision.restore_revision,    "Set again what was there after a revision", guard=AUTHORITY, right=MAY_WRITE),
    Rpc("SetAuthority",                WRITE, None,                   None,                 authority.set_authority,              "Say how far the service may go with the arm: observe, advise or control", guard=HOLD, right=Right.AUTHORITY, address=EACH),
    Rpc("HoldArm",                     WRITE, None,                   None,                 authority.hold_arm,                   "Lock the arm: writes of other users are refused", guard=LOCK, right=MAY_WRITE, address=EACH),
    Rpc("ReleaseArm",                  WRITE, None,                   None,                 authority.release_arm,                "End the lock on the arm", guard=LOCK, right=MAY_WRITE, address=EACH),
    Rpc("PutRecipe",                   WRITE, None,                   None,                 recipes.put_recipe,                   "Keep named values as the next version of a recipe", right=MAY_WRITE, address=Address.FLEET),
    Rpc("GetRecipe",                   READ,  None,                   None,                 recipes.get_recipe,                   "Read a version of a recipe, the newest unless told", address=Address.FLEET),
    Rpc("ListRecipes",                 READ,  None,                   None,                 recipes.list_recipes,                 "List the recipes by name", address=Address.FLEET),
    Rpc("DeleteRecipe",                WRITE, None,                   None,                 recipes.delete_recipe,                "Take a recipe off the list; what was applied stays", right=MAY_WRITE, address=Address.FLEET),
    Rpc("ExtendOverride",              WRITE, None,                   None,                 overrides.extend_override,            "Give overrides another end: `rev`, `plan` or `all`", guard=HOLD, right=MAY_WRITE, address=EACH),
    Rpc("EndOverride",                 WRITE, None,                   None,                 overrides.end_override,               "End overrides now, or keep what they gave", guard=HOLD, right=MAY_WRITE, address=EACH),
    Rpc("Rollout",                     WRITE, None,                   None,                 plans.rollout,                        "Change the arms of a group wave after wave, watched, taken back where arms do not take it", right=MAY_WRITE, address=Address.GROUP),
    Rpc("GetPlan",                     READ,  None,                   None,                 plans.get_plan,                       "Read a plan with a page of its rows", address=Address.FLEET),
    Rpc("ListPlans",                   READ,  None,                   None,                 plans.list_plans,                     "List plans, newest first", address=Address.FLEET),
    Rpc("SteerPlan",                   WRITE, None,                   None,                 plans.steer_plan,                     "Pause, resume, abort, reverse, approve or reject a plan", address=Address.FLEET),
    Rpc("SimFault",                    WRITE, None,                   None,                 simulation.sim_fault,                 "Tell a simulated arm to misbehave", right=MAY_WRITE),
)
# fmt: on


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

OWN_METHODS = frozenset(name for name, row in RPC_TABLE.items() if row.item and ITEMS[row.item].kept_by_service)
"""Methods of the items that the service itself holds."""
MAY_TIGHTEN = {"ApplyConfig", "ApplyRecipe"} | frozenset(
    name
    for name, row in RPC_TABLE.items()
    if row.access is Access.WRITE
    and row.item
    and ITEMS[row.item].order is not Order.UNORDERED
    and not name.startswith(("Reset", "Clear"))
)
"""Methods whose changes can tighten limits; those of others are loosenings or have no direction."""
SETS = frozenset(
    name for name, row in RPC_TABLE.items() if row.item not in ("", "control_mode") and name.startswith("Set")
)
"""Methods that set values of items."""
OPTIONS: dict[Option, frozenset[str]] = {
    Option.END: SETS | {"ApplyConfig", "ApplyRecipe", "RestoreRevision"},
    Option.IDLE: SETS | {"ApplyConfig", "ApplyRecipe", "RestoreRevision", "Rollout"},
}
"""The methods that take each option."""
FLEET_METHODS = frozenset(name for name, row in RPC_TABLE.items() if Address.ARM not in row.address)
"""Methods that no single arm can be asked for."""
SERVICE_METHODS = OWN_METHODS | {
    "SetControlMode",
    "GetHistory",
    "GetEvents",
    "Diff",
    "Blame",
    "WhoAmI",
    "SimFault",
    "Explain",
    "GetSkeleton",
    "CheckTrajectory",
    "CheckCommand",
    "ConfirmPending",
    "DiscardPending",
    "ConfirmArm",
    "RestoreFactory",
    "ExtendOverride",
    "EndOverride",
    "ApplyConfig",
    "ApplyRecipe",
    "RestoreRevision",
    "SetAuthority",
    "HoldArm",
    "ReleaseArm",
}
"""Methods beyond the thirty of Kinova; all but SetControlMode need nothing of the arm."""


def reply_message(name: str) -> type[Message] | None:
    """The message of a method's reply; None for a mapping or an unknown method."""
    row = RPC_TABLE.get(name)
    return row.reply if row is not None else None
