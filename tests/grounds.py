"""What is to be in force on an arm, told from its events alone: no code of the service."""

from collections.abc import Callable, Iterable
from typing import Any

_NUMBERS: dict[str, Callable[[Any], float]] = {
    "TWIST_LINEAR_SOFT_LIMIT_CHANGED": float,
    "PAYLOAD_CONFIGURATION_CHANGED": lambda payload: float(payload.get("payload_mass", 0.0)),
}
"""Events that are looked at, and the number of their values."""
NO_MODE = ""
"""In the place of the mode of a payload."""


class Checker:
    """What is to be in force, told from the events of an arm in the order of their `seq`: by mode, also of its payload.

    Those of a batch come with its end, and may come after those of newer changes: changes of a mode took effect in the
    order of their revisions.
    """

    def __init__(self, modes: Iterable[str]) -> None:
        self.ground: dict[str, float] = {}
        self.live: dict[str, dict[int, float]] = {mode: {} for mode in modes}
        self.touched: set[str] = set()
        """Modes that another writer changed while no override was live."""
        self.foreign: set[str] = set()
        """Modes that another writer changed, at any time."""
        self.left: set[str] = set()
        """Modes that an end did not lead back before the next change: somebody's was not settled yet."""
        self._due: set[str] = set()
        self.ended = 0
        self.twice: list[tuple[str, int]] = []
        """Overrides whose end was told of a mode more than once."""
        self._since: dict[str, int] = {}
        """The revision that each ground is of."""
        self._over: dict[tuple[str, int], str] = {}
        """Overrides that ended, and why."""

    def take(self, event: dict[str, Any]) -> None:
        """One event."""
        if event["event"] == "OVERRIDE_ENDED":
            self._end(event)
        elif event["event"] in _NUMBERS:
            self._change(event)

    def _change(self, event: dict[str, Any]) -> None:
        change, cause, rev = event["change"], event["cause"], event["rev"]
        number = _NUMBERS[event["event"]]
        mode, before, after = change.get("slot", NO_MODE), number(change["before"]), number(change["after"])
        if mode not in self.live:
            return
        if mode in self._due and cause != "returned":
            self.left.add(mode)
        if cause == "foreign":
            self.foreign.add(mode)
            if not self.live[mode]:
                self.touched.add(mode)
        elif cause == "returned" or (cause == "unchanged" and self.live[mode]):
            self._due.discard(mode)
            return
        elif "until" not in event or self._over.get((mode, rev)) == "kept":
            self._settle(mode, rev, after)
        elif (mode, rev) not in self._over and rev > self._since.get(mode, 0):
            if not self.live[mode] and (mode not in self.ground or mode in self.touched):
                self.ground[mode] = before
            self.live[mode][rev] = after
            self.touched.discard(mode)

    def _settle(self, mode: str, rev: int, value: float) -> None:
        if rev < self._since.get(mode, 0):
            return
        self.ground[mode], self._since[mode] = value, rev
        self.live[mode] = {newer: one for newer, one in self.live[mode].items() if newer > rev}
        self.touched.discard(mode)

    def _end(self, event: dict[str, Any]) -> None:
        self.ended += 1
        for path in event["details"]["paths"]:
            mode, rev = path.partition("/")[2], event["rev"]
            if mode not in self.live:
                continue
            if (mode, rev) in self._over:
                self.twice.append((mode, rev))
            self._over[mode, rev] = event["cause"]
            if event["cause"] in ("expired", "ended") and rev == max(self.live[mode], default=0):
                self._due.add(mode)
            given = self.live[mode].pop(rev, None)
            if event["cause"] == "kept" and given is not None:
                self._settle(mode, rev, given)

    def in_force(self, mode: str) -> float | None:
        """The value of the newest live override, else the ground; None where nobody ever set either."""
        live = self.live[mode]
        return live[max(live)] if live else self.ground.get(mode)
