"""One simulated arm, connected."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.devices.simulated.bench import Bench


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Bench]:
    """A `gen3_7dof` with the usual latency."""
    bench = Bench(tmp_path)
    await bench.connect()
    yield bench
    await bench.close()
