"""The nine faults of the vendor's client: each bites a naive client, and the same worker lives with it."""

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import CapturingLogger

from devices.adapter import ArmAwayError, Command
from devices.conformance.rig import Heard
from devices.kortex import KortexArm
from devices.worker import stderr
from schema.arms import Slot, Verb
from schema.messages import GravityVector
from tests.devices.kortex.plant import ArmProcess, environment, exists
from tests.links import PATIENCE_S

NAIVE = Path(__file__).with_name("naive.py")
GRAVITY: Slot = ("gravity_vector", 0)
SIDE, OTHER_SIDE = GravityVector(9.81, 0.0, 0.0), GravityVector(0.0, 9.81, 0.0)


def naively(fault: str, *arms: ArmProcess) -> tuple[dict[str, Any], str]:
    """What a naive client sees of a fault, and what the vendor's client printed."""
    ports = [str(port) for arm in arms for port in (arm.port, arm.control_port)]
    command = [str(environment()), "-I", "-u", str(NAIVE), fault, *ports]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(ran.stdout)
    return found, ran.stderr


async def comes_back_by_a_new_worker(arm: KortexArm, heard: Heard, old_pid: int) -> None:
    """The link is told lost and there again, and what answers is another process."""
    await heard.until(lambda heard: [link.online for link in heard.links][:2] == [False, True], 30, "lost and back")
    await arm.connect()
    assert arm.worker_pid not in (0, old_pid)
    assert not exists(old_pid)
    await arm.read(GRAVITY)


async def test_1_an_error_in_a_callback_ends_reception(arm: KortexArm, process: ArmProcess, heard: Heard) -> None:
    pid = arm.worker_pid
    process.tell("bad_event")
    process.change("gravity_vector", SIDE)
    await heard.until(lambda heard: bool(heard.foreign), 5, "the event after the bad one")
    assert await arm.read(GRAVITY) == SIDE
    assert arm.worker_pid == pid
    assert naively("callback_error", process)[0] == {"before": True, "after": False}


async def test_2_a_closed_peer_is_not_noticed(arm: KortexArm, process: ArmProcess, heard: Heard) -> None:
    pid = arm.worker_pid
    process.tell("close_peers")
    await comes_back_by_a_new_worker(arm, heard, pid)
    assert naively("closed_peer", process)[0] == {"before": True, "after": False, "spins": True}


async def test_3_a_split_header_is_lost(arm: KortexArm, process: ArmProcess, heard: Heard) -> None:
    pid = arm.worker_pid
    process.tell("split_headers")
    await heard.until(lambda heard: bool(heard.links), 10, "lost")
    with pytest.raises(ArmAwayError):
        await arm.write(Command(1, 1, Verb.SET, GRAVITY, SIDE))
    process.tell("split_headers", on=False)
    await comes_back_by_a_new_worker(arm, heard, pid)
    assert naively("split_header", process)[0] == {"before": True, "after": False}


async def test_4_a_call_in_a_callback_is_never_answered(arm: KortexArm, process: ArmProcess) -> None:
    reads: list[asyncio.Task[Any]] = []
    arm.watch(lambda _: reads.append(asyncio.get_running_loop().create_task(arm.read(GRAVITY))))
    for value in (SIDE, OTHER_SIDE) * 5:
        process.change("gravity_vector", value)
        await arm.read(GRAVITY)
    async with asyncio.timeout(PATIENCE_S):
        while len(reads) < 10:
            await arm.read(GRAVITY)
        assert {await read for read in reads} <= {SIDE, OTHER_SIDE}
    assert naively("call_in_callback", process)[0] == {"before": True, "after": False}


async def test_5_a_notice_may_come_before_its_subscription(
    make_arm: Callable[..., KortexArm], process: ArmProcess, heard: Heard
) -> None:
    process.tell("early_notice")
    arm = make_arm()
    arm.watch(heard)
    await arm.connect()
    await heard.until(lambda heard: bool(heard.foreign), 5, "the early event")
    assert (heard.foreign[0].slot, heard.foreign[0].connection) == (GRAVITY, "early")
    await arm.read(GRAVITY)
    assert naively("early_notice", process)[0] == {"before": True, "after": False}


async def test_6_two_routers_of_one_process_mix_their_notices(
    make_arm: Callable[..., KortexArm], start_arm: Callable[[str], ArmProcess], process: ArmProcess
) -> None:
    other = start_arm("other")
    left, right = make_arm("left"), make_arm("right", of=other)
    told: dict[str, Heard] = {"left": Heard(), "right": Heard()}
    left.watch(told["left"])
    right.watch(told["right"])
    await asyncio.gather(left.connect(), right.connect())
    assert left.worker_pid != right.worker_pid
    process.tell("event", event=2)
    other.tell("event", event=11)
    for heard in told.values():
        await heard.until(lambda heard: bool(heard.changes), 5, "its event")
    assert [change.event for change in told["left"].changes] == [2]
    assert [change.event for change in told["right"].changes] == [11]
    assert naively("two_routers", process, other)[0]["after"] is False
    assert naively("two_routers_separate", process, other)[0] == {"before": True, "after": True}


async def test_7_the_thread_that_keeps_the_session_alive_dies_silently(
    arm: KortexArm, process: ArmProcess, heard: Heard
) -> None:
    pid = arm.worker_pid
    process.tell("deaf_to_keep_alive")
    await heard.until(lambda heard: bool(heard.links), 10, "lost")
    assert "keeps the session alive" in heard.links[0].why
    process.tell("deaf_to_keep_alive", on=False)
    await comes_back_by_a_new_worker(arm, heard, pid)
    assert naively("dead_keep_alive", process)[0] == {"before": True, "after": False, "again": False}


async def test_8_sends_of_two_threads_mix(arm: KortexArm, process: ArmProcess, heard: Heard) -> None:
    pid = arm.worker_pid
    for _ in range(10):
        await asyncio.gather(*(arm.read(GRAVITY) for _ in range(5)))
    assert (arm.worker_pid, heard.links) == (pid, [])
    assert naively("mixed_sends", process)[0] == {"before": True, "after": False}
    assert naively("mixed_sends_locked", process)[0] == {"before": True, "after": True}


async def test_9_the_client_prints_and_leaves_sessions_behind(
    make_arm: Callable[..., KortexArm], process: ArmProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = CapturingLogger()
    monkeypatch.setattr(stderr, "log", log)
    arm = make_arm()
    await arm.connect()
    assert len(process.tell("sessions")["sessions"]) == 1
    assert await arm.read(GRAVITY)
    pid = arm.worker_pid
    await arm.close()
    assert process.tell("sessions")["sessions"] == []
    assert not exists(pid)
    assert {"arm": "r12", "pid": pid, "line": "session 1"} in [call.kwargs for call in log.calls], log.calls
    assert "session 2" in naively("split_header", process)[1]
