"""The groups of the settings: which arms a request to `@<group>` is for."""

from collections.abc import Mapping
from typing import NamedTuple

from broker.settings.records import Settings

EVERYBODY = "all"
"""The group that every arm is a member of."""


class Group(NamedTuple):
    """A group, and the ids of its arms in order."""

    name: str
    arms: tuple[str, ...]
    members: frozenset[str]
    """The same, to look for one."""

    @property
    def address(self) -> str:
        """What stands in the place of an arm."""
        return f"@{self.name}"


class Groups:
    """The groups by name, in the order in which the settings name them, and `all` behind them."""

    def __init__(self, settings: Settings) -> None:
        found: dict[str, list[str]] = {}
        for arm in settings.arm:
            for name in arm.groups:
                found.setdefault(name, []).append(arm.id)
        found[EVERYBODY] = [arm.id for arm in settings.arm]
        self._groups = {name: Group(name, tuple(sorted(arms)), frozenset(arms)) for name, arms in found.items()}

    def __contains__(self, name: str) -> bool:
        """Whether there is such a group."""
        return name in self._groups

    def get(self, name: str) -> Group | None:
        """The group of a name; None if there is none."""
        return self._groups.get(name)

    @property
    def everybody(self) -> Group:
        """The group of all arms."""
        return self._groups[EVERYBODY]

    @property
    def by_name(self) -> Mapping[str, Group]:
        """All groups."""
        return self._groups

    @property
    def counts(self) -> dict[str, int]:
        """How many arms each group has."""
        return {name: len(group.arms) for name, group in self._groups.items()}
