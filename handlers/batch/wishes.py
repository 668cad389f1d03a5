"""What a slot of a batch is to have: of the joint items what is named is laid over what is there."""

from collections.abc import Callable
from typing import Any, NamedTuple

from handlers.items.config_items import CHECKS, kept_by_service
from handlers.items.overlay import overlay
from handlers.items.own_checks import vectors_in
from handlers.items.parameter_checks import present_parameters
from handlers.stack.joint_vectors import to_message
from handlers.state.arm_state import ArmState, as_message
from handlers.state.provenance import numbers_of
from handlers.state.refusals import NOTHING_CHANGED
from schema.arms import Slot
from schema.envelope import Warned
from schema.errors import BrokerError
from schema.intrinsic import JointLimits
from schema.items import ITEMS, slot_path
from schema.joint_items import JointParameterMap
from schema.messages import Message

_LIMITS = "joint_limits"
_NAMED = frozenset({_LIMITS, "joint_safety", "joint_parameters"})
"""Items of which a value names parts."""


class Wish(NamedTuple):
    """The value that a slot is to have, its check, and the parts of it that are asked for by name (None: the whole)."""

    value: Message
    check: Callable[[ArmState, Any], tuple[Warned, ...]]
    named: frozenset[str] | None = None


def wish_of(state: ArmState, slot: Slot, value: Message, *, whole: bool = False) -> Wish:
    """What a slot is to have.

    Raises:
        BrokerError: not_applicable: the arm has no such slot, or cannot set it; wrong_joint_count.
    """
    key = slot[0]
    if slot not in state.reported or f"Set{ITEMS[key].noun}" not in state.methods:
        raise BrokerError("not_applicable", f"{state.arm} has no {slot_path(slot)} that can be set. {NOTHING_CHANGED}")
    if key not in _NAMED:
        return Wish(value, CHECKS[key])
    named = None if whole else frozenset(numbers_of(value))
    if isinstance(value, JointLimits):
        return _limits(state, value if whole else overlay(state.desired[slot], value), named)
    if isinstance(value, JointParameterMap):
        if whole and kept_by_service(state, key):
            return Wish(value, CHECKS[key])
        merged = JointParameterMap(present_parameters(state) | value.parameters)
        return Wish(merged, CHECKS[key], frozenset(value.parameters))
    return Wish(value if whole else overlay(state.desired[slot], value), CHECKS[key], named)


def _limits(state: ArmState, value: Message, named: frozenset[str] | None) -> Wish:
    """Application limits: lists of all joints, once it is known that they are."""
    return Wish(to_message(vectors_in(state, as_message(value, JointLimits))), CHECKS[_LIMITS], named)
