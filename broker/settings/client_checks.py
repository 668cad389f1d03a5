"""What `[clients]` and `[locks]` may say."""

import re
from collections.abc import Iterator, Mapping

from broker.settings.groups import Groups
from broker.settings.places import Fault, KeyPath, dotted
from broker.settings.records import ANYBODY, RIGHTS, ClientSettings, Settings, SettingsError
from broker.settings.users import NO_CLOCK, OF_GROUP, SHORT, arms_of, is_pattern
from broker.topics import is_name
from schema.nearest import did_you_mean

NAME = "([A-Za-z0-9][A-Za-z0-9._-]{0,62})"
_PATTERN = re.compile(r"[A-Za-z0-9._*?-]{1,63}")
FULL = "full"
SHORTEST_US, LONGEST_US = 1_000_000, 30 * 86_400_000_000
"""Bounds of what the longest lock may be."""


def client_faults(settings: Settings) -> Iterator[Fault]:
    """Everything about users that cannot be."""
    groups = Groups(settings)
    for user, entry in settings.clients.items():
        path: KeyPath = ("clients", user)
        if user != ANYBODY and not is_name(user):
            yield Fault(path, f'{dotted(path)}: {user!r} is no user {NAME}, nor "*" for all others')
        yield from _chosen((*path, "clock"), entry.clock, (NO_CLOCK,))
        yield from _chosen((*path, "replies"), entry.replies, (SHORT, FULL))
        for index, right in enumerate(entry.rights or ()):
            yield from _chosen((*path, "rights", index), right, RIGHTS)
        yield from _arm_faults((*path, "arms"), entry.arms, groups)
        yield from _arm_faults((*path, "reads"), entry.reads, groups)
    yield from _reading_faults(settings.clients, groups)


def _reading_faults(clients: Mapping[str, ClientSettings], groups: Groups) -> Iterator[Fault]:
    """What everybody reads, nobody can be kept from: the MQTT server has one rule for all who have no entry."""
    anybody = clients.get(ANYBODY, ClientSettings())
    for user, entry in clients.items():
        path: KeyPath = ("clients", user, "reads")
        if entry.reads is None or user == ANYBODY:
            continue
        if anybody.reads is None:
            text = 'clients."*".reads is missing: which arms everybody else may read ([] for none)'
            yield Fault(path, f"{dotted(path)}: {text}")
        elif left_out := arms_of(anybody.reads, groups) - arms_of(entry.reads, groups):
            text = f'leaves out {min(left_out)}, which clients."*".reads gives to everybody'
            yield Fault(path, f"{dotted(path)}: {text}")


def _chosen(path: KeyPath, value: str, allowed: tuple[str, ...]) -> Iterator[Fault]:
    if value and value not in allowed:
        text = f"{dotted(path)}: {value!r}; allowed are {', '.join(allowed)}"
        yield Fault(path, text + did_you_mean(value, allowed))


def _arm_faults(path: KeyPath, patterns: tuple[str, ...] | None, groups: Groups) -> Iterator[Fault]:
    for index, pattern in enumerate(patterns or ()):
        within: KeyPath = (*path, index)
        arms, name = groups.everybody.arms, pattern.removeprefix(OF_GROUP)
        if pattern.startswith(OF_GROUP):
            if name not in groups:
                yield Fault(within, f"{dotted(within)}: no group {name[:80]!r}{did_you_mean(name, groups.by_name)}")
        elif not _PATTERN.fullmatch(pattern):
            text = f"{pattern[:80]!r} is no arm id, no pattern of one with * and ?, no @group"
            yield Fault(within, f"{dotted(within)}: {text}")
        elif not is_pattern(pattern) and pattern not in arms:
            yield Fault(within, f"{dotted(within)}: no arm {pattern!r}{did_you_mean(pattern, arms)}")


def lock_faults(settings: Settings) -> Iterator[Fault]:
    """What a longest lock cannot be."""
    path: KeyPath = ("locks", "longest")
    try:
        longest_us = settings.locks.longest_us
    except SettingsError as error:
        yield Fault(path, str(error))
        return
    if not SHORTEST_US <= longest_us <= LONGEST_US:
        yield Fault(path, f"locks.longest: {settings.locks.longest} is not between 1s and 30d")
