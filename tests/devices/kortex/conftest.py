"""Workers and fake arms are real processes: their tests run in real time."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from devices.conformance.rig import Heard
from devices.kortex import KortexArm, KortexFleet
from tests.devices.kortex.plant import ArmProcess


def pytest_asyncio_loop_factories() -> dict[str, type[asyncio.SelectorEventLoop]]:
    """All tests here run in real time."""
    return {"real": asyncio.SelectorEventLoop}


@pytest.fixture
def start_arm(tmp_path: Path) -> Iterator[Callable[[str], ArmProcess]]:
    """A function that starts a fake arm in a folder of its own."""
    started: list[ArmProcess] = []

    def start(name: str = "arm", model: str = "gen3_7dof") -> ArmProcess:
        started.append(ArmProcess(tmp_path / name, model).start())
        return started[-1]

    yield start
    for process in started:
        process.kill()


@pytest.fixture
def process(start_arm: Callable[[], ArmProcess]) -> ArmProcess:
    """A fake arm."""
    return start_arm()


@pytest.fixture
def heard() -> Heard:
    """What `arm` told."""
    return Heard()


MakeArm = Callable[..., KortexArm]


@pytest.fixture
async def make_arm(process: ArmProcess, tmp_path: Path) -> AsyncIterator[MakeArm]:
    """A function that makes an adapter of the fake arm (or of `of`) with options."""
    made: list[KortexArm] = []

    def make(name: str = "r12", model: str = "gen3_7dof", of: ArmProcess = process, **options: Any) -> KortexArm:
        fleet = KortexFleet(tmp_path)
        made.append(fleet.arm(name, model, of.options(tmp_path / f"{name}.password") | options))
        return made[-1]

    yield make
    for arm in made:
        await arm.close()


@pytest.fixture
async def arm(make_arm: MakeArm, heard: Heard) -> KortexArm:
    """An adapter of the fake arm, connected."""
    arm = make_arm()
    arm.watch(heard)
    await arm.connect()
    return arm
