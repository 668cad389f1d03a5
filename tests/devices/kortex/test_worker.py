"""The worker by itself: what it may contain, and how it answers."""

import ast
import concurrent.futures
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from devices.kinova_methods import CONTROL_CONFIG_METHODS
from devices.kortex import worker
from schema.items import ITEMS, methods_by_verb
from tests.devices.kortex.plant import environment

SOURCE = Path(worker.__file__)


def test_it_calls_the_methods_of_the_service_and_no_other() -> None:
    assert worker.METHODS.keys() == CONTROL_CONFIG_METHODS


def test_its_own_table_says_what_the_table_of_items_says() -> None:
    mode = "ControlConfig_pb2.ControlModeInformation"
    gets = dict.fromkeys(methods_by_verb("Get").values(), "")
    sets = {method: f"ControlConfig_pb2.{ITEMS[key].record.__name__}" for key, method in methods_by_verb("Set").items()}
    resets = {method: mode if ITEMS[key].modes else "" for key, method in methods_by_verb("Reset").items()}
    assert {**worker.METHODS, **gets, **sets, **resets} == worker.METHODS


def test_it_is_one_file_of_the_standard_library_in_the_syntax_of_python_3_8() -> None:
    tree = ast.parse(SOURCE.read_text(), feature_version=(3, 8))
    names = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_it_can_say_whether_the_client_loads() -> None:
    ran = subprocess.run([environment(), "-I", SOURCE, "check"], capture_output=True, text=True, check=True)
    assert ran.stdout == "loaded\n"
    ran = subprocess.run([sys.executable, "-I", SOURCE, "check"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "kortex_api" in ran.stderr


def test_a_router_gets_tables_of_its_own() -> None:
    class Router:
        table: dict[int, str] = {1: "before"}  # noqa: RUF012 - what is wrong with the vendor's
        name = "text"

    first, second = Router(), Router()
    worker.separate(first)
    worker.separate(second)
    first.table[2] = "mine"
    assert (second.table, Router.table) == ({1: "before"}, {1: "before"})


class KServerException(Exception):  # noqa: N818 - the vendor's name
    def get_error_code(self) -> int:
        return 3

    def get_error_sub_code(self) -> int:
        return 57


class KClientException(Exception):  # noqa: N818 - likewise
    pass


@pytest.mark.parametrize(
    ("error", "opening", "kind"),
    [
        (worker.WorkerError("no session"), False, "away"),
        (KServerException("refused"), False, "refused"),
        (KServerException("refused"), True, "refused"),
        (KClientException("couldn't send"), False, "timeout"),
        (concurrent.futures.TimeoutError(), False, "timeout"),
        (TimeoutError(), False, "timeout"),
        (BrokenPipeError(), False, "timeout"),
        (ConnectionRefusedError(), True, "away"),
        (ValueError("no message"), False, "unreadable"),
        (KeyError("x"), False, "unreadable"),
    ],
)
def test_an_error_is_answered_by_what_is_known_of_the_outcome(error: Exception, opening: bool, kind: str) -> None:
    answer = worker.failure(error, opening=opening)
    assert answer["kind"] == kind
    assert answer["text"]
    if kind == "refused":
        assert (answer["code"], answer["sub"], answer["name"]) == (3, 57, "")


def test_our_end_of_a_connection_is_known_where_the_transport_has_a_socket() -> None:
    class Transport:
        def __init__(self, **parts: Any) -> None:
            vars(self).update(parts)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert worker.address(Transport(sock=listener)) == f"127.0.0.1:{listener.getsockname()[1]}"
    assert worker.address(Transport(other=1)) == ""


def test_a_password_that_cannot_be_had_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_PASSWORD", raising=False)
    with pytest.raises(worker.WorkerError, match="password_env is not set"):
        worker.secret({"password_env": "NO_SUCH_PASSWORD"})
    with pytest.raises(worker.WorkerError, match="password_file cannot be read"):
        worker.secret({"password_file": str(tmp_path / "none")})
    (tmp_path / "password").write_bytes(b"with space \r\nsecond line\n")
    assert worker.secret({"password_file": str(tmp_path / "password")}) == "with space "
    assert os.environ.get("NO_SUCH_PASSWORD") is None
