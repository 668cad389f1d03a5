"""A `policy.toml` as it is written."""

import msgspec


class RuleText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[[rule]]`; what is absent stands for all, or bounds nothing."""

    name: str
    roles: tuple[str, ...]
    allow: tuple[str, ...]
    groups: tuple[str, ...] | None = None
    arms: tuple[str, ...] | None = None
    items: tuple[str, ...] | None = None
    ceilings: dict[str, float] = {}
    hours: tuple[str, ...] = ()
    at_most: str = ""
    two_person: bool = False


class PolicyText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file; `rates` by role, `roles` are names of users, with `*` at the end for beginnings."""

    timezone: str = "UTC"
    proposal_age: str = "24h"
    roles: dict[str, tuple[str, ...]] = {}
    rates: dict[str, str] = {}
    rule: tuple[RuleText, ...] = ()
