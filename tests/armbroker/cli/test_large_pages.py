"""Large pages of memory: who asks for them, when, and that the service has them."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from armbroker.cli.large_pages import (
    ASIDE,
    ASKS,
    NAME,
    VARIABLE,
    NoValueError,
    ask,
    command_of,
    environment_of,
    offered,
)
from broker.settings.environment import PROCESS, strays

SERVE = """
import asyncio, os, pathlib, sys
from armbroker.__main__ import main

def serve(serving):
    serving.close()
    begun_with = pathlib.Path("/proc/self/environ").read_bytes().split(bytes(1))
    asked = any(each.startswith(b"GLIBC_TUNABLES=glibc.malloc.hugetlb=1") for each in begun_with)  # what follows is cut
    print("asked", b"PYTHONMALLOC=malloc" in begun_with, asked)
    print("left", sorted({"PYTHONMALLOC", "GLIBC_TUNABLES", "ARMBROKER_LARGE_PAGES"} & set(os.environ)))
    kept = bytearray(32 << 20), [bytes(200) for _ in range(100_000)]
    rollup = pathlib.Path("/proc/self/smaps_rollup").read_text().splitlines()
    print("large", next(int(line.split()[1]) for line in rollup if line.startswith("AnonHugePages")) > 8192)
    return len(kept) - 2

asyncio.run = serve
sys.argv = "armbroker run --mqtt mqtt://127.0.0.1".split()
main()
"""
NAMED = 'serving.close(); print("named", pathlib.Path("/proc/self/comm").read_bytes())'


CHILD = 'serving.close(); os.execv("/usr/bin/env", ["env"])'


def kernel(folder: Path, enabled: str = "always [madvise] never", size: int = 2 * 2**20) -> Path:
    """What a kernel tells of its large pages."""
    (folder / "enabled").write_text(f"{enabled}\n")
    (folder / "hpage_pmd_size").write_text(f"{size}\n")
    return folder


def served(*flags: str, **variables: str) -> list[str]:
    """What a service tells of its memory that was started with these flags of Python and variables."""
    clean = {name: value for name, value in os.environ.items() if name not in (*ASKS, VARIABLE)}
    command = [sys.executable, *flags, "-c", SERVE]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=clean | variables)
    return done.stdout.splitlines()


def test_a_service_begins_with_large_pages_where_the_kernel_has_them() -> None:
    there = offered()
    asked, left, large = served()
    assert (asked, left) == (f"asked {there} {there}", "left []")
    assert large == "large True" or not there


@pytest.mark.parametrize(
    ("variables", "left"),
    [({VARIABLE: "false"}, []), ({"GLIBC_TUNABLES": "glibc.malloc.arena_max=2"}, ["GLIBC_TUNABLES"])],
)
def test_it_does_not_where_somebody_does_not_want_them_or_has_asked_for_something_else(
    variables: Mapping[str, str], left: list[str]
) -> None:
    assert served(**variables)[:2] == ["asked False False", f"left {left}"]


def test_an_isolated_interpreter_stays_one_and_hears_of_them_all_the_same() -> None:
    told = served("-I", PYTHONHASHSEED="no number, and passed over")
    assert told[0] == f"asked {offered()} {offered()}"


def test_one_that_hears_of_no_variables_goes_on_as_it_is() -> None:
    assert served("-E")[0] == "asked False False"


def test_its_variable_is_one_that_the_settings_know_of() -> None:
    assert VARIABLE in PROCESS
    assert strays({VARIABLE: "false"}) == []


def test_another_value_is_refused_by_name() -> None:
    command = [sys.executable, "-m", "armbroker", "run", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {VARIABLE: "often"})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"armbroker run: {VARIABLE} is 'often': only true and false are allowed\n"
    with pytest.raises(NoValueError, match="only true and false"):
        ask({VARIABLE: ""})


def test_what_asks_is_not_for_what_the_service_starts() -> None:
    environment = {
        **ASKS,
        VARIABLE: f"begun as {NAME.read_text().strip()}",
        "HOME": "/h",
        f"{ASIDE}PYTHONPATH": "/opt/ros",
    }
    ask(environment)
    assert environment == {"HOME": "/h", "PYTHONPATH": "/opt/ros"}


def test_an_isolated_interpreter_hands_on_what_it_passes_over_itself() -> None:
    variables = {"PYTHONPATH": "/opt/ros", "PYTHONUNBUFFERED": "1", "LC_ALL": "C.UTF-8"}
    command = [sys.executable, "-I", "-c", SERVE.replace("serving.close()", CHILD)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"HOME": "/h", **variables})
    assert dict(line.split("=") for line in done.stdout.splitlines()) == {"HOME": "/h", **variables}


@pytest.mark.parametrize(("called", "known"), [("armbroker", b"armbroker\n"), ("armbroker-" + 3 * "ü", None)])
def test_the_process_keeps_its_name(tmp_path: Path, called: str, known: bytes | None) -> None:
    script = tmp_path / called
    script.write_text(f"#!{sys.executable}\n{SERVE.replace('serving.close()', NAMED)}")
    script.chmod(0o755)
    done = subprocess.run([script], capture_output=True, text=True, check=True)
    cut = known or called.encode()[:15] + b"\n"
    assert done.stdout.splitlines()[0] == f"named {cut!r}"


def test_a_program_that_came_by_a_pipe_goes_on_as_it_is() -> None:
    done = subprocess.run([sys.executable, "-"], input=SERVE, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "asked False False"


def test_a_kernel_tells_whether_it_has_them(tmp_path: Path) -> None:
    library = offered(kernel(tmp_path))
    assert offered(kernel(tmp_path, "[always] madvise never")) is library
    assert not offered(kernel(tmp_path, "always madvise [never]"))


def test_pages_of_another_size_are_not_taken(tmp_path: Path) -> None:
    assert not offered(kernel(tmp_path, size=512 * 2**20))


def test_a_kernel_that_tells_nothing_has_none(tmp_path: Path) -> None:
    assert not offered(tmp_path)
    assert not offered(kernel(tmp_path, size=-1))


def test_it_begins_as_it_was_called() -> None:
    assert command_of(["python3", "-W", "error", "/usr/bin/armbroker", "run"]) == [
        "-W",
        "error",
        "/usr/bin/armbroker",
        "run",
    ]
    assert command_of(["python3", "-I", "/usr/bin/armbroker", "run"]) == ["-s", "-P", "/usr/bin/armbroker", "run"]


def test_its_environment_is_the_one_it_had() -> None:
    before = {"HOME": "/h", "PYTHONUTF8": "1"}
    assert environment_of(before) == {**before, **ASKS, VARIABLE: f"begun as {NAME.read_text().strip()}"}
