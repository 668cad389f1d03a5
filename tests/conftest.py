"""Fixtures that every test may use."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import moves
from tests.mosquitto import OPEN_CONFIG, Mosquitto, make_plant
from tests.vectors_place import VECTORS

settings.register_profile("armbroker", deadline=None)  # a busy machine is no failure of an example
settings.load_profile("armbroker")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long: of several processes none is left alone with it in the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests recorded under "told": figures that are worth reading where they pass, too."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, text in report.user_properties:
                if name == "told" and report.when == "call":
                    terminalreporter.write_line(str(text))


WATCHED = moves.watch()


@pytest.fixture(autouse=True)
def watched_moves() -> Iterator[moves.Watched]:
    """What changes do in this process: none makes a move that there is not, also where an error is caught."""
    WATCHED.made.clear()
    yield WATCHED
    illegal, WATCHED.illegal = WATCHED.illegal, []
    assert illegal == []


@pytest.fixture(scope="session")
def vectors_dir() -> Path:
    """The folder of ground-truth vectors."""
    return VECTORS


@pytest.fixture(scope="session")
def mosquitto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    """A running Mosquitto that lets everybody do everything, shared by all tests: take topics of your own."""
    server = Mosquitto(tmp_path_factory.mktemp("mosquitto")).start()
    yield server
    server.stop()


@pytest.fixture
def start_mosquitto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Mosquitto]]:
    """A function that starts a Mosquitto of the test's own with a configuration (`""`: the open one)."""
    servers: list[Mosquitto] = []

    def start(config: str = "") -> Mosquitto:
        servers.append(Mosquitto(tmp_path_factory.mktemp("mosquitto"), config or OPEN_CONFIG))
        return servers[-1].start()

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def plant(tmp_path: Path) -> Iterator[Mosquitto]:
    """A running Mosquitto with the shipped configuration and ACL; its users stand in `passwords`."""
    server = make_plant(tmp_path).start()
    yield server
    server.stop()
