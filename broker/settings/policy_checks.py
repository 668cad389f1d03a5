"""What a policy may say, beyond its types."""

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from broker.settings.client_checks import NAME
from broker.settings.places import Fault, KeyPath, dotted
from broker.settings.policy_records import PolicyText, RuleText
from broker.settings.records import SettingsError, duration_us
from broker.topics import is_name
from handlers.policy.hours import parse_span
from handlers.policy.quantities import CEILINGS
from handlers.policy.rights import OF_VALUES, PolicyRight
from handlers.policy.rules import ANYBODY, Rate
from schema.items import CONFIG_ITEMS
from schema.nearest import did_you_mean

RULES_MOST, NAME_MOST = 1_000, 64
AGE_LEAST_US, AGE_MOST_US = 60_000_000, 7 * 86_400_000_000
"""Bounds of how long a proposal waits."""
OVERRIDE_LEAST_US, OVERRIDE_MOST_US = 1_000_000, 30 * 86_400_000_000
"""Bounds of how long an override lasts."""
RATE_MOST = 1_000_000
RIGHTS = tuple(right.value for right in PolicyRight)
ITEM_KEYS = tuple(item.key for item in CONFIG_ITEMS)
_RATE = re.compile(r"(\d{1,9})\s*/\s*(s|min|h)")
_PER_S = {"s": 1.0, "min": 60.0, "h": 3600.0}


def policy_faults(policy: PolicyText) -> Iterator[Fault]:
    """Everything that the file says and that cannot be."""
    try:
        zone_of(policy.timezone)
    except ValueError as error:
        yield Fault(("timezone",), str(error))
    yield from _duration(("proposal_age",), policy.proposal_age, AGE_LEAST_US, AGE_MOST_US, "1min and 7d")
    for role, users in policy.roles.items():
        yield from _role_faults(role, users)
    for role, rate in policy.rates.items():
        if role != ANYBODY:
            yield from _known(("rates", role), role, policy.roles)
        try:
            rate_of(rate)
        except ValueError as error:
            yield Fault(("rates", role), f"{dotted(('rates', role))}: {error}")
    if len(policy.rule) > RULES_MOST:
        yield Fault(("rule", RULES_MOST), f"rule: {len(policy.rule)} rules, at most {RULES_MOST:,} are taken")
    yield from _names_twice(policy.rule)
    for index, rule in enumerate(policy.rule):
        for fault in _rule_faults(rule, policy):
            yield Fault(("rule", index, *fault.path), f'rule "{rule.name[:NAME_MOST]}": {fault.text}')


def zone_of(name: str) -> tzinfo:
    """A time zone by its name.

    Raises:
        ValueError: there is no such zone on this machine.
    """
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        text = f"timezone: {name[:80]!r} is no time zone that this machine knows; write for example Europe/Berlin"
        raise ValueError(text) from error


def rate_of(text: str) -> Rate:
    """A rate such as `30/min`.

    Raises:
        ValueError: it is none.
    """
    found = _RATE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text[:80]!r} is no rate; write for example 5/s, 30/min or 100/h")
    count = int(found[1])
    if not 1 <= count <= RATE_MOST:
        raise ValueError(f"{text!r}: {count} is not between 1 and {RATE_MOST:,}")
    return Rate(float(count), count / _PER_S[found[2]])


def _duration(path: KeyPath, text: str, least_us: int, most_us: int, bounds: str) -> Iterator[Fault]:
    name = dotted(path)
    try:
        found_us = duration_us(name, text)
    except SettingsError as error:
        yield Fault(path, str(error))
        return
    if not least_us <= found_us <= most_us:
        yield Fault(path, f"{name}: {text} is not between {bounds}")


def _role_faults(role: str, users: tuple[str, ...]) -> Iterator[Fault]:
    path: KeyPath = ("roles", role)
    if not is_name(role):
        hint = '; "*" is everybody, and needs no list' if role == ANYBODY else ""
        yield Fault(path, f"{dotted(path)}: {role[:80]!r} is no name {NAME}{hint}")
    for index, user in enumerate(users):
        if not is_name(user.removesuffix("*") or "a"):
            text = f"{user[:80]!r} is no user {NAME}, with or without * at its end"
            yield Fault((*path, index), f"{dotted((*path, index))}: {text}")


def _names_twice(rules: tuple[RuleText, ...]) -> Iterator[Fault]:
    seen: set[str] = set()
    for index, rule in enumerate(rules):
        path: KeyPath = ("rule", index, "name")
        if not 0 < len(rule.name) <= NAME_MOST or not rule.name.isprintable() or rule.name != rule.name.strip():
            yield Fault(
                path, f"{dotted(path)}: 1 to {NAME_MOST} printable characters are needed, no spaces around them"
            )
        elif rule.name in seen:
            yield Fault(path, f'{dotted(path)}: another rule has the name "{rule.name}", too')
        seen.add(rule.name)


def _rule_faults(rule: RuleText, policy: PolicyText) -> Iterator[Fault]:
    """What cannot be of one rule; paths count from the rule."""
    for key, names, known, all_of in (
        ("roles", rule.roles, tuple(dict.fromkeys((*policy.roles, ANYBODY))), '["*"] is everybody'),
        ("allow", rule.allow, RIGHTS, f"rights are {', '.join(RIGHTS)}"),
        ("items", rule.items, ITEM_KEYS, "leave items out for all"),
    ):
        if names is not None and not names:
            yield Fault((key,), f"{key}: nothing is named, so that the rule would allow nothing; {all_of}")
        for index, name in enumerate(names or ()):
            yield from _known((key, index), name, known)
    if rule.groups is not None and rule.arms is not None:
        yield Fault(("arms",), "arms: a rule has groups or arms, not both")
    for key, names in (("groups", rule.groups), ("arms", rule.arms)):
        if names is not None and not names:
            yield Fault(
                (key,), f"{key}: nothing is named, so that the rule would allow nothing; leave {key} out for all"
            )
        for index, name in enumerate(names or ()):
            if not is_name(name):
                yield Fault((key, index), f"{key}[{index}]: {name[:80]!r} is no name {NAME}")
    yield from _bound_faults(rule)


def _bound_faults(rule: RuleText) -> Iterator[Fault]:
    """What cannot be of ceilings, hours, at_most and two_person."""
    for quantity, number in rule.ceilings.items():
        yield from _known(("ceilings", quantity), quantity, CEILINGS)
        if not math.isfinite(number):
            yield Fault(("ceilings", quantity), f"ceilings.{quantity}: {number} is not finite")
        elif number < 0 and not quantity.startswith("position_"):
            yield Fault(("ceilings", quantity), f"ceilings.{quantity}: {number:g} is below 0")
    for index, text in enumerate(rule.hours):
        try:
            parse_span(text)
        except ValueError as error:
            yield Fault(("hours", index), f"hours[{index}]: {error}")
    if rule.at_most:
        yield from _duration(("at_most",), rule.at_most, OVERRIDE_LEAST_US, OVERRIDE_MOST_US, "1s and 30d")
    bounds: Mapping[str, bool] = {
        "ceilings": bool(rule.ceilings), "at_most": bool(rule.at_most), "two_person": rule.two_person,
    }  # fmt: skip
    allowed = set(rule.allow) & set(RIGHTS)
    for key, given in bounds.items():
        if given and allowed and not (PolicyRight.LOOSEN in allowed and allowed <= OF_VALUES):
            text = "counts for what loosens: a rule with it allows loosen, or tighten and loosen, and nothing else"
            yield Fault((key,), f"{key}: {text}")


def _known(path: KeyPath, name: str, known: Mapping[str, object] | tuple[str, ...]) -> Iterator[Fault]:
    if name not in known:
        allowed = ", ".join(known) or "none"
        yield Fault(path, f"{dotted(path)}: no such name {name[:80]!r}; there are {allowed}{did_you_mean(name, known)}")
