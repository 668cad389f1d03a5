"""The wording of refusals: what was sent, what it had to respect, what would be taken."""

from collections.abc import Sequence

from handlers.state.arm_state import ArmState
from limits.bounds import Excess
from schema.arms import Description
from schema.envelope import Violation
from schema.errors import BrokerError
from schema.quantities import Quantity

NOTHING_CHANGED = "Nothing was changed."


def number(value: float) -> str:
    """A number in words: nine digits tell every float32 apart."""
    return f"{value:.9g}"


def listing(values: Sequence[float]) -> str:
    """Numbers in words."""
    return "[" + ", ".join(map(number, values)) + "]"


def distrusted_arm(state: ArmState) -> BrokerError:
    """The refusal of what an arm that is held does not take."""
    return BrokerError("held", f"{state.arm} is held: {state.distrust}. {NOTHING_CHANGED}")


def not_read(state: ArmState) -> BrokerError:
    """The refusal of anything that needs an arm that was never read, or of which what was read is damaged."""
    if state.damaged:
        return distrusted_arm(state)
    return BrokerError("arm_not_read", f"{state.arm} was never read since it was registered. {NOTHING_CHANGED}")


def description_of(state: ArmState) -> Description:
    """What the arm told of itself.

    Raises:
        BrokerError: arm_not_read.
    """
    if state.description is None:
        raise not_read(state)
    return state.description


_KINDS = {
    "urdf": "limit of the URDF {}",
    "ros": "limit of the ROS parameters {}",
    "skeleton": "limit of the skeleton {}",
    "policy": "cap of the {}",
}
_SOURCES = {
    "hard:profile": "hard limit of the profile of {}",
    "hard:device": "hard limit read from {}",
    "application": "application limit of {}",
    "ros:parameters": "limit of the joint parameters of {}",
    "rule:range": "the other end of the range",
    "rule:minimum": "the least value",
}


def origin(state: ArmState, source: str) -> str:
    """The source of a bound in words."""
    kind, _, rest = source.partition(":")
    return _SOURCES[source].format(state.arm) if source in _SOURCES else _KINDS[kind].format(rest)


def _least(bound: float) -> str:
    return 'the least limit; 0 means "unset" on the arm, use Reset' if bound > 0.0 else "the least value"


def refusal(violations: Sequence[Violation], why: str) -> BrokerError:
    """The refusal of values beyond their bounds: all violations, the first of them in words with `why` it is bound."""
    first = violations[0]
    above = first.relation == "<="
    joint = f" (joint {first.joint})" if first.joint else ""
    nearest = ""
    if first.suggest is not None:
        nearest = (
            f" Nearest legal: {listing(first.suggest) if isinstance(first.suggest, tuple) else number(first.suggest)}."
        )
    got, bound = (f"{number(value)} {first.unit}".rstrip() for value in (first.got, first.bound))
    message = f"{first.path}{joint}: {got} {'>' if above else '<'} {bound}, {why}.{nearest} {NOTHING_CHANGED}"
    name = "VALUE_IS_ABOVE_MAXIMUM" if above else "VALUE_IS_BELOW_MINIMUM"
    return BrokerError("out_of_limits", message, tuple(violations), name=name)


def out_of_limits(
    state: ArmState,
    path: str,
    found: list[Excess],
    quantity: Quantity,
    suggest: float | tuple[float, ...],
    sources: Sequence[str],
) -> BrokerError:
    """The refusal of values of an item of the arm.

    Args:
        state: the arm.
        path: the field; where `suggest` is a list, its components are joints.
        found: at least one excess, lowest joint first.
        quantity: what the numbers measure.
        suggest: the nearest legal value of the field.
        sources: of the upper bounds, one a component.
    """
    joints, listed = description_of(state).joints, isinstance(suggest, tuple)
    violations = tuple(
        Violation(
            path=f"{path}[{excess.component}]" if listed else path,
            joint=excess.component + 1 if listed else 0,
            joint_name=joints[excess.component].name if listed else "",
            got=excess.got,
            bound=excess.bound,
            unit=quantity.unit,
            relation="<=" if excess.above else ">=",
            source=sources[excess.component] if excess.above else "rule:minimum",
            suggest=suggest,
        )
        for excess in found
    )
    first = violations[0]
    why = origin(state, first.source) if found[0].above else _least(first.bound)
    return refusal(violations, why)
