"""Which changes of parameters are our own: an event of ROS names the node that changed, not who changed it.

A change is ours

- while our parameters are being set, if it is of nothing but these;
- until 1.5 s later, if it gives nothing but values that the node took from us, each of them once;
- after a set that was never answered, whenever it gives nothing but the values of that set.

Every other change is foreign. A foreign change taken for ours is one that came before our set was answered, and what is
read after that answer has it.
"""

import math
from collections.abc import Mapping

from devices.ros2.parameters import Held

ECHO_S = 1.5
"""How long after the answer of a set its event may come."""


class Echoes:
    """What was set and may still come back as an event; times in seconds of any one clock."""

    def __init__(self) -> None:
        self._expected: dict[str, tuple[Held | None, float]] = {}
        self._setting: frozenset[str] = frozenset()

    def begin(self, values: Mapping[str, Held]) -> None:
        """These values are being set from now on."""
        self._setting = frozenset(values)
        self._expected |= {name: (value, math.inf) for name, value in values.items()}

    def answered(self, taken: Mapping[str, Held | None], now: float) -> None:
        """The node took these values; those whose event came already are expected no more."""
        self._setting = frozenset()
        kept = {name: (value, now + ECHO_S) for name, value in taken.items() if name in self._expected}
        self._expected |= kept

    def refused(self) -> None:
        """The node took nothing of what is being set."""
        self._expected = {name: one for name, one in self._expected.items() if name not in self._setting}
        self._setting = frozenset()

    def unanswered(self) -> None:
        """Nobody knows what became of what is being set."""
        self._setting = frozenset()

    def are(self, changed: Mapping[str, Held | None], now: float) -> bool:
        """Whether a change is ours."""
        self._expected = {name: one for name, one in self._expected.items() if one[1] > now}
        ours = changed.keys() <= self._expected.keys() and (
            changed.keys() <= self._setting or all(self._expected[name][0] == value for name, value in changed.items())
        )
        if ours:
            for name in changed:
                del self._expected[name]
        return ours
