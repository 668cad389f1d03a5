"""A policy as it is asked: rules that allow, roles of users, rates."""

from collections.abc import Iterable, Mapping
from datetime import UTC, tzinfo

import msgspec

from handlers.policy.hours import Span
from handlers.policy.rights import PolicyRight

ANYBODY = "*"
"""The role that every user has."""
DAY_US = 86_400_000_000


class Rule(msgspec.Struct, frozen=True):
    """One rule; None stands for all. It never forbids: what no rule allows is refused.

    `ceilings` by quantity, in the units of `site_caps`, and kg; `at_most_us` 0: a change may be for good. These and
    `two_person` count for what loosens.
    """

    name: str
    roles: frozenset[str]
    rights: frozenset[PolicyRight]
    arms: frozenset[str] | None = None
    items: frozenset[str] | None = None
    ceilings: Mapping[str, float] = {}
    hours: tuple[Span, ...] = ()
    at_most_us: int = 0
    at_most: str = ""
    """The same as the file has it."""
    two_person: bool = False


class Rate(msgspec.Struct, frozen=True):
    """Writes at once, and a second."""

    count: float
    per_s: float


class Roles:
    """The roles of users: names, or beginnings of names with `*` at the end."""

    def __init__(self, members: Mapping[str, Iterable[str]]) -> None:
        exact: dict[str, set[str]] = {}
        self._prefixes: list[tuple[str, str]] = []
        for role, users in members.items():
            for user in users:
                if user.endswith("*"):
                    self._prefixes.append((user[:-1], role))
                else:
                    exact.setdefault(user, set()).add(role)
        self._exact = {user: frozenset(roles) for user, roles in exact.items()}

    def of(self, user: str) -> frozenset[str]:
        """The roles of a user, without the one that everybody has."""
        roles = self._exact.get(user, frozenset())
        begun = {role for prefix, role in self._prefixes if user.startswith(prefix)}
        return roles | begun if begun else roles


class Policy:
    """The rules of one file; `proposal_age_us` is how long a proposal waits, `digest` tells files apart."""

    def __init__(
        self,
        rules: Iterable[Rule] = (),
        *,
        roles: Mapping[str, Iterable[str]] | None = None,
        rates: Mapping[str, Rate] | None = None,
        zone: tzinfo = UTC,
        proposal_age_us: int = DAY_US,
        digest: str = "",
    ) -> None:
        self.rules = tuple(rules)
        self.zone, self.proposal_age_us, self.digest = zone, proposal_age_us, digest
        self._roles, self._rates = Roles(roles or {}), dict(rates or {})
        self._of_right = {right: tuple(rule for rule in self.rules if right in rule.rights) for right in PolicyRight}
        self.asks_reads = bool(self._of_right[PolicyRight.READ])
        """Whether reads need a right: some rule names it."""
        self.proposes = any(rule.two_person for rule in self.rules)

    def rules_of(self, right: PolicyRight) -> tuple[Rule, ...]:
        """The rules that allow a right, in the order of the file."""
        return self._of_right[right]

    def roles_of(self, user: str) -> frozenset[str]:
        """The roles of a user, without the one that everybody has."""
        return self._roles.of(user)

    def rate_of(self, user: str) -> Rate | None:
        """How often a user may write what does not tighten: the most of its roles, else what everybody may."""
        if not self._rates:
            return None
        found = [rate for role in self._roles.of(user) if (rate := self._rates.get(role)) is not None]
        return max(found, key=lambda rate: (rate.per_s, rate.count)) if found else self._rates.get(ANYBODY)
