"""The verdict of a policy on what a request needs: pass, propose, or refuse by the rule that came furthest."""

import enum
from collections.abc import Iterable
from typing import NamedTuple

from handlers.policy.hours import is_open
from handlers.policy.needs import Need
from handlers.policy.quantities import beyond
from handlers.policy.rights import OF_NO_ARM, OF_VALUES, PolicyRight
from handlers.policy.rules import ANYBODY, Policy, Rule


class Facts(NamedTuple):
    """Who asks, and when (µs since 1970).

    `behind`: the clock is behind the store. `lasts_us`: how long the change lasts in all, 0 = for good. `agreed`:
    a second person approved.
    """

    user: str
    at_us: int
    behind: bool = False
    lasts_us: int = 0
    agreed: bool = False


class Passed(NamedTuple):
    """A rule passes whole."""

    rule: str


class Proposed(NamedTuple):
    """A rule passes but for a second person."""

    rule: str


class Refused(NamedTuple):
    """No rule passes. `rule` came furthest (None: none allows such a thing); `lacks` is what stopped it, in words.

    `ceilings`: nothing but the ceilings of `rule` are in the way.
    """

    rule: Rule | None
    lacks: str = ""
    ceilings: bool = False


Verdict = Passed | Proposed | Refused


class _Step(enum.IntEnum):
    """How far a rule comes; what is asked of it in this order."""

    ARM = 0
    ITEM = 1
    ROLE = 2
    HOURS = 3
    AT_MOST = 4
    UNKNOWN = 5
    CEILINGS = 6
    WHOLE = 7


def verdict(policy: Policy, need: Need, facts: Facts) -> Verdict:
    """What the rules say of one need."""
    roles = policy.roles_of(facts.user)
    proposed, refused = "", Refused(None)
    furthest = (-1, 0, 0.0)
    for rule in policy.rules_of(need.right):
        lacks = _lacks(policy, rule, need, facts, roles)
        if not lacks:
            if not _needs_two(rule, need, facts):
                return Passed(rule.name)
            proposed = proposed or rule.name
            continue
        step, room = lacks[0][0], _room(rule, need)
        far = (int(step), -len(lacks), room)
        if far > furthest:
            furthest = far
            refused = Refused(rule, lacks[0][1], step is _Step.CEILINGS)
    return Proposed(proposed) if proposed else refused


def of_all(policy: Policy, needs: Iterable[Need], facts: Facts) -> tuple[Verdict, Need | None]:
    """The verdict on several needs, and the need that it is of: the first refused one, else the first proposed one."""
    found: tuple[Verdict, Need | None] = (Passed(""), None)
    for need in needs:
        one = verdict(policy, need, facts)
        if isinstance(one, Refused):
            return one, need
        if isinstance(one, Proposed) and not isinstance(found[0], Proposed):
            found = (one, need)
    return found


def shut_out(policy: Policy, facts: Facts, arm: str, item: str) -> Refused | None:
    """The refusal of any change of an item (empty: of some item), whatever its direction; None if one may pass."""
    refused = Refused(None)
    furthest = -1
    roles = policy.roles_of(facts.user)
    for right in (PolicyRight.LOOSEN, PolicyRight.TIGHTEN):
        need = Need(right, arm, item)
        for rule in policy.rules_of(right):
            lacks = [
                (step, text)
                for step, text in _who_when(policy, rule, need, facts, roles)
                if item or step is not _Step.ITEM
            ]
            if not lacks:
                return None
            if lacks[0][0] > furthest:
                furthest = lacks[0][0]
                refused = Refused(rule, lacks[0][1])
    return refused


def _needs_two(rule: Rule, need: Need, facts: Facts) -> bool:
    return rule.two_person and need.right is PolicyRight.LOOSEN and not facts.agreed


def _lacks(policy: Policy, rule: Rule, need: Need, facts: Facts, roles: frozenset[str]) -> list[tuple[_Step, str]]:
    """What a rule lacks to pass but for a second person, in the order in which it is asked."""
    lacks = _who_when(policy, rule, need, facts, roles)
    if need.right is not PolicyRight.LOOSEN:
        return lacks
    lasts_us = facts.lasts_us if need.lasts_us is None else need.lasts_us
    if rule.at_most_us and not 0 < lasts_us <= rule.at_most_us:
        lacks.append((_Step.AT_MOST, f"allows it as an override of at most {rule.at_most} only"))
    if unknown := sorted(need.unknown & rule.ceilings.keys()):
        text = f"has a ceiling of {', '.join(unknown)}, and which value a Reset brings is not known beforehand"
        lacks.append((_Step.UNKNOWN, text))
    if rule.ceilings and any(beyond(number, rule.ceilings) is not None for number in need.numbers):
        lacks.append((_Step.CEILINGS, "has lower ceilings"))
    return lacks


def _who_when(policy: Policy, rule: Rule, need: Need, facts: Facts, roles: frozenset[str]) -> list[tuple[_Step, str]]:
    """What a rule lacks of arm, item, role and time."""
    lacks: list[tuple[_Step, str]] = []
    if rule.arms is not None and need.right not in OF_NO_ARM and need.arm not in rule.arms:
        lacks.append((_Step.ARM, f"is not for {need.arm}"))
    of_items = need.right in OF_VALUES or need.right is PolicyRight.READ
    if of_items and rule.items is not None and need.item not in rule.items:
        lacks.append((_Step.ITEM, f"is for {', '.join(sorted(rule.items))}"))
    if ANYBODY not in rule.roles and not roles & rule.roles:
        lacks.append((_Step.ROLE, f"is for {', '.join(sorted(rule.roles))}"))
    if rule.hours and (facts.behind or not is_open(rule.hours, facts.at_us, policy.zone)):
        spans = ", ".join(span.text for span in rule.hours)
        clock = "; the clock is behind the store, so that no hours are open" if facts.behind else ""
        lacks.append((_Step.HOURS, f"counts {spans} ({policy.zone}){clock}"))
    return lacks


def _room(rule: Rule, need: Need) -> float:
    """How much the ceilings of a rule leave: of several rules that nothing else bars the highest counts."""
    bounds = [bound for number in need.numbers if (bound := beyond(number, rule.ceilings)) is not None]
    return min(bounds, default=0.0)
