"""The verdict on needs: pass, propose, refuse."""

from datetime import UTC, datetime
from typing import Any

import pytest

from handlers.policy.hours import parse_span
from handlers.policy.needs import Need
from handlers.policy.quantities import Number
from handlers.policy.rights import PolicyRight
from handlers.policy.rules import Policy, Rule
from handlers.policy.verdict import Facts, Passed, Proposed, Refused, of_all, shut_out, verdict

MONDAY_NOON = int(datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp() * 1_000_000)
HOUR_US = 3_600_000_000
ROLES = {"engineer": ("alice",), "operator": ("bob",)}
TWIST = "twist_linear_soft_limit"
CLOSED = "engineers loosen: counts Mon-Fri 06:00-22:00 (UTC)"


def rule(name: str, *rights: str, roles: str = "*", **more: Any) -> Rule:
    """A rule for one role."""
    return Rule(name, frozenset({roles}), frozenset(map(PolicyRight, rights)), **more)


SLOWER = rule("slower", "tighten", "hold")
LOOSEN = rule(
    "engineers loosen", "loosen", roles="engineer", arms=frozenset({"r12"}), items=frozenset({TWIST}),
    ceilings={"twist_linear": 0.25}, hours=(parse_span("Mon-Fri 06:00-22:00"),), at_most_us=HOUR_US, at_most="1h",
    two_person=True,
)  # fmt: skip
POLICY = Policy((SLOWER, LOOSEN), roles=ROLES)
ALONE = Policy((SLOWER, rule("loosen", "loosen", roles="engineer", ceilings={"twist_linear": 0.25})), roles=ROLES)


def loosen(limit: float = 0.22, arm: str = "r12", item: str = TWIST, **more: Any) -> Need:
    """The need of a soft limit, m/s."""
    return Need(PolicyRight.LOOSEN, arm, item, item, (Number(("twist_linear",), item, limit, "m/s"),), **more)


def facts(user: str = "alice", at_us: int = MONDAY_NOON, lasts_us: int = HOUR_US // 2, **more: Any) -> Facts:
    """Alice, on Monday at noon, for half an hour."""
    return Facts(user, at_us, lasts_us=lasts_us, **more)


def told(found: object) -> str:
    """A verdict in words."""
    if isinstance(found, Refused):
        name = "nothing" if found.rule is None else found.rule.name
        return f"{name}: {found.lacks}{' (ceilings)' if found.ceilings else ''}"
    assert isinstance(found, Passed | Proposed)
    return f"{type(found).__name__.lower()} by {found.rule}"


@pytest.mark.parametrize(
    ("need", "who", "expected"),
    [
        (Need(PolicyRight.TIGHTEN, "r99", "gravity_vector"), facts("zoe", lasts_us=0), "passed by slower"),
        (Need(PolicyRight.HOLD, "r12"), facts("bob"), "passed by slower"),
        (Need(PolicyRight.MODE, "r12"), facts(), "nothing: "),
        (loosen(), facts(), "proposed by engineers loosen"),
        (loosen(), facts(agreed=True), "passed by engineers loosen"),
        (loosen(), facts("bob"), "engineers loosen: is for engineer"),
        (loosen(arm="r13"), facts(), "engineers loosen: is not for r13"),
        (loosen(item="twist_angular_soft_limit"), facts(), f"engineers loosen: is for {TWIST}"),
        (loosen(), facts(lasts_us=0), "engineers loosen: allows it as an override of at most 1h only"),
        (loosen(), facts(lasts_us=HOUR_US), "proposed by engineers loosen"),
        (loosen(), facts(lasts_us=HOUR_US + 1), "engineers loosen: allows it as an override of at most 1h only"),
        (loosen(0.25), facts(), "proposed by engineers loosen"),
        (loosen(0.4), facts(), "engineers loosen: has lower ceilings (ceilings)"),
        (loosen(0.4), facts(agreed=True), "engineers loosen: has lower ceilings (ceilings)"),
        (
            loosen(0.4),
            facts("bob", lasts_us=0),
            "engineers loosen: is for engineer",
        ),
        (
            Need(PolicyRight.LOOSEN, "r12", TWIST, unknown=frozenset({"twist_linear"})),
            facts(),
            "engineers loosen: has a ceiling of twist_linear, and which value a Reset brings is not known beforehand",
        ),
        (
            loosen(),
            facts(at_us=MONDAY_NOON + 10 * HOUR_US),
            CLOSED,
        ),
        (
            loosen(),
            facts(behind=True),
            f"{CLOSED}; the clock is behind the store, so that no hours are open",
        ),
    ],
)  # fmt: skip
def test_verdict(need: Need, who: Facts, expected: str) -> None:
    assert told(verdict(POLICY, need, who)) == expected


def test_ruling_22_hours_are_closed_while_the_clock_is_behind_the_store_and_only_they() -> None:
    assert isinstance(verdict(POLICY, loosen(), facts(behind=True)), Refused)
    assert isinstance(verdict(ALONE, loosen(), facts(behind=True)), Passed)


def test_a_rule_that_passes_whole_counts_before_one_that_proposes_wherever_it_stands() -> None:
    whole = rule("alone", "loosen", ceilings={"twist_linear": 0.23})
    for rules in ((LOOSEN, whole), (whole, LOOSEN)):
        policy = Policy(rules, roles=ROLES)
        assert told(verdict(policy, loosen(0.22), facts())) == "passed by alone"
        assert told(verdict(policy, loosen(0.24), facts())) == "proposed by engineers loosen"


def test_the_first_rule_that_proposes_is_named() -> None:
    second = rule("second", "loosen", two_person=True)
    assert told(verdict(Policy((LOOSEN, second), roles=ROLES), loosen(), facts())) == "proposed by engineers loosen"


def test_of_rules_that_only_their_ceilings_bar_the_highest_is_named() -> None:
    low, high = (rule(f"{bound}", "loosen", ceilings={"twist_linear": bound}) for bound in (0.2, 0.3))
    for rules in ((low, high), (high, low)):
        assert told(verdict(Policy(rules), loosen(0.4), facts())) == "0.3: has lower ceilings (ceilings)"


def test_of_rules_that_came_as_far_the_first_is_named() -> None:
    first, second = (rule(name, "loosen", roles=name) for name in ("engineer", "operator"))
    for rules in ((first, second), (second, first)):
        found = verdict(Policy(rules, roles=ROLES), loosen(), facts("zoe"))
        assert told(found) == f"{rules[0].name}: is for {rules[0].name}"


def test_several_rules_have_hours() -> None:
    closed, opened = (
        rule(hours, "loosen", hours=(parse_span(hours),)) for hours in ("Sun 00:00-24:00", "Mon 12:00-13:00")
    )
    assert told(verdict(Policy((closed, opened)), loosen(), facts())) == "passed by Mon 12:00-13:00"


def test_the_arms_of_a_rule_do_not_count_for_recipes() -> None:
    policy = Policy((rule("recipes of the cell", "recipe", arms=frozenset({"r12"})),))
    assert isinstance(verdict(policy, Need(PolicyRight.RECIPE, "@all"), facts()), Passed)


def test_reads_of_all_of_an_arm_need_a_rule_for_all_items() -> None:
    policy = Policy((rule("reads", "read", items=frozenset({TWIST})),))
    assert isinstance(verdict(policy, Need(PolicyRight.READ, "r12", TWIST), facts()), Passed)
    assert told(verdict(policy, Need(PolicyRight.READ, "r12"), facts())) == f"reads: is for {TWIST}"


def test_items_do_not_count_for_what_is_of_no_item() -> None:
    policy = Policy((rule("modes", "mode", items=frozenset({TWIST})),))
    assert isinstance(verdict(policy, Need(PolicyRight.MODE, "r12", "control_mode"), facts()), Passed)


def test_of_several_needs_a_refused_one_counts_first_then_a_proposed_one() -> None:
    passes, proposes, refused = Need(PolicyRight.HOLD, "r12"), loosen(), loosen(arm="r13")
    assert of_all(POLICY, (), facts()) == (Passed(""), None)
    assert of_all(POLICY, (passes,), facts()) == (Passed(""), None)
    assert of_all(POLICY, (passes, proposes, loosen(0.21)), facts()) == (Proposed("engineers loosen"), proposes)
    found, need = of_all(POLICY, (proposes, refused), facts())
    assert isinstance(found, Refused)
    assert need is refused


@pytest.mark.parametrize(
    ("policy", "who", "item", "expected"),
    [
        (POLICY, facts("bob"), TWIST, None),
        (Policy((LOOSEN,), roles=ROLES), facts(lasts_us=0), TWIST, None),
        (Policy((LOOSEN,), roles=ROLES), facts("bob"), TWIST, "engineers loosen: is for engineer"),
        (Policy((LOOSEN,), roles=ROLES), facts(), "gravity_vector", f"engineers loosen: is for {TWIST}"),
        (Policy((LOOSEN,), roles=ROLES), facts(), "", None),
        (Policy((rule("modes", "mode"),)), facts(), TWIST, "nothing: "),
        (
            Policy((rule("a", "tighten", arms=frozenset()), rule("b", "loosen", arms=frozenset()))),
            facts(),
            TWIST,
            "b: is not for r12",
        ),
    ],
)
def test_who_is_shut_out_of_an_item_whatever_the_direction(
    policy: Policy, who: Facts, item: str, expected: str | None
) -> None:
    found = shut_out(policy, who, "r12", item)
    assert (None if found is None else told(found)) == expected
