import asyncio

import pytest

from broker.settle.contact.slices import SLICE_S, Slices


class Clock:
    """A loop's time that only the test moves."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def time(self) -> float:
        return self.now_s


async def piece(slices: Slices, clock: Clock, takes_s: float) -> None:
    async with slices:
        clock.now_s += takes_s


@pytest.mark.parametrize(("served", "pauses"), [(True, [3 * SLICE_S]), (False, [])])
async def test_a_pause_follows_each_slice_once_requests_are_served(
    monkeypatch: pytest.MonkeyPatch, served: bool, pauses: list[float]
) -> None:
    found: list[float] = []

    async def sleep(delay_s: float) -> None:
        found.append(delay_s)

    clock = Clock()
    slices = Slices(clock)  # type: ignore[arg-type]
    slices.served = served
    monkeypatch.setattr(asyncio, "sleep", sleep)
    await piece(slices, clock, SLICE_S / 2)
    assert not found
    await piece(slices, clock, 2.5 * SLICE_S)
    assert found == pytest.approx(pauses)
    await piece(slices, clock, SLICE_S / 2)
    assert found == pytest.approx(pauses)


async def test_the_next_piece_waits_for_the_pause_and_a_failed_one_holds_nobody_up() -> None:
    clock = Clock()
    slices = Slices(clock)  # type: ignore[arg-type]
    slices.served = True
    order: list[str] = []

    async def failing() -> None:
        async with slices:
            clock.now_s += 2 * SLICE_S
            order.append("first")
            raise ValueError("failed")

    async def following() -> None:
        async with slices:
            order.append("second")

    first, second = asyncio.create_task(failing()), asyncio.create_task(following())
    await asyncio.sleep(0)
    assert order == ["first"]
    with pytest.raises(ValueError, match="failed"):
        await first
    await second
    assert order == ["first", "second"]


async def test_no_pause_is_longer_than_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[float] = []

    async def sleep(delay_s: float) -> None:
        found.append(delay_s)

    clock = Clock()
    slices = Slices(clock, 2 * SLICE_S)  # type: ignore[arg-type]
    slices.served = True
    monkeypatch.setattr(asyncio, "sleep", sleep)
    await piece(slices, clock, 50 * SLICE_S)
    await piece(slices, clock, 1.5 * SLICE_S)
    assert found == pytest.approx([2 * SLICE_S, 1.5 * SLICE_S])


async def test_a_piece_begins_when_there_is_room_and_who_gives_up_waiting_holds_nobody_up() -> None:
    clock, room, order = Clock(), asyncio.Event(), list[str]()

    async def wait_for_room() -> None:
        await room.wait()

    slices = Slices(clock, room=wait_for_room)  # type: ignore[arg-type]

    async def working(name: str) -> None:
        async with slices:
            order.append(name)

    first, second = asyncio.create_task(working("first")), asyncio.create_task(working("second"))
    await asyncio.sleep(0)
    assert not order
    first.cancel()
    await asyncio.wait([first])
    room.set()
    await second
    assert order == ["second"]
