"""Arms of the ROS 2 adapter on real nodes, in real time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from devices.adapter import ArmChange, ArmTimeoutError, Command, FleetContext, LinkState, Notice, Setting
from devices.ros2 import Ros2Arm
from devices.ros2.adapter import SLOT
from schema.arms import Verb
from schema.joint_items import JointParameterMap
from tests.links import PATIENCE_S
from tests.ros_nodes import DOMAIN, NODE, NodeProcess, ros_python, start_node


def pytest_asyncio_loop_factories() -> dict[str, type[asyncio.SelectorEventLoop]]:
    """All tests here run in real time."""
    return {"real": asyncio.SelectorEventLoop}


class Watched:
    """An arm, and what it told."""

    def __init__(self, directory: Path, **options: Setting) -> None:
        fleet = Ros2Arm.open_fleet(FleetContext(directory))
        known: dict[str, Setting] = {"node": NODE, "python": ros_python(), "domain": DOMAIN}
        self.arm = fleet.arm("r12", "", known | options)
        self.notices: list[Notice] = []
        self._news = asyncio.Event()
        self.arm.watch(self._hear)
        self.cmd_seq = 0

    def _hear(self, notice: Notice) -> None:
        self.notices.append(notice)
        self._news.set()

    @property
    def changes(self) -> list[bool]:
        """Whether each change that was told was ours."""
        return [notice.ours for notice in self.notices if isinstance(notice, ArmChange)]

    @property
    def link(self) -> tuple[bool, bool]:
        """Online and ready, as they were told last."""
        states = [notice for notice in self.notices if isinstance(notice, LinkState)]
        return (states[-1].online, states[-1].ready) if states else (False, False)

    @property
    def why(self) -> str:
        """The reason that was told last."""
        return next(notice.why for notice in reversed(self.notices) if isinstance(notice, LinkState))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds that the arm tells."""
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                self._news.clear()
                await self._news.wait()

    async def connect(self) -> Any:
        """Connect; a first try may come before the node is discovered."""
        async with asyncio.timeout(PATIENCE_S):
            await self.until_online()
            return await self.arm.connect()

    async def try_to_connect(self) -> Any:
        """Connect, again while the worker of a busy machine gives no answer yet."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                with contextlib.suppress(ArmTimeoutError):
                    return await self.arm.connect()

    async def until_online(self) -> None:
        """Wait until the node is there."""
        self.arm._link.open()
        await self.until(lambda: self.link[0])

    async def parameters(self) -> dict[str, bool | float]:
        """What is read."""
        read = await self.arm.read(SLOT)
        assert isinstance(read, JointParameterMap)
        return read.parameters

    async def set(self, given: dict[str, bool | float]) -> None:
        """Set parameters as the service does: all of those that were read, with these in their places."""
        self.cmd_seq += 1
        value = JointParameterMap(await self.parameters() | given)
        await self.arm.write(Command(1, self.cmd_seq, Verb.SET, SLOT, value))


MakeNode = Callable[..., Awaitable[NodeProcess]]


@pytest.fixture
async def make_node(tmp_path: Path) -> AsyncIterator[MakeNode]:
    """A function that starts a node, by its parameters and flags; killed at the end."""
    nodes: list[NodeProcess] = []

    async def make(*args: Any, **more: Any) -> NodeProcess:
        nodes.append(await start_node(tmp_path, *args, **more))
        return nodes[-1]

    yield make
    for node in nodes:
        await node.kill()


@pytest.fixture
async def make_arm(tmp_path: Path) -> AsyncIterator[Callable[..., Watched]]:
    """A function that makes an arm, by its options; closed at the end."""
    arms: list[Watched] = []

    def make(**options: Setting) -> Watched:
        arms.append(Watched(tmp_path, **options))
        return arms[-1]

    yield make
    for watched in arms:
        await watched.arm.close()
