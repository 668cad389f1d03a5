"""The ROS parameters of an arm, `joint_limits.<joint>.<key>`: read, described, and set together or not at all."""

from typing import Any

import msgspec

from handlers.items.parameter_checks import KEYS, QUANTITIES, parse_name, present_parameters
from handlers.items.verbs import admit, propose, read_slot
from handlers.rpc.outcome import Answer, Proposal
from handlers.rpc.request import Request
from handlers.stack.arm_limits import limits_of
from handlers.stack.limit_layers import PARAMETERS_SLOT
from handlers.state.arm_state import ArmState, as_message
from limits.ros2.keys import FLAG_KEYS, parameter_name
from limits.stack.layer import LayerKind
from schema.codecs.scalars import write_limit
from schema.items import ITEMS
from schema.joint_items import JointParameterMap, ParameterNames, SetParametersResult
from schema.messages import Message

_ITEM = ITEMS["joint_parameters"]


def successful(_value: Message) -> SetParametersResult:
    """What ROS answers when all parameters were set."""
    return SetParametersResult(successful=True)


def _parameters(value: Message) -> dict[str, bool | float]:
    return as_message(value, JointParameterMap).parameters


def _asked(state: ArmState, request: Request) -> tuple[str, ...]:
    """The names of a request; each must be one of the arm."""
    names = as_message(request.params, ParameterNames).names
    for name in names:
        parse_name(state, name)
    return names


def get_parameters(state: ArmState, request: Request) -> Answer:
    """GetJointParameters: the parameters that are given, of the names that are asked for."""
    answer = read_slot(state, request, PARAMETERS_SLOT)
    names = _asked(state, request)
    if not names:
        return answer
    given = _parameters(as_message(answer.result, JointParameterMap))
    asked = JointParameterMap({name: given[name] for name in names if name in given})
    return msgspec.structs.replace(answer, result=asked)


def set_parameters(state: ArmState, request: Request) -> Proposal:
    """SetJointParameters: all of them or none; parameters that are not named stay as `present_parameters` has them.

    Raises:
        BrokerError: as `admit`, then unknown_enum, malformed, implausible_value, out_of_limits.
    """
    admit(state, request, PARAMETERS_SLOT)
    change = as_message(request.params, JointParameterMap)
    merged = JointParameterMap(present_parameters(state) | change.parameters)
    return propose(_ITEM, state, PARAMETERS_SLOT, merged, frozenset(change.parameters))


def describe_parameters(state: ArmState, request: Request) -> Answer:
    """DescribeJointParameters: type, unit and range of the parameters that are asked for, else of all of the arm."""
    read_slot(state, request, PARAMETERS_SLOT)
    joints = limits_of(state).joints.names
    names = _asked(state, request) or tuple(parameter_name(joint, key) for joint in joints for key in KEYS)
    return Answer({"parameters": {name: _described(state, name) for name in names}})


def _described(state: ArmState, name: str) -> dict[str, Any]:
    """The descriptor of a parameter; `from_value` and `to_value` are what the machine allows."""
    joint, key = parse_name(state, name)
    given = name in _parameters(state.reported[PARAMETERS_SLOT])
    if key in FLAG_KEYS:
        return {"type": "bool", "given": given, "read_only": False}
    limits, quantity = limits_of(state), QUANTITIES.get(key)
    document: dict[str, Any] = {"type": "double", "given": given, "read_only": False}
    if quantity is None:
        return document | {"from_value": 0.0}
    machine = limits.machine(without=LayerKind.ROS)
    maximum = quantity not in {"position_lower", "position_upper"}
    low = 0.0 if maximum else machine.value("position_lower", joint)
    high = machine.value(quantity if maximum else "position_upper", joint)
    document["unit"] = limits.joints.unit(quantity, joint)
    return document | {"from_value": write_limit(low), "to_value": write_limit(high)}
