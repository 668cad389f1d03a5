"""The rows of a plan: looked at, accepted each as a request of its own, watched until their end."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

import msgspec
import structlog

from broker.arms.arm_session import ArmSession
from broker.arms.batch_job import batch_of
from broker.arms.jobs import ChangeJob, job_of
from broker.life import WAITING, State
from broker.plans.asked import request_for
from broker.plans.book import PlanBook
from broker.plans.live import Live
from broker.plans.newest import Newest
from broker.record.ledger import Ledger
from broker.settle.rights.policing import NeedsSecondError
from broker.settle.settler import Settler
from broker.store.rows import Terms
from handlers.batch.order import step_direction
from handlers.items.config_items import kept_by_service
from handlers.items.direction import Direction
from handlers.items.verbs import absence
from handlers.methods.authority import below_control, is_checked_only
from handlers.plans.rollout import Gate
from handlers.plans.rows import Row, RowState
from handlers.plans.states import PlanKind, PlanState
from handlers.plans.yields import left_of, overwritten
from handlers.rpc.outcome import CHANGES, Answer, BatchProposal, Change, Outcome, Proposal, Restoration
from handlers.rpc.request import Request
from handlers.rpc.row import Guard, Rpc
from handlers.state.arm_state import ArmState
from handlers.state.refusals import NOTHING_CHANGED, distrusted_arm
from schema.arms import Authority, Slot
from schema.envelope import Away, Reply
from schema.errors import SUB_CODES, BrokerError
from schema.items import ITEMS, slot_path

log = structlog.get_logger()

FULL_S, AGAIN_S = 60.0, 1.0
"""How long a row waits for room in the queue of its arm, and how often that is looked at."""
REVERSE = "Reverse"
"""The method of changes that take rows back."""
NOTHING_TO_DO = frozenset({"EndOverride", "ExtendOverride"})
"""Methods whose rows are skipped where an arm has nothing that they could be about."""
CLAMPED = "CLAMPED"
"""The warning of a change of which the arm took less than was asked."""
STORE_FULL = "store_unavailable"
Wish = Proposal | BatchProposal
"""A decision that asks an arm for values."""
CarryOut = Callable[[ArmSession, Request, Outcome], Answer]
"""Does what a decision orders of the shell, and its answer; raises BrokerError."""


class Decide(Protocol):
    """Decides what is asked of one arm, as of a message; raises BrokerError."""

    def __call__(self, rpc: Rpc, session: ArmSession | None, request: Request) -> Outcome:
        """The decision."""
        ...


class SkippedError(Exception):
    """A row is left out; the text says why."""


class PutOffError(Exception):
    """A row has to wait: for room in the queue of its arm, or (`halt`) all have to, for the disk is full."""

    def __init__(self, *, halt: bool) -> None:
        super().__init__()
        self.halt = halt


class RowWork:
    """Decides and accepts rows; each with its change in one transaction."""

    def __init__(
        self,
        ledger: Ledger,
        settler: Settler,
        sessions: dict[str, ArmSession],
        book: PlanBook,
        newest: Newest,
        decide: Decide,
        carry_out: CarryOut,
    ) -> None:
        self._ledger, self._settler, self._sessions = ledger, settler, sessions
        self._book, self._newest = book, newest
        self._decide, self._carry_out = decide, carry_out

    # ------------------------------------------------------------------ looking

    def look(self, live: Live, arm: str) -> Row:
        """What would come of a row now; nothing is accepted."""
        row = live.plan.row(arm)
        try:
            session, _, outcome = self.judge(live, arm)
            state, only = session.state, is_checked_only(session.state, live.rpc)
        except SkippedError as why:
            row = msgspec.structs.replace(row, state=RowState.SKIPPED, final=True, message=str(why))
        except NeedsSecondError as second:
            live.rule = live.rule or second.rule
            told = f'{direction(second.outcome)}; rule "{second.rule}" needs a second person'
            row = msgspec.structs.replace(row, state=RowState.CHECKED, final=True, message=told)
        except BrokerError as error:
            row = refused(row, error)
        except Exception:
            log.exception("row_failed", plan=live.plan.n, arm=arm)
            row = refused(row, BrokerError("internal", "the service failed on this row"))
        else:
            live.tightens[arm] = tightens(outcome)
            told = f"the authority over {arm} is {state.authority}" if only else direction(outcome)
            row = msgspec.structs.replace(
                row, state=RowState.CHECKED, final=True, rev=state.rev, seq=state.seq, message=told
            )
        live.looked[arm] = row
        return row

    def judge(self, live: Live, arm: str) -> tuple[ArmSession, Request, Outcome]:
        """Decide what is asked of one arm, as of now.

        Raises:
            SkippedError: it is left out.
            BrokerError: it is refused.
        """
        session, plan = self._sessions.get(arm), live.plan
        if session is None:
            raise SkippedError(f"{arm} was taken out of the settings")
        state, rpc, at_us = session.state, live.rpc, self._ledger.clock.now_us()
        if 0 < plan.asked.expires_us <= at_us:
            raise BrokerError("expired", f"the time to live was over before {arm} had its turn. {NOTHING_CHANGED}")
        if rpc.name not in state.methods:
            raise BrokerError("unknown_method", f"{arm} cannot do {rpc.name}")
        self._check_away(live, state)
        if plan.asked.all_or_nothing and is_checked_only(state, rpc):
            raise below_control(state)
        request = request_for(arm, plan.asked, live.envelope, live.params, at_us, plan.progress.approved_by)
        try:
            outcome = self._decide(rpc, session, request)
        except BrokerError as error:
            if error.kind == "revision_conflict" and rpc.name in NOTHING_TO_DO:
                raise SkippedError(error.message) from error
            raise
        if live.only_tighter and not tightens(outcome):
            raise old(arm)
        return session, request, outcome

    def _check_away(self, live: Live, state: ArmState) -> None:
        """An arm that cannot take it now is skipped or refused, where the plan says so."""
        rpc, away = live.rpc, live.plan.asked.away
        if away == Away.WAIT or rpc.guard is not Guard.AUTHORITY or (rpc.item and kept_by_service(state, rpc.item)):
            return
        error = distrusted_arm(state) if state.distrust else absence(state)
        if state.authority is not Authority.CONTROL:
            error = below_control(state)
        if error is None:
            return
        if away == Away.SKIP:
            raise SkippedError(error.message)
        raise error

    # ------------------------------------------------------------------ accepting

    def begin(self, live: Live, arm: str) -> None:
        """Decide a row and accept it, or give it its end.

        Raises:
            PutOffError: it has to wait.
        """
        row = live.plan.row(arm)
        try:
            session, request, outcome = self.judge(live, arm)
            self.accept(live, row, session, request, outcome)
        except SkippedError as why:
            self.end(live, row, RowState.SKIPPED, message=str(why))
        except BrokerError as error:
            if self.waits(live, arm, error):
                raise PutOffError(halt=error.kind == STORE_FULL) from error
            self.refuse(live, row, error)
        except Exception:
            log.exception("row_failed", plan=live.plan.n, arm=arm)
            self.refuse(live, row, BrokerError("internal", "the service failed on this row"))

    def waits(self, live: Live, arm: str, error: BrokerError) -> bool:
        """Whether a row waits, for a while, where it is refused for this."""
        if error.kind == "busy":
            now_s = self._ledger.clock.monotonic()
            return now_s - live.full_since.setdefault(arm, now_s) < FULL_S
        return error.kind == STORE_FULL

    def accept(self, live: Live, row: Row, session: ArmSession, request: Request, outcome: Outcome) -> None:
        """Do what was decided on a row.

        Raises:
            BrokerError: overwritten; what keeps an order from being carried out.
        """
        if is_checked_only(session.state, live.rpc):
            self.end(live, row, RowState.CHECKED, message=below_control(session.state).message)
        elif isinstance(outcome, CHANGES):
            self._admit(live, row, session, request, outcome)
        else:
            self._carry_out(session, request, outcome)
            self.end(live, row, RowState.STORED)

    def _admit(self, live: Live, row: Row, session: ArmSession, request: Request, outcome: Change) -> None:
        """Accept the change of a row, with the row, in one transaction."""
        plan, number = live.plan, self._ledger.new_change()
        expires = self._ledger.clock.deadline(plan.asked.expires_us)
        if plan.asked.rollout is not None:
            expires = self._ledger.clock.monotonic() + plan.asked.rollout.row_within_ms / 1_000
        left = outcome if isinstance(outcome, Restoration) else self.without_later(live, row.arm, outcome)
        job: ChangeJob
        if isinstance(left, Proposal):
            job = job_of(request, left, n=number, request_n=0, expires=expires)
        else:
            job = batch_of(request, left, n=number, request_n=0, expires=expires)
        job.terms = msgspec.structs.replace(job.terms or Terms(), approved_by=request.approved_by)
        self.admit(live, row, session, job, request.trace)

    def admit(self, live: Live, row: Row, session: ArmSession, job: ChangeJob, trace: str = "") -> None:
        """Accept a change as that of a row."""
        plan, number = live.plan, job.n
        job.terms = msgspec.structs.replace(job.terms or Terms(), plan=plan.n)
        job.trace, job.received_s = trace, self._ledger.clock.monotonic()
        live.slots[row.arm] = job.places
        row = plan.change(row, state=RowState.WAITING, final=False, change_n=number, job_rev=0)
        job.told = partial(self.heard, live, row.arm)
        if plan.asked.all_or_nothing and plan.under_way > plan.asked.parallel and job.method != REVERSE:
            job.waits_turn, live.turns[row.arm] = True, job
        self._settler.admit(session, job)
        row = plan.rows[row.arm]
        if row.final:
            self._book.put_row(live, row, job_rev=job.rev)
            return
        state = RowState.STORED if job.state in WAITING else row.state
        rev = job.rev or session.state.rev
        self._book.put_row(live, row, state=state, rev=rev, job_rev=job.rev, message=job.why)
        self._book.changed(live)

    def let_begin(self, live: Live) -> None:
        """Let rows begin that were accepted all at once, as many at a time as the plan says."""
        turns, plan = live.turns, live.plan
        if not turns or plan.state is PlanState.PAUSED:
            return
        for arm, job in list(turns.items()):
            if not job.waits_turn or job.state is not State.ACCEPTED:
                del turns[arm]
        free = plan.asked.parallel - (plan.under_way - len(turns))
        for arm in list(turns)[: max(0, free)]:
            job, session = turns[arm], self._sessions.get(arm)
            if not job.committed:
                return
            del turns[arm]
            if session is not None:
                self._settler.let_begin(session, job)

    def without_later(self, live: Live, arm: str, outcome: Wish) -> Wish:
        """What is left of a decision beside what was accepted after the plan.

        Raises:
            BrokerError: overwritten: nothing.
        """
        slots = slots_of(outcome)
        left, later = left_of(slots, live.plan.order, self._newest.of(arm))
        if later is None:
            return outcome
        if not left or isinstance(outcome, Proposal):
            raise overwritten(slots, arm, later)
        error = overwritten([slot for slot in slots if slot not in left], arm, later)
        told = {"kind": error.kind, "message": error.message}
        out = {slot_path(slot): told for slot in slots if slot not in left}
        steps = tuple(step for step in outcome.steps if step.slot in left)
        return msgspec.structs.replace(outcome, steps=steps, left_out=outcome.left_out | out)

    # ------------------------------------------------------------------ ends

    def heard(self, live: Live, arm: str, job: ChangeJob, reply: Reply) -> None:
        """The change of a row would be answered so, if it were a request of its own."""
        row, error = live.plan.rows[arm], reply.error
        live.said = reply if live.plan.asked.kind is PlanKind.SINGLE else None
        if reply.ok and reply.final:
            state = RowState.UNCHANGED if job.unchanged else RowState.APPLIED
        elif reply.ok:
            state = RowState.STORED
        else:
            state = RowState.REFUSED if reply.final else RowState.UNKNOWN
        stays = live.plan.progress.kept.get(arm, "")
        if job.method == REVERSE and reply.final:
            state = RowState.REVERSED if reply.ok and not stays else RowState.KEPT
        kind, name, text = ("", "", stays) if error is None else (error.kind, error.name, error.message)
        if any(warned.name == CLAMPED for warned in reply.warnings):
            plan = live.plan
            if plan.asked.rollout is not None and Gate.CLAMPED in plan.asked.rollout.gates:
                plan.gated[arm] = Gate.CLAMPED
        self._book.put_row(
            live, row, state=state, final=reply.final, rev=reply.rev, seq=reply.seq, kind=kind, name=name,
            message=text or job.why, violations=() if error is None else error.violations,
            job_rev=job.rev,
        )  # fmt: skip
        self._book.changed(live)

    def end(self, live: Live, row: Row, state: RowState, *, message: str = "") -> None:
        """Give a row its end without a change of its own."""
        session = self._sessions.get(row.arm)
        rev, seq = (session.state.rev, session.state.seq) if session is not None else (row.rev, row.seq)
        self._book.put_row(live, row, state=state, final=True, rev=rev, seq=seq, message=message)
        self._audit(live, row, decision=state.value)
        self._book.changed(live)

    def refuse(self, live: Live, row: Row, error: BrokerError) -> None:
        """A row is refused."""
        session = self._sessions.get(row.arm)
        rev, seq = (session.state.rev, session.state.seq) if session is not None else (row.rev, row.seq)
        row = refused(row, error)
        self._book.put_row(live, row, rev=rev, seq=seq)
        self._audit(live, row, decision="refused", kind=error.kind)
        self._book.changed(live)

    def _audit(self, live: Live, row: Row, **entry: object) -> None:
        asked = live.plan.asked
        self._ledger.audit(
            at=self._ledger.clock.now_us(), user=asked.user, conn=asked.conn, arm=row.arm, method=asked.method,
            id=asked.id, plan=live.plan.n, **entry,
        )  # fmt: skip


def refused(row: Row, error: BrokerError) -> Row:
    """A row that is refused for this."""
    return msgspec.structs.replace(
        row, state=RowState.REFUSED, final=True, kind=error.kind, name=error.name, message=error.message,
        violations=error.violations,
    )  # fmt: skip


def error_of(row: Row) -> BrokerError:
    """The error of a row that is refused."""
    name = row.name if row.name in SUB_CODES else None
    return BrokerError(row.kind, f"{row.arm}: {row.message}", row.violations, name=name)


def old(arm: str) -> BrokerError:
    """The end of a row that may loosen and did not begin in time."""
    text = f"it may loosen, and the service was down for too long before {arm} had its turn"
    return BrokerError("expired", f"{text}. {NOTHING_CHANGED}")


def tightens(outcome: Outcome) -> bool:
    """Whether a decision tightens limits and loosens none."""
    return isinstance(outcome, Proposal | BatchProposal) and outcome.tightens


def slots_of(outcome: Outcome) -> tuple[Slot, ...]:
    """The slots that a decision would change."""
    if isinstance(outcome, BatchProposal):
        return tuple(step.slot for step in outcome.steps)
    return (outcome.slot,) if isinstance(outcome, Proposal) else ()


def direction(outcome: Outcome) -> str:
    """Which way a decision would go; of several slots the least tight of them says it."""
    if not isinstance(outcome, Proposal | BatchProposal):
        return ""
    steps = outcome.steps if isinstance(outcome, BatchProposal) else (outcome,)
    ways = {step_direction(ITEMS[step.slot[0]], loosening=step.loosening, unchanged=step.unchanged) for step in steps}
    order = (Direction.LOOSENING, Direction.UNORDERED, Direction.TIGHTENING, Direction.UNCHANGED)
    return next(way.value for way in order if way in ways)
