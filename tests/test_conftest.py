"""How pytest shares out tests, and what it says of them: it is run once, on files of its own."""

import os
import re
import subprocess
import sys
from typing import NamedTuple

import pytest

from tests.conftest import FAILURES
from tests.mosquitto import ROOT
from tests.sharing import TOGETHER

COSTLY, OTHER = min(TOGETHER), "tests/test_other.py"
_WHY = " ".join(f"reason {number}" for number in range(40))
_FILES = {
    COSTLY: "import pytest\n@pytest.mark.parametrize('number', range(9))\ndef test_it(number):\n    pass\n",
    OTHER: f"def test_it():\n    pass\ndef test_fails():\n    raise ValueError({_WHY!r})\n"
    "def test_has_no_fixture(nothing):\n    pass\n"
    "def test_passes_later(tries=[]):\n    tries.append(1)\n    assert len(tries) == 2, 'too early'\n",
    "conftest.py": """\
import logging, sys, threading, time
import pytest
LINE = "said by a service" + chr(10)

def pytest_unconfigure(config):
    if hasattr(config, "workerinput"):
        logging.getLogger("asyncio").error("said by a library")

@pytest.fixture(scope="session", autouse=True)
def service():
    over = threading.Event()
    def log():
        while not over.wait(0.001):
            sys.stderr.write(LINE)
    thread = threading.Thread(target=log)
    thread.start()
    yield
    over.set()
    thread.join()
""",
}


class Run(NamedTuple):
    """What a run printed, and what it left in the file of failures."""

    said: str
    failures: str

    def where(self, file: str) -> set[str]:
        """The processes that ran the tests of a file."""
        return {*re.findall(rf"^\[(gw\d)\].* (?:PASSED|FAILED|ERROR) {re.escape(file)}::", self.said, re.MULTILINE)}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two processes, with the conftest of these tests."""
    folder = tmp_path_factory.mktemp("run")
    for name, text in _FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-v",
        "-n",
        "2",
        "--dist",
        "loadgroup",
        "--reruns",
        "1",
        "-p",
        "tests.conftest",
    ]
    done = subprocess.run(
        [*command, "--import-mode=importlib", "--show-capture=no", f"--rootdir={folder}", "tests"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), FAILURES: str(folder / "failures")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Run(done.stdout, (folder / "failures").read_text())


def test_what_is_costly_to_make_is_made_once(run: Run) -> None:
    assert [file for file in TOGETHER if not (ROOT / file).exists()] == []
    assert len(run.where(COSTLY)) == 1
    assert len(run.where(COSTLY) | run.where(OTHER)) == 2


def test_what_failed_is_told_with_the_whole_reason(run: Run) -> None:
    assert f"FAILED {OTHER}::test_fails - ValueError: {_WHY}\n" in run.failures
    assert f"ERROR {OTHER}::test_has_no_fixture - " in run.failures
    assert "fixture 'nothing' not found" in run.failures
    assert run.failures.count(f"{OTHER}::") == 2


def test_what_passed_at_its_second_try_is_told_last(run: Run) -> None:
    last = run.said.splitlines()[-12:]
    assert any(line.startswith(f"RERUN {OTHER}::test_passes_later - AssertionError: too early") for line in last)
    assert "11 passed" in last[-1]
    assert "test_passes_later" not in run.failures


def test_what_is_logged_between_two_tests_and_after_them_is_not_printed(run: Run) -> None:
    assert "11 passed" in run.said
    assert "said by a" not in run.said
