"""The words of refusals."""

import pytest

from handlers.policy.needs import Need
from handlers.policy.quantities import Number
from handlers.policy.rights import PolicyRight
from handlers.policy.rules import Rule
from handlers.policy.verdict import Refused
from handlers.policy.words import above_ceilings, needs_second, not_permitted, refusal_of

RULE = Rule("engineers loosen", frozenset({"engineer"}), frozenset({PolicyRight.LOOSEN}), ceilings={"velocity": 0.25})
TWIST = Need(PolicyRight.LOOSEN, "r12", "twist_linear_soft_limit")


def test_the_rule_that_came_furthest_is_named_with_what_it_lacks() -> None:
    error = not_permitted("bob", TWIST, Refused(RULE, "is for engineer"))
    assert (error.kind, error.name, error.rule) == ("not_permitted", "UPDATE_PERMISSION_DENIED", "engineers loosen")
    assert error.message == (
        'bob may not loosen twist_linear_soft_limit of r12: rule "engineers loosen" is for engineer.'
        " Nothing was changed."
    )


@pytest.mark.parametrize(
    ("right", "text"),
    [
        (PolicyRight.READ, "read r12"),
        (PolicyRight.TIGHTEN, "change r12"),
        (PolicyRight.LOOSEN, "loosen r12"),
        (PolicyRight.MODE, "change the mode of r12"),
        (PolicyRight.AUTHORITY, "change the authority over r12"),
        (PolicyRight.HOLD, "hold or release r12"),
        (PolicyRight.FAULT, "make r12 misbehave"),
        (PolicyRight.CONFIRM, "confirm or discard what waits for r12"),
        (PolicyRight.RECIPE, "put or delete recipes"),
        (PolicyRight.ROLLOUT, "roll out to r12"),
        (PolicyRight.STEER, "steer plans of others for r12"),
        (PolicyRight.APPROVE, "approve or reject what is proposed for r12"),
    ],
)
def test_where_no_rule_allows_a_right_it_is_named(right: PolicyRight, text: str) -> None:
    error = not_permitted("bob", Need(right, "r12"), Refused(None))
    assert error.message == f"bob may not {text}: no rule allows {right}. Nothing was changed."
    assert error.rule == ""


def test_reads_and_deletes_have_names_of_their_own() -> None:
    assert not_permitted("bob", Need(PolicyRight.READ, "r12"), Refused(None)).name == "READ_PERMISSION_DENIED"
    recipe = Need(PolicyRight.RECIPE, "@all")
    assert not_permitted("bob", recipe, Refused(None), "DeleteRecipe").name == "DELETE_PERMISSION_DENIED"
    assert not_permitted("bob", recipe, Refused(None), "PutRecipe").name == "UPDATE_PERMISSION_DENIED"


def test_a_second_person_that_nobody_can_ask() -> None:
    error = needs_second("bob", TWIST, "two")
    assert (error.kind, error.rule) == ("not_permitted", "two")
    assert error.message == (
        'bob may not loosen twist_linear_soft_limit of r12: rule "two" needs a second person. Nothing was changed.'
    )


def test_every_number_beyond_its_ceiling_is_listed() -> None:
    speeds = (0.1, 0.4, 0.5)
    numbers = tuple(
        Number(("velocity",), f"joint_speed[{n}]", speed, "rad/s", joint=n + 1, name=f"joint_{n + 1}", whole=speeds)
        for n, speed in enumerate(speeds)
    )
    error = above_ceilings(TWIST._replace(numbers=numbers), RULE, "items.x.")
    assert (error.kind, error.name, error.rule) == ("out_of_limits", "VALUE_IS_ABOVE_MAXIMUM", "engineers loosen")
    assert [(one.path, one.got, one.bound, one.relation, one.joint, one.joint_name) for one in error.violations] == [
        ("items.x.joint_speed[1]", 0.4, 0.25, "<=", 2, "joint_2"),
        ("items.x.joint_speed[2]", 0.5, 0.25, "<=", 3, "joint_3"),
    ]
    assert {(one.source, one.suggest) for one in error.violations} == {("policy:engineers loosen", (0.1, 0.25, 0.25))}
    assert error.message == (
        'items.x.joint_speed[1] (joint 2): 0.4 rad/s > 0.25 rad/s, ceiling of rule "engineers loosen".'
        " Nearest legal: [0.1, 0.25, 0.25]. Nothing was changed."
    )


def test_a_lower_end_is_below_its_ceiling() -> None:
    rule = Rule("ends", frozenset("*"), frozenset({PolicyRight.LOOSEN}), ceilings={"position_lower": -1.0})
    number = Number(("position_lower",), "min_position.values[0]", -2.0, "rad", joint=1)
    error = refusal_of("bob", TWIST._replace(numbers=(number,)), Refused(rule, "has lower ceilings", ceilings=True))
    (found,) = error.violations
    assert (error.name, found.relation, found.suggest) == ("VALUE_IS_BELOW_MINIMUM", ">=", -1.0)


def test_what_more_than_ceilings_bars_is_not_permitted() -> None:
    assert refusal_of("bob", TWIST, Refused(RULE, "is for engineer")).kind == "not_permitted"
