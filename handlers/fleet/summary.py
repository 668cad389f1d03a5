"""The summary of a group: numbers that are kept while its arms change, one arm at a time."""

from collections import Counter
from collections.abc import Callable, Mapping
from heapq import nsmallest
from types import MappingProxyType
from typing import Any, NamedTuple

from handlers.compare.drift import drift_of
from handlers.fleet.facts import Seen, differs, ready, recipe
from handlers.overrides.documents import overdue
from schema.arms import Activity, Authority
from schema.codecs.times import format_time

ATTENTION_MOST = PLANS_MOST = 16
RECIPES_MOST = 8
"""Arms that need attention, plans, and recipes that most arms have, that a summary names at most."""


NUMBERS: Mapping[str, Callable[[Seen], int]] = MappingProxyType({
    "arms": lambda _: 1,
    "online": lambda seen: seen.presence == "online",
    "ready": ready,
    "held": lambda seen: seen.presence == "held",
    "locked": lambda seen: seen.state.hold is not None,
    "faults": lambda seen: seen.state.activity is Activity.FAULT,
    "pending": lambda seen: seen.state.unsettled,
    "held_changes": lambda seen: seen.held_changes,
    "differs": differs,
    "overrides": lambda seen: 0 if seen.state.overrides is None else len(seen.state.overrides.live),
    "overdue": lambda seen: overdue(seen.state),
    "recipe_drift": lambda seen: bool(drift_of(seen.state)),
})  # fmt: skip
"""What is counted of each arm, and added up in its groups."""
ATTENTION: Mapping[str, str] = MappingProxyType({
    "fault": "faults", "overdue": "overdue", "held": "held", "differs": "differs",
})  # fmt: skip
"""Why somebody should look at an arm, the most urgent first: a number that is not 0."""
_PLACES = {name: place for place, name in enumerate(NUMBERS)}
_WHYS = tuple((why, _PLACES[name]) for why, name in ATTENTION.items())


class Counted(NamedTuple):
    """What is counted of one arm."""

    numbers: tuple[int, ...]
    authority: Authority
    recipe: str | None
    next_end_us: int
    """When the first of its overrides ends; 0: none."""

    @property
    def why(self) -> str:
        """Why somebody should look at it; empty if nobody has to."""
        return next((why for why, place in _WHYS if self.numbers[place]), "")


def counted(seen: Seen) -> Counted:
    """What is counted of an arm as it stands."""
    state = seen.state
    live = () if state.overrides is None else state.overrides.live
    ends = min((one.until_us for one in live), default=0)
    return Counted(tuple(int(count(seen)) for count in NUMBERS.values()), state.authority, recipe(seen), ends)


class Summary:
    """The numbers of one group."""

    def __init__(self) -> None:
        self._numbers = [0] * len(NUMBERS)
        self._authorities: Counter[Authority] = Counter()
        self._recipes: Counter[str] = Counter()
        self._ends: dict[str, int] = {}
        self._attention: dict[str, set[str]] = {why: set() for why in ATTENTION}

    def change(self, arm: str, before: Counted | None, after: Counted | None) -> None:
        """An arm is counted anew, for the first time (`before` is None), or no more (`after` is None)."""
        if before is not None:
            self._add(before, -1)
            self._ends.pop(arm, None)
            if before.why:
                self._attention[before.why].discard(arm)
        if after is not None:
            self._add(after, 1)
            if after.next_end_us:
                self._ends[arm] = after.next_end_us
            if after.why:
                self._attention[after.why].add(arm)

    def _add(self, arm: Counted, sign: int) -> None:
        self._authorities[arm.authority] += sign
        if arm.recipe is not None:
            self._recipes[arm.recipe] += sign
        numbers = self._numbers
        for place, number in enumerate(arm.numbers):
            if number:
                numbers[place] += sign * number

    def document(self) -> dict[str, Any]:
        """What the summary says, beside what every document does."""
        told: dict[str, Any] = dict(zip(NUMBERS, self._numbers, strict=True))
        told["authority"] = {word.value: self._authorities[word] for word in Authority}
        counts = ((name, count) for name, count in self._recipes.items() if count)
        told["recipes"] = dict(nsmallest(RECIPES_MOST, counts, key=lambda one: (-one[1], one[0])))
        if self._ends:
            told["next_end"] = format_time(min(self._ends.values()))
        told["attention"] = self._urgent()
        return told

    def _urgent(self) -> list[dict[str, str]]:
        """The arms that somebody should look at, the most urgent first, then in order of id."""
        urgent: list[dict[str, str]] = []
        for why, arms in self._attention.items():
            room = ATTENTION_MOST - len(urgent)
            urgent += [{"arm": arm, "why": why} for arm in nsmallest(room, arms)]
        return urgent
