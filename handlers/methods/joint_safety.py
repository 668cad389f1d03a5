"""JointSafety of an arm: soft range and gains, joint by joint."""

from collections.abc import Iterable

from handlers.items.own_checks import no_such_joint
from handlers.items.own_items import initial_value, propose_reset
from handlers.items.verbs import admit, propose, read_slot
from handlers.rpc.outcome import Answer, Proposal
from handlers.rpc.request import Request
from handlers.stack.arm_limits import limits_of
from handlers.stack.limit_layers import SAFETY_SLOT
from handlers.state.arm_state import ArmState, as_message
from handlers.state.refusals import NOTHING_CHANGED
from schema.errors import BrokerError
from schema.items import ITEMS
from schema.joint_items import JointNames, JointSafetyChange, JointSafetyGains, JointSafetyMap, JointSafetyRecord
from schema.messages import Message

_ITEM = ITEMS["joint_safety"]


def _records(value: Message) -> dict[str, JointSafetyGains]:
    return as_message(value, JointSafetyMap).joints


def _named(state: ArmState, request: Request) -> Iterable[str]:
    """The joints that a request names; all of the arm if it names none."""
    names = limits_of(state).joints.names
    asked = as_message(request.params, JointNames).joints
    for name in asked:
        if name not in names:
            raise no_such_joint(state, "joints", name)
    return asked or names


def _whole(name: str, record: JointSafetyRecord) -> JointSafetyGains:
    numbers = {field: getattr(record, field) for field in record.__struct_fields__}
    if missing := [field for field, number in numbers.items() if number is None]:
        text = f"params.joints.{name[:60]}.{missing[0]}: a number is needed; a record is set whole. {NOTHING_CHANGED}"
        raise BrokerError("malformed", text)
    return JointSafetyGains(**numbers)


def _propose(state: ArmState, records: dict[str, JointSafetyGains]) -> Proposal:
    """New records of some joints."""
    whole = JointSafetyMap(_records(state.desired[SAFETY_SLOT]) | records)
    return propose(_ITEM, state, SAFETY_SLOT, whole, frozenset(records))


def get_safety(state: ArmState, request: Request) -> Answer:
    """GetJointSafety: the records of the joints that have one."""
    return read_slot(state, request, SAFETY_SLOT)


def set_safety(state: ArmState, request: Request) -> Proposal:
    """SetJointSafety: whole records of the named joints.

    Raises:
        BrokerError: as `admit`, then malformed, unknown_enum, not_finite, out_of_limits.
    """
    admit(state, request, SAFETY_SLOT)
    change = as_message(request.params, JointSafetyChange)
    new = {name: _whole(name, record) for name, record in change.joints.items()}
    return _propose(state, new)


def clear_safety(state: ArmState, request: Request) -> Proposal:
    """ClearJointSafety: four zeros for the named joints, which freezes them.

    Raises:
        BrokerError: as `admit`, then unknown_enum.
    """
    admit(state, request, SAFETY_SLOT)
    cleared = dict.fromkeys(_named(state, request), JointSafetyGains())
    return _propose(state, cleared)


def reset_safety(state: ArmState, request: Request) -> Proposal:
    """ResetJointSafety: the named joints go back to the record of the URDF, or to none.

    Raises:
        BrokerError: as `admit`, then unknown_enum.
    """
    admit(state, request, SAFETY_SLOT, at_once=True)
    initial = _records(initial_value(state, SAFETY_SLOT))
    joints, named = dict(_records(state.desired[SAFETY_SLOT])), _named(state, request)
    for name in named:
        joints.pop(name, None)
        if name in initial:
            joints[name] = initial[name]
    return propose_reset(_ITEM, state, SAFETY_SLOT, JointSafetyMap(joints), frozenset(named))
