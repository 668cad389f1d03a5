"""Real worker processes: how they start and end, and what they leave behind."""

import asyncio
import os
import select
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from structlog.testing import CapturingLogger

from devices.adapter import ArmAwayError
from devices.worker import Program, WorkerLink, stderr
from tests.devices.worker.conftest import CHILD, Seen
from tests.mosquitto import ROOT


def descriptors() -> list[str]:
    """What the descriptors of this process are, by name."""
    names = []
    for place in Path("/proc/self/fd").iterdir():
        try:
            names.append(str(place.readlink()))
        except FileNotFoundError:
            continue
    return sorted(name for name in names if name.startswith(("socket:", "pipe:", "anon_inode:[pidfd")))


def state_of(pid: int) -> str:
    """The letter of a process's state; empty when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


async def test_a_worker_has_a_session_and_one_socket_of_its_own(link: WorkerLink) -> None:
    described = (await link.call("describe", timeout_s=20)).result
    assert described["pid"] == described["sid"] == link.pid
    assert len(described["sockets"]) == 1


async def test_nothing_is_left_of_a_worker(make_link: Callable[[], WorkerLink], seen: Seen) -> None:
    before = descriptors()
    link = make_link()
    pids = []
    for number in range(1, 4):
        await seen.until(lambda number=number: seen.comings == number)  # type: ignore[misc] # a default binds it
        pids.append(link.pid)
        os.kill(link.pid, signal.SIGKILL)
        await seen.until(lambda number=number: len(seen.losses) == number)  # type: ignore[misc] # likewise
    await link.close()
    await asyncio.sleep(0)
    assert descriptors() == before
    assert [state_of(pid) for pid in pids] == ["", "", ""]


async def test_a_stopped_process_is_gone_after_close(link: WorkerLink) -> None:
    pid = link.pid
    os.kill(pid, signal.SIGSTOP)
    await link.close()
    assert state_of(pid) == ""


async def test_a_program_that_is_not_there_is_told_and_tried_again(
    make_link: Callable[[Program], WorkerLink], seen: Seen, tmp_path: Path
) -> None:
    before = descriptors()
    python = tmp_path / "python"
    link = make_link(Program((str(python), "-I", str(CHILD))))
    with pytest.raises(ArmAwayError, match=r"worker of r12 cannot be started: .*No such file"):
        await link.wait_up(0.5)
    assert (seen.comings, descriptors()) == (0, before)
    assert "No such file" in seen.losses[0]
    python.symlink_to(sys.executable)
    await link.wait_up(20)
    assert (await link.call("echo", timeout_s=20, give=1)).result == 1


async def test_a_program_that_ends_at_once_is_started_ever_more_slowly(
    make_link: Callable[[Program], WorkerLink], seen: Seen
) -> None:
    loop = asyncio.get_running_loop()
    make_link(Program((sys.executable, "-I", "-c", "raise SystemExit(3)")))
    times = []
    for number in range(1, 4):
        await seen.until(lambda number=number: len(seen.losses) == number)  # type: ignore[misc] # a default binds it
        times.append(loop.time())
    assert "exit code 3" in seen.losses[0]
    assert times[1] - times[0] >= 1.0
    assert times[2] - times[1] >= 2.0


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> CapturingLogger:
    """What of standard error is logged."""
    log = CapturingLogger()
    monkeypatch.setattr(stderr, "log", log)
    return log


async def test_a_flood_on_stderr_blocks_nothing_and_is_logged_within_bounds(
    link: WorkerLink, log: CapturingLogger
) -> None:
    pid = link.pid
    await link.call("stderr", timeout_s=20, lines=20_000, width=50)
    await link.call("echo", timeout_s=20)
    await link.close()
    assert log.calls[0].kwargs == {"arm": "r12", "pid": pid, "line": f"line 0 {'x' * 50}"}
    assert 0 < len(log.calls) < 2_000


def test_lines_beyond_those_of_a_second_are_counted(log: CapturingLogger) -> None:
    now = [0.0]
    written = stderr.StderrLog("r12", 7, lambda: now[0])
    written.data_received(b"one\n" * (stderr.LINES_MOST + 3))
    now[0] = 1.0
    written.data_received(b"\nnext\nthe rest")
    written.connection_lost(None)
    lines = [call.kwargs.get("line", call.kwargs.get("lines")) for call in log.calls]
    assert lines == ["one"] * stderr.LINES_MOST + [3, "next", "the rest"]


def test_a_line_without_end_is_cut(log: CapturingLogger) -> None:
    written = stderr.StderrLog("r12", 7, lambda: 0.0)
    for _ in range(10):
        written.data_received(b"x" * 300)
    written.connection_lost(None)
    assert [len(call.kwargs["line"]) for call in log.calls] == [stderr.LINE_MOST, 3_000 - 2_100]


def test_a_worker_dies_with_the_service_however_it_ends(tmp_path: Path) -> None:
    service = tmp_path / "service.py"
    service.write_text(
        textwrap.dedent(
            f"""
            import asyncio, os, signal, sys
            from devices.worker import Program, WorkerLink, stderr
            async def main():
                link = WorkerLink(
                    "r12", Program((sys.executable, "-I", {str(CHILD)!r})),
                    notice=print, came=lambda: None, lost=print,
                )
                link.open()
                await link.wait_up(20)
                print(link.pid, file=sys.__stdout__, flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
            asyncio.run(main())
            """
        )
    )
    ran = subprocess.run(
        [sys.executable, str(service)], cwd=ROOT, capture_output=True, check=False, env={"PYTHONPATH": str(ROOT)}
    )
    assert ran.returncode == -signal.SIGKILL
    pid = int(ran.stdout.split()[-1])
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    assert select.select([descriptor], [], [], 20)[0]
    os.close(descriptor)
