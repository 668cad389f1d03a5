"""The plans of a service: begun by requests to groups, worked on, answered, steered."""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import msgspec
import structlog

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import Address
from broker.plans.answers import Answers
from broker.plans.boards import Boards
from broker.plans.book import PlanBook, live_of
from broker.plans.driver import Driver
from broker.plans.live import Asker, Live
from broker.plans.newest import Newest
from broker.plans.pages import Pages
from broker.plans.proposals import Proposals
from broker.plans.restoring import SERVICE, Restoring
from broker.plans.reversing import Reversing
from broker.plans.rollouts import Rollouts
from broker.plans.rows import CarryOut, Decide, PutOffError, RowWork, SkippedError, refused
from broker.plans.steering import DAY_US, Steering
from broker.record.fleet_events import FleetEvents
from broker.record.ledger import Ledger
from broker.record.replies import Replies, in_force
from broker.settle.settler import Settler
from broker.store.rows import Loaded, RequestRow
from broker.timers import Timers
from broker.topics import Topics
from handlers.plans.plan import Asked, Plan, Progress
from handlers.plans.rows import DONE_STATES, Row, RowState
from handlers.plans.states import Cause, PlanKind, PlanState
from handlers.rpc.outcome import Answer, BatchProposal, Outcome, PlanOrder, PlanQuery, PlansQuery, Proposal
from handlers.rpc.request import Request
from handlers.state.recipes import Shelf
from schema.envelope import Warned
from schema.errors import BrokerError

log = structlog.get_logger()

CATCH_UP_US = 60_000_000
"""How long before the end of a run a plan moved whose document may not have been published."""
FORGOTTEN_US = 7 * DAY_US
"""A plan that is paused for so long ends."""


class Around(NamedTuple):
    """What plans are among."""

    ledger: Ledger
    replies: Replies
    settler: Settler
    events: FleetEvents
    sessions: dict[str, ArmSession]
    topics: Topics
    instance: str
    known_documents: str
    """The small value of the store under `boards.META_KEY`."""
    decide: Decide
    carry_out: CarryOut
    may_write: Callable[[str, str], bool]
    may_steer: Callable[[str, str], bool]
    rate: float
    recipes: Shelf
    linked: Callable[[], bool]


class Plans:
    """Keeps and carries out plans."""

    def __init__(self, around: Around) -> None:
        ledger = self._ledger = around.ledger
        self._sessions, self.recipes = around.sessions, around.recipes
        self.timers = Timers(asyncio.get_running_loop())
        self.newest = Newest(around.settler)
        self.book = PlanBook(ledger, around.events, self.newest)
        self.work = RowWork(
            ledger, around.settler, around.sessions, self.book, self.newest, around.decide, around.carry_out
        )
        self.answers = Answers(ledger, around.replies, self.book, self.timers)
        self.boards = Boards(ledger, self.timers, around.topics, around.instance, around.known_documents)
        self.restoring = Restoring(ledger.store, ledger.clock, self.book, self.newest, self.work)
        self.proposals = Proposals(
            ledger, self.book, self.newest, around.sessions, around.settler.policing, around.may_write
        )
        self.answers.proposals = self.proposals
        self.steering = Steering(ledger, self.book, around.may_steer, self.proposals)
        self.reversing = Reversing(ledger, around.settler, around.sessions, self.book, self.work)
        self.rollouts = Rollouts(ledger, around.sessions, self.book, self.reversing, self.timers, around.linked)
        self.steering.reverse, self.steering.resumed = self.reversing.begin, self.rollouts.resume
        self.steering.forgive = self.rollouts.forgive
        self._pages = Pages(ledger, self.book, self._preview)
        self.driver = Driver(
            ledger.clock, ledger.traffic, self.book.plans,
            {
                PlanState.CHECKING: self._look, PlanState.RUNNING: self.work.begin,
                PlanState.REVERSING: self.reversing.step,
            },
            around.rate, ledger.store.reserve,
        )  # fmt: skip
        self.book.changed = self._changed
        self._dry = 0

    def follow(self, rate: float) -> None:
        """Begin so many rows a second from now on while other requests come."""
        self.driver.bucket.rate = rate

    def go_on(self, loaded: Loaded, max_age_us: int) -> None:
        """Take up the plans of an earlier run, whose changes are back; `max_age_us` is how old a loosening may be."""
        down_us = self._ledger.clock.now_us() - loaded.last_time_us
        for live in self.book.plans.values():
            self.answers.begin(live)
        self.restoring.go_on(self._sessions, clean=loaded.clean, max_age_us=max_age_us)
        for live in list(self.book.plans.values()):
            if live.plan.asked.kind is PlanKind.ROLLOUT:
                if live.plan.live:
                    self.rollouts.go_on(live, down_long=down_us > max_age_us)
                self._changed(live)
        self.boards.catch_up(lambda n: self.book.moved_since(n, loaded.last_time_us - CATCH_UP_US))
        self.driver.wake()

    # ------------------------------------------------------------------ requests

    def begin(self, asked: Asked, asker: Asker, row: RequestRow | None) -> None:
        """A request is a plan; `row` is that of the request, None of a dry run.

        Raises:
            BrokerError: busy.
        """
        self.book.check_room(asked.kind, dry=row is None)
        if row is None:
            self._dry -= 1
            live = live_of(Plan(0, 0, asked, Progress()))
            live.asker, live.ahead = asker, deque(asked.arms)
            self.book.plans[self._dry] = live
            self.driver.wake()
            return
        live = self._add(asked, asker, row)
        live.ahead.clear()
        self._ledger.store.batch.on_commit(partial(self._begin, live))
        self.answers.begin(live)

    def _begin(self, live: Live) -> None:
        """A plan is committed: its rows are looked at."""
        if live.plan.state is PlanState.CHECKING:
            live.ahead = deque(live.plan.asked.arms)
            self.driver.wake()

    def _add(self, asked: Asked, asker: Asker, row: RequestRow) -> Live:
        """A new plan, stored with its request."""
        plan = Plan(self.book.next_number(), row.n, asked, Progress(since_us=asked.at_us))
        live = live_of(plan)
        live.asker, live.ahead = asker, deque(asked.arms)
        self._ledger.store.batch.add_request(msgspec.structs.replace(row, settled=True))
        self._ledger.audit(
            at=asked.at_us, user=asked.user, conn=asked.conn, arm=asked.target, method=row.method, id=asked.id,
            plan=plan.n, decision="accepted",
        )  # fmt: skip
        self.book.add(live)
        self.book.put(live)
        return live

    def repeated(self, row: RequestRow, address: Address, warnings: tuple[Warned, ...]) -> bool:
        """Whether a request that is asked again is a plan; then its latest is given again."""
        live = next((one for one in self.book.plans.values() if one.plan.place == row.n and not one.dry), None)
        if live is None and (plan_n := _plan_in(row.outcome)):
            try:
                live = self.book.find(plan_n)
            except BrokerError:
                return False
        if live is None:
            return False
        self.answers.repeat(live, address, warnings, in_force=self._in_force(live.plan))
        return True

    def _in_force(self, plan: Plan) -> bool:
        """Whether what every row asked for still holds."""
        applied = [row for row in plan.rows.values() if row.state in DONE_STATES]
        return bool(applied) and all(self._holds(plan, row) for row in applied)

    def _holds(self, plan: Plan, row: Row) -> bool:
        session = self._sessions.get(row.arm)
        if session is None:
            return False
        rev = row.job_rev or row.rev
        reply = msgspec.structs.replace(self.answers.reply(self.book.find(plan.n)), ok=True, method=plan.asked.method)
        return in_force(session, reply, rev)

    def carry_out(self, request: Request, order: PlanOrder) -> Answer:
        """What is asked about plans.

        Raises:
            BrokerError: as `Pages` and `Steering`.
        """
        if isinstance(order, PlanQuery):
            return self._pages.plan(order)
        if isinstance(order, PlansQuery):
            return self._pages.plans(order)
        answer = self.steering.carry_out(order, request)
        self.driver.wake()
        return answer

    # ------------------------------------------------------------------ work

    def _look(self, live: Live, arm: str) -> None:
        """Look at one row; after the last the plan is checked."""
        self.work.look(live, arm)
        if not live.ahead:
            self._checked(live)

    def _checked(self, live: Live) -> None:
        """Every row was looked at: the plan begins, or is refused, or was only to be looked at."""
        plan = live.plan
        if live.dry:
            if plan.asked.kind is PlanKind.ROLLOUT:
                live.error = self.rollouts.plan_waves(live)
            for row in live.looked.values():
                plan.change(row)
            if live.rule and live.asker is not None:
                told = Warned("PROPOSED", f'rule "{live.rule}": it would wait for a second person')
                live.asker.warnings = (*live.asker.warnings, told)
            self.answers.give(live)
            self._forget(live)
        elif live.rule and not self._refused_whole(live):
            self._propose(live)
        elif plan.asked.kind is PlanKind.ROLLOUT:
            self._roll_out(live)
        elif plan.asked.all_or_nothing:
            self._all_or_nothing(live)
        else:
            live.ahead = deque(arm for arm in plan.asked.arms if arm not in plan.rows)
            self.book.move(live, Cause.CHECKED, plan.asked.author)
        live.looked.clear()

    def _roll_out(self, live: Live) -> None:
        """Begin the first wave of a rollout, or refuse the whole."""
        author = live.plan.asked.author
        live.error = self.rollouts.plan_waves(live)
        if live.error is not None:
            self.book.move(live, Cause.REFUSED, author, said=live.error.message)
            return
        live.ahead = deque(live.plan.asked.arms)  # it is not over before its wave begins
        self.book.move(live, Cause.CHECKED, author)
        self.rollouts.begin_wave(live, 0)

    def _refused_whole(self, live: Live) -> bool:
        """Whether a row is refused of a plan that all of its arms or none carry out: then nobody has to be asked."""
        return live.plan.asked.all_or_nothing and any(row.state is RowState.REFUSED for row in live.looked.values())

    def _propose(self, live: Live) -> None:
        """Let a plan wait for a second person; where there is no room, none of its rows begins."""
        try:
            self.proposals.check_room(live.plan.asked.user)
        except BrokerError as error:
            for arm in live.plan.asked.arms:
                self.work.refuse(live, live.plan.row(arm), error)
            self.book.move(live, Cause.REFUSED, live.plan.asked.author, said=error.message)
            return
        self.proposals.wait(live, live.rule)

    def propose(self, asked: Asked, asker: Asker, row: RequestRow, rule: str) -> None:
        """A request to one arm waits for a second person.

        Raises:
            BrokerError: no_room.
        """
        self.proposals.check_room(asked.user)
        live = self._add(asked, asker, row)
        self.proposals.wait(live, rule)
        self.answers.begin(live)

    def _preview(self, live: Live, arm: str) -> Row:
        """What would come of a row now."""
        row = self.work.look(live, arm)
        live.looked.clear()
        live.rule = ""
        return row

    def _forget(self, live: Live) -> None:
        for n, one in list(self.book.plans.items()):
            if one is live:
                del self.book.plans[n]

    def _all_or_nothing(self, live: Live) -> None:
        """Decide and accept all rows in one step, or none.

        Raises:
            PutOffError: a queue or the disk is full, and there is time.
        """
        decided: list[tuple[Row, ArmSession, Request, Outcome]] = []
        skipped: list[tuple[Row, str]] = []
        failed: list[Row] = []
        for arm in live.plan.asked.arms:
            row = live.plan.row(arm)
            try:
                decided.append((row, *self._judged(live, arm)))
            except SkippedError as why:
                skipped.append((row, str(why)))
            except BrokerError as error:
                failed.append(refused(row, error))
        if failed:
            for row in failed:
                self.book.put_row(live, row)
            self.book.move(live, Cause.REFUSED, live.plan.asked.author, said=f"{failed[0].arm}: {failed[0].message}")
            return
        live.ahead = deque(live.plan.asked.arms)  # it is not over before all are accepted
        self.book.move(live, Cause.CHECKED, live.plan.asked.author)
        for row, text in skipped:
            self.work.end(live, row, RowState.SKIPPED, message=text)
        for one in decided:
            self.work.accept(live, *one)
        self._ledger.after_commit(partial(self.work.let_begin, live))
        live.ahead.clear()
        self._changed(live)

    def _judged(self, live: Live, arm: str) -> tuple[ArmSession, Request, Outcome]:
        try:
            session, request, outcome = self.work.judge(live, arm)
        except BrokerError as error:
            if self.work.waits(live, arm, error):
                raise PutOffError(halt=False) from error
            raise
        if isinstance(outcome, Proposal | BatchProposal):
            self.work.without_later(live, arm, outcome)
        return session, request, outcome

    def _changed(self, live: Live) -> None:
        """A plan, or a row of it, changed."""
        plan = live.plan
        self.work.let_begin(live)
        if plan.asked.kind is PlanKind.ROLLOUT and plan.state is not PlanState.REVERSING:
            self.rollouts.changed(live)
        elif plan.state is PlanState.RUNNING and not (live.ahead or live.put_off or plan.under_way):
            self._wave_over(live)
        elif plan.state is PlanState.REVERSING and not (live.ahead or live.put_off or plan.under_way):
            self.book.move(live, Cause.UNDONE, plan.asked.author, said=plan.progress.why)
        self.answers.look(live)
        self.proposals.told(live)
        self.boards.mark(live)
        self.driver.wake()

    def _wave_over(self, live: Live) -> None:
        """No row is left to begin, and none is under way."""
        self.book.move(live, Cause.COMPLETE, live.plan.asked.author)

    # ------------------------------------------------------------------ time

    def look_at_time(self) -> None:
        """End what was paused and forgotten; to be called now and then."""
        now_us = self._ledger.clock.now_us()
        self.proposals.end_old(now_us)
        for live in list(self.book.plans.values()):
            progress = live.plan.progress
            if progress.state is PlanState.PAUSED and now_us - progress.since_us >= FORGOTTEN_US:
                self.book.move(live, Cause.FORGOTTEN, SERVICE, said="it was paused for 7 days")

    def close(self) -> None:
        """Work on nothing any more."""
        self.timers.close()


def _plan_in(outcome: bytes) -> int:
    """The plan that a remembered reply names; 0 for none."""
    if not outcome:
        return 0
    document = msgspec.json.decode(outcome)
    return int(document.get("plan", 0)) if isinstance(document, dict) else 0
