"""Check of the ROS parameters of an arm: known names, right types, limits that make sense inside the machine's."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from handlers.items.own_checks import beyond, no_such_joint, refuse
from handlers.rpc.plain_params import listed
from handlers.stack.arm_limits import limits_of
from handlers.stack.limit_layers import PARAMETERS_SLOT
from handlers.state.arm_state import ArmState, as_message
from handlers.state.refusals import NOTHING_CHANGED
from limits.errors import LimitsError
from limits.ros2.keys import FLAG_KEYS, HARD_KEYS, HAS_SOFT_LIMITS, ROOT, SOFT_KEYS, parameter_name
from limits.ros2.parameters import load_joint_limits
from limits.ros2.store import ParameterStore
from limits.ros2.validity import NUMBERS, SOFT_FIELDS
from limits.stack.layer import LayerKind
from schema.envelope import Violation, Warned
from schema.errors import BrokerError
from schema.joint_items import JointParameterMap

KEYS = HARD_KEYS + SOFT_KEYS
"""The last parts of the names."""
FLAG_OF = {key: f"has_{quantity}_limits" for quantity, keys in NUMBERS.items() for key in keys} | dict.fromkeys(
    SOFT_FIELDS, HAS_SOFT_LIMITS
)
"""The flag of each number."""
QUANTITIES = {
    "min_position": "position_lower",
    "max_position": "position_upper",
    "max_velocity": "velocity",
    "max_acceleration": "acceleration",
    "max_deceleration": "deceleration",
    "max_jerk": "jerk",
    "max_effort": "effort",
    "soft_lower_limit": "position_lower",
    "soft_upper_limit": "position_upper",
}
"""What each number that has one bounds."""
EXPECTED = {True: "a flag", False: "a number"}


def present_parameters(state: ArmState) -> dict[str, bool | float]:
    """What a change leaves as it is where it does not say otherwise: the wishes under way, else what an arm holds."""
    kept_by_arm = PARAMETERS_SLOT[0] in state.arm_items
    values = state.reported if kept_by_arm and not state.open.get(PARAMETERS_SLOT) else state.desired
    return as_message(values[PARAMETERS_SLOT], JointParameterMap).parameters


class ParameterName(NamedTuple):
    """A name in its parts."""

    joint: str
    key: str


def parse_name(state: ArmState, name: str) -> ParameterName:
    """The joint and key of `joint_limits.<joint>.<key>`.

    Raises:
        BrokerError: unknown_enum for a joint that the arm does not have, or a key that there is not.
    """
    joint, _, key = name.removeprefix(f"{ROOT}.").rpartition(".")
    path = f"parameters.{name[:120]}"
    if key not in KEYS or not name.startswith(f"{ROOT}."):
        known = listed(key, KEYS)
        text = f"{path}: no such parameter; names are {ROOT}.<joint>.<key>, keys: {known}. {NOTHING_CHANGED}"
        raise BrokerError("unknown_enum", text)
    if joint not in limits_of(state).joints.names:
        raise no_such_joint(state, path, joint)
    return ParameterName(joint, key)


def parameters_within_system(state: ArmState, message: JointParameterMap) -> tuple[Warned, ...]:
    """ROS parameters: known names, flags and numbers, complete limits, nothing beyond the machine.

    Raises:
        BrokerError: unknown_enum, malformed, out_of_limits; the violation names the joint.
    """
    before = present_parameters(state)
    changed = {name: value for name, value in message.parameters.items() if before.get(name) is not value}
    names = {name: parse_name(state, name) for name in changed}
    for name, value in changed.items():
        flag = names[name].key in FLAG_KEYS
        if isinstance(value, bool) is not flag:
            text = (
                f"parameters.{name}: {value!r} is {EXPECTED[not flag]}, {EXPECTED[flag]} is needed. {NOTHING_CHANGED}"
            )
            raise BrokerError("malformed", text, (_violation(state, name, float(value)),))
    joints = {parts.joint: None for parts in names.values()}
    _check_records(state, tuple(joints), message)
    refuse(state, _beyond_machine(state, message, names))
    return ()


def _violation(state: ArmState, name: str, got: float, bound: float = 0.0, relation: str = "==") -> Violation:
    """A parameter that breaks a rule of ROS."""
    joint = parse_name(state, name).joint
    column = limits_of(state).joints.names.index(joint)
    return Violation(f"parameters.{name}", got, bound, "", relation, "rule:ros", column + 1, joint)


def _check_records(state: ArmState, joints: Sequence[str], message: JointParameterMap) -> None:
    """Refuse parameters that together give no usable limits of one of these joints."""
    try:
        load_joint_limits(joints, ParameterStore(message.parameters))
    except LimitsError as error:
        name = parameter_name(str(error.joint), str(error.key))
        text = f"parameters.{name}: {error.reason}. {NOTHING_CHANGED}"
        got, bound = error.value, error.bound
        if not isinstance(got, float) or not isinstance(bound, float):
            raise BrokerError("implausible_value", text, (_violation(state, name, 0.0),)) from None
        found = _violation(state, name, got, bound, "<=" if got > bound else ">=")
        above = "VALUE_IS_ABOVE_MAXIMUM" if got > bound else "VALUE_IS_BELOW_MINIMUM"
        raise BrokerError("out_of_limits", text, (found,), name=above) from None


def _beyond_machine(
    state: ArmState, message: JointParameterMap, changed: Mapping[str, ParameterName]
) -> Iterator[Violation]:
    """Numbers that count and reach beyond what the other sources say of the machine."""
    limits = limits_of(state)
    machine, joints = limits.machine(without=LayerKind.ROS), limits.joints
    for joint in {parts.joint for parts in changed.values()}:
        for key, quantity in QUANTITIES.items():
            name, flag = parameter_name(joint, key), parameter_name(joint, FLAG_OF[key])
            value = message.parameters.get(name)
            if not {name, flag} & changed.keys() or value is None or not message.parameters.get(flag, False):
                continue
            if (bound := beyond(machine, quantity, joint, float(value))) is not None:
                yield Violation(
                    path=f"parameters.{name}",
                    got=float(value),
                    bound=bound.bound,
                    unit=joints.unit(quantity, joint),
                    relation=bound.relation,
                    source=bound.source,
                    joint=joints.names.index(joint) + 1,
                    joint_name=joint,
                    suggest=bound.bound,
                )
