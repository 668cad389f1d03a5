import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import structlog

from devices.adapter import (
    ArmAwayError,
    ArmChange,
    ArmError,
    ArmRefusedError,
    ArmTimeoutError,
    ArmUnreadableError,
    Command,
    Deadlines,
    FaultyArm,
    FleetContext,
    LinkState,
    Notice,
    Snapshot,
)
from devices.guard import (
    FAILURES_TO_OPEN,
    MARGIN_S,
    OPEN_S,
    READ_RETRY_S,
    AdapterFailedError,
    CircuitOpenError,
    GuardedArm,
    guard,
)
from devices.simulated import SimulatedArm
from schema.arms import Description, Fault, Slot, Verb
from schema.messages import GravityVector, KinematicLimits, Message

GRAVITY: Slot = ("gravity_vector", 0)
VALUE = GravityVector(1.0)
WRITE = Command(1, 1, Verb.SET, GRAVITY, VALUE)
DESCRIPTION = Description("m", "s", "f", (), KinematicLimits(), "hard:device", 0.0, ())
NEVER = "never"
SLOWLY = "slowly"
STUBBORN = "stubborn"
REFUSAL = ArmRefusedError(3, 1, "METHOD_FAILED", "no")

Outcome = object | BaseException


class Arm:
    """An adapter that does what it is told: returns or raises the next outcome, at once or after a while, or never."""

    resolution_rad = 1e-4
    methods = frozenset({"SetGravityVector"})
    items = frozenset({"gravity_vector"})
    deadlines = Deadlines(1.0, 2.0, 5.0)

    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes = list(outcomes)
        self.calls: list[str] = []
        self.sink: Callable[[Notice], None] = lambda _: None

    async def _next(self, name: str, usual: Any) -> Any:
        self.calls.append(name)
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if outcome is NEVER:
            await asyncio.get_running_loop().create_future()
        if outcome is SLOWLY:
            await asyncio.sleep(0.5)
            await asyncio.sleep(0.5)
        if outcome is STUBBORN:
            try:
                await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                raise ArmTimeoutError("cancelled") from None
        if isinstance(outcome, BaseException):
            raise outcome
        return usual

    async def connect(self) -> Description:
        found: Description = await self._next("connect", DESCRIPTION)
        return found

    async def read_all(self) -> Snapshot:
        found: Snapshot = await self._next("read_all", Snapshot({GRAVITY: VALUE}))
        return found

    async def read(self, slot: Slot) -> Message:
        assert slot == GRAVITY
        found: Message = await self._next("read", VALUE)
        return found

    async def write(self, command: Command) -> Message | None:
        assert command == WRITE
        found: Message | None = await self._next("write", None)
        return found

    def watch(self, sink: Callable[[Notice], None]) -> None:
        self.sink = sink

    async def close(self) -> None:
        await self._next("close", None)


def guarded(arm: Arm) -> GuardedArm:
    return GuardedArm("r12", arm, lambda: 0.0)


def now() -> float:
    return asyncio.get_running_loop().time()


async def fail(arm: GuardedArm, times: int) -> None:
    """Let connects fail."""
    for _ in range(times):
        with pytest.raises(ArmAwayError):
            await arm.connect()


async def test_an_arm_that_is_well_is_passed_through() -> None:
    inner = Arm()
    arm = guarded(inner)
    heard: list[Notice] = []
    arm.watch(heard.append)
    assert await arm.connect() == DESCRIPTION
    assert await arm.read_all() == Snapshot({GRAVITY: VALUE})
    assert await arm.read(GRAVITY) == VALUE
    assert await arm.write(WRITE) is None
    inner.sink(LinkState(True, True))
    inner.sink(ArmChange(1, GRAVITY, ours=True))
    inner.sink(ArmChange(1, GRAVITY, ours=False))
    await arm.close()
    assert inner.calls == ["connect", "read_all", "read", "write", "close"]
    assert heard == [LinkState(True, True), ArmChange(1, GRAVITY, ours=False)]
    assert (arm.resolution_rad, arm.deadlines) == (inner.resolution_rad, inner.deadlines)
    assert (arm.methods, arm.items) == (inner.methods, inner.items)


async def test_a_notice_without_a_watcher_is_harmless() -> None:
    inner = Arm(*[ArmAwayError("away")] * FAILURES_TO_OPEN)
    await fail(guarded(inner), FAILURES_TO_OPEN)


async def test_a_call_that_waits_is_carried_on_in_its_task() -> None:
    arm = guarded(Arm(SLOWLY, SLOWLY, SLOWLY, SLOWLY))
    begun = now()
    assert await arm.read(GRAVITY) == VALUE
    assert await arm.write(WRITE) is None
    assert await arm.read_all() == Snapshot({GRAVITY: VALUE})
    assert await arm.connect() == DESCRIPTION
    assert now() - begun == pytest.approx(4.0)


@pytest.mark.parametrize("hung", [NEVER, STUBBORN])
@pytest.mark.parametrize(
    ("name", "limit_s", "tries"),
    [
        ("connect", 1.0 + MARGIN_S, 1),
        ("write", 5.0 + MARGIN_S, 1),
        ("read", 2.0 + MARGIN_S, 3),
        ("read_all", 20.0 + MARGIN_S, 3),
    ],
)
async def test_an_adapter_that_never_returns_is_given_up(name: str, limit_s: float, tries: int, hung: str) -> None:
    inner = Arm(*[hung] * tries)
    arm = guarded(inner)
    calls = {"connect": arm.connect(), "write": arm.write(WRITE), "read": arm.read(GRAVITY), "read_all": arm.read_all()}
    call = calls.pop(name)
    for other in calls.values():
        other.close()
    begun = now()
    with pytest.raises(ArmTimeoutError):
        await call
    assert now() - begun == pytest.approx(tries * limit_s + (READ_RETRY_S * 1.5 if tries > 1 else 0))
    assert inner.calls == [name] * tries
    assert await arm.read(GRAVITY) == VALUE


@pytest.mark.parametrize("error", [ArmTimeoutError("late"), ArmUnreadableError("garbage")])
async def test_reads_are_tried_three_times(error: ArmError) -> None:
    inner = Arm(error, error)
    assert await guarded(inner).read(GRAVITY) == VALUE
    inner = Arm(error, error)
    assert await guarded(inner).read_all() == Snapshot({GRAVITY: VALUE})
    inner = Arm(error, error, error)
    with pytest.raises(type(error)):
        await guarded(inner).read(GRAVITY)
    assert inner.calls == ["read"] * 3


async def test_the_waits_between_reads_are_shortened_at_random() -> None:
    inner = Arm(ArmTimeoutError("late"), ArmTimeoutError("late"))
    begun = now()
    await GuardedArm("r12", inner, lambda: 1.0).read(GRAVITY)
    assert now() - begun == pytest.approx(READ_RETRY_S * 0.75)


@pytest.mark.parametrize("error", [ArmAwayError("away"), REFUSAL])
async def test_reads_that_were_answered_or_not_sent_are_not_tried_again(error: ArmError) -> None:
    inner = Arm(error)
    with pytest.raises(type(error)):
        await guarded(inner).read(GRAVITY)
    assert inner.calls == ["read"]


@pytest.mark.parametrize("error", [ArmTimeoutError("late"), ArmUnreadableError("garbage"), ArmAwayError("away")])
async def test_writes_are_never_tried_again(error: ArmError) -> None:
    inner = Arm(error)
    with pytest.raises(type(error)):
        await guarded(inner).write(WRITE)
    assert inner.calls == ["write"]


@pytest.mark.parametrize(
    "bug", [ZeroDivisionError("oops"), TimeoutError("oops"), ArmError("oops"), asyncio.CancelledError("oops")]
)
async def test_a_bug_of_an_adapter_is_an_unknown_outcome_and_is_logged_once(bug: BaseException) -> None:
    inner = Arm(bug, bug, bug, None, bug)
    arm = guarded(inner)
    with structlog.testing.capture_logs() as logs:
        for call in (arm.write(WRITE), arm.read(GRAVITY), arm.connect()):
            with pytest.raises(AdapterFailedError, match=rf"test_guard\.Arm: {type(bug).__name__}: oops"):
                await call
        assert await arm.read(GRAVITY) == VALUE
        with pytest.raises(ArmTimeoutError):
            await arm.write(WRITE)
    assert inner.calls == ["write", "read", "connect", "read", "write"]
    assert [(line["event"], line["arm"]) for line in logs] == [("adapter_failed", "r12")] * 2
    assert all(isinstance(line["exc_info"], type(bug)) for line in logs)


async def test_a_caller_that_is_cancelled_cancels_the_call() -> None:
    for name in ("read", "write"):
        inner = Arm(NEVER)
        arm = guarded(inner)
        task = asyncio.ensure_future(arm.read(GRAVITY) if name == "read" else arm.write(WRITE))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert inner.calls == [name]


async def test_five_failures_in_a_row_open_the_circuit() -> None:
    inner = Arm(*[ArmAwayError("away")] * FAILURES_TO_OPEN)
    arm = guarded(inner)
    heard: list[Notice] = []
    arm.watch(heard.append)
    with structlog.testing.capture_logs() as logs:
        await fail(arm, FAILURES_TO_OPEN - 1)
        assert (heard, logs) == ([], [])
        await fail(arm, 1)
    assert [line["event"] for line in logs] == ["circuit_open"]
    assert heard == [LinkState(False, False, "5 failures in a row: away")]
    inner.calls.clear()
    for call in (arm.read(GRAVITY), arm.read_all(), arm.write(WRITE)):
        with pytest.raises(CircuitOpenError, match="circuit open: 5 failures in a row, tried again in 30 s"):
            await call
    assert inner.calls == []
    assert issubclass(CircuitOpenError, ArmAwayError)


async def test_after_a_while_one_call_is_let_through() -> None:
    inner = Arm(*[ArmAwayError("away")] * FAILURES_TO_OPEN, ArmTimeoutError("late"))
    arm = guarded(inner)
    await fail(arm, FAILURES_TO_OPEN)
    await asyncio.sleep(OPEN_S)
    with pytest.raises(ArmTimeoutError):
        await arm.write(WRITE)
    with pytest.raises(CircuitOpenError):
        await arm.write(WRITE)
    await asyncio.sleep(OPEN_S)
    with structlog.testing.capture_logs() as logs:
        assert await arm.read(GRAVITY) == VALUE
    assert [(line["event"], line["failures"]) for line in logs] == [("circuit_closed", 6)]
    assert await arm.write(WRITE) is None


async def test_a_connect_is_always_let_through_and_closes_the_circuit() -> None:
    inner = Arm(*[ArmAwayError("away")] * (FAILURES_TO_OPEN + 1))
    arm = guarded(inner)
    await fail(arm, FAILURES_TO_OPEN + 1)
    assert await arm.connect() == DESCRIPTION
    assert await arm.write(WRITE) is None


@pytest.mark.parametrize("notice", [LinkState(True, True), LinkState(True, False, "moving")])
async def test_an_arm_that_says_it_is_there_is_asked_again(notice: LinkState) -> None:
    inner = Arm(*[ArmAwayError("away")] * FAILURES_TO_OPEN)
    arm = guarded(inner)
    arm.watch(lambda _: None)
    await fail(arm, FAILURES_TO_OPEN)
    inner.sink(LinkState(False, False, "gone"))
    with pytest.raises(CircuitOpenError):
        await arm.read(GRAVITY)
    inner.sink(notice)
    assert await arm.read(GRAVITY) == VALUE


async def test_only_failures_in_a_row_count_and_an_answer_is_none() -> None:
    outcomes: list[Outcome] = []
    for answer in (REFUSAL, None):
        outcomes += [*[ArmAwayError("away")] * (FAILURES_TO_OPEN - 1), answer]
    inner = Arm(*outcomes, *[ArmAwayError("away")] * (FAILURES_TO_OPEN - 1))
    arm = guarded(inner)
    for _ in range(3):
        await fail(arm, FAILURES_TO_OPEN - 1)
        with contextlib.suppress(ArmRefusedError):
            await arm.write(WRITE)
    assert inner.calls.count("write") == 3


async def test_a_close_always_ends() -> None:
    for outcome in (NEVER, ZeroDivisionError("oops"), ArmAwayError("away")):
        await guarded(Arm(outcome)).close()


async def test_a_faulty_arm_is_still_one_and_its_faults_are_seen_at_once(tmp_path: Path) -> None:
    fleet = SimulatedArm.open_fleet(FleetContext(tmp_path))
    arm = guard("r12", fleet.arm("r12", "gen3_7dof", {}))
    assert isinstance(arm, FaultyArm)
    arm.inject(Fault("offline"))
    await fail(arm, FAILURES_TO_OPEN + 1)
    arm.inject(Fault("none"))
    await arm.connect()
    assert await arm.read(GRAVITY) != VALUE
    await arm.close()
    fleet.close()
    assert not isinstance(guard("r12", Arm()), FaultyArm)


async def test_an_arm_without_latency_is_answered_without_suspension(tmp_path: Path) -> None:
    fleet = SimulatedArm.open_fleet(FleetContext(tmp_path))
    arm = guard("r12", fleet.arm("r12", "gen3_7dof", {"latency_ms": 0}))
    for call in (arm.connect(), arm.write(WRITE), arm.read(GRAVITY), arm.read_all()):
        with pytest.raises(StopIteration):
            call.send(None)
    await arm.close()
    fleet.close()


class Prompt(Arm):
    """An `Arm` that answers without waiting while it has outcomes; None says that it cannot now."""

    @property
    def prompt(self) -> bool:
        """Whether it has."""
        return bool(self.outcomes)

    def exchange_now(self, command: Command) -> Message | None:
        """The next outcome."""
        assert command == WRITE
        return self._now("exchange_now")

    def read_now(self, slot: Slot) -> Message | None:
        """The next outcome."""
        assert slot == GRAVITY
        return self._now("read_now")

    def _now(self, name: str) -> Message | None:
        self.calls.append(name)
        outcome: Any = self.outcomes.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        found: Message | None = outcome
        return found


async def test_an_arm_that_needs_no_waiting_is_asked_at_once() -> None:
    inner = Prompt(VALUE, VALUE, None, None)
    arm = guarded(inner)
    assert (arm.can_be_prompt, arm.prompt) == (True, True)
    assert arm.exchange_now(WRITE) == arm.read_now(GRAVITY) == VALUE
    assert arm.exchange_now(WRITE) is arm.read_now(GRAVITY) is None
    assert not arm.prompt
    assert inner.calls == ["exchange_now", "read_now"] * 2


async def test_an_arm_that_always_needs_waiting_is_not_asked_at_once() -> None:
    inner = Arm()
    arm = guarded(inner)
    assert (arm.can_be_prompt, arm.prompt) == (False, False)
    assert arm.exchange_now(WRITE) is arm.read_now(GRAVITY) is None
    assert inner.calls == []


@pytest.mark.parametrize(("raised", "known"), [
    (ArmAwayError("away"), ArmAwayError), (ArmTimeoutError("late"), ArmTimeoutError), (REFUSAL, ArmRefusedError),
    (ValueError("a bug"), AdapterFailedError),
])  # fmt: skip
async def test_what_an_exchange_at_once_raises_is_what_its_contract_allows(
    raised: Exception, known: type[ArmError]
) -> None:
    arm = guarded(Prompt(raised))
    with pytest.raises(known):
        arm.exchange_now(WRITE)


async def test_a_read_at_once_that_fails_is_left_to_one_that_waits() -> None:
    arm = guarded(Prompt(ArmTimeoutError("late"), ValueError("a bug")))
    assert arm.read_now(GRAVITY) is arm.read_now(GRAVITY) is None


async def test_failures_at_once_open_the_circuit_and_answers_close_it() -> None:
    inner = Prompt(*[ArmAwayError("away")] * FAILURES_TO_OPEN, VALUE)
    arm = guarded(inner)
    for _ in range(FAILURES_TO_OPEN - 1):
        with pytest.raises(ArmAwayError):
            arm.exchange_now(WRITE)
    inner.outcomes.insert(0, VALUE)
    assert arm.exchange_now(WRITE) == VALUE
    inner.outcomes[:0] = [ArmAwayError("away")] * (FAILURES_TO_OPEN - 1)
    for _ in range(FAILURES_TO_OPEN):
        with pytest.raises(ArmAwayError):
            arm.exchange_now(WRITE)
    assert not arm.prompt
    assert arm.exchange_now(WRITE) is arm.read_now(GRAVITY) is None
    assert inner.outcomes == [VALUE]
