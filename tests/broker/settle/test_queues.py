"""Queues: one job of an arm at a time, all arms in parallel, a task only while there is work."""

import asyncio
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import ChangeJob, ContactJob, FollowJob, ForwardJob
from broker.settle.queues import Queues
from devices.adapter import FleetContext
from devices.guard import guard
from devices.registry import adapter_class
from handlers.state.arm_state import ArmState
from tests.broker.settle.test_obstacles import job as change
from tests.links import PATIENCE_S


class Log:
    """A worker that notes what it does, and waits where it is told to; it is sure of its place."""

    sure, sure_until_s = True, math.inf

    def __init__(self) -> None:
        self.done: list[str] = []
        self.gate = asyncio.Event()

    def settle_now(self, session: ArmSession, job: ChangeJob) -> bool:
        """Never asked for here."""
        raise AssertionError(session, job)

    async def made_sure(self) -> None:
        """Never asked for here."""
        raise AssertionError(self)

    async def settle(self, session: ArmSession, job: ChangeJob) -> None:
        """Never asked for here."""
        raise AssertionError(session, job)

    async def contact(self, session: ArmSession, job: ContactJob) -> None:
        """Note it."""
        self.done.append(f"{session.arm} {job.why}")

    async def follow(self, session: ArmSession, job: FollowJob) -> None:
        """Wait."""
        await self.gate.wait()
        self.done.append(f"{session.arm} {job.event}")

    async def forward(self, session: ArmSession, job: ForwardJob) -> None:
        """Note it."""
        self.done.append(f"{session.arm} {job.event}")


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[ArmSession, ArmSession]]:
    """The sessions of two simulated arms."""
    fleet = adapter_class("simulated").open_fleet(FleetContext(tmp_path))
    one, two = (
        ArmSession(ArmState(arm, "simulated", frozenset(), 0.0), guard(arm, fleet.arm(arm, "gen3_7dof", {})))
        for arm in ("a", "b")
    )
    yield one, two
    fleet.close()


async def test_an_arm_does_one_job_after_the_other_and_no_arm_waits_for_another(
    pair: tuple[ArmSession, ArmSession],
) -> None:
    one, two = pair
    async with asyncio.TaskGroup() as tasks:
        queues, log = Queues(tasks), Log()
        queues.serve(log, log, log)
        queues.put(one, FollowJob(("gravity_vector", 0), 1, ""))
        queues.put(one, ForwardJob(2, ""))
        await asyncio.sleep(0)
        queues.put(one, ContactJob(connect=True, why="first"), first=True)
        queues.put(two, ForwardJob(3, ""))
        await asyncio.sleep(0.01)
        assert log.done == ["b 3"]
        assert (one.running, two.running, queues.running) == (True, False, True)
        log.gate.set()
        await queues.idle()
        assert log.done == ["b 3", "a 1", "a first", "a 2"]
        assert (one.running, queues.running, list(one.jobs)) == (False, False, [])


async def test_a_job_put_first_into_a_queue_that_stands_is_the_first(pair: tuple[ArmSession, ArmSession]) -> None:
    one, _ = pair
    async with asyncio.TaskGroup() as tasks:
        queues, log = Queues(tasks), Log()
        one.jobs.append(ForwardJob(1, ""))
        queues.serve(log, log, log)
        queues.put(one, ContactJob(connect=True, why="first"), first=True)
        await queues.idle()
        assert log.done == ["a first", "a 1"]


async def test_after_the_end_no_queue_begins(pair: tuple[ArmSession, ArmSession]) -> None:
    one, two = pair
    async with asyncio.TaskGroup() as tasks:
        queues, log = Queues(tasks), Log()
        queues.serve(log, log, log)
        queues.put(one, FollowJob(("gravity_vector", 0), 1, ""))
        await asyncio.sleep(0)
        queues.cancel()
        queues.put(two, ForwardJob(2, ""))
    assert log.done == []
    assert len(one.jobs) == len(two.jobs) == 1


async def test_a_queue_rests_after_the_job_at_hand_and_goes_on_when_it_is_woken(
    pair: tuple[ArmSession, ArmSession],
) -> None:
    one, _ = pair
    async with asyncio.TaskGroup() as tasks:
        queues, log = Queues(tasks), Log()
        queues.serve(log, log, log)
        queues.put(one, FollowJob(("gravity_vector", 0), 1, ""))
        queues.put(one, ForwardJob(2, ""))
        await asyncio.sleep(0)
        resting = asyncio.create_task(queues.rest(one, 60.0))
        await asyncio.sleep(0)
        log.gate.set()
        assert await resting is None
        queues.put(one, ForwardJob(3, ""))
        assert await queues.rest(one, 60.0) is None
        assert (log.done, queues.running) == (["a 1"], False)
        queues.wake(one)
        await queues.idle()
        assert log.done == ["a 1", "a 2", "a 3"]


async def test_a_job_that_takes_too_long_is_given_up_and_stays_the_first(pair: tuple[ArmSession, ArmSession]) -> None:
    one, _ = pair
    async with asyncio.TaskGroup() as tasks:
        queues, log = Queues(tasks), Log()
        queues.serve(log, log, log)
        queues.put(one, job := FollowJob(("gravity_vector", 0), 1, ""))
        await asyncio.sleep(0)
        assert await queues.rest(one, 0.01) is job
        assert (list(one.jobs), one.running, queues.running) == ([job], False, False)
        log.gate.set()
        queues.wake(one)
        await queues.idle()
        assert log.done == ["a 1"]


async def test_at_the_end_only_changes_are_waited_for(pair: tuple[ArmSession, ArmSession]) -> None:
    one, two = pair
    async with asyncio.TaskGroup() as tasks:
        queues, log = Queues(tasks), Log()
        queues.serve(log, log, log)
        queues.put(one, FollowJob(("gravity_vector", 0), 1, ""))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        queues.put(two, ContactJob(connect=True, why="never begun"))
        queues.end_with_changes()
        async with asyncio.timeout(PATIENCE_S):
            await queues.idle()
        queues.put(two, ContactJob(connect=True, why="later"))
        await asyncio.sleep(0)
        assert not queues.running
    assert log.done == []
    assert [len(one.jobs), len(two.jobs)] == [1, 2]


class Unsure(Log):
    """Not sure of its place until the gate is open; settles then."""

    sure, sure_until_s = False, -math.inf

    async def made_sure(self) -> None:
        """Wait for the gate."""
        self.done.append("waits")
        await self.gate.wait()

    async def settle(self, session: ArmSession, job: ChangeJob) -> None:
        """Note it."""
        self.done.append(f"{session.arm} {job.n}")


async def test_no_change_is_settled_before_it_is_sure_that_nobody_else_does(
    pair: tuple[ArmSession, ArmSession],
) -> None:
    one, _ = pair
    async with asyncio.TaskGroup() as tasks:
        queues, log = Queues(tasks), Unsure()
        queues.serve(log, log, log)
        job = change()
        job.committed = True
        queues.put(one, job)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert log.done == ["waits"]
        log.gate.set()
        await queues.idle()
    assert log.done == ["waits", "a 1"]


async def test_what_stood_behind_a_change_that_ended_before_its_turn_goes_on(
    pair: tuple[ArmSession, ArmSession],
) -> None:
    one, _ = pair
    async with asyncio.TaskGroup() as tasks:
        queues, log = Queues(tasks), Log()
        queues.serve(log, log, log)
        one.jobs.append(ForwardJob(1, ""))
        assert queues.kick(one, change()) == 0
        await queues.idle()
        assert log.done == ["a 1"]
