"""A guard around every adapter, so that one that fails in any way is a slow or absent arm and nothing worse."""

import asyncio
import random
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import partial
from typing import Any, NoReturn, TypeVar

import structlog

from devices.adapter import (
    ArmAdapter,
    ArmAwayError,
    ArmChange,
    ArmError,
    ArmRefusedError,
    ArmTimeoutError,
    Command,
    FaultyArm,
    LinkState,
    Notice,
    PromptArm,
    Snapshot,
)
from schema.arms import Description, Fault, Slot
from schema.messages import Message

log = structlog.get_logger()

MARGIN_S = 2.0
"""How much longer than its own deadline a call may take before it is given up."""
READ_ALL_READS = 10
"""Reading everything may take so many times the deadline of one read."""
CLOSE_S = 10.0
READ_TRIES = 3
READ_RETRY_S = 0.2
"""The longest wait before the second try of a read, half of it before the third; shortened by up to half at random."""
FAILURES_TO_OPEN, OPEN_S = 5, 30.0
_JITTER = random.SystemRandom().random

T = TypeVar("T")


class AdapterFailedError(ArmTimeoutError):
    """The adapter raised what it must not raise: the outcome is as unknown as without an answer."""


class CircuitOpenError(ArmAwayError):
    """The arm failed so often that it is left alone for a while: nothing was sent."""


class GuardedArm:
    """An `ArmAdapter` around the one of arm `name`; use `guard` to make one.

    - A call that the adapter does not end by its own deadline is given up: ArmTimeoutError. An adapter that holds on to
      a cancelled call cannot be helped.
    - Reads are tried up to three times when they get no answer or an unreadable one; writes and connects once.
    - What an adapter raises against its contract becomes an AdapterFailedError; it is logged with its traceback once,
      until a call succeeds.
    - After five failures in a row (no answer, unreadable, away) the circuit is open: the link is told to be down, and
      calls fail at once for 30 s (CircuitOpenError), then one is let through. Connects are let through always: who
      connects has a backoff. A success, or a link that is told to be up, ends it.

    The clock is that of the event loop. A call that the adapter answers without suspension costs no timer.
    """

    def __init__(self, name: str, arm: ArmAdapter, jitter: Callable[[], float] = _JITTER) -> None:
        self.resolution_rad = arm.resolution_rad
        self.methods = arm.methods
        self.items = arm.items
        self.deadlines = arm.deadlines
        self._name = name
        self._arm = arm
        self._now = arm if isinstance(arm, PromptArm) else None
        self.can_be_prompt = self._now is not None
        self._jitter = jitter
        self._failures = 0
        self._open_until: float | None = None
        self._complained = False
        self._sink: Callable[[Notice], None] = _nobody

    async def connect(self) -> Description:
        """See `ArmAdapter.connect`; an arm may say only now what it can do."""
        description = await self._counted(self._arm.connect(), self.deadlines.connect_s)
        arm = self._arm
        self.resolution_rad, self.methods, self.items = arm.resolution_rad, arm.methods, arm.items
        return description

    async def read_all(self) -> Snapshot:
        """See `ArmAdapter.read_all`."""
        if self._open_until is not None:
            self._let_through()
        return await self._retried(self._arm.read_all(), self._arm.read_all, READ_ALL_READS * self.deadlines.read_s)

    async def read(self, slot: Slot) -> Message:
        """See `ArmAdapter.read`."""
        if self._open_until is not None:
            self._let_through()
        call = self._arm.read(slot)
        try:
            awaited = call.send(None)
        except StopIteration as done:
            if self._failures:
                self._succeeded()
            value: Message = done.value
            return value
        except BaseException as error:  # noqa: BLE001 - judged with those of the calls that wait
            rest: Awaitable[Message] = _raised(error)
        else:
            rest = _resumed(call, awaited)
        return await self._retried(rest, partial(self._arm.read, slot), self.deadlines.read_s)

    async def write(self, command: Command) -> Message | None:
        """See `ArmAdapter.write`."""
        if self._open_until is not None:
            self._let_through()
        call = self._arm.write(command)
        try:
            awaited = call.send(None)
        except StopIteration as done:
            if self._failures:
                self._succeeded()
            answer: Message | None = done.value
            return answer
        except BaseException as error:  # noqa: BLE001 - judged with those of the calls that wait
            rest: Awaitable[Message | None] = _raised(error)
        else:
            rest = _resumed(call, awaited)
        return await self._counted(rest, self.deadlines.write_s)

    @property
    def prompt(self) -> bool:
        """See `PromptArm.prompt`; never where the adapter is none."""
        return self._now is not None and self._open_until is None and self._now.prompt

    def exchange_now(self, command: Command) -> Message | None:
        """See `PromptArm.exchange_now`."""
        if self._now is None or self._open_until is not None:
            return None
        try:
            read = self._now.exchange_now(command)
        except ArmRefusedError:
            self._succeeded()
            raise
        except Exception as error:
            raise self._failed_now(error) from error
        if self._failures and read is not None:
            self._succeeded()
        return read

    def read_now(self, slot: Slot) -> Message | None:
        """See `PromptArm.read_now`; None also when that fails, for reads are tried again."""
        if self._now is None or self._open_until is not None:
            return None
        try:
            return self._now.read_now(slot)
        except Exception as error:  # noqa: BLE001 - judged with those of the calls that wait
            log.debug("read_again", arm=self._name, tried=0, why=str(error))
            return None

    def _failed_now(self, error: Exception) -> ArmError:
        """What a call that waits for nothing raised, as what the service knows; it counts as a failure."""
        known = error if isinstance(error, ArmAwayError | ArmTimeoutError) else self._complain(error)
        self._failed(known)
        return known

    def watch(self, sink: Callable[[Notice], None]) -> None:
        """See `ArmAdapter.watch`."""
        self._sink = sink
        self._arm.watch(self._hear)

    def _hear(self, notice: Notice) -> None:
        if type(notice) is ArmChange and notice.ours:  # who sent the command reads it back
            return
        if type(notice) is LinkState and notice.online:
            self._succeeded()
        self._sink(notice)

    async def close(self) -> None:
        """See `ArmAdapter.close`; never raises, and ends."""
        try:
            await self._bounded(self._arm.close(), CLOSE_S)
        except ArmError as error:
            log.warning("arm_not_closed", arm=self._name, why=str(error))

    async def _retried(self, first: Awaitable[T], again: Callable[[], Awaitable[T]], deadline_s: float) -> T:
        """A read, up to three times."""
        call = first
        for tried in range(1, READ_TRIES):
            try:
                return await self._bounded(call, deadline_s)
            except (ArmAwayError, AdapterFailedError) as error:
                self._failed(error)
                raise
            except ArmTimeoutError as error:
                log.debug("read_again", arm=self._name, tried=tried, why=str(error))
            await asyncio.sleep(READ_RETRY_S / tried * (1 - self._jitter() / 2))
            call = again()
        return await self._counted(call, deadline_s)

    async def _counted(self, call: Awaitable[T], deadline_s: float) -> T:
        """A call whose failure counts."""
        try:
            return await self._bounded(call, deadline_s)
        except (ArmAwayError, ArmTimeoutError) as error:
            self._failed(error)
            raise

    async def _bounded(self, call: Awaitable[T], deadline_s: float) -> T:
        """Wait for a call, but only for so long; raises nothing but what its contract allows."""
        limit_s = deadline_s + MARGIN_S
        try:
            async with asyncio.timeout(limit_s) as clock:
                result = await call
        except ArmRefusedError:
            self._succeeded()
            raise
        except (ArmAwayError, ArmTimeoutError):
            raise
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise self._complain(error) from error
        except Exception as error:
            if isinstance(error, TimeoutError) and clock.expired():
                log.warning("call_given_up", arm=self._name, after_s=limit_s)
                raise ArmTimeoutError(f"the adapter gave no answer within {limit_s:g} s") from error
            raise self._complain(error) from error
        self._succeeded()
        return result

    def _let_through(self) -> None:
        """Bar a call while the circuit is open, but for one each time its time is over."""
        now = asyncio.get_running_loop().time()
        if self._open_until is not None and now < self._open_until:
            left_s = self._open_until - now
            raise CircuitOpenError(f"circuit open: {self._failures} failures in a row, tried again in {left_s:.0f} s")
        self._open_until = now + OPEN_S

    def _failed(self, error: ArmError) -> None:
        self._failures += 1
        if self._failures < FAILURES_TO_OPEN:
            return
        opens = self._open_until is None
        self._open_until = asyncio.get_running_loop().time() + OPEN_S
        if opens:
            log.warning("circuit_open", arm=self._name, failures=self._failures, for_s=OPEN_S, why=str(error))
            self._sink(LinkState(online=False, ready=False, why=f"{self._failures} failures in a row: {error}"))

    def _succeeded(self) -> None:
        if self._open_until is not None:
            log.info("circuit_closed", arm=self._name, failures=self._failures)
        self._failures = 0
        self._open_until = None
        self._complained = False

    def _complain(self, error: BaseException) -> AdapterFailedError:
        """What an adapter raised against its contract, as what the service knows."""
        adapter = f"{type(self._arm).__module__}.{type(self._arm).__qualname__}"
        if not self._complained:
            log.error("adapter_failed", arm=self._name, adapter=adapter, exc_info=error)
        self._complained = True
        return AdapterFailedError(f"adapter {adapter}: {type(error).__name__}: {error}")


class GuardedFaultyArm(GuardedArm):
    """A `GuardedArm` that is a `FaultyArm`, as the one in it is."""

    def __init__(self, name: str, arm: ArmAdapter, faulty: FaultyArm) -> None:
        super().__init__(name, arm)
        self._faulty = faulty

    def inject(self, fault: Fault) -> None:
        """See `FaultyArm.inject`; what comes of it is seen at once."""
        self._faulty.inject(fault)
        self._succeeded()


def _nobody(notice: Notice) -> None:
    """Hears what an arm tells while nobody watches."""
    del notice


def guard(name: str, arm: ArmAdapter) -> GuardedArm:
    """Put a guard around the adapter of an arm."""
    return GuardedFaultyArm(name, arm, arm) if isinstance(arm, FaultyArm) else GuardedArm(name, arm)


async def _raised(error: BaseException) -> NoReturn:
    """A call that failed at once."""
    try:
        raise error
    finally:
        del error  # the frame that it holds would hold it


@types.coroutine
def _resumed(call: Coroutine[Any, Any, T], awaited: Any) -> Generator[Any, Any, T]:
    """Go on with a coroutine that was begun and awaits something, in the task that began it."""
    try:
        while True:
            try:
                sent = yield awaited
            except BaseException as error:  # noqa: BLE001 - a cancellation is the coroutine's to handle
                awaited = call.throw(error)
            else:
                awaited = call.send(sent)
    except StopIteration as done:
        result: T = done.value
        return result
