"""What a campaign comes to."""

import asyncio
import traceback
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any

CONFIDENCE = 3.0
"""Without a failure in n trials the rate is below 3 / n, with a confidence of 95 % (0.05 = exp(-3))."""

SHOWN = 12
"""So many of what was wrong are printed."""


@dataclass
class Figures:
    """The trials that were run, what was wrong in them, and named numbers beside that."""

    trials: int = 0
    wrong: list[str] = field(default_factory=list)
    numbers: dict[str, Any] = field(default_factory=dict)

    def expect(self, condition: object, text: str) -> None:
        """Note a text as wrong unless a condition holds."""
        if not condition:
            self.wrong.append(text)

    def count(self, name: str, more: float = 1) -> None:
        """Add to a named number."""
        self.numbers[name] = self.numbers.get(name, 0) + more

    def add(self, other: "Figures") -> None:
        """Add what another run came to; numbers are summed up."""
        self.trials += other.trials
        self.wrong += other.wrong
        for name, number in other.numbers.items():
            self.count(name, number)

    def document(self) -> dict[str, Any]:
        """Everything, with the bound at 95 % where nothing was wrong."""
        bound = round(CONFIDENCE / self.trials, 6) if self.trials and not self.wrong else None
        return {
            "trials": self.trials,
            **self.numbers,
            "bound at 95 %": bound,
            "wrong": len(self.wrong),
            "first": self.wrong[:SHOWN],
        }


class EndedError(Exception):
    """The service ended by itself while somebody waited for it."""


def leaves(group: BaseExceptionGroup[EndedError]) -> Iterator[EndedError]:
    """The errors of a group and of the groups in it."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from leaves(error)
        else:
            yield error


def play(part: Coroutine[Any, Any, None], figures: Figures) -> None:
    """Run a part of a campaign; that it stands still, or the service ends by itself, is wrong, too."""
    try:
        asyncio.run(part)
    except* EndedError as ended:
        figures.wrong += map(str, leaves(ended))
    except* TimeoutError as late:
        figures.expect(False, f"stood still: {''.join(traceback.format_exception(late, limit=-2))[-1500:]}")
