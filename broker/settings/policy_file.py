"""Reads `policy.toml`: whole, or not at all, with all that is wrong with it."""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from broker.settings.conversion import conversion_faults
from broker.settings.groups import EVERYBODY, Groups
from broker.settings.lines import lines_of
from broker.settings.load import decoded, text_of
from broker.settings.places import Fault, Places, dotted
from broker.settings.policy_checks import NAME_MOST, policy_faults, rate_of, zone_of
from broker.settings.policy_records import PolicyText, RuleText
from broker.settings.records import Settings, SettingsError, duration_us
from handlers.policy.hours import parse_span
from handlers.policy.rights import PolicyRight
from handlers.policy.rules import Policy, Rule
from schema.nearest import did_you_mean

BYTES_MOST = 256 * 1024
DIGEST_DIGITS = 16
PROVEN = "server-acl"
"""The identity with which the MQTT server proves who somebody is."""


class ReadPolicy(NamedTuple):
    """A policy as it is written, where each line of it stands, and its digest."""

    written: PolicyText
    places: Places
    digest: str


def read_policy(path: Path) -> ReadPolicy:
    """A `policy.toml`, as far as the file alone tells.

    Raises:
        SettingsError: it cannot be read or used; each line names file, line, rule and key.
    """
    text = text_of(path)
    data = text.encode()
    if len(data) > BYTES_MOST:
        raise SettingsError(f"{path}: {len(data):,} bytes, at most {BYTES_MOST:,} are read")
    document = decoded(path, text)
    places = Places(str(path), lines_of(text))
    written, faults = _written(document)
    if faults:
        raise places.error(faults)
    return ReadPolicy(written, places, hashlib.sha256(data).hexdigest()[:DIGEST_DIGITS])


def _written(document: dict[str, Any]) -> tuple[PolicyText, list[Fault]]:
    """What of a document has the right form, and all that is wrong, with its form or with what it means."""
    faults = [_named(document, fault) for fault in conversion_faults(document, PolicyText)]
    if not faults:
        written = msgspec.convert(document, PolicyText)
        return written, list(policy_faults(written))
    bad = {fault.path[:2] if fault.path[0] == "rule" else fault.path[:1] for fault in faults}
    known = {key: each for key, each in document.items() if (key,) not in bad}
    rules = [index for index in range(len(known.get("rule", ()))) if ("rule", index) not in bad]
    if "rule" in known:
        known["rule"] = [known["rule"][index] for index in rules]
    written = msgspec.convert(known, PolicyText)
    if ("roles",) not in bad:  # of rules whose roles are not known nothing can be said
        for path, text in policy_faults(written):
            place = ("rule", rules[int(path[1])], *path[2:]) if path[0] == "rule" else path
            faults.append(Fault(place, text))
    return written, faults


def _named(document: dict[str, Any], fault: Fault) -> Fault:
    """A fault of a rule with the name of the rule."""
    path, text = fault
    if len(path) > 1 and path[0] == "rule":
        rule = document["rule"][path[1]]
        name = rule.get("name") if isinstance(rule, dict) else None
        if isinstance(name, str):
            return Fault(path, f'rule "{name[:NAME_MOST]}": {text.removeprefix(dotted(path[:2])).removeprefix(".")}')
    return fault


def compiled(read: ReadPolicy, groups: Mapping[str, Collection[str]]) -> Policy:
    """The policy for these groups of arms, by name."""
    written = read.written
    return Policy(
        (_rule(rule, groups) for rule in written.rule),
        roles=written.roles,
        rates={role: rate_of(text) for role, text in written.rates.items()},
        zone=zone_of(written.timezone),
        proposal_age_us=duration_us("proposal_age", written.proposal_age),
        digest=read.digest,
    )


def _rule(rule: RuleText, groups: Mapping[str, Collection[str]]) -> Rule:
    named = None if rule.arms is None else frozenset(rule.arms)
    if rule.groups is not None and EVERYBODY not in rule.groups:
        named = frozenset(arm for group in rule.groups for arm in groups.get(group, ()))
    return Rule(
        name=rule.name,
        roles=frozenset(rule.roles),
        rights=frozenset(map(PolicyRight, rule.allow)),
        arms=named,
        items=None if rule.items is None else frozenset(rule.items),
        ceilings=dict(rule.ceilings),
        hours=tuple(map(parse_span, rule.hours)),
        at_most_us=duration_us("at_most", rule.at_most) if rule.at_most else 0,
        at_most=rule.at_most,
        two_person=rule.two_person,
    )


def service_faults(read: ReadPolicy, identity: str) -> Iterator[Fault]:
    """What a policy says and what does not go with these settings; `identity` as in `[mqtt]`."""
    for index, rule in enumerate(read.written.rule):
        if rule.two_person and identity != PROVEN:
            text = f"needs mqtt.identity = {PROVEN!r}: nobody knows else whether it is a second person"
            yield Fault(("rule", index, "two_person"), f'rule "{rule.name}": two_person: {text}')


def policy_doubts(read: ReadPolicy, arms: Collection[str], groups: Collection[str]) -> Iterator[str]:
    """What a policy says that can be, but is hardly meant."""
    for index, rule in enumerate(read.written.rule):
        for key, names, known in (("groups", rule.groups, (*groups, EVERYBODY)), ("arms", rule.arms, arms)):
            for place, name in enumerate(names or ()):
                if name not in known:
                    where = read.places.of(("rule", index, key, place))
                    one = key.removesuffix("s")
                    yield f'{where}: rule "{rule.name}": {key}: no {one} {name!r}{did_you_mean(name, known)}'
    if not read.written.rule:
        yield f"{read.places.source}: there is no rule, so that nobody may change anything"


def readable_policy(settings: Settings) -> ReadPolicy | None:
    """The file that settings name, if the service can go by it; None where they name none.

    Raises:
        SettingsError: it cannot be read or used.
    """
    if not settings.policy.file:
        return None
    read = read_policy(Path(settings.policy.file))
    if faults := list(service_faults(read, settings.mqtt.identity)):
        raise read.places.error(faults)
    return read


def load_policy(settings: Settings) -> Policy | None:
    """The policy that settings name, for their arms; None where they name none.

    Raises:
        SettingsError: it cannot be read or used.
    """
    read = readable_policy(settings)
    return None if read is None else compiled(read, groups_of(settings))


def groups_of(settings: Settings) -> dict[str, tuple[str, ...]]:
    """The arms of each group, that of all arms included."""
    return {name: group.arms for name, group in Groups(settings).by_name.items()}
