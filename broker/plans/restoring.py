"""What a start finds of plans: rows accepted go on as changes, what waited waits, what was accepted since counts."""

from collections import deque
from collections.abc import Iterable
from functools import partial

import msgspec
import structlog

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import Address, ChangeJob
from broker.clock import Clock
from broker.life import State
from broker.plans.book import PlanBook, restored
from broker.plans.live import Asker, Live
from broker.plans.newest import Newest
from broker.plans.reversing import left_to_reverse
from broker.plans.rows import REVERSE, RowWork
from broker.store.errors import RowDamagedError
from broker.store.rows import PlanArmRow, PlanRow
from broker.store.store import Store
from handlers.plans.rows import Row, RowState
from handlers.plans.states import Cause, PlanKind, PlanState
from handlers.plans.yields import Later
from schema.envelope import Author
from schema.errors import BrokerError

log = structlog.get_logger()

STARTS_MOST = 3
"""So often may the service end uncleanly while a plan is at work."""
SERVICE = Author("@service", "", proven=True)
_AT_WORK = (PlanState.CHECKING, PlanState.RUNNING, PlanState.REVERSING)
_reply_to = msgspec.msgpack.Decoder(tuple[str, bytes, str]).decode
UNUSABLE = (msgspec.MsgspecError, BrokerError, ValueError, KeyError, TypeError)


class Restoring:
    """Takes up the plans of an earlier run: first what they are, then, once changes are back, their rows."""

    def __init__(self, store: Store, clock: Clock, book: PlanBook, newest: Newest, work: RowWork) -> None:
        self._store, self._clock = store, clock
        self._book, self._newest, self._work = book, newest, work
        self._rows: dict[int, tuple[Live, str]] = {}
        """The rows whose changes have no end, by the numbers of these."""

    def read(self, plans: Iterable[tuple[PlanRow, list[PlanArmRow]]]) -> None:
        """What is known of plans that are not settled; one that cannot be used is logged, and left as it is."""
        for row, arms in plans:
            try:
                live = restored(row, arms)
                if row.reply_to:
                    live.asker = Asker(Address(*_reply_to(row.reply_to)))
            except UNUSABLE as error:
                log.warning("plan_unusable", plan=row.n, why=str(error))
                continue
            live.recovered = True
            self._book.add(live)
            open_rows = [row for row in live.plan.rows.values() if not row.final and row.change_n]
            self._rows.update((row.change_n, (live, row.arm)) for row in open_rows)
        if (since := self._newest.since) is not None:
            self._learn(since)

    def _learn(self, since: int) -> None:
        """What was accepted since the oldest live plan; the first change of an arm is that of its row."""
        places = {n: live.plan.place for n, live in self._book.plans.items()}
        try:
            for one in self._store.accepted_after(since):
                place = places.get(one.plan, one.n) if one.plan else one.n
                if one.plan in self._book.plans:
                    self._book.plans[one.plan].slots.setdefault(one.arm, one.slots)
                self._newest.put(one.arm, one.slots, Later(place, one.rev, one.by))
        except RowDamagedError as error:
            log.warning("changes_unread", why=str(error))

    def attach(self, job: ChangeJob) -> None:
        """The change of a row is back in its queue: the row hears of it again."""
        found = self._rows.pop(job.n, None)
        if found is not None:
            live, arm = found
            if job.method == REVERSE:
                live.undoing.add(arm)
            elif live.plan.asked.all_or_nothing and job.state is State.ACCEPTED:
                job.waits_turn, live.turns[arm] = True, job
            job.told = partial(self._work.heard, live, arm)

    def go_on(self, sessions: dict[str, ArmSession], *, clean: bool, max_age_us: int) -> None:
        """Every change that is back was told of: plans go on, as far as they may."""
        for live, arm in self._rows.values():
            self._lose(live, live.plan.rows[arm], gone=arm not in sessions)
        self._rows.clear()
        for live in list(self._book.plans.values()):
            plan = live.plan
            if not clean and plan.state in _AT_WORK:
                plan.progress.starts += 1
                if plan.progress.starts >= STARTS_MOST:
                    said = f"the service ended uncleanly {plan.progress.starts} times while it was at work"
                    self._book.move(live, Cause.FATAL, SERVICE, said=said)
            self._book.put(live)
            age_us = self._clock.age_us(plan.progress.approved_at_us or plan.asked.at_us)
            old = age_us is None or age_us > max_age_us
            live.only_tighter = old and plan.asked.kind is not PlanKind.ROLLOUT
            if plan.state is PlanState.CHECKING:
                live.ahead = deque(plan.asked.arms)
            elif plan.state in (PlanState.RUNNING, PlanState.PAUSED) and plan.asked.kind is not PlanKind.ROLLOUT:
                live.ahead = deque(arm for arm in plan.asked.arms if arm not in plan.rows)
            elif plan.state is PlanState.REVERSING:
                live.ahead = left_to_reverse(live)
            if plan.asked.kind is not PlanKind.ROLLOUT:
                self._book.changed(live)

    def _lose(self, live: Live, row: Row, *, gone: bool) -> None:
        """Nobody knows what became of the change of a row."""
        why = "was taken out of the settings" if gone else "has no change of it any more"
        self._book.put_row(live, row, state=RowState.UNKNOWN, final=True, message=f"{row.arm} {why}")
