"""SteerPlan: people pause a plan, let it go on, end it, take it back."""

from collections.abc import Callable
from typing import Protocol

from broker.plans.book import PlanBook
from broker.plans.live import Live
from broker.plans.proposals import Proposals
from broker.record.ledger import Ledger
from handlers.plans.plan import Plan
from handlers.plans.states import Action, Cause, PlanState, allowed, moved
from handlers.rpc.outcome import Answer, SteerOrder
from handlers.rpc.request import Request
from handlers.state.refusals import NOTHING_CHANGED
from schema.envelope import Author, Stage
from schema.errors import BrokerError

DAY_US = 86_400_000_000
REVERSED_WITHIN_US = 7 * DAY_US
"""How long after its end a plan may be taken back."""


class Reverse(Protocol):
    """Begins to take a plan back for somebody; `said` is what the plan keeps of why."""

    def __call__(self, live: Live, why: Action | Cause, by: Author, *, said: str, reason: str = "") -> None:
        """Begin."""
        ...


class Steering:
    """Carries out SteerPlan.

    Args:
        ledger: what is written.
        book: the plans.
        may_steer: whether a user may steer what others do with an arm.
        proposals: approve or reject what waits for a second person.
    """

    def __init__(
        self,
        ledger: Ledger,
        book: PlanBook,
        may_steer: Callable[[str, str], bool],
        proposals: Proposals,
    ) -> None:
        self._ledger, self._book, self._may_steer, self._proposals = ledger, book, may_steer, proposals
        self.reverse: Reverse | None = None
        """Begins to take a plan back."""
        self.forgive: Callable[[Live], None] = lambda _: None
        """What is done before a plan goes on."""
        self.resumed: Callable[[Live], None] = lambda _: None
        """What is done when a plan goes on."""

    def carry_out(self, order: SteerOrder, request: Request) -> Answer:
        """Do it, unless it is a dry run, and the answer.

        Raises:
            BrokerError: unknown_plan, revision_conflict, not_permitted, unsupported_option.
        """
        live = self._book.find(order.plan)
        plan, action = live.plan, Action(order.action)
        self._check(plan, action, order)
        if action in (Action.APPROVE, Action.REJECT):
            self._proposals.check(plan, request)
        else:
            self._check_right(plan, request)
        if action is Action.REVERSE:
            self._check_reverse(live)
        if request.envelope.dry_run:
            return Answer({"plan": plan.n, "state": plan.state.value}, Stage.CHECKED)
        self._do(live, action, order, request)
        self._ledger.audit(
            at=request.at_us, user=request.user, conn=request.conn, plan=plan.n, decision=action.value, id=request.id,
            reason=order.reason,
        )  # fmt: skip
        return Answer({"plan": plan.n, "state": plan.state.value}, Stage.STORED)

    def _do(self, live: Live, action: Action, order: SteerOrder, request: Request) -> None:
        if action in (Action.APPROVE, Action.REJECT):
            self._proposals.decide(live, order, request)
        elif action is Action.REVERSE:
            if self.reverse is not None:
                said = order.reason or _said(action, request)
                self.reverse(live, action, request.author, said=said, reason=order.reason)
        else:
            if action is Action.RESUME:
                self.forgive(live)
            self._book.move(live, action, request.author, said=_said(action, request), reason=order.reason)
            if action is Action.RESUME:
                self.resumed(live)

    def _check(self, plan: Plan, action: Action, order: SteerOrder) -> None:
        """Refuse what a plan in its state does not take, and what is meant for another content."""
        if moved(plan.state, action) is None:
            takes = ", ".join(allowed(plan.state))
            text = f"plan {plan.n} is {plan.state.value}, which takes {takes}, not {action.value}"
            raise BrokerError("revision_conflict", f"params.action: {text}. {NOTHING_CHANGED}")
        if order.digest and order.digest != plan.asked.digest:
            text = f"params.digest: {order.digest[:64]} is not that of plan {plan.n}, {plan.asked.digest}"
            raise BrokerError("revision_conflict", f"{text}. {NOTHING_CHANGED}")

    def _check_right(self, plan: Plan, request: Request) -> None:
        if request.user == plan.asked.user:
            return
        barred = next((arm for arm in plan.asked.arms if not self._may_steer(request.user, arm)), None)
        if barred is not None:
            text = f"user {request.user} may not steer plan {plan.n} of {plan.asked.user}: it has no right to write to"
            raise BrokerError("not_permitted", f"{text} {barred}. {NOTHING_CHANGED}")

    def _check_reverse(self, live: Live) -> None:
        """Refuse to take back what changes no item, never began, or ended too long ago."""
        plan, now_us = live.plan, self._ledger.clock.now_us()
        if not (live.rpc.item or live.rpc.name in ("ApplyConfig", "ApplyRecipe")):
            text = f"params.action: {live.rpc.name} changes no item, it cannot be taken back"
            raise BrokerError("unsupported_option", f"{text}. {NOTHING_CHANGED}")
        if plan.state is PlanState.ENDED and not any(row.change_n for row in plan.rows.values()):
            text = f"params.action: plan {plan.n} ended {plan.progress.outcome}, and none of its rows ever began"
            raise BrokerError("revision_conflict", f"{text}. {NOTHING_CHANGED}")
        if plan.state is PlanState.ENDED and now_us - plan.progress.ended_at_us > REVERSED_WITHIN_US:
            text = f"params.action: plan {plan.n} ended more than 7 days ago"
            raise BrokerError("revision_conflict", f"{text}. {NOTHING_CHANGED}")


def _said(action: Action, request: Request) -> str:
    """Why a plan is where somebody put it."""
    return "" if action is Action.RESUME else f"{action.value} by {request.user}/{request.conn}"
