"""What no linter checks: sizes, and who may speak to the store, the MQTT libraries, the environment and topics."""

import ast
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("armbroker", "broker", "handlers", "devices", "limits", "schema")
GENERATED = ("_pb2.py",)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
FILE_LINES, FUNCTION_LINES, PUBLIC_METHODS = 400, 40, 15
LARGE: dict[str, str] = {
    "devices/kortex/worker.py": "one file: it runs where nothing of ours is installed",
}
"""Files, functions and classes that may be larger, each with the reason."""
MQTT_LIBRARIES = {
    "mqttium": ("broker/link/mqttium_",),
    "aiomqtt": ("armbroker/agent/", "armbroker/client/"),
    "paho": ("armbroker/client/",),
}
"""Who may import an MQTT client library: the links, and the client that users get."""
TOPIC_PARTS = ("/v1", "/req/", "/res/", "/ntf/", "/evt/", "/state/", "/meta/", "/svc/", "/dev/")


class Source(NamedTuple):
    """One file that somebody wrote."""

    path: str
    text: str
    tree: ast.Module


def read_sources(*folders: str) -> tuple[Source, ...]:
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    texts = {path.relative_to(ROOT).as_posix(): path.read_text() for path in paths if not path.name.endswith(GENERATED)}
    return tuple(Source(path, text, ast.parse(text)) for path, text in texts.items())


@pytest.fixture(scope="module")
def sources() -> tuple[Source, ...]:
    """All files of the packages."""
    return read_sources(*PACKAGES)


def imported(source: Source) -> Iterator[str]:
    """The first name of every module that a file imports."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module.partition(".")[0]


def texts(source: Source) -> Iterator[str]:
    """Every text of a file, the fixed parts of f-strings included; docstrings are left out."""
    lone = {
        id(statement.value)
        for node in ast.walk(source.tree)
        if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS))
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in lone:
            yield node.value


def test_our_package_names_belong_to_nobody_else() -> None:
    owners = packages_distributions()
    assert {name: set(owners.get(name, [])) - {"armbroker"} for name in PACKAGES} == {name: set() for name in PACKAGES}


def sizes(source: Source) -> Iterator[tuple[str, int, int]]:
    """Each file, function and class: its name, its size and the most it may have."""
    yield source.path, len(source.text.splitlines()), FILE_LINES
    for node in ast.walk(source.tree):
        if isinstance(node, FUNCTIONS):
            yield f"{source.path}: {node.name}", (node.end_lineno or 0) - node.lineno + 1, FUNCTION_LINES
        elif isinstance(node, ast.ClassDef):
            public = [part for part in node.body if isinstance(part, FUNCTIONS) and not part.name.startswith("_")]
            yield f"{source.path}: {node.name}", len(public), PUBLIC_METHODS


def test_files_functions_and_classes_stay_small(sources: tuple[Source, ...]) -> None:
    everything = (*sources, *read_sources("scripts", "bench"))
    large = {name: size for source in everything for name, size, most in sizes(source) if size > most}
    assert large.keys() == LARGE.keys(), large


def test_only_the_store_imports_a_database(sources: tuple[Source, ...]) -> None:
    users = [source.path for source in sources if "sqlite3" in imported(source)]
    assert users
    assert [path for path in users if not path.startswith("broker/store/")] == []


@pytest.mark.parametrize("library", MQTT_LIBRARIES)
def test_an_mqtt_library_is_imported_by_one_client_only(library: str, sources: tuple[Source, ...]) -> None:
    users = [source.path for source in sources if library in imported(source)]
    assert users
    assert [path for path in users if not path.startswith(MQTT_LIBRARIES[library])] == []


ENVIRONMENT = {
    "armbroker/cli/large_pages.py": "begins the process of the service again with another one",
    "armbroker/cli/profiles.py": "reads it, for people's tools",
    "broker/settings/journal.py": "systemd tells by it which stream its journal reads",
    "broker/settings/load.py": "reads it",
    "broker/settings/supervision.py": "systemd tells by it where it listens; nobody else may speak for the service",
    "devices/kortex/worker.py": "a process of its own",
    "devices/ros2/worker.py": "a process of its own; ROS is told by it who may be discovered",
    "devices/ros2/arm_node.py": "a process of its own; ROS is told by it who may be discovered",
}
"""Who may touch the environment, each with the reason."""


def test_only_the_settings_read_the_environment(sources: tuple[Source, ...]) -> None:
    readers = {
        source.path
        for source in sources
        for node in ast.walk(source.tree)
        if (isinstance(node, ast.Attribute) and node.attr in {"environ", "environb", "getenv"})
        or (isinstance(node, ast.ImportFrom) and node.module == "os")
    }
    assert readers == ENVIRONMENT.keys()


def test_only_topics_formats_topics(sources: tuple[Source, ...]) -> None:
    formatting = {
        (source.path, text)
        for source in sources
        if source.path.startswith(("armbroker/", "broker/")) and source.path != "broker/topics.py"
        for text in texts(source)
        if any(part in f"/{text}" for part in TOPIC_PARTS)
    }
    assert formatting == set()


def test_whatever_waits_lives_in_the_broker_and_the_devices(sources: tuple[Source, ...]) -> None:
    waiting = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    places = {
        source.path.partition("/")[0]
        for source in sources
        if any(isinstance(node, waiting) for node in ast.walk(source.tree)) or "asyncio" in imported(source)
    }
    assert places == {"armbroker", "broker", "devices"}


def test_decisions_are_numbered_once_and_in_order() -> None:
    pages = sorted((ROOT / "docs/decisions").glob("*.md"))
    assert [page.name[:4] for page in pages] == [f"{number:04d}" for number in range(1, len(pages) + 1)]
    assert all(page.read_text().startswith(f"# {int(page.name[:4])}. ") for page in pages)
