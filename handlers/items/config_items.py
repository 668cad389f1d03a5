"""What is decided about config items: which check each value passes, and whether the service or the arm holds it."""

from handlers.items import checks, own_checks, parameter_checks
from handlers.items.checks import Check
from handlers.state.arm_state import ArmState
from schema.items import ITEMS

CHECKS: dict[str, Check] = checks.CHECKS | {
    "joint_limits": own_checks.limits_within_system,
    "joint_safety": own_checks.safety_within_system,
    "joint_parameters": parameter_checks.parameters_within_system,
}
"""What a value has to pass before it is accepted, by key of the item."""


def kept_by_service(state: ArmState, key: str) -> bool:
    """Whether an item is no value of the arm: nothing is written to it, and what is desired is what is there."""
    return ITEMS[key].kept_by_service and key not in state.arm_items
