"""Fixtures that every test may use, and how tests are begun, shared out and told of."""

import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.remote import Producer

from tests import moves, npm
from tests.mosquitto import OPEN_CONFIG, Mosquitto, make_plant
from tests.sharing import FilesTogether
from tests.vectors_place import VECTORS

signal.signal(
    signal.SIGINT, signal.default_int_handler
)  # ignored in a shell's background, there by what tests start, too
settings.register_profile("armbroker", deadline=None)  # a busy machine is no failure of an example
settings.load_profile("armbroker")

FAILURES = "FAILURES_FILE"
SHOWN = 1_500
"""So many characters of why a test failed are told in the end."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What thousands of tests consist of stays to the end: no collection of garbage need look at it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long: of several processes none is left alone with it in the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FilesTogether | None:
    """Share tests out as `FilesTogether` does, where groups of them are asked for."""
    return FilesTogether(config, log) if config.getoption("dist") == "loadgroup" else None


def _is_one_of_several(config: pytest.Config) -> bool:
    """Whether this process runs some of the tests for another one."""
    return hasattr(config, "workerinput")


def pytest_configure(config: pytest.Config) -> None:
    """In a process of several keep out of the terminal what is logged between two parts of tests, and after them.

    Services log on threads of their own, libraries in the end, where they have no handler any longer. Within a test
    another standard error is in place, and catches it.
    """
    if _is_one_of_several(config):
        terminal, honest = sys.stderr, sys.stderr.write

        def write(text: str) -> int:
            return honest(text) if threading.current_thread() is threading.main_thread() else len(text)

        setattr(terminal, "write", write)  # noqa: B010 - one stream, not its class
        logging.lastResort = logging.NullHandler()


def _why(report: pytest.TestReport) -> str:
    """Why a test failed, shortened."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash is not None else report.longrepr)[:SHOWN]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """Print what tests recorded under "told": figures that are worth reading where they pass, too.

    What failed is added to the file that `FAILURES_FILE` names; what passed at its second try only is told at the very
    end, with the reason of the first.
    """
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, text in report.user_properties:
                if name == "told" and report.when == "call":
                    terminalreporter.write_line(str(text))
    path = os.environ.get(FAILURES)
    if path and not _is_one_of_several(terminalreporter.config):
        with Path(path).open("a", encoding="utf-8") as file:
            for outcome in ("failed", "error"):
                for report in terminalreporter.getreports(outcome):
                    file.write(f"{outcome.upper()} {report.nodeid} - {_why(report)}\n")
    yield
    for report in terminalreporter.getreports("rerun"):
        terminalreporter.write_line(f"RERUN {report.nodeid} - {_why(report)}")


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
def node_modules(pytestconfig: pytest.Config) -> Callable[[str], Path]:
    """A function that tells the `node_modules` with a package of npm, `name@version`."""
    if pytestconfig.cache is None:
        raise RuntimeError("packages of npm are kept in the cache of pytest")
    return partial(npm.fetched, pytestconfig.cache.mkdir("npm"))


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
