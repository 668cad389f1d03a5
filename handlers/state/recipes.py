"""The recipes of the service: named, versioned values, as far as they are held in memory."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import msgspec

from schema.arms import Slot
from schema.codecs.items_form import read_items
from schema.envelope import Author
from schema.messages import Message

VERSIONS_KEPT = 100
"""Versions of a recipe that can be read and applied."""
FORGOTTEN_KEPT = 10_000
"""Deleted names of which the last version is remembered; the next name begins above those of older ones."""

Key = tuple[str, int]
"""Name and version."""


class Recipe(msgspec.Struct, frozen=True, gc=False):
    """One version of a recipe. `body` is the canonical text of its items and models; `listed`: it can be applied.

    One that is not listed is kept for arms that have it as their last one; without a body it tells a number only.
    """

    name: str
    version: int
    body: bytes
    digest: str
    note: str
    by: Author
    at_us: int
    listed: bool = True

    @property
    def key(self) -> Key:
        """Name and version."""
        return self.name, self.version

    @property
    def label(self) -> str:
        """`<name>@<version>`."""
        return f"{self.name}@{self.version}"

    @property
    def told(self) -> dict[str, str | int]:
        """How replies and events name it."""
        return {"name": self.name, "version": self.version, "digest": self.digest}

    @property
    def models(self) -> tuple[str, ...]:
        """The models that it is for; none named: all."""
        return _opened(self.body).models

    @property
    def values(self) -> Mapping[Slot, Message]:
        """Its values by slot."""
        return _opened(self.body).values


def key_of(label: str) -> Key:
    """The name and version of a `<name>@<version>`."""
    name, _, version = label.rpartition("@")
    return name, int(version)


class Applied(msgspec.Struct, frozen=True, gc=False):
    """The version of a recipe that an arm had last: applied in revision `rev`, when and by whom."""

    name: str
    version: int
    digest: str
    rev: int
    at_us: int
    by: Author

    @property
    def key(self) -> Key:
        """Name and version."""
        return self.name, self.version


class _Opened(NamedTuple):
    models: tuple[str, ...]
    values: dict[Slot, Message]


@lru_cache(maxsize=256)
def _opened(body: bytes) -> _Opened:
    document = msgspec.json.decode(body)
    return _Opened(tuple(document["models"]), read_items(document["items"]))


class Moved(NamedTuple):
    """What has to be stored of a change of the shelf: rows to put, and rows to take out."""

    put: tuple[Recipe, ...] = ()
    dropped: tuple[Key, ...] = ()


class Shelf:
    """All recipes. Handlers read it; only the shell changes it, and stores what each change returns.

    `floor` is a number that new versions are above, whatever is known of their name.
    """

    def __init__(self, recipes: Iterator[Recipe] | tuple[Recipe, ...] = (), floor: int = 0) -> None:
        self.floor = floor
        self._held: dict[str, dict[int, Recipe]] = {}
        self._heads: dict[str, Recipe] = {}
        self._uses: Counter[Key] = Counter()
        self._awaited: Counter[Key] = Counter()
        """How many changes that have no end yet are to bring a version."""
        self._kept: dict[Key, None] = {}
        """Versions that are not listed and can be read."""
        self._gone: dict[str, None] = {}
        """Names without a version that can be read, in the order in which they came to that."""
        self.size = 0
        """Bytes of all bodies."""
        for recipe in sorted(recipes, key=lambda one: one.key):
            self._add(recipe)

    def _add(self, recipe: Recipe) -> None:
        held = self._held.setdefault(recipe.name, {})
        if (before := held.get(recipe.version)) is not None:
            self.size -= len(before.body)
        held[recipe.version] = recipe
        self.size += len(recipe.body)
        if recipe.listed:
            self._heads[recipe.name] = recipe
        elif recipe.body:
            self._kept[recipe.key] = None
        else:
            self._kept.pop(recipe.key, None)
        self._mark(recipe.name)

    def _mark(self, name: str) -> None:
        """Remember whether only the number of a name is left."""
        if any(one.body for one in self._held[name].values()):
            self._gone.pop(name, None)
        else:
            self._gone.setdefault(name)

    # ------------------------------------------------------------------ reading

    @property
    def names(self) -> list[str]:
        """The names that are listed, in order."""
        return sorted(self._heads)

    @property
    def heads(self) -> list[Recipe]:
        """Their newest versions, in order of name."""
        return [self._heads[name] for name in self.names]

    def head(self, name: str) -> Recipe | None:
        """The newest version of a name that is listed."""
        return self._heads.get(name)

    def find(self, name: str, version: int | None = None) -> Recipe | None:
        """A version that can be read, without a number the head."""
        if version is None:
            return self._heads.get(name)
        found = self._held.get(name, {}).get(version)
        return found if found is not None and found.body else None

    def versions(self, name: str) -> list[int]:
        """The versions of a name that can be read, in order."""
        return [number for number, one in self._held.get(name, {}).items() if one.body]

    def users(self, recipe: Recipe) -> int:
        """How many arms have a version as their last one."""
        return self._uses[recipe.key]

    def next_version(self, name: str) -> int:
        """The number that the next version of a name gets."""
        return max(self.floor, *self._held.get(name, {0: None})) + 1

    # ------------------------------------------------------------------ changes

    def put(self, recipe: Recipe) -> Moved:
        """Add the next version; the oldest one beyond those that are kept goes."""
        self._add(recipe)
        number_only = [one for one in self._held[recipe.name].values() if not one.body]
        listed = [one for one in self._held[recipe.name].values() if one.listed]
        moved = [Moved((recipe,)), self._drop(number_only), *map(self._unlist, listed[:-VERSIONS_KEPT])]
        return _joined(moved)

    def delete(self, name: str) -> Moved:
        """Take a name off the list; the number of its last version stays."""
        del self._heads[name]
        listed = [one for one in self._held[name].values() if one.listed]
        moved = [self._unlist(one) for one in listed]
        return _joined([*moved, self._forget()])

    def took(self, arm_before: Key | None, arm_now: Key | None) -> Moved:
        """An arm has another version as its last one; what was kept for it alone goes."""
        if arm_now is not None:
            self._uses[arm_now] += 1
        if arm_before is None:
            return Moved()
        self._uses[arm_before] -= 1
        if self._uses[arm_before] <= 0:
            del self._uses[arm_before]
        found = self.find(*arm_before)
        return Moved() if found is None or found.listed else self._unlist(found)

    def await_end(self, key: Key) -> None:
        """A change that is to bring a version was accepted: that version is kept."""
        self._awaited[key] += 1

    def ended(self, key: Key) -> None:
        """That change has an end; `swept` tells what was kept for it alone."""
        self._awaited[key] -= 1
        if self._awaited[key] <= 0:
            del self._awaited[key]

    def swept(self) -> Moved:
        """What goes of the versions that are not listed: what nobody has or waits for."""
        return _joined([self._unlist(self._held[name][version]) for name, version in [*self._kept]])

    def _unlist(self, recipe: Recipe) -> Moved:
        """What becomes of a version that is not, or no longer, listed."""
        held = self._held[recipe.name]
        used = self._uses[recipe.key] > 0 or self._awaited[recipe.key] > 0
        if not used and recipe.version != max(held):
            return self._drop([recipe])
        left = msgspec.structs.replace(recipe, listed=False)
        if not used:
            left = msgspec.structs.replace(left, body=b"", note="")
        if left == recipe:
            return Moved()
        self._add(left)
        return Moved((left,))

    def _drop(self, recipes: list[Recipe]) -> Moved:
        for one in recipes:
            del self._held[one.name][one.version]
            self._kept.pop(one.key, None)
            self.size -= len(one.body)
            self._mark(one.name)
        return Moved(dropped=tuple(one.key for one in recipes))

    def _forget(self) -> Moved:
        """Raise the floor above the last versions of names that were deleted longest ago."""
        dropped: list[Key] = []
        for name in [*self._gone][: max(0, len(self._gone) - FORGOTTEN_KEPT)]:
            last = max(self._held[name])
            self.floor = max(self.floor, last)
            dropped.append((name, last))
            del self._held[name], self._gone[name]
        return Moved(dropped=tuple(dropped))


def _joined(parts: list[Moved]) -> Moved:
    return Moved(
        tuple(chain.from_iterable(one.put for one in parts)), tuple(chain.from_iterable(one.dropped for one in parts))
    )


NO_RECIPES = Shelf()
"""The shelf of who knows none; never changed."""
