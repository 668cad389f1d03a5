"""The verdict of a policy on what a request needs: pass, propose, or refuse by the rule that came furthest."""

from collections.abc import Iterable
from typing import NamedTuple

from handlers.policy.hours import moment_of
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


_ARM, _ITEM, _ROLE, _HOURS, _AT_MOST, _UNKNOWN, _CEILINGS, _WHOLE = range(8)
"""How far a rule comes, in the order in which it is asked; `_WHOLE`: to its end."""


def verdict(policy: Policy, need: Need, facts: Facts) -> Verdict:
    """What the rules say of one need."""
    asked = _Asked(policy, need, facts)
    proposed = ""
    furthest, room, found = -1, 0.0, None
    for rule in policy.rules_of(need.right):
        step = asked.stops(rule)
        if step == _WHOLE:
            if not _needs_two(rule, need, facts):
                return Passed(rule.name)
            proposed = proposed or rule.name
        elif step > furthest or (step == furthest == _CEILINGS and _room(rule, need) > room):
            furthest, found = step, rule
            room = _room(rule, need) if step == _CEILINGS else 0.0
    if proposed:
        return Proposed(proposed)
    if found is None:
        return Refused(None)
    return Refused(found, asked.words(found, furthest), furthest == _CEILINGS)


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
    furthest, found, words = -1, None, ""
    for right in (PolicyRight.LOOSEN, PolicyRight.TIGHTEN):
        asked = _Asked(policy, Need(right, arm, item), facts)
        for rule in policy.rules_of(right):
            step = asked.who_when(rule)
            if step == _AT_MOST:
                return None
            if step > furthest:
                furthest, found, words = step, rule, asked.words(rule, step)
    return Refused(found, words)


def _needs_two(rule: Rule, need: Need, facts: Facts) -> bool:
    return rule.two_person and need.right is PolicyRight.LOOSEN and not facts.agreed


class _Asked:
    """One need, asked of one rule after the other."""

    __slots__ = ("_facts", "_moment", "_need", "_of_arms", "_of_items", "_policy", "_roles")

    def __init__(self, policy: Policy, need: Need, facts: Facts) -> None:
        self._policy, self._need, self._facts = policy, need, facts
        self._roles = policy.roles_of(facts.user)
        self._of_arms = need.right not in OF_NO_ARM
        self._of_items = bool(need.item) if need.right in OF_VALUES else need.right is PolicyRight.READ
        self._moment: tuple[int, int] | None = None

    def stops(self, rule: Rule) -> int:
        """How far a rule comes; _WHOLE: to its end, but for a second person."""
        step = self.who_when(rule)
        if step != _AT_MOST:
            return step
        need = self._need
        if need.right is not PolicyRight.LOOSEN:
            return _WHOLE
        if rule.at_most_us:
            lasts_us = self._facts.lasts_us if need.lasts_us is None else need.lasts_us
            if not 0 < lasts_us <= rule.at_most_us:
                return _AT_MOST
        if rule.ceilings:
            if need.unknown and not need.unknown.isdisjoint(rule.ceilings):
                return _UNKNOWN
            if any(beyond(number, rule.ceilings) is not None for number in need.numbers):
                return _CEILINGS
        return _WHOLE

    def who_when(self, rule: Rule) -> int:
        """As `stops`, of arm, item, role and time alone; _AT_MOST: nothing of them stops it."""
        if rule.arms is not None and self._of_arms and self._need.arm not in rule.arms:
            return _ARM
        if rule.items is not None and self._of_items and self._need.item not in rule.items:
            return _ITEM
        if ANYBODY not in rule.roles and self._roles.isdisjoint(rule.roles):
            return _ROLE
        if rule.hours and (self._facts.behind or not self._open(rule)):
            return _HOURS
        return _AT_MOST

    def _open(self, rule: Rule) -> bool:
        if self._moment is None:
            self._moment = moment_of(self._facts.at_us, self._policy.zone)
        day, minute = self._moment
        return any(span.holds(day, minute) for span in rule.hours)

    def words(self, rule: Rule, step: int) -> str:
        """What stopped a rule, in words."""
        if step == _ARM:
            return f"is not for {self._need.arm}"
        if step == _ITEM:
            return f"is for {', '.join(sorted(rule.items or ()))}"
        if step == _ROLE:
            return f"is for {', '.join(sorted(rule.roles))}"
        if step == _HOURS:
            clock = "; the clock is behind the store, so that no hours are open" if self._facts.behind else ""
            return f"counts {', '.join(span.text for span in rule.hours)} ({self._policy.zone}){clock}"
        if step == _AT_MOST:
            return f"allows it as an override of at most {rule.at_most} only"
        if step == _UNKNOWN:
            unknown = ", ".join(sorted(self._need.unknown & rule.ceilings.keys()))
            return f"has a ceiling of {unknown}, and which value a Reset brings is not known beforehand"
        return "has lower ceilings"


def _room(rule: Rule, need: Need) -> float:
    """How much the ceilings of a rule leave: of several rules that nothing else bars the highest counts."""
    bounds = [bound for number in need.numbers if (bound := beyond(number, rule.ceilings)) is not None]
    return min(bounds, default=0.0)
