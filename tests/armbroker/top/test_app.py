"""The screen without a terminal."""

import asyncio
import time

import pytest

from armbroker.board.board import Board
from armbroker.client import NoServerError, Watched
from armbroker.top.app import TopApp, run_with
from tests.armbroker.board.documents import seen, told
from tests.links import PATIENCE_S


@pytest.fixture
def board() -> Board:
    board = Board()
    watched: list[Watched] = [*told("r1"), *told("r2"), seen(3)]
    for each in watched:
        board.take(each, 0.0, time.time())
    return board


async def test_a_connection_that_ended_for_good_ends_the_screen(board: Board) -> None:
    app, shown = TopApp(board), asyncio.Event()

    async def feed() -> None:
        await shown.wait()
        raise NoServerError("another client connected as 'screen-1'")

    app.call_later(shown.set)
    with pytest.raises(NoServerError, match="screen-1"):
        await asyncio.wait_for(run_with(app, asyncio.create_task(feed()), headless=True), PATIENCE_S)


async def test_the_end_of_the_screen_ends_the_feed(board: Board) -> None:
    app = TopApp(board)
    feeding = asyncio.create_task(asyncio.Event().wait())
    app.call_later(app.exit)
    await asyncio.wait_for(run_with(app, feeding, headless=True), 30)  # type: ignore[arg-type] # it gives nothing either
    assert feeding.cancelled()


async def test_keys(board: Board) -> None:
    app = TopApp(board)
    async with app.run_test(size=(160, 50)) as pilot:
        await pilot.press("down", "enter")
        assert app.query_one("#side").has_class("shown")
        await pilot.press("e")
        assert app.query_one("#events").has_class("hidden")
        await pilot.press("slash", "r", "1", "enter", "s", "S", "v", "v", "m", "u")
        await pilot.press("escape", "escape")
        assert not app.query_one("#side").has_class("shown")
        await pilot.press("home", "end", "pageup", "pagedown", "up")


async def test_an_arm_that_goes_while_it_is_shown(board: Board) -> None:
    app = TopApp(board)
    async with app.run_test(size=(160, 50)) as pilot:
        await pilot.press("enter")
        board.arms.clear()
        app.note([])
        await pilot.pause(0.3)
        await pilot.press("m", "v", "enter", "down")
