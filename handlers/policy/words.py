"""The words of what a policy refuses."""

from handlers.policy.needs import Need
from handlers.policy.quantities import Number, beyond, nearest
from handlers.policy.rights import PolicyRight
from handlers.policy.rules import Rule
from handlers.policy.verdict import Refused
from handlers.state.refusals import NOTHING_CHANGED, refusal
from limits.stack.joints import LOWER
from schema.envelope import Violation
from schema.errors import BrokerError

_DOES: dict[PolicyRight, str] = {
    PolicyRight.READ: "read {what}",
    PolicyRight.TIGHTEN: "change {what}",
    PolicyRight.LOOSEN: "loosen {what}",
    PolicyRight.MODE: "change the mode of {what}",
    PolicyRight.AUTHORITY: "change the authority over {what}",
    PolicyRight.HOLD: "hold or release {what}",
    PolicyRight.FAULT: "make {what} misbehave",
    PolicyRight.CONFIRM: "confirm or discard what waits for {what}",
    PolicyRight.RECIPE: "put or delete recipes",
    PolicyRight.ROLLOUT: "roll out to {what}",
    PolicyRight.STEER: "steer plans of others for {what}",
    PolicyRight.APPROVE: "approve or reject what is proposed for {what}",
}
_NAMES = {PolicyRight.READ: "READ_PERMISSION_DENIED"}
DELETES = frozenset({"DeleteRecipe"})
"""Methods whose refusal has the name of a delete."""
SOURCE = "policy"
"""Begins the source of a ceiling: `policy:<rule>`."""


def not_permitted(user: str, need: Need, refused: Refused, method: str = "") -> BrokerError:
    """The refusal by the rule that came furthest, and what stopped it."""
    text = f"{user} may not {_DOES[need.right].format(what=_what(need))}"
    name = "DELETE_PERMISSION_DENIED" if method in DELETES else _NAMES.get(need.right)
    rule = refused.rule
    if rule is None:
        why = f"no rule allows {need.right}"
        return BrokerError("not_permitted", f"{text}: {why}. {NOTHING_CHANGED}", name=name)
    return BrokerError(
        "not_permitted", f'{text}: rule "{rule.name}" {refused.lacks}. {NOTHING_CHANGED}', name=name, rule=rule.name
    )


def needs_second(user: str, need: Need, rule: str) -> BrokerError:
    """The refusal of what only a second person could let pass, where nobody can be asked any more."""
    text = f'{user} may not {_DOES[need.right].format(what=_what(need))}: rule "{rule}" needs a second person'
    return BrokerError("not_permitted", f"{text}. {NOTHING_CHANGED}", rule=rule)


def _what(need: Need) -> str:
    return f"{need.item} of {need.arm}" if need.item else need.arm


def above_ceilings(need: Need, rule: Rule, prefix: str = "") -> BrokerError:
    """The refusal of numbers that nothing but the ceilings of a rule bars; `prefix` comes before their paths."""
    violations = tuple(
        _violation(number, bound, rule, prefix)
        for number in need.numbers
        if (bound := beyond(number, rule.ceilings)) is not None
    )
    error = refusal(violations, f'ceiling of rule "{rule.name}"')
    error.rule = rule.name
    return error


def _violation(number: Number, bound: float, rule: Rule, prefix: str) -> Violation:
    return Violation(
        path=f"{prefix}{number.path}",
        got=number.value,
        bound=bound,
        unit=number.unit,
        relation=">=" if number.quantities[0] == LOWER else "<=",
        source=f"{SOURCE}:{rule.name}",
        joint=number.joint,
        joint_name=number.name,
        suggest=nearest(number, rule.ceilings),
    )


def refusal_of(user: str, need: Need, refused: Refused, method: str = "", prefix: str = "") -> BrokerError:
    """The error of a refusal."""
    if refused.ceilings and refused.rule is not None:
        return above_ceilings(need, refused.rule, prefix)
    return not_permitted(user, need, refused, method)
