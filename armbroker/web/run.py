"""The whole of `armbroker web`: a client, a board, and the server of the page."""

import asyncio
import signal
from collections.abc import Callable
from typing import NamedTuple

from armbroker.board.board import Board
from armbroker.board.feed import Feed
from armbroker.client import ArmClient
from armbroker.web.answers import Answers
from armbroker.web.http import Hosts
from armbroker.web.server import Bind, PageServer
from armbroker.web.stream import Pace, Viewers


class WebOptions(NamedTuple):
    """Where to listen, by which further names, for how many pages, how fast."""

    bind: Bind
    names: tuple[str, ...] = ()
    pages: int = 50
    pace: Pace = Pace()


async def serve(client: ArmClient, options: WebOptions, ready: Callable[[str], None]) -> None:
    """Serve the page until SIGTERM or SIGINT; `ready` gets its address once it can be opened.

    Raises:
        NoServerError: no MQTT server, or its connection ended for good.
        OSError: the address cannot be had.
    """
    stop, loop, board = asyncio.Event(), asyncio.get_running_loop(), Board()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with client:
        viewers = Viewers(board, options.pages, options.pace)
        feed = Feed(client, board, viewers.tell)
        pages = PageServer(Answers(board, feed), viewers, Hosts([options.bind.host, *options.names]))
        server = await pages.listen(options.bind)
        ready(_address(server))
        feeding, stopping = asyncio.create_task(feed.run()), asyncio.create_task(stop.wait())
        try:
            await asyncio.wait([feeding, stopping], return_when=asyncio.FIRST_COMPLETED)
            if feeding.done():
                feeding.result()
        finally:
            server.close()
            for task in (feeding, stopping):
                task.cancel()
            await asyncio.wait([feeding, stopping])


def _address(server: asyncio.Server) -> str:
    host, port = server.sockets[0].getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
