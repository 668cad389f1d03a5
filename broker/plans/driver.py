"""Works on plans beside all other requests: in short slices, with longer pauses while others ask for something."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping

from broker.clock import Clock
from broker.plans.live import Live
from broker.plans.rows import AGAIN_S, PutOffError
from broker.record.traffic import Traffic
from broker.store.reserve import Reserve
from handlers.plans.pace import Bucket
from handlers.plans.states import PlanState

SLICE_S, BESIDE_S, PAUSES = 0.002, 0.001, 3.0
"""How long plans are worked on without a pause, and while other requests come, and the pause after it as a multiple
then. What rows lead to is done later: their commits, their arms, their events. So a slice is short."""
STEP_S, STEP_MOST_S = 0.02, 0.05
"""While other requests come, how long it takes from a look that found the bucket empty to the next: no more often, for
rows that begin together share their commits, and no less, for another plan may have work that needs nothing of it."""
SLICE_ROWS = 64
"""Rows of a slice at most."""
BUSY_S = 1.0
"""For how long after an answer to somebody other requests are said to come."""
LOOK_S = 60.0
"""How often it is looked at least whether there is something to do."""
Step = Callable[[Live, str], None]
"""Works on one row; raises PutOffError."""


class Driver:
    """Picks the next row: those that tighten first, then plans in turn, a row each.

    Args:
        clock: of the service.
        traffic: the answers to all requests.
        plans: the plans by number.
        steps: what is done with the next row of a plan in a state.
        rate: rows a second that begin while other requests come.
        reserve: is looked at before rows are accepted.
    """

    def __init__(
        self, clock: Clock, traffic: Traffic, plans: Mapping[int, Live], steps: Mapping[PlanState, Step], rate: float,
        reserve: Reserve,
    ) -> None:  # fmt: skip
        self._clock, self._traffic, self._plans, self._steps = clock, traffic, plans, steps
        self.bucket = Bucket(rate, 0.0, clock.monotonic())
        self._reserve = reserve
        self._order: deque[int] = deque()
        self._wake = asyncio.Event()
        self._paced = False
        self._answers, self._busy_until, self._halted_until = 0, 0.0, 0.0
        self.begun = 0
        """Rows that were accepted, refused or skipped since the start."""

    def wake(self) -> None:
        """There may be something to do."""
        self._wake.set()

    async def run(self) -> None:
        """Work on plans until the end of the run."""
        while True:
            self._wake.clear()
            began = self._clock.monotonic()
            busy = self._others_come(began)
            rest_s = self._slice(began, busy=busy)
            if rest_s is None:
                await asyncio.sleep((self._clock.monotonic() - began) * PAUSES if busy else 0)
            elif self._paced:
                await asyncio.sleep(min(max(rest_s, STEP_S), STEP_MOST_S))
            elif not self._wake.is_set():
                await self._rest(rest_s)

    async def _rest(self, most_s: float) -> None:
        loop = asyncio.get_running_loop()
        timer = loop.call_later(most_s, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()

    def _others_come(self, now_s: float) -> bool:
        """Whether other requests were answered since a moment ago."""
        answers = sum(self._traffic.answers.values())
        if answers != self._answers:
            self._paced = False
        self._answers, self._busy_until = answers, now_s + BUSY_S
        return now_s < self._busy_until

    def _slice(self, began: float, *, busy: bool) -> float | None:
        """Work for a moment; None: there may be more to do, else how long to wait at most.

        `_paced` tells whether a row waits for the bucket: nothing else that happens lets it begin earlier.
        """
        self._paced = False
        monotonic, most_s = self._clock.monotonic, BESIDE_S if busy else SLICE_S
        if began < self._halted_until:
            return self._halted_until - began
        self._reserve.look()
        self.bucket.fill(began)
        for _ in range(SLICE_ROWS):
            live = self._pick(began)
            if live is None:
                return self._until_again(began)
            begins = live.plan.state is not PlanState.CHECKING
            if begins and busy and not self.bucket.take(tightens=live.urgent):
                self._paced = True
                return self.bucket.wait_s(tightens=live.urgent)
            if not self._step(live, began):
                return AGAIN_S
            self.begun += begins
            if monotonic() - began >= most_s:
                break
        return None

    def _step(self, live: Live, now_s: float) -> bool:
        """Work on the next row of a plan; False: nothing can be accepted now."""
        arm = live.ahead.popleft()
        try:
            self._steps[live.plan.state](live, arm)
        except PutOffError as put_off:
            if put_off.halt:
                live.ahead.appendleft(arm)
                self._halted_until = now_s + AGAIN_S
                return False
            live.put_off.append((now_s + AGAIN_S, arm))
        return True

    def _pick(self, now_s: float) -> Live | None:
        """The plan whose row is next; it goes behind the others."""
        self._order.extend(n for n in self._plans if n not in self._order)
        first: int | None = None
        for n in list(self._order):
            live = self._plans.get(n)
            if live is None:
                self._order.remove(n)
                continue
            while live.put_off and live.put_off[0][0] <= now_s:
                live.ahead.appendleft(live.put_off.popleft()[1])
            if not self._may_work(live):
                continue
            if live.urgent:
                first = n
                break
            first = n if first is None else first
        if first is None:
            return None
        self._order.remove(first)
        self._order.append(first)
        return self._plans[first]

    def _may_work(self, live: Live) -> bool:
        plan = live.plan
        if not live.ahead or plan.state not in self._steps:
            return False
        return plan.state is PlanState.CHECKING or plan.under_way < plan.asked.parallel

    def _until_again(self, now_s: float) -> float:
        """How long there is nothing to do, unless something happens."""
        due = [live.put_off[0][0] for live in self._plans.values() if live.put_off]
        return max(0.0, min((*due, now_s + LOOK_S)) - now_s)
