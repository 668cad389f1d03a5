"""Workers are real processes: their tests run in real time."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from devices.worker import Program, WorkerLink
from devices.worker.frames import Document
from tests.links import PATIENCE_S

CHILD = Path(__file__).with_name("child.py")
PROGRAM = Program((sys.executable, "-I", str(CHILD)))


def pytest_asyncio_loop_factories() -> dict[str, type[asyncio.SelectorEventLoop]]:
    """All tests here run in real time."""
    return {"real": asyncio.SelectorEventLoop}


class Seen:
    """What a link told."""

    def __init__(self) -> None:
        self.notices: list[Document] = []
        self.comings = 0
        self.losses: list[str] = []
        self._news = asyncio.Event()

    def notice(self, document: Document) -> None:
        self.notices.append(document)
        self._news.set()

    def came(self) -> None:
        self.comings += 1
        self._news.set()

    def lost(self, why: str) -> None:
        self.losses.append(why)
        self._news.set()

    async def until(self, wanted: Callable[[], bool]) -> None:
        """Wait until something holds that the link tells."""
        async with asyncio.timeout(PATIENCE_S):
            while not wanted():
                self._news.clear()
                await self._news.wait()


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
async def make_link(seen: Seen) -> AsyncIterator[Callable[..., WorkerLink]]:
    """A function that opens a link to a program; closed at the end."""
    links: list[WorkerLink] = []

    def make(program: Program = PROGRAM) -> WorkerLink:
        links.append(WorkerLink("r12", program, notice=seen.notice, came=seen.came, lost=seen.lost))
        links[-1].open()
        return links[-1]

    yield make
    for link in links:
        await link.close()


@pytest.fixture
async def link(make_link: Callable[..., WorkerLink]) -> Any:
    """A link to the child, up."""
    link = make_link()
    await link.wait_up(20)
    return link
