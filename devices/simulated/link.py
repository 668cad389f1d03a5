"""The link to a simulated arm: latency, deadlines, order in flight, and what faults do to them."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from devices.adapter import ArmAwayError, ArmTimeoutError, ArmUnreadableError

Sleep = Callable[[float], Awaitable[None]]
"""Waits for so many seconds; `asyncio.sleep`, or that of a virtual clock."""

T = TypeVar("T")


class _Job:
    """One call on its way to the arm; `changes` for a write."""

    __slots__ = ("act", "answer", "changes")

    def __init__(self, act: Callable[[], Any], answer: asyncio.Future[Any], *, changes: bool) -> None:
        self.act = act
        self.answer = answer
        self.changes = changes


class SimulatedLink:
    """Carries calls to an arm, one after the other in the order they were sent.

    A call that nobody waits for any more is acted upon all the same when it is a write: it was sent. Faults set
    `lose_answers`, `garble`, `set_delay`, `set_hung` and `set_online`. Without latency or fault a call is carried out
    at once, without suspension.
    """

    def __init__(self, latency_s: float, sleep: Sleep) -> None:
        self.latency_s = latency_s
        self.lose_answers = False
        self.garble = False
        self.online = False
        self._sleep = sleep
        self._delay_s = 0.0
        self._prompt: asyncio.Event | None = None
        """Set when a delay ends; there is one only during a delay."""
        self._awake: asyncio.Event | None = None
        """Set when the arm acts again; there is one only while it hangs."""
        self._inbox: list[_Job] = []
        self._sent: set[_Job] = set()
        self._worker: asyncio.Task[None] | None = None

    @property
    def clear(self) -> bool:
        """Whether a call can be carried out at once."""
        return (
            self.online
            and self._worker is None
            and not (self.latency_s or self._delay_s or self._awake or self.lose_answers or self.garble)
        )

    def set_delay(self, seconds: float) -> None:
        """Let the arm take so much longer; 0 ends the delay of what is on its way, too."""
        self._delay_s = seconds
        self._prompt = _barrier(self._prompt, there=bool(seconds))

    def set_hung(self, hung: bool) -> None:
        """Let the arm stop acting, or go on with what was sent meanwhile."""
        self._awake = _barrier(self._awake, there=hung)

    def set_online(self, online: bool) -> None:
        """Cut the link, or bring it back; the answers to what is on its way are lost."""
        self.online = online
        if not online:
            for job in self._sent:
                if not job.answer.done():
                    job.answer.set_exception(ArmTimeoutError("the link was lost before the answer"))

    async def call(self, act: Callable[[], T], deadline_s: float, *, changes: bool) -> T:
        """Let the arm carry out `act` and return its answer.

        Raises:
            ArmAwayError: no link, nothing was sent.
            ArmTimeoutError: no answer within `deadline_s` seconds, or the link was lost.
            ArmUnreadableError: the answer is garbled.
            Exception: what `act` raised.
        """
        if not self.online:
            raise ArmAwayError("the link is down")
        if self.clear:
            return act()
        job = _Job(act, asyncio.get_running_loop().create_future(), changes=changes)
        self._sent.add(job)
        self._inbox.append(job)
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        try:
            await self._wait(deadline_s, job.answer)
            if not job.answer.done():
                raise ArmTimeoutError(f"no answer within {deadline_s:g} s")
            result: T = job.answer.result()
            return result
        finally:
            self._give_up(job)
            del job  # what its answer raised holds this frame

    def drop(self) -> asyncio.Task[None] | None:
        """Cut the link and let the arm forget what is on its way; returns the work that is ending, if any."""
        self.set_online(False)
        self._inbox.clear()
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.cancel()
        return worker

    async def close(self) -> None:
        """Drop what is on its way and end the work."""
        worker = self.drop()
        if worker is not None:
            await asyncio.wait([worker])

    async def _wait(self, seconds: float, awaited: asyncio.Future[Any]) -> None:
        """Wait for something, but only so long."""
        timer = asyncio.ensure_future(self._sleep(seconds))
        try:
            await asyncio.wait({awaited, timer}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()

    def _give_up(self, job: _Job) -> None:
        """Nobody waits for the answer any more; a read that was not begun need not be carried out."""
        if not job.answer.cancel():
            job.answer.exception()
        self._sent.discard(job)
        if not job.changes:
            with contextlib.suppress(ValueError):
                self._inbox.remove(job)

    async def _work(self) -> None:
        """Carry out what was sent, in order, until nothing is left."""
        try:
            while self._inbox:
                job = self._inbox.pop(0)
                if self.latency_s:
                    await self._sleep(self.latency_s)
                if self._prompt is not None:
                    await self._wait_while_delayed(self._prompt)
                while self._awake is not None:
                    await self._awake.wait()
                self._carry_out(job)
        finally:
            if self._worker is asyncio.current_task():
                self._worker = None

    async def _wait_while_delayed(self, over: asyncio.Event) -> None:
        prompt = asyncio.ensure_future(over.wait())
        try:
            await self._wait(self._delay_s, prompt)
        finally:
            prompt.cancel()

    def _carry_out(self, job: _Job) -> None:
        result, failure = _outcome(job.act)
        if job.answer.done() or (job.changes and self.lose_answers):
            return
        if self.garble:
            job.answer.set_exception(ArmUnreadableError("the answer cannot be read"))
        elif failure is None:
            job.answer.set_result(result)
        else:
            job.answer.set_exception(failure)


def _outcome(act: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """What came of an act, or what it raised; the frames that that holds hold nothing of it."""
    try:
        return act(), None
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the caller's
        return None, error


def _barrier(known: asyncio.Event | None, *, there: bool) -> asyncio.Event | None:
    """What holds up work while something is `there`; whoever waited goes on when it is not. Most arms have none."""
    if there:
        return known or asyncio.Event()
    if known is not None:
        known.set()
    return None
