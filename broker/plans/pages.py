"""What is told of plans when somebody asks: one with its rows, or many without."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from broker.plans.book import PlanBook, restored
from broker.plans.live import Live
from broker.record.ledger import Ledger
from broker.store.errors import RowDamagedError
from handlers.plans.plan import Plan
from handlers.plans.rows import Row
from handlers.rpc.outcome import Answer, PlanQuery, PlansQuery
from schema.errors import BrokerError

PAGE_BYTES = 58_000
"""Most bytes of a page: it stays under 60 KiB with the reply around it."""
VIOLATIONS_MOST = 8
_encode = msgspec.json.Encoder().encode


class Pages:
    """Answers GetPlan and ListPlans."""

    def __init__(self, ledger: Ledger, book: PlanBook, preview: Callable[[Live, str], Row]) -> None:
        self._store, self._book, self._preview = ledger.store, book, preview

    def plan(self, query: PlanQuery) -> Answer:
        """A plan with a page of its rows.

        Raises:
            BrokerError: unknown_plan, unknown_arm, internal.
        """
        live = self._found(query.plan)
        plan = live.plan
        document = plan.whole()
        if query.arm:
            document |= _row_of(plan, query.arm)
            if plan.waits:
                document["preview"] = _told(self._preview(live, query.arm))
            return Answer(document)
        size, rows = len(_encode(document)), list[dict[str, Any]]()
        for row in _rows(plan, query):
            size += len(_encode(row))
            if len(rows) == query.limit or (rows and size > PAGE_BYTES):
                return Answer(document | {"rows": rows, "more": True})
            rows.append(row)
        return Answer(document | {"rows": rows, "more": False})

    def plans(self, query: PlansQuery) -> Answer:
        """Plans, newest first.

        Raises:
            BrokerError: internal.
        """
        size, found, before = 0, list[dict[str, Any]](), query.before
        while True:
            many = [plan for plan in self._below(query, before) if _is_meant(plan, query)]
            for plan in many:
                shown = plan.shown()
                size += len(_encode(shown))
                if len(found) == query.limit or (found and size > PAGE_BYTES):
                    return Answer({"plans": found, "more": True})
                found.append(shown)
            if len(many) <= query.limit:
                return Answer({"plans": found, "more": False})
            before = many[-1].n

    def _below(self, query: PlansQuery, before: int) -> list[Plan]:
        """The next plans below a number: those of this run as they stand, others as they are stored."""
        try:
            rows = self._store.plans(before, query.limit + 1, query.state, query.kind, query.user)
            stored = [restored(row, self._store.plan_arms(row.n)).plan for row in rows if row.n not in self._book.plans]
        except RowDamagedError as error:
            raise _damaged(error) from error
        last = rows[-1].n if len(rows) > query.limit else 0
        present = [live.plan for n, live in self._book.plans.items() if last <= n < before]
        return sorted([*stored, *present], key=lambda plan: -plan.n)

    def _found(self, n: int) -> Live:
        try:
            return self._book.find(n)
        except RowDamagedError as error:
            raise _damaged(error) from error


def _damaged(error: RowDamagedError) -> BrokerError:
    return BrokerError("internal", f"{error}. Restore the store from a backup.")


def _is_meant(plan: Plan, query: PlansQuery) -> bool:
    asked = plan.asked
    return all(
        want in ("", have)
        for want, have in ((query.state, plan.state), (query.kind, asked.kind), (query.user, asked.user))
    )


def _row_of(plan: Plan, arm: str) -> dict[str, Any]:
    """One row, with all that is known of its error."""
    if arm not in plan.asked.arms:
        raise BrokerError("unknown_arm", f"params.arm: {arm[:64]} is no arm of plan {plan.n}")
    return {"rows": [_told(plan.row(arm))], "more": False}


def _told(row: Row) -> dict[str, Any]:
    shown = row.shown()
    if row.kind:
        violations = [msgspec.to_builtins(one) for one in row.violations[:VIOLATIONS_MOST]]
        shown["error"] = {"kind": row.kind, "name": row.name, "message": row.message, "violations": violations}
    return shown


def _rows(plan: Plan, query: PlanQuery) -> Iterator[dict[str, Any]]:
    for row in plan.in_order():
        if row.arm > query.after and query.state in ("", row.state):
            yield row.shown()
