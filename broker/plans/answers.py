"""The replies of plans: the first at the latest 10 s after commit 1, the latest to every repeat."""

from itertools import islice
from typing import Any

import msgspec

from broker.arms.jobs import Address
from broker.plans.book import PlanBook
from broker.plans.live import Live
from broker.plans.proposals import Proposals, proposed, unapproved
from broker.plans.rows import error_of
from broker.record.ledger import Ledger
from broker.record.replies import JSON, Replies, error_body
from broker.settle.deadlines import REPLY_WITHIN_S
from broker.store.rows import RequestUpdate
from broker.timers import Timers
from handlers.plans.plan import Plan
from handlers.plans.rows import DONE_STATES, Row, RowState
from handlers.plans.states import PlanKind, PlanState
from schema.envelope import Reply, Stage, Wait, Warned
from schema.errors import BrokerError

ROWS_MOST = 100
"""Rows of a reply."""


class Answers:
    """Gives the replies of plans."""

    def __init__(self, ledger: Ledger, replies: Replies, book: PlanBook, timers: Timers) -> None:
        self._ledger, self._replies, self._book, self._timers = ledger, replies, book, timers
        self.proposals: Proposals

    def begin(self, live: Live) -> None:
        """Somebody waits for the reply of a plan: it is due in a while at the latest."""
        asker = live.asker
        if asker is not None and asker.wait is Wait.STORED:
            self.give(live, stored=True)
        elif asker is not None:
            live.timers.append(self._timers.put(REPLY_WITHIN_S, self.give, live))

    def look(self, live: Live) -> None:
        """Give the reply if all is known that it waits for."""
        plan = live.plan
        if live.asker is None:
            return
        if plan.asked.kind is PlanKind.ROLLOUT and not live.dry:
            due = plan.state is not PlanState.CHECKING
        else:
            due = not plan.counts[RowState.WAITING] or plan.state in (PlanState.ENDED, PlanState.PROPOSED)
        if due:
            self.give(live)

    def give(self, live: Live, *, stored: bool = False) -> None:
        """Give the first reply; nobody waits for it any longer."""
        asker, plan = live.asker, live.plan
        if asker is None:
            return
        live.asker = None
        reply = self.reply(live, stored=stored, warnings=asker.warnings)
        if live.dry:
            self._replies.give_committed(asker.address, reply)
            return
        plan.progress.replied = True
        plan.progress.shown = plan.progress.shown or (not reply.final and not stored)
        outcome = JSON.encode_reply(reply)
        batch = self._ledger.store.batch
        batch.update_request(RequestUpdate(n=plan.place, outcome=outcome, reply_open=True, rev=0))
        self._replies.give_then(asker.address, reply, plan.place, outcome)
        self._book.put(live)
        self._book.changed(live)

    def repeat(self, live: Live, address: Address, warnings: tuple[Warned, ...], *, in_force: bool) -> None:
        """Give the latest to whoever asks again."""
        reply = self.reply(live, warnings=warnings)
        known = msgspec.structs.replace(reply, duplicate=True, in_force=in_force)
        self._replies.give_committed(address, known)

    def reply(self, live: Live, *, stored: bool = False, warnings: tuple[Warned, ...] = ()) -> Reply:
        """What a plan came to so far; `stored`: only that it is accepted."""
        plan, tally = live.plan, live.plan.tally
        if plan.asked.kind is PlanKind.SINGLE and (of_one := self.proposals.reply(live, warnings)) is not None:
            return of_one
        if plan.waits:
            warnings = (*warnings, proposed(plan))
        rollout = plan.asked.kind is PlanKind.ROLLOUT
        ok, stage, final = tally.ok, tally.stage, tally.final
        if stored or (plan.live and not live.dry and (rollout or plan.state is PlanState.PROPOSED)):
            ok, stage, final = True, Stage.STORED, False
        elif rollout:
            final = True
        if (unasked := unapproved(plan)) is not None:
            ok, stage, final = False, Stage.REFUSED, True
        error = None if ok else error_body(unasked or _error(plan))
        rev, seq = self._book.events.counters
        result = _result(live, rows=not stored and (live.dry or not rollout))
        return Reply(
            id=plan.asked.id, arm=plan.asked.target, method=_asked_method(plan), ok=ok, stage=stage, final=final,
            rev=rev, seq=seq, at_us=self._ledger.clock.now_us(), result=result, error=error, warnings=warnings,
            plan=plan.n, until_us=plan.asked.until_us,
        )  # fmt: skip


def _asked_method(plan: Plan) -> str:
    return "Rollout" if plan.asked.kind is PlanKind.ROLLOUT else plan.asked.method


def _error(plan: Plan) -> BrokerError:
    """Why a plan did not succeed: of the first row, or that it is partial."""
    failed = list(islice(plan.failed(), ROWS_MOST))
    if not plan.tally.mixed:
        return error_of(failed[0])
    return BrokerError("partial", plan.tally.told(failed))


def _result(live: Live, *, rows: bool) -> dict[str, Any]:
    plan = live.plan
    if plan.asked.kind is PlanKind.ROLLOUT and not live.dry:
        return plan.shown()
    result: dict[str, Any] = {} if live.dry else {"plan": plan.n, "state": plan.state.value}
    if plan.progress.outcome is not None and not live.dry:
        result["outcome"] = plan.progress.outcome.value
    if plan.asked.kind is PlanKind.ROLLOUT:
        result["waves"] = plan.waves()
    result["counts"] = plan.tally.shown()
    if rows:
        shown, more = rows_of(plan)
        result |= {"rows": [row.shown() for row in shown], "more": more}
    return result


def rows_of(plan: Plan) -> tuple[list[Row], bool]:
    """The rows of a reply, and whether there are more to look at: all of a few, of many those that are not done."""
    if len(plan.asked.arms) <= ROWS_MOST:
        return list(plan.in_order()), False
    notable = list(islice((row for row in plan.in_order() if row.state not in DONE_STATES), ROWS_MOST + 1))
    return notable[:ROWS_MOST], len(notable) > ROWS_MOST
