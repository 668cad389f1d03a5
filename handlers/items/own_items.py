"""What the items that the service itself holds start with, and go back to."""

from handlers.items.direction import is_loosening
from handlers.items.verbs import admit
from handlers.rpc.outcome import Proposal
from handlers.rpc.request import Request
from handlers.stack.arm_limits import limits_of, vectors_of
from handlers.stack.joint_vectors import to_message
from handlers.stack.limit_layers import APPLICATION_SLOT, PARAMETERS_SLOT, SAFETY_SLOT
from handlers.state.arm_state import ArmState
from schema.arms import Slot, Verb
from schema.items import ConfigItem
from schema.messages import Message


def initial_value(state: ArmState, slot: Slot) -> Message:
    """The value of a slot from the files of the arm; the application limits are those of the machine as it is now.

    Raises:
        BrokerError: arm_not_read.
    """
    limits = limits_of(state)
    if slot == APPLICATION_SLOT:
        return to_message(vectors_of(limits.system))
    return limits.placed.safety if slot == SAFETY_SLOT else limits.placed.parameters


INITIAL_ORDER = (PARAMETERS_SLOT, SAFETY_SLOT, APPLICATION_SLOT)
"""The slots in the order in which they start: the application limits are made of what the parameters say."""


def propose_reset(
    item: ConfigItem, state: ArmState, slot: Slot, value: Message, named: frozenset[str] | None = None
) -> Proposal:
    """The Reset of a held slot, or of the parts `named`: its value is known at once."""
    return Proposal(slot, Verb.RESET, value, is_loosening(item, value, state.reported.get(slot)), named=named)


def reset_own(item: ConfigItem, state: ArmState, request: Request) -> Proposal:
    """Reset of a whole held item.

    Raises:
        BrokerError: as `admit`.
    """
    slot = (item.key, 0)
    admit(state, request, slot, at_once=True)
    return propose_reset(item, state, slot, initial_value(state, slot))
