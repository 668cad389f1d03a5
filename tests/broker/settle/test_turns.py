"""Whose work begins next."""

import asyncio

from broker.settle.turns import AT_ONCE, WHILE_BUSY, Turns


async def begun(turns: Turns, users: list[str], loops: int) -> list[str]:
    """Who has begun after so many turns of the event loop."""
    log: list[str] = []

    async def work(user: str) -> None:
        await turns.take(user)
        log.append(user)

    async with asyncio.TaskGroup() as tasks:
        for user in users:
            tasks.create_task(work(user))
        for _ in range(loops):
            await asyncio.sleep(0)
        seen = list(log)
    assert sorted(log) == sorted(users)
    return seen


async def test_little_work_begins_at_once() -> None:
    assert await begun(Turns(), ["a"] * AT_ONCE, 1) == ["a"] * AT_ONCE


async def test_much_work_begins_bit_by_bit() -> None:
    assert len(await begun(Turns(), ["a"] * 100, 3)) <= 3 * AT_ONCE


async def test_another_user_comes_soon_whatever_waits() -> None:
    seen = await begun(Turns(), [*["a"] * 200, "b"], 5)
    assert "b" in seen
    assert len(seen) < 100


async def test_less_begins_while_requests_wait() -> None:
    turns = Turns()
    turns.busy = True
    assert len(await begun(turns, ["a"] * 50, 3)) <= 3 * WHILE_BUSY


async def test_work_that_was_given_up_is_passed_over() -> None:
    turns = Turns()
    first = [asyncio.create_task(turns.take("a")) for _ in range(AT_ONCE + 2)]
    await asyncio.sleep(0)
    first[-2].cancel()
    await asyncio.wait(first)
    assert [task.cancelled() for task in first] == [False] * AT_ONCE + [True, False]
