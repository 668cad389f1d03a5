"""What the settings say of users: who may do what with which arm, whose clock counts, who gets short replies."""

import re
from collections.abc import Iterable

from broker.settings.groups import Groups
from broker.settings.records import ANYBODY, ClientSettings, Settings
from handlers.rpc.rights import NO_GRANT, Grant
from handlers.rpc.row import Right

DEFAULT_ARMS, DEFAULT_RIGHTS = (ANYBODY,), (Right.WRITE.value,)
"""What an entry grants that does not say."""
NO_CLOCK, SHORT = "none", "short"
OF_GROUP = "@"
"""What the name of a group stands behind."""
_WILD = {"*": ".*", "?": "."}


def is_pattern(text: str) -> bool:
    """Whether a text stands for several arms: `*` for any characters, `?` for one."""
    return any(sign in text for sign in _WILD)


def matched(pattern: str, groups: Groups) -> frozenset[str]:
    """The arms that an id, a pattern or a group names; upper and lower case differ."""
    if pattern.startswith(OF_GROUP):
        group = groups.get(pattern.removeprefix(OF_GROUP))
        return group.members if group is not None else frozenset()
    fits = re.compile("".join(_WILD.get(sign) or re.escape(sign) for sign in pattern)).fullmatch
    return frozenset(arm for arm in groups.everybody.arms if fits(arm))


def arms_of(patterns: Iterable[str], groups: Groups) -> frozenset[str]:
    """The arms that any of these ids, patterns and groups name."""
    return frozenset(arm for pattern in patterns for arm in matched(pattern, groups))


class Users:
    """The entries of all users, looked up by name.

    A user that has the name of an arm is the account of that arm: `"*"` grants it nothing, an entry of its own does.
    """

    def __init__(self, settings: Settings) -> None:
        groups = Groups(settings)
        anybody = settings.clients.get(ANYBODY)
        self._entries = {user: _whole(entry, anybody) for user, entry in settings.clients.items()}
        self._grants = {user: _grant(entry, groups) for user, entry in self._entries.items()}
        self._anybody = self._entries.pop(ANYBODY, ClientSettings())
        self._anybodys = self._grants.pop(ANYBODY, NO_GRANT)
        self._accounts = groups.everybody.members
        self._rates = settings.rates
        self.any_short = any(entry.replies == SHORT for entry in (self._anybody, *self._entries.values()))
        """Whether anybody gets short replies."""
        grants = (self._anybodys, *self._grants.values())
        self.restricted = any(grant.reads is not None or not grant.asks for grant in grants)
        """Whether there is anybody who may not read everything."""

    def grant(self, user: str) -> Grant:
        """What a user may do."""
        grant = self._grants.get(user)
        if grant is not None:
            return grant
        return NO_GRANT if user in self._accounts else self._anybodys

    def has_clock(self, user: str) -> bool:
        """Whether the times in the requests of a user count."""
        return self._entries.get(user, self._anybody).clock != NO_CLOCK

    def wants_short(self, user: str) -> bool:
        """Whether a user gets short replies."""
        return self._entries.get(user, self._anybody).replies == SHORT

    def rate(self, user: str) -> tuple[float, float]:
        """What a user may ask for: requests a second (0 = without bound), and at once."""
        entry, rates = self._entries.get(user, self._anybody), self._rates
        rate = rates.rate if entry.rate is None else entry.rate
        return rate, rates.burst if entry.burst is None else entry.burst

    @property
    def nobody_writes(self) -> bool:
        """Whether no user at all may change anything."""
        return not any(grant.arms and grant.rights for grant in (self._anybodys, *self._grants.values()))


def doubts(settings: Settings) -> list[str]:
    """What the settings say of users that can be, but is hardly meant."""
    groups = Groups(settings)
    found = [
        f"clients.{user}.{name}: no arm matches {pattern!r}"
        for user, entry in settings.clients.items()
        for name, patterns in (("arms", entry.arms), ("reads", entry.reads))
        for pattern in patterns or ()
        if not matched(pattern, groups)
    ]
    if Users(settings).nobody_writes:
        found.append("clients: nobody is granted anything, so that every user may read only")
    return found


def _whole(entry: ClientSettings, anybody: ClientSettings | None) -> ClientSettings:
    """An entry with what it leaves out."""
    default = anybody or entry
    return ClientSettings(
        clock=entry.clock or default.clock,
        arms=entry.arms if entry.arms is not None else default.arms,
        rights=entry.rights if entry.rights is not None else default.rights,
        replies=entry.replies or default.replies,
        rate=entry.rate if entry.rate is not None else default.rate,
        burst=entry.burst if entry.burst is not None else default.burst,
        reads=entry.reads if entry.reads is not None else default.reads,
        requests=entry.requests if entry.requests is not None else default.requests,
    )


def _grant(entry: ClientSettings, groups: Groups) -> Grant:
    granted = arms_of(DEFAULT_ARMS if entry.arms is None else entry.arms, groups)
    reads = None if entry.reads is None else arms_of(entry.reads, groups)
    return Grant(
        granted if reads is None else granted & reads,
        frozenset(map(Right, DEFAULT_RIGHTS if entry.rights is None else entry.rights)),
        reads,
        entry.requests is not False,
    )
