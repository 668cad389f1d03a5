"""Plans that wait for a second person: proposed, approved or rejected, and what their proposers are told."""

from collections.abc import Callable

import msgspec

from broker.arms.arm_session import ArmSession
from broker.plans.asked import envelope_of
from broker.plans.book import PlanBook
from broker.plans.live import Live
from broker.plans.newest import Newest
from broker.record.ledger import Ledger
from broker.record.principals import SERVICE
from broker.record.replies import JSON, refusal
from broker.settle.rights.policing import Policing
from broker.store.rows import RequestUpdate
from handlers.plans.plan import Plan
from handlers.plans.rows import Row, RowState
from handlers.plans.states import Action, Cause, PlanKind, PlanOutcome, PlanState
from handlers.policy.rights import PolicyRight
from handlers.policy.rules import DAY_US
from handlers.rpc.outcome import SteerOrder
from handlers.rpc.request import Request
from handlers.state.refusals import NOTHING_CHANGED
from schema.codecs.times import format_time
from schema.envelope import Reply, Stage, Warned
from schema.errors import SUB_CODES, BrokerError
from schema.messages import Empty

PROPOSALS_MOST, OF_A_USER_MOST = 256, 16
"""Proposals that may wait at once, and those of one user."""
_MILLI = 1_000


class Proposals:
    """Lets plans wait for a second person, for a while."""

    def __init__(
        self,
        ledger: Ledger,
        book: PlanBook,
        newest: Newest,
        sessions: dict[str, ArmSession],
        policing: Policing,
        may_write: Callable[[str, str], bool],
    ) -> None:
        self._ledger, self._book, self._newest = ledger, book, newest
        self._sessions, self._policing, self._may_write = sessions, policing, may_write

    # ------------------------------------------------------------------ waiting

    def check_room(self, user: str) -> None:
        """Refuse one more proposal than may wait.

        Raises:
            BrokerError: no_room.
        """
        waiting = [one.plan.asked.user for one in self._book.plans.values() if one.plan.state is PlanState.PROPOSED]
        if len(waiting) >= PROPOSALS_MOST:
            text = f"{PROPOSALS_MOST} proposals wait for a second person, the most there may be"
            raise BrokerError("no_room", f"{text}. {NOTHING_CHANGED}")
        if waiting.count(user) >= OF_A_USER_MOST:
            text = f"{OF_A_USER_MOST} proposals of {user} wait for a second person, the most of one user"
            raise BrokerError("no_room", f"{text}. {NOTHING_CHANGED}")

    def wait(self, live: Live, rule: str) -> None:
        """A plan waits for a second person, as a rule asks for."""
        policy, plan = self._policing.policy, live.plan
        age_us = DAY_US if policy is None else policy.proposal_age_us
        plan.progress.shown = plan.progress.second = True
        due_us = self._ledger.clock.now_us() + age_us
        self._book.move(live, Cause.NEEDS_SECOND, plan.asked.author, said=f'rule "{rule}"', due_us=due_us)

    def end_old(self, now_us: int) -> None:
        """End what nobody approved in time."""
        for live in list(self._book.plans.values()):
            progress = live.plan.progress
            if progress.state is PlanState.PROPOSED and progress.due_us <= now_us:
                self._book.move(live, Cause.TIME_OVER, SERVICE, said="nobody approved it in time")

    # ------------------------------------------------------------------ a second person

    def decide(self, live: Live, order: SteerOrder, request: Request) -> None:
        """Approve or reject a plan, for the sender of a request that was checked."""
        said = f"{order.action} by {request.user}/{request.conn}"
        if order.action == Action.REJECT:
            self._book.move(live, Action.REJECT, request.author, said=said, reason=order.reason)
            return
        self._begin_anew(live, request.user, self._ledger.clock.now_us())
        self._book.move(live, Action.APPROVE, request.author, said=said, reason=order.reason)

    def check(self, plan: Plan, request: Request) -> None:
        """Refuse whoever is no second person to a plan, or comes too late.

        Raises:
            BrokerError: not_permitted; revision_conflict: its time is over.
        """
        self._check_person(plan, request)
        if plan.progress.due_us <= self._ledger.clock.now_us():
            text = f"params.plan: the time of plan {plan.n} was over at {format_time(plan.progress.due_us)}"
            raise BrokerError("revision_conflict", f"{text}. {NOTHING_CHANGED}")

    def _check_person(self, plan: Plan, request: Request) -> None:
        what = f"{request.user} may not approve or reject plan {plan.n}"
        if request.user == plan.asked.user:
            raise BrokerError("not_permitted", f"{what}: who proposed it is no second person. {NOTHING_CHANGED}")
        if not request.author.proven:
            text = "the MQTT server does not prove who that is"
            raise BrokerError("not_permitted", f"{what}: {text}. {NOTHING_CHANGED}")
        for arm in plan.asked.arms:
            if not self._may_write(request.user, arm):
                text = f"it has no right to write to {arm}, by the settings"
                raise BrokerError("not_permitted", f"{what}: {text}. {NOTHING_CHANGED}")
            self._policing.check_right(PolicyRight.APPROVE, request, arm)

    def _begin_anew(self, live: Live, by: str, now_us: int) -> None:
        """All times count from the approval on; what was accepted before it does not win over the plan."""
        plan = live.plan
        asked, progress = plan.asked, plan.progress
        progress.approved_by, progress.approved_n, progress.approved_at_us = by, self._ledger.new_change(), now_us
        plan.asked = msgspec.structs.replace(
            asked,
            expires_us=now_us + asked.ttl_ms * _MILLI if asked.ttl_ms else 0,
            until_us=now_us + asked.valid_for_ms * _MILLI if asked.valid_for_ms else asked.until_us,
        )
        live.envelope, live.rule = envelope_of(plan.asked), ""
        live.ahead.extend(asked.arms)
        self._newest.begin(plan.n, progress.approved_n)

    # ------------------------------------------------------------------ what the proposer is told

    def told(self, live: Live) -> None:
        """Keep what a repeat of the request for one arm is answered."""
        plan = live.plan
        if plan.asked.kind is not PlanKind.SINGLE or live.asker is not None or live.dry:
            return
        reply = self.reply(live)
        if reply is None:
            return
        update = RequestUpdate(n=plan.place, outcome=JSON.encode_reply(reply), reply_open=False, rev=reply.rev)
        self._ledger.store.batch.update_request(update)

    def reply(self, live: Live, warnings: tuple[Warned, ...] = ()) -> Reply | None:
        """What the request for one arm came to so far; None: its change goes on, as was answered."""
        plan = live.plan
        asked, arm = plan.asked, plan.asked.arms[0]
        session, row = self._sessions.get(arm), plan.row(arm)
        counters = (0, 0) if session is None else (session.state.rev, session.state.seq)
        now_us = self._ledger.clock.now_us()
        if plan.state is PlanState.PROPOSED:
            return self._shown(live, counters, stage=Stage.STORED, final=False, warnings=(*warnings, proposed(plan)))
        if (error := unapproved(plan)) is not None:
            reply = refusal(error, counters, asked.id, arm, asked.method, now_us, warnings)
        elif live.said is not None:
            reply = live.said
        elif row.state is RowState.REFUSED:
            reply = refusal(_error_of(row), (row.rev, row.seq), asked.id, arm, asked.method, now_us, warnings)
        elif row.state is RowState.SKIPPED:
            gone = BrokerError("unknown_arm", f"{row.message}. {NOTHING_CHANGED}")
            reply = refusal(gone, counters, asked.id, arm, asked.method, now_us, warnings)
        elif row.state is RowState.CHECKED:
            return self._shown(live, (row.rev, row.seq), stage=Stage.CHECKED, final=True, warnings=warnings)
        else:
            return None
        return msgspec.structs.replace(reply, id=asked.id, method=asked.method, plan=plan.n, until_us=asked.until_us)

    def _shown(
        self, live: Live, counters: tuple[int, int], *, stage: Stage, final: bool, warnings: tuple[Warned, ...]
    ) -> Reply:
        asked = live.plan.asked
        return Reply(
            id=asked.id, arm=asked.arms[0], method=asked.method, ok=True, stage=stage, final=final, rev=counters[0],
            seq=counters[1], at_us=self._ledger.clock.now_us(), warnings=warnings, plan=live.plan.n,
            until_us=asked.until_us, result=Empty() if live.rpc.reply is not None else {},
        )  # fmt: skip


def proposed(plan: Plan) -> Warned:
    """What is told of a plan that waits for a second person."""
    text = f"{plan.progress.why}: plan {plan.n} waits for a second person until {format_time(plan.progress.due_us)}"
    return Warned("PROPOSED", text)


_ENDS = {
    PlanOutcome.REJECTED: "not_permitted",
    PlanOutcome.ABORTED: "not_permitted",
    PlanOutcome.EXPIRED: "expired",
}


def unapproved(plan: Plan) -> BrokerError | None:
    """Why nothing came of a plan that a second person had to approve; None where one did, or nobody had to."""
    outcome = plan.progress.outcome
    if plan.live or plan.progress.approved_by or not plan.progress.second or outcome not in _ENDS:
        return None
    return BrokerError(_ENDS[outcome], f"plan {plan.n} ended {outcome}: {plan.progress.why}. {NOTHING_CHANGED}")


def _error_of(row: Row) -> BrokerError:
    return BrokerError(row.kind, row.message, row.violations, name=row.name if row.name in SUB_CODES else None)
