"""Which accepted change begins next: of many bit by bit, user by user."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from broker.settle.starts import AT_ONCE, Starts
from broker.store.group_commit import Pace
from tests.virtual_plant import Plant, play

SET, ITEM = "SetTwistLinearSoftLimit", "twist_linear_soft_limit"
ARMS = tuple(f"r{number}" for number in range(8))


class Arm:
    """Stands for a session: what its queue holds, and who asked for it."""

    def __init__(self, *jobs: str) -> None:
        self.jobs: list[Any] = list(jobs)


class Change:
    """Stands for a change of a user."""

    def __init__(self, user: str) -> None:
        self.author = self
        self.user = user


class Log:
    """Carries out what begins, and notes whose it was."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.failed: list[Exception] = []
        self.starts = Starts(self.run, self.failed.append)

    def run(self, session: Any, last: Any) -> int:
        """One change of an arm, or all of it."""
        count = len(session.jobs) if last is None else 1
        self.begun += session.jobs[:count]
        if "bad" in session.jobs[:count]:
            session.jobs.clear()
            raise ValueError("bad")
        del session.jobs[:count]
        return count

    def put(self, *users: str) -> None:
        """Let a change of each of these begin in its turn, each on an arm of its own."""
        pairs: Any = [(Arm(user), Change(user)) for user in users]
        self.starts.put_all(pairs)


async def test_so_many_begin_at_once_and_the_others_a_turn_later() -> None:
    log = Log()
    log.put(*["a"] * (2 * AT_ONCE + 1))
    assert len(log.begun) == AT_ONCE
    await asyncio.sleep(0)
    assert len(log.begun) == 2 * AT_ONCE
    await log.starts.passed()
    assert (len(log.begun), log.starts.lanes) == (2 * AT_ONCE + 1, {})


async def test_users_take_turns_whatever_of_another_waits() -> None:
    log = Log()
    log.put(*["a"] * (AT_ONCE + 20), "b", "b", "c")
    assert log.begun[:5] == ["a", "b", "c", "a", "b"]
    log.put("d")
    await log.starts.passed()
    assert log.begun.index("d") <= AT_ONCE + 1
    assert sorted(log.begun) == sorted(["a"] * (AT_ONCE + 20) + ["b", "b", "c", "d"])


async def test_what_fails_is_told_and_the_others_go_on() -> None:
    log = Log()
    log.put("bad", "a", "a")
    await log.starts.passed()
    assert (sorted(log.begun), [str(error) for error in log.failed]) == (["a", "a", "bad"], ["bad"])


async def test_a_queue_that_others_emptied_takes_no_room() -> None:
    log = Log()
    pairs: Any = [(Arm(), Change("a"))] * (2 * AT_ONCE) + [(Arm("a"), Change("a"))]
    log.starts.put_all(pairs)
    assert log.begun == ["a"]


async def test_a_queue_that_is_put_again_while_it_runs_is_not_lost() -> None:
    log = Log()
    arm: Any = Arm("a", "a", "a")

    def half(session: Any, last: Any) -> int:
        log.begun.append(session.jobs.pop())
        if session.jobs:
            starts.put("a", session, last)
        return 1

    starts = Starts(half, log.failed.append)
    pairs: Any = [(arm, Change("a")), (Arm("b"), Change("b"))]
    starts.put_all(pairs)
    await starts.passed()
    assert sorted(log.begun) == ["a", "a", "a", "b"]


def value(limit: float) -> dict[str, Any]:
    """Params of the Set."""
    return {"control_mode": "CARTESIAN_JOYSTICK", ITEM: limit}


class Slow(Pace):
    """A disk that is slow: every commit is the thread's."""

    @property
    def quick(self) -> bool:
        """Never."""
        return False


@asynccontextmanager
async def one_commit(plant: Plant) -> AsyncIterator[None]:
    """What is accepted in the block is committed together: a commit before it lasts as long."""
    gate = threading.Event()
    plant.store._pace = Slow()
    await plant.committed()
    plant.store._writer._thread.submit(gate.wait)
    try:
        await accepted(plant, "c", plant.send("other", "SetGravityVector", {"z": -9.8}, user="c"))
        yield
    finally:
        gate.set()


async def accepted(plant: Plant, user: str, request_id: str) -> None:
    """Wait until a request is decided, and its row waits for its commit."""
    while plant.store.known_uncommitted((user, "c", request_id)) is None:
        await plant.turn()


@pytest.mark.parametrize("arms", [ARMS, ARMS[:1]])
def test_a_change_of_another_user_does_not_wait_for_all_that_was_accepted(
    tmp_path: Path, arms: tuple[str, ...]
) -> None:
    """One user has 90 changes accepted before another one's, on another arm, all in one commit."""
    many = 90

    async def scenario(plant: Plant) -> None:
        async with one_commit(plant):
            for number in range(many):
                plant.send(arms[number % len(arms)], SET, value(0.1 + number / 1000), user="a", id=f"a{number}")
            await accepted(plant, "a", f"a{many - 1}")
            await accepted(plant, "b", plant.send("other", SET, value(0.25), user="b", id="b"))
        await plant.reply("b", user="b")
        await plant.turn(5.0)
        order = [each.topic.split("/")[1] for each in plant.link.published if each.topic.startswith("evt/")]
        assert len(order) == many + 2
        assert [each for each in order if each == "other"][1:] == ["other"]
        assert max(place for place, each in enumerate(order) if each == "other") <= AT_ONCE + 2

    play(tmp_path, scenario, arms=(*arms, "other"), clients={"*": {"rights": ["write"], "rate": 0}})


def test_changes_of_one_arm_keep_their_order_whoever_asked(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        async with one_commit(plant):
            for number in range(120):
                plant.send("r0", SET, value(0.1 + number / 1000), user="ab"[number % 7 == 0], id=f"{number}")
            await accepted(plant, "a", "118")
        await plant.turn(5.0)
        revs = [event["rev"] for event in plant.events("r0")]
        assert len(revs) == 120
        assert revs == sorted(revs)

    play(tmp_path, scenario, arms=("r0", "other"), clients={"*": {"rights": ["write"], "rate": 0}})
