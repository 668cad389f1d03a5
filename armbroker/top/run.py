"""The whole of `armbroker top`: a client, a board, and the screen."""

import asyncio
import signal
import sys
from collections.abc import Callable

from armbroker.board.board import Board
from armbroker.board.feed import Feed
from armbroker.client import ArmClient
from armbroker.top.app import TopApp, run_with


async def show(make_client: Callable[[], ArmClient]) -> None:
    """Show the fleet until somebody ends it, or SIGTERM does.

    Raises:
        NoServerError: no MQTT server, or its connection ended for good.
        ValueError: there is no terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ValueError("armbroker top needs a terminal; `armbroker watch` writes lines")
    board = Board()
    async with make_client() as client:
        app = TopApp(board)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, app.exit)
        await run_with(app, asyncio.create_task(Feed(client, board, app.note).run()))
