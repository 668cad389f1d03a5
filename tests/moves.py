"""Watches the states of changes while tests run: a move that `broker.life.MOVES` does not name is an error."""

from collections import Counter
from typing import Any

from broker.arms.jobs import ChangeJob
from broker.life import FIRST, MOVES, State

NAMES = {(before, move.after): move.name for move in MOVES for before in move.before}
"""The name of each move."""


class Watched:
    """Stands for `ChangeJob.state`: checks each assignment, and keeps it where the attribute kept it.

    `made` counts the moves by name, `illegal` tells the others. To say the same state once more is no move.
    """

    def __init__(self, kept: Any) -> None:
        self._kept = kept
        self.made: Counter[str] = Counter()
        self.illegal: list[str] = []

    def __get__(self, job: ChangeJob | None, owner: type) -> Any:
        return self if job is None else self._kept.__get__(job, owner)

    def __set__(self, job: ChangeJob, state: State) -> None:
        try:
            before = self._kept.__get__(job, type(job))
        except AttributeError:  # it comes to be
            if state not in FIRST:
                self._refuse(f"{job.request_id}: begins {state}")
        else:
            if before is not state:
                self._move(job, before, state)
        self._kept.__set__(job, state)

    def _move(self, job: ChangeJob, before: State, state: State) -> None:
        name = NAMES.get((before, state))
        if name is None:
            self._refuse(f"{job.request_id} {job.slot}: from {before} to {state}")
        else:
            self.made[name] += 1

    def _refuse(self, what: str) -> None:
        self.illegal.append(what)
        raise AssertionError(what)


def watch() -> Watched:
    """Watch all changes of this process from now on."""
    watched = Watched(ChangeJob.__dict__["state"])
    setattr(ChangeJob, "state", watched)  # noqa: B010 - a slot is no class variable for mypy
    return watched
