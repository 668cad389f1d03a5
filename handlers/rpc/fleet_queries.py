"""What is asked of many arms at once, read from params."""

from typing import Any

import msgspec

from schema.arms import Slot


class ValueCondition(msgspec.Struct, frozen=True, gc=False):
    """What a value, or a field of it, has to be: `op` of `<`, `<=`, `>`, `>=`, `==`, `!=`; one component is enough.

    `slots`: one of these is enough; `steps`: the fields that lead into the value.
    """

    slots: tuple[Slot, ...]
    steps: tuple[str, ...]
    op: str
    than: float | str | bool
    view: str


class Shown(msgspec.Struct, frozen=True, gc=False):
    """A path whose values are told of each arm."""

    path: str
    slots: tuple[Slot, ...]
    by_mode: bool
    """Whether it stands for all modes of an item."""


class FindQuery(msgspec.Struct, frozen=True, gc=False):
    """Find the arms of a group for which everything holds; those with an id above `after` are told, `limit` at most."""

    arms: frozenset[str] | None
    groups: frozenset[str] | None
    recipe: str
    """`weld` in any version, or `weld@3`; empty: whatever it is."""
    facts: tuple[tuple[str, Any], ...]
    """Names of facts and what each has to be, in the order of the table of facts."""
    values: tuple[ValueCondition, ...]
    show: tuple[Shown, ...]
    after: str
    limit: int


class FleetHistoryQuery(msgspec.Struct, frozen=True, gc=False):
    """Read changes of the arms of a group, newest first; empty texts, 0 and None: whatever it is.

    `since_us`, `until_us`: bounds of the time that an entry tells, both inclusive. `before_n`: where the page before
    this one stopped.
    """

    since_us: int | None
    until_us: int | None
    user: str
    item: str
    method: str
    outcome: str
    plan: int
    before_n: int
    limit: int
