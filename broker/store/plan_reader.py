"""Queries of plans that are committed."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from broker.store import job
from broker.store.reader import Reader
from broker.store.rows import PastChange, PlanArmRow, PlanRow
from broker.store.seals import Sealed
from broker.store.tables import PLAN, PLAN_ARM
from schema.arms import Slot
from schema.codecs.items_form import read_path
from schema.errors import BrokerError
from schema.items import ITEMS

_TOP = 2**63 - 1
_PLANS, _ARMS = Sealed(PlanRow, PLAN), Sealed(PlanArmRow, PLAN_ARM)

# ruff: noqa: S608 - every statement is built from constants
_ONE = f"SELECT {_PLANS.columns} FROM plan WHERE n = ?"
_NEWEST = f"""SELECT {_PLANS.columns} FROM plan WHERE n < ?1 AND (?2 = '' OR state = ?2) AND (?3 = '' OR kind = ?3)
    AND (?4 = '' OR user = ?4) ORDER BY n DESC LIMIT ?5"""
_ROWS = f"SELECT {_ARMS.columns} FROM plan_row WHERE plan_n = ?1 ORDER BY arm"
_LAST = "SELECT coalesce(max(n), 0) FROM plan"


_CHANGE = f"SELECT {job.SELECT} FROM job WHERE n = ?"
_ACCEPTED = f"SELECT {job.SELECT} FROM job WHERE n > ? AND rev > 0 ORDER BY n"


class Accepted(NamedTuple):
    """A change that was accepted: its number, arm and revision, what it changes, who asked, its plan if any."""

    n: int
    arm: str
    rev: int
    slots: tuple[Slot, ...]
    by: str
    plan: int


class PlanReader(Reader):
    """Answers rows that are what was written; others are told, and left out."""

    def plan(self, n: int) -> PlanRow | None:
        """The plan of a number.

        Raises:
            RowDamagedError: the file is damaged where it lies.
        """
        found = self._plans(_ONE, (min(n, _TOP),))
        return found[0] if found else None

    def plans(self, before_n: int, limit: int, state: str = "", kind: str = "", user: str = "") -> list[PlanRow]:
        """Plans below a number, newest first; empty texts stand for any.

        Raises:
            RowDamagedError: as `plan`.
        """
        return self._plans(_NEWEST, (min(before_n, _TOP), state, kind, user, limit))

    def plan_arms(self, n: int) -> list[PlanArmRow]:
        """The rows of a plan that have begun, in the order of their arms.

        Raises:
            RowDamagedError: as `plan`.
        """
        rows: list[PlanArmRow] = []
        for values in self._rows("plan_row", "", _ROWS, (n,), str(n)):
            if (row := _ARMS.open(values)) is not None:
                rows.append(row)
            else:
                self.on_damage(_ARMS.damage(values))
        return rows

    def last_plan(self) -> int:
        """The highest number of a plan."""
        ((last,),) = self._rows("plan", "", _LAST, ())
        return int(last)

    def accepted_after(self, n: int) -> Iterator[Accepted]:
        """The changes above a number that people wished for; damaged ones are left out.

        Raises:
            RowDamagedError: the file is damaged where they lie.
        """
        for values in self._rows("job", "", _ACCEPTED, (n,)):
            row = job.Job(values)
            past = row.past() if row.tells else None
            if past is None or past.user.startswith("@") or past.outcome == "reverted":
                continue
            plan = 0 if past.terms is None else past.terms.plan
            yield Accepted(row.n, past.arm, past.rev, _slots(past), f"{past.user}/{past.conn}", plan)

    def past_change(self, n: int) -> PastChange | None:
        """The change of a number, if it is committed.

        Raises:
            RowDamagedError: it is not what was written.
        """
        for values in self._rows("job", "", _CHANGE, (n,), str(n)):
            row = job.Job(values)
            if not row.tells:
                raise self._damaged(row.damage)
            return row.past()
        return None

    def _plans(self, statement: str, values: tuple[int | str, ...]) -> list[PlanRow]:
        found: list[PlanRow] = []
        for row in self._rows("plan", "", statement, values):
            if (plan := _PLANS.open(row)) is not None:
                found.append(plan)
            else:
                self.on_damage(_PLANS.damage(row))
        return found


def _slots(past: PastChange) -> tuple[Slot, ...]:
    """What a change changes: its slot, or those of a batch, which stand as paths in what it asks for."""
    if past.key in ITEMS:
        return ((past.key, past.mode),)
    try:
        paths = msgspec.json.decode(past.after or b"{}", type=dict[str, msgspec.Raw])
        return tuple(slot for path in paths for slot in read_path(path, "after"))
    except (msgspec.MsgspecError, BrokerError):
        return ()
