"""Services on a real Mosquitto and clients of them; each test gets an arm that nobody used before."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from itertools import count
from typing import Any

import pytest

from tests.journey.client import Client
from tests.journey.running import RunningService, settings_of
from tests.mosquitto import Mosquitto

ARMS = 320
GRANTED = "granted"
"""The only arm that user bob may change."""

_numbers = count()
ClientMaker = Callable[..., Any]


@pytest.fixture(scope="session")
def service(mosquitto: Mosquitto, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """The service that most tests share."""
    arms = [GRANTED, *(f"arm-{number:04d}" for number in range(ARMS))]
    clients = {"bob": {"arms": [GRANTED]}, "dora": {"clock": "none"}}
    data = tmp_path_factory.mktemp("journey")
    running = RunningService(settings_of(mosquitto.url, "journey", data, arms, clients=clients)).start()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def arms(service: RunningService) -> Iterator[str]:
    """The arms of the shared service, one after the other."""
    return iter([arm.id for arm in service.settings.arm if arm.id != GRANTED])


@pytest.fixture
def arm(arms: Iterator[str]) -> str:
    """An arm of the shared service that nobody used: at revision 1, without events, all values at their defaults."""
    return next(arms)


@pytest.fixture
async def connect(service: RunningService) -> AsyncIterator[ClientMaker]:
    """A function that connects a client of the shared service (or of `to`), under a client id of its own."""
    async with AsyncExitStack() as stack:

        async def make(
            *filters: str, user: str = "alice", conn: str = "", to: RunningService | None = None, **options: Any
        ) -> Client:
            target = to or service
            name = conn or f"{user}-{next(_numbers)}"
            client = Client(target.port, target.root, user, name, **options)
            await stack.enter_async_context(client)
            await client.subscribe(*filters)
            return client

        yield make


@pytest.fixture
def start_service(mosquitto: Mosquitto, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """A function that starts a service of the test's own for the named arms; `more` as `settings_of`."""
    started: list[RunningService] = []

    def start(*arms: str, clock: Any = None, root: str = "", **more: Any) -> RunningService:
        data = tmp_path_factory.mktemp("own")
        settings = settings_of(mosquitto.url, root or f"own{next(_numbers)}", data, list(arms), **more)
        started.append(RunningService(settings, clock))
        return started[-1].start()

    yield start
    for running in started:
        running.stop()


@pytest.fixture(scope="session")
def strict_service(mosquitto: Mosquitto, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service with `checks.strict`."""
    data = tmp_path_factory.mktemp("strict")
    arms = [f"strict-{number:03d}" for number in range(50)]
    running = RunningService(settings_of(mosquitto.url, "strict", data, arms, checks={"strict": True})).start()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def strict_arms(strict_service: RunningService) -> Iterator[str]:
    """The arms of the strict service, one after the other."""
    return iter([arm.id for arm in strict_service.settings.arm])


@pytest.fixture
def strict_arm(strict_arms: Iterator[str]) -> str:
    """An arm of the strict service that nobody used."""
    return next(strict_arms)
