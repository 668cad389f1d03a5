"""Queries of plans that are committed."""

from broker.store.reader import Reader
from broker.store.rows import PlanArmRow, PlanRow
from broker.store.seals import Sealed
from broker.store.tables import PLAN, PLAN_ARM

_TOP = 2**63 - 1
_PLANS, _ARMS = Sealed(PlanRow, PLAN), Sealed(PlanArmRow, PLAN_ARM)

# ruff: noqa: S608 - every statement is built from constants
_ONE = f"SELECT {_PLANS.columns} FROM plan WHERE n = ?"
_NEWEST = f"""SELECT {_PLANS.columns} FROM plan WHERE n < ?1 AND (?2 = '' OR state = ?2) AND (?3 = '' OR kind = ?3)
    AND (?4 = '' OR user = ?4) ORDER BY n DESC LIMIT ?5"""
_ROWS = f"SELECT {_ARMS.columns} FROM plan_row WHERE plan_n = ?1 ORDER BY arm"
_LAST = "SELECT coalesce(max(n), 0) FROM plan"


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

    def _plans(self, statement: str, values: tuple[int | str, ...]) -> list[PlanRow]:
        found: list[PlanRow] = []
        for row in self._rows("plan", "", statement, values):
            if (plan := _PLANS.open(row)) is not None:
                found.append(plan)
            else:
                self.on_damage(_PLANS.damage(row))
        return found
