"""The wording of refusals: what was sent, what it had to respect, what would be taken."""

from collections.abc import Sequence

from handlers.arm_state import ArmState
from limits.bounds import Excess, Quantity
from schema.arms import Description
from schema.envelope import Violation
from schema.errors import BrokerError

NOTHING_CHANGED = "Nothing was changed."


def number(value: float) -> str:
    """A number in words: nine digits tell every float32 apart."""
    return f"{value:.9g}"


def listing(values: Sequence[float]) -> str:
    """Numbers in words."""
    return "[" + ", ".join(map(number, values)) + "]"


def not_read(state: ArmState) -> BrokerError:
    """The refusal of anything that needs an arm that was never read."""
    return BrokerError("arm_not_read", f"{state.arm} was never read since it was registered. {NOTHING_CHANGED}")


def description_of(state: ArmState) -> Description:
    """What the arm told of itself.

    Raises:
        BrokerError: arm_not_read.
    """
    if state.description is None:
        raise not_read(state)
    return state.description


def _origin(state: ArmState, source: str) -> str:
    return (
        f"hard limit read from {state.arm}" if source == "hard:device" else f"hard limit of the profile of {state.arm}"
    )


def _least(bound: float) -> str:
    return 'the least limit; 0 means "unset" on the arm, use Reset' if bound > 0.0 else "the least value"


def out_of_limits(
    state: ArmState, path: str, found: list[Excess], quantity: Quantity, suggest: float | tuple[float, ...]
) -> BrokerError:
    """The refusal of values beyond their bounds.

    Args:
        state: the arm.
        path: the field; where `suggest` is a list, its components are joints.
        found: at least one excess, lowest joint first.
        quantity: what the numbers measure.
        suggest: the nearest legal value of the field.
    """
    arm, unit, listed = description_of(state), quantity.unit, isinstance(suggest, tuple)
    violations = tuple(
        Violation(
            path=f"{path}[{excess.component}]" if listed else path,
            joint=excess.component + 1 if listed else 0,
            joint_name=arm.joints[excess.component].name if listed else "",
            got=excess.got,
            bound=excess.bound,
            unit=unit,
            relation="<=" if excess.above else ">=",
            source=arm.hard_source if excess.above else "rule:minimum",
            suggest=suggest,
        )
        for excess in found
    )
    first, above = violations[0], found[0].above
    joint = f" (joint {first.joint})" if listed else ""
    why = _origin(state, arm.hard_source) if above else _least(first.bound)
    nearest = listing(suggest) if isinstance(suggest, tuple) else number(suggest)
    message = (
        f"{first.path}{joint}: {number(first.got)} {unit} {'>' if above else '<'} {number(first.bound)} {unit}, {why}. "
        f"Nearest legal: {nearest}. {NOTHING_CHANGED}"
    )
    name = "VALUE_IS_ABOVE_MAXIMUM" if above else "VALUE_IS_BELOW_MINIMUM"
    return BrokerError("out_of_limits", message, violations, name=name)
