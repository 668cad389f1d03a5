"""The application limits of an arm: JointLimits as a whole, or joint by joint; always inside the machine's."""

from handlers.items.own_checks import Naming, check_limits, no_such_joint
from handlers.items.own_items import reset_own
from handlers.items.verbs import admit, propose, read_slot
from handlers.rpc.outcome import Answer, Proposal
from handlers.rpc.request import Request
from handlers.stack.arm_limits import limits_of
from handlers.stack.joint_vectors import to_message, to_vectors
from handlers.stack.limit_layers import APPLICATION_SLOT
from handlers.state.arm_state import ArmState, as_message
from handlers.state.provenance import numbers_of
from schema.intrinsic import JointLimits, JointLimitsUpdate, JointLimitUpdate
from schema.items import ITEMS
from schema.joint_items import JointLimitChange

_ITEM = ITEMS["joint_limits"]


def _desired(state: ArmState) -> JointLimits:
    return as_message(state.desired[APPLICATION_SLOT], JointLimits)


def get_limits(state: ArmState, request: Request) -> Answer:
    """GetJointLimits: a vector that limits no joint is absent."""
    return read_slot(state, request, APPLICATION_SLOT)


def set_limits(state: ArmState, request: Request) -> Proposal:
    """SetJointLimits: each list that is there and not empty replaces the old one whole.

    Raises:
        BrokerError: as `admit`, then wrong_joint_count, out_of_limits.
    """
    admit(state, request, APPLICATION_SLOT)
    update = as_message(request.params, JointLimitsUpdate)
    kept = _desired(state)
    lists = {name: getattr(update, name) for name in update.__struct_fields__}
    merged = JointLimits(**{name: new if new and new.values else getattr(kept, name) for name, new in lists.items()})
    check_limits(state, merged, Naming())
    joints = len(limits_of(state).joints.names)
    named = frozenset(numbers_of(JointLimits(**lists)))
    return propose(_ITEM, state, APPLICATION_SLOT, to_message(to_vectors(merged, joints)), named)


def set_limit(state: ArmState, request: Request) -> Proposal:
    """SetJointLimit: numbers of one joint; an absent one is kept, zero is a zero.

    Raises:
        BrokerError: as `admit`, then unknown_enum for a joint that the arm does not have, out_of_limits.
    """
    admit(state, request, APPLICATION_SLOT)
    change = as_message(request.params, JointLimitChange)
    names = limits_of(state).joints.names
    if change.joint not in names:
        raise no_such_joint(state, "joint", change.joint)
    vectors = to_vectors(_desired(state), len(names))
    update, column, named = change.update or JointLimitUpdate(), names.index(change.joint), set()
    for name, vector in vectors._asdict().items():
        if (value := getattr(update, name)) is not None:
            vector[column] = value
            named.add(f"{name}[{column}]")
    merged = to_message(vectors)
    check_limits(state, merged, Naming(single=True))
    return propose(_ITEM, state, APPLICATION_SLOT, merged, frozenset(named))


def reset_limits(state: ArmState, request: Request) -> Proposal:
    """ResetJointLimits: back to the limits of the machine."""
    return reset_own(_ITEM, state, request)
