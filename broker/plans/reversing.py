"""Takes a plan back: row by row what was there before, where it is still as the plan left it."""

from collections import deque
from collections.abc import Mapping

import msgspec

from broker.arms.arm_session import ArmSession
from broker.arms.batch_job import batch_of, unpack_batch, unpack_values
from broker.blobs import unpack
from broker.plans.asked import request_for
from broker.plans.book import PlanBook
from broker.plans.live import Live
from broker.plans.rows import REVERSE, CarryOut, PutOffError, RowWork
from broker.record.ledger import Ledger
from broker.settle.settler import Settler
from broker.store.errors import RowDamagedError
from broker.store.rows import PastChange
from handlers.batch.decide import Asked as AskedBatch
from handlers.batch.decide import decide_batch
from handlers.batch.outcomes import WHOLE_KEY
from handlers.items.settling import agrees
from handlers.methods.authority import below_control, check_hold
from handlers.overrides.standing import check_standing
from handlers.plans.rows import Row, RowState
from handlers.plans.states import Action, Cause
from handlers.rpc.outcome import BatchProposal
from handlers.rpc.request import Request
from handlers.rpc_table import RPC_TABLE
from handlers.state.refusals import NOTHING_CHANGED
from schema.arms import Authority, Slot
from schema.envelope import Author, RequestEnvelope
from schema.errors import BrokerError
from schema.items import ITEMS, slot_path
from schema.messages import Message

END = "EndOverride"
TOOK_EFFECT = frozenset({"applied", "rounded", "clamped"})


class Reversing:
    """Does the rows of plans that are taken back, the newest first."""

    def __init__(
        self,
        ledger: Ledger,
        settler: Settler,
        sessions: dict[str, ArmSession],
        book: PlanBook,
        work: RowWork,
        carry_out: CarryOut,
    ) -> None:
        self._ledger, self._settler, self._sessions = ledger, settler, sessions
        self._book, self._work, self._carry_out = book, work, carry_out

    def begin(self, live: Live, why: Action | Cause, by: Author, *, said: str, reason: str = "") -> None:
        """Take a plan back for somebody."""
        plan = live.plan
        plan.progress.reversed_by = (by.user, by.connection, by.proven)
        if plan.n not in self._book.plans:
            self._book.add(live)
        live.put_off.clear()
        live.ahead = left_to_reverse(live)
        self._book.move(live, why, by, said=said, reason=reason)

    def step(self, live: Live, arm: str) -> None:
        """Take one row back.

        Raises:
            PutOffError: its change has no end yet.
        """
        row, session = live.plan.rows[arm], self._sessions.get(arm)
        if session is None:
            self._work.end(live, row, RowState.KEPT, message=f"{arm} was taken out of the settings")
        elif not row.final:
            self._discard(live, row, session)
        else:
            try:
                self._take_back(live, row, session)
            except BrokerError as error:
                self._work.end(live, row, RowState.KEPT, message=error.message)

    def _discard(self, live: Live, row: Row, session: ArmSession) -> None:
        """End a change that waits; one that may be with its arm has its end first."""
        for job in session.parked:
            if job.n == row.change_n and not session.may_be_with_arm(job):
                user, conn, _ = live.plan.progress.reversed_by or ("", "", False)
                job.told = None
                self._settler.parking.discarded(session, job, f"{user}/{conn}")
                self._work.end(live, live.plan.rows[row.arm], RowState.REVERSED, message="it had not begun")
                return
        raise PutOffError(halt=False)

    def _take_back(self, live: Live, row: Row, session: ArmSession) -> None:
        past = self._past(row)
        if past.terms is not None and past.terms.until_us:
            self._end_override(live, row, session)
            return
        found = _before(past)
        before = {slot: value for slot, value in found.items() if _is_as_left(session, row, slot)}
        kept = ", ".join(slot_path(slot) for slot in found if slot not in before)
        if kept:
            live.kept[row.arm] = f"{kept} of {row.arm} is not as the plan left it"
        if not before:
            text = live.kept.get(row.arm, f"nobody knows what {row.arm} had before")
            raise BrokerError("revision_conflict", f"{text}. {NOTHING_CHANGED}")
        request = self._request(live, row)
        outcome = self._decided(session, request, before)
        job = batch_of(request, outcome, n=self._ledger.new_change(), request_n=0, expires=0.0)
        live.undoing.add(row.arm)
        self._work.admit(live, row, session, job)

    def _past(self, row: Row) -> PastChange:
        """What the store has of the change of a row.

        Raises:
            PutOffError: it is not committed yet.
            BrokerError: it is damaged.
        """
        try:
            past = self._ledger.store.past_change(row.change_n)
        except RowDamagedError as error:
            raise BrokerError("internal", f"what was there before is damaged: {error}") from error
        if past is None:
            raise PutOffError(halt=False)
        return past

    def _request(self, live: Live, row: Row, method: str = REVERSE, **params: object) -> Request:
        user, conn, proven = live.plan.progress.reversed_by or ("", "", False)
        asked = live.plan.asked
        said = msgspec.structs.replace(asked, user=user, conn=conn, proven=proven, method=method)
        envelope = RequestEnvelope(id=asked.id, reason=live.plan.progress.why)
        return request_for(row.arm, said, envelope, params, self._ledger.clock.now_us())

    def _decided(self, session: ArmSession, request: Request, before: Mapping[Slot, Message]) -> BatchProposal:
        """What was there before as a change; limits, the lock, the authority and overrides of others hold.

        Raises:
            BrokerError: one of them keeps it.
        """
        state = session.state
        if state.authority is not Authority.CONTROL:
            raise below_control(state)
        check_hold(state, request.user, request.at_us)
        outcome = decide_batch(state, request.user, AskedBatch(before, partial=True, whole=True))
        for step in outcome.steps:
            check_standing(state, request.user, step.slot, step.value)
        return outcome

    def _end_override(self, live: Live, row: Row, session: ArmSession) -> None:
        """What has an end ends now; one that ended already is over."""
        request = self._request(live, row, END, rev=row.job_rev)
        try:
            self._carry_out(session, request, RPC_TABLE[END].decide(session.state, request))
        except BrokerError as error:
            if error.kind != "revision_conflict":
                raise
        self._work.end(live, row, RowState.REVERSED, message="its override was ended")


def left_to_reverse(live: Live) -> deque[str]:
    """The arms whose rows have an effect, or may have one, those that began last first."""
    rows = [
        row for row in live.plan.rows.values() if row.change_n and _may_have_effect(row) and row.arm not in live.undoing
    ]
    return deque(row.arm for row in sorted(rows, key=lambda row: -row.change_n))


def _may_have_effect(row: Row) -> bool:
    return not row.final or row.state is RowState.APPLIED or row.kind == "partial"


def _is_as_left(session: ArmSession, row: Row, slot: Slot) -> bool:
    """Whether a slot is as the change of the row left it: desired comes from it, and the arm reports that."""
    return session.state.desired_rev.get(slot) == row.job_rev and agrees(session.state, slot)


def _before(past: PastChange) -> dict[Slot, Message]:
    """What was there of each slot in which a change took effect."""
    if past.key == WHOLE_KEY:
        values, record = unpack_values(past.before), unpack_batch(past.after)
        done = {step.slot for step in record.steps if step.outcome in TOOK_EFFECT and not step.undoes}
        return {slot: value for slot, value in values.items() if slot in done}
    if past.before is None or past.key not in ITEMS or not past.rev:
        return {}
    return {(past.key, past.mode): unpack(past.before, ITEMS[past.key].record)}
