"""Device tests run in virtual time, with one arm ready."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.devices.rigs import RIGS, Rig
from tests.devices.virtual_loop import VirtualLoop


def pytest_asyncio_loop_factories() -> dict[str, type[VirtualLoop]]:
    """All tests here run in virtual time."""
    return {"virtual": VirtualLoop}


@pytest.fixture(params=sorted(RIGS))
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    """A rig of each adapter, its arm connected."""
    rig: Rig = RIGS[request.param](tmp_path)
    await rig.arm.connect()
    yield rig
    await rig.close()
