"""What a Set costs: calls on the event loop and in the writer, statements, tasks. Counts, no times: they cannot flake.

The bounds stand a little above what is counted now; whoever makes the path shorter lowers them.
"""

from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from broker.store.group_commit import Pace
from tests.counted_calls import CallCounter
from tests.journey.forms import decode_reply, encode_request
from tests.virtual_plant import Plant, play

SET = "SetTwistLinearSoftLimit"
ARMS = tuple(f"r{number}" for number in range(32))
SETS = 64
LOOP_CALLS, WRITER_CALLS, STATEMENTS = 260, 5, 0.3
"""Of one Set, at most; the documents that follow on timers are counted in as far as they fall into the time."""
COUNTING, COUNTING_SHARE = ("broker/record/traffic.py", "broker/histogram.py"), 0.02
"""What is counted for metrics, and how much of all calls that may be: those into it and all that it makes."""
FRAME = 24 + 4096
"""Bytes of a page in the write-ahead log."""
TURNS, TURNS_QUICK = 2, 1
"""Of the event loop, for one Set with nothing else under way: by the thread, and on the loop's thread."""
TASKS, TIMERS, FUTURES = 0.0, 0.2, 0.1
NEW = 0.000_37
"""Makes values of each test its own, which no other one rounded and encoded: what that costs counts in any order."""


def value(limit: float) -> dict[str, object]:
    """The params of a Set."""
    return {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": limit}


async def read_of_sets(plant: Plant, turn: int) -> None:
    """Let 64 Sets come in one read, over all arms; returns when the last one has its reply and its event."""
    after = len(plant.link.published)
    for number in range(SETS):
        limit = 0.1 + 0.001 * (turn * SETS + number)
        plant.send(ARMS[number % len(ARMS)], SET, value(limit))
    told = plant.link.published
    await plant.link.take(lambda _: sum(each.topic[:3] in ("res", "evt") for each in told[after:]) == 2 * SETS)
    replies = [each.document for each in told[after:] if each.topic.startswith("res/")]
    assert [reply["stage"] for reply in replies] == ["applied"] * SETS


def test_calls_of_a_set(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    loop, writer = CallCounter(), CallCounter()
    statements: list[str] = []

    async def scenario(plant: Plant) -> None:
        ticks, wall_us = count(1), plant.clock.wall_us
        plant.clock.wall_us = lambda: wall_us() + next(ticks)  # one that stands is asked more than one that goes
        for turn in range(3):
            await read_of_sets(plant, turn)
        await plant.turn(10.0)
        thread, connection = plant.store._writer._thread, plant.store._writer._connection
        connection.set_trace_callback(statements.append)
        thread.submit(writer.start).result()
        loop.start()
        await read_of_sets(plant, 3)
        loop.stop()
        await plant.committed()
        thread.submit(writer.stop).result()
        connection.set_trace_callback(None)

    play(tmp_path, scenario, arms=ARMS)
    each = {room: round(count / SETS, 1) for room, count in loop.rooms.most_common()}
    kinds = dict(Counter(" ".join(text.split()[:3]) for text in statements).most_common())
    record_property("told", f"calls of a Set on the loop: {loop.total / SETS:.1f} {each}")
    record_property("told", f"in the writer: {writer.total / SETS:.2f}, {len(statements)} statements {kinds}")
    record_property("told", f"of asyncio: {dict(loop.asked)}; modules: {len(loop.modules)} {loop.modules}")
    assert loop.total / SETS <= LOOP_CALLS
    counting = sum(loop.modules[module] for module in COUNTING)
    assert 0 < counting / loop.total <= COUNTING_SHARE, {module: loop.modules[module] for module in COUNTING}
    assert writer.total / SETS <= WRITER_CALLS, writer.total
    assert len(statements) / SETS <= STATEMENTS
    assert loop.asked["create_task"] / SETS <= TASKS
    assert (loop.asked["call_later"] + loop.asked["call_at"]) / SETS <= TIMERS
    assert loop.asked["create_future"] / SETS <= FUTURES


OF_SEVERAL = 1.1
"""Calls of a Set of a user with two connections, as a share of those of one with one: looked at, and decided once."""


async def read_over(plant: Plant, connections: int, turn: int) -> None:
    """Let 64 Sets that loosen come in one read, of one user over some connections."""
    after, told = len(plant.link.published), plant.link.published
    for number in range(SETS):
        body = {"id": f"{turn}-{number}", "params": value(0.1 + 0.001 * (turn * SETS + number) + 2 * NEW)}
        topic = f"req/u/c{number % connections}/{ARMS[number % len(ARMS)]}/{SET}"
        plant.link.deliver(topic, encode_request("json", SET, body))
    await plant.link.take(lambda _: sum(each.topic[:3] in ("res", "evt") for each in told[after:]) == 2 * SETS)


def test_what_loosens_is_decided_once_however_many_connections_its_user_has(tmp_path: Path) -> None:
    alone, several = CallCounter(), CallCounter()

    async def scenario(plant: Plant) -> None:
        for turn, connections in enumerate((1, 2)):
            await read_over(plant, connections, turn)
        await plant.turn(10.0)
        for turn, (connections, calls) in enumerate(((1, alone), (2, several)), 2):
            calls.start()
            await read_over(plant, connections, turn)
            calls.stop()
            await plant.turn(10.0)

    play(tmp_path, scenario, arms=ARMS)
    assert several.total / alone.total <= OF_SEVERAL, (several.total / SETS, alone.total / SETS)


PAGES, PAGES_ALONE, ALONE = 0.95, 8.3, 20
"""Of the write-ahead log, at most: a Set among 64 on 32 arms, and each of some that come one at a time, for one of them
alone may be the one that fills pages of the tree; both with their two commits and marks."""


@pytest.mark.parametrize(("sets", "most"), [(SETS, PAGES), (ALONE, PAGES_ALONE)])
def test_pages_of_a_set(tmp_path: Path, record_property: Callable[[str, object], None], sets: int, most: float) -> None:
    written: list[float] = []

    async def scenario(plant: Plant) -> None:
        await read_of_sets(plant, 0)
        await plant.turn(10.0)
        store = plant.store
        store._writer._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        log = store._path.with_name(f"{store._path.name}-wal")
        before = log.stat().st_size
        if sets == SETS:
            await read_of_sets(plant, 1)
        for number in range(0 if sets == SETS else sets):
            await plant.call(ARMS[number % 7], SET, value(0.5 + number / 1000))
            await plant.turn(0.1)
        await plant.turn(0.1)
        await plant.committed()
        written.append((log.stat().st_size - before) / FRAME / sets)

    play(tmp_path, scenario, arms=ARMS)
    record_property("told", f"pages of the write-ahead log for a Set: {written[0]:.2f} of {sets}")
    assert 0 < written[0] <= most


JOINTS, OF_JOINTS = 7, "SetJointSpeedSoftLimits"


async def read_of_lists(plant: Plant, codec: str, first: float, turn: int) -> None:
    """Let 64 Sets of a list of joints come in one read; no number of any comes again, most round as one before did."""
    after = len(plant.link.published)
    for number in range(SETS):
        speeds = [round(first + 0.011 * (JOINTS * number + joint) + 0.001 * turn, 3) for joint in range(JOINTS)]
        params = {"control_mode": "ANGULAR_TRAJECTORY", "joint_speed_soft_limits": speeds}
        payload = encode_request(codec, OF_JOINTS, {"id": f"{turn}-{number}", "params": params})
        plant.link.deliver(f"req/u/c/{ARMS[number % len(ARMS)]}/{OF_JOINTS}", payload)
    told = plant.link.published
    await plant.link.take(lambda _: sum(each.topic[:3] in ("res", "evt") for each in told[after:]) == 2 * SETS)
    replies = [each.document for each in told[after:] if each.topic.startswith("res/")]
    stages = [reply["stage"] if codec == "json" else decode_reply(codec, reply)["stage"] for reply in replies]
    assert stages == ["applied"] * SETS


@pytest.mark.parametrize(
    ("codec", "first", "most"), [("json", 10.0, 335), ("msgpack", 20.0, 346), ("protobuf", 30.0, 355)]
)
def test_calls_of_a_set_of_seven_joints(
    tmp_path: Path, codec: str, first: float, most: float, record_property: Callable[[str, object], None]
) -> None:
    """So many on the loop; what is made of a list is made of all its numbers together."""
    loop = CallCounter()

    async def scenario(plant: Plant) -> None:
        for turn in range(3):
            await read_of_lists(plant, codec, first, turn)
        await plant.turn(10.0)
        loop.start()
        await read_of_lists(plant, codec, first, 3)
        loop.stop()

    play(tmp_path, scenario, arms=ARMS)
    each = {room: round(count / SETS, 1) for room, count in loop.rooms.most_common()}
    record_property("told", f"calls of a Set of {JOINTS} joints, {codec}: {loop.total / SETS:.1f} {each}")
    record_property("told", f"modules: {[(name, round(n / SETS, 1)) for name, n in loop.modules.most_common()]}")
    assert loop.total / SETS <= most


@pytest.mark.parametrize(
    ("method", "params", "most"), [("GetGravityVector", None, 4), ("SetTwistLinearSoftLimit", 0.2, 17)]
)
def test_counting_one_request_at_a_time_costs_little(
    tmp_path: Path, method: str, params: float | None, most: float
) -> None:
    """So many calls at most, where nothing is shared with other requests of the same moment."""
    loop = CallCounter()

    async def one(plant: Plant, number: int) -> None:
        value = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.1 + number / 1000}
        await plant.call(ARMS[0], method, value if params else None)
        await plant.turn(0.5)

    async def scenario(plant: Plant) -> None:
        for number in range(8):
            await one(plant, number)
        await plant.turn(5.0)
        loop.start()
        for number in range(8, 40):
            await one(plant, number)
        loop.stop()

    play(tmp_path, scenario, arms=ARMS[:1])
    clocks = (
        2 * 32
    )  # one when it is published, at most one when a commit begins and one when it ends, less those before
    counting = sum(loop.modules[module] for module in COUNTING) + clocks
    assert 0 < counting / 32 <= most, (counting / 32, loop.total / 32)


class Quick(Pace):
    """A disk that is quick."""

    @property
    def quick(self) -> bool:
        """See `Pace.quick`."""
        return True


@pytest.mark.parametrize(("pace", "most"), [(Quick, TURNS_QUICK), (Pace, TURNS)])
def test_turns_of_the_loop_for_one_set(tmp_path: Path, pace: type[Pace], most: int) -> None:
    """From its receipt to its reply, with nothing else under way; `Pace` leaves every commit to the thread at first."""

    async def scenario(plant: Plant) -> None:
        await plant.call("r1", SET, value(0.2))
        await plant.turn(1.0)
        plant.store._pace = pace()
        turns, run_once = 0, plant.loop._run_once  # type: ignore[attr-defined]

        def turn() -> None:
            nonlocal turns
            waits = plant.store.committing and not plant.loop._ready  # type: ignore[attr-defined]
            run_once()
            turns += not waits or bool(plant.loop._ready)  # type: ignore[attr-defined]

        after = len(plant.link.published)
        plant.send("r1", SET, value(0.3), id="one")
        plant.loop._run_once = turn  # type: ignore[attr-defined]
        await plant.reply("one", after)
        assert turns <= most

    play(tmp_path, scenario)


CALLS_ALONE = 368
"""Of one Set with nothing else under way, its two commits on the loop's thread among them; documents are not."""


def test_calls_of_a_set_alone(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """The least of some counts: marks, documents, and what is done once in many commits fall into others."""
    counters = [CallCounter() for _ in range(ALONE)]

    async def scenario(plant: Plant) -> None:
        plant.store._pace = Quick()
        for number, counter in enumerate([CallCounter() for _ in range(ALONE)] + counters):
            await plant.turn(1.0)
            after = len(plant.link.published)
            counter.start()
            plant.send(ARMS[number % len(ARMS)], SET, value(0.5 + number / 1000 + 3 * NEW), id=f"alone-{number}")
            await plant.reply(f"alone-{number}", after)
            counter.stop()

    play(tmp_path, scenario, arms=ARMS)
    each = sorted(counter.total for counter in counters)
    record_property("told", f"calls of a Set alone: {each}")
    assert each[0] <= CALLS_ALONE


BATCH_CALLS = 1_570
"""Calls of a batch of six slots, at most: about five times those of a Set, for its documents are longer."""


def batch(number: int) -> dict[str, object]:
    """Items of six slots, each with another value each time; all of them loosen or have no order now and then."""
    limits = dict.fromkeys(("CARTESIAN_JOYSTICK", "CARTESIAN_TRAJECTORY"), 0.1 + 0.001 * number + NEW)
    return {
        "twist_linear_soft_limit": limits,
        "twist_angular_soft_limit": {"CARTESIAN_JOYSTICK": 10.0 + 0.1 * number + NEW},
        "payload_information": {"payload_mass": 1.0 + 0.001 * number + NEW},
        "desired_linear_twist": {"linear": 0.1 + 0.001 * number + NEW},
        "desired_angular_twist": {"angular": 10.0 + 0.1 * number + NEW},
    }


async def read_of(plant: Plant, method: str, params: Callable[[int], dict[str, object]], turn: int) -> None:
    """Let 32 requests come in one read, one an arm; returns when each has its reply."""
    after, told = len(plant.link.published), plant.link.published
    for number, arm in enumerate(ARMS):
        plant.send(arm, method, params(turn * len(ARMS) + number))
    await plant.link.take(lambda _: sum(each.topic.startswith("res/") for each in told[after:]) == len(ARMS))
    replies = [each.document for each in told[after:] if each.topic.startswith("res/")]
    assert [reply["stage"] for reply in replies] == ["applied"] * len(ARMS)


def test_calls_of_a_batch(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """Six slots as one change cost fewer calls than six Sets, and no task; the lesser of two reads counts."""
    singles, batches = [CallCounter() for _ in range(2)], [CallCounter() for _ in range(2)]

    async def scenario(plant: Plant) -> None:
        warm = CallCounter(), CallCounter()
        for turn, (single, several) in enumerate([warm, warm, *zip(singles, batches, strict=True)]):
            await plant.turn(10.0)
            single.start()
            await read_of(plant, SET, lambda number: value(0.1 + 0.001 * number + NEW), 2 * turn)
            single.stop()
            await plant.turn(10.0)
            several.start()
            await read_of(plant, "ApplyConfig", lambda number: {"items": batch(number)}, 2 * turn + 1)
            several.stop()

    play(tmp_path, scenario, arms=ARMS)
    single, several = (min(counters, key=lambda one: one.total) for counters in (singles, batches))
    each = {room: round(count / len(ARMS), 1) for room, count in several.rooms.most_common()}
    record_property(
        "told", f"of a Set {single.total / len(ARMS):.0f}, of a batch {several.total / len(ARMS):.0f} {each}"
    )
    record_property("told", f"{several.modules.most_common(40)}")
    assert several.asked["create_task"] == 0
    assert several.total / len(ARMS) <= BATCH_CALLS
