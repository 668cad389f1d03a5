import asyncio
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from armbroker.cli.exits import Exit
from armbroker.demo.play import _unless, run
from armbroker.demo.processes import DemoError, child
from armbroker.demo.server import Plan, iotcore_plan, plan
from armbroker.demo.stage import Stage, expect
from armbroker.demo.story import STORY, Step

pytestmark = pytest.mark.long

DEMO = [sys.executable, "-m", "armbroker", "demo"]
IOTCORE_SCRIPT = """
import sys
from armbroker.demo.play import run
from armbroker.demo.server import iotcore_plan
sys.exit(run(once=True, chosen=iotcore_plan()))
"""
IOTCORE = [sys.executable, "-c", IOTCORE_SCRIPT]


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files of the demo come to lie."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


def processes_of(folder: Path) -> list[str]:
    """Command lines of the processes that were started with a file in `folder`."""
    lines = [path.read_bytes().replace(b"\0", b" ").decode() for path in Path("/proc").glob("[0-9]*/cmdline")]
    return [line for line in lines if str(folder) in line]


def assert_nothing_is_left(folder: Path) -> None:
    assert list(folder.iterdir()) == []
    assert processes_of(folder) == []


@pytest.mark.parametrize("command", [DEMO, [*DEMO, "--once"], IOTCORE], ids=["no-terminal", "once", "iotcore"])
def test_the_script_gives_what_it_tells(command: list[str], scratch: Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == Exit.OK, done.stdout + done.stderr
    assert f"{len(STORY)} of {len(STORY)} steps gave what they should." in done.stdout
    for number, step in enumerate(STORY, 1):
        assert f"\n{number}. {step.title}\n" in done.stdout
    assert "\x1b" not in done.stdout
    assert done.stderr == ""
    assert_nothing_is_left(scratch)


def test_a_step_that_fails_is_told(scratch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def fails(stage: Stage) -> None:
        reply = await stage.send("left", "NoSuchMethod")
        expect("ok", reply["ok"], wanted=True)

    async def works(stage: Stage) -> None:
        expect("stage", (await stage.send("left", "GetControlMode"))["stage"], "read")

    code = run(once=True, steps=(Step("It fails.", fails), Step("It works.", works)))
    assert code == Exit.REFUSED
    out = capsys.readouterr().out
    assert "!! ok: True was expected, it is False" in out
    assert "1 of 2 steps gave what they should." in out
    assert_nothing_is_left(scratch)


def test_on_a_terminal_it_stays_until_ctrl_c(scratch: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(DEMO, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    shown = b""
    while b"Ctrl-C ends.\x1b[0m\r\n" not in shown.partition(b"steps gave")[2]:
        shown += os.read(ours, 65_536)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == Exit.OK
    os.close(ours)
    assert_nothing_is_left(scratch)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_script_leaves_nothing(number: signal.Signals, scratch: Path) -> None:
    with subprocess.Popen(DEMO, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        while not process.stdout.readline().startswith("  -> left"):
            assert process.poll() is None
        process.send_signal(number)
        process.stdout.read()
    assert process.returncode == Exit.INTERRUPTED
    assert_nothing_is_left(scratch)


def test_a_server_that_does_not_start_is_told(scratch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = Plan("broken", ["/bin/sh", "-c", "echo no such listener; exit 3"], "x.conf", "")
    assert run(once=True, chosen=broken) == Exit.REFUSED
    assert "broken ended with exit code 3:\nno such listener" in capsys.readouterr().out
    assert run(once=True, chosen=broken._replace(command=["/nowhere/mosquitto"])) == Exit.REFUSED
    assert "/nowhere/mosquitto" in capsys.readouterr().out
    assert_nothing_is_left(scratch)


async def test_the_end_of_the_service_ends_the_demo(tmp_path: Path) -> None:
    async def for_ever() -> Exit:
        await asyncio.Event().wait()
        return Exit.OK

    async with child("service", ["/bin/sh", "-c", "echo broken; exit 3"], tmp_path) as service:
        with pytest.raises(DemoError, match="service ended with exit code 3:\nbroken"):
            await _unless(asyncio.Event(), service, for_ever())


async def test_a_child_takes_its_children_along(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    async with child("parent", ["/bin/sh", "-c", f"sleep 1000 >{fifo} & wait"], tmp_path) as parent:
        held_by_grandchild = await asyncio.to_thread(fifo.open, "rb")
    assert parent.process.returncode == -signal.SIGTERM
    with held_by_grandchild as end:
        assert await asyncio.to_thread(end.read) == b""


def test_without_any_server_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    assert plan() == iotcore_plan()
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert run(once=True) == Exit.NO_SERVER
    assert "install mosquitto, or `pip install 'armbroker[demo]'`" in capsys.readouterr().out
