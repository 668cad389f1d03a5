"""Requests to real worker processes that answer, fail, hang and die."""

import asyncio
import os
import signal
import struct
from typing import Any

import pytest

from devices.adapter import ArmAwayError, ArmError, ArmRefusedError, ArmTimeoutError, ArmUnreadableError
from devices.worker import Answer, WorkerLink
from tests.devices.worker.conftest import Seen


async def test_an_answer_is_bytes_and_what_else_there_is(link: WorkerLink) -> None:
    assert await link.call("echo", b"\x00\xff", timeout_s=20, give=[1]) == Answer(b"\x00\xff", [1])
    assert await link.call("echo", timeout_s=20) == Answer(b"", None)


async def test_answers_find_their_questions(link: WorkerLink) -> None:
    calls = [link.call("echo", timeout_s=20, give=number) for number in range(50)]
    assert [answer.result for answer in await asyncio.gather(*calls)] == list(range(50))


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"kind": "away", "text": "no session"}, ArmAwayError),
        ({"kind": "timeout", "text": "2 s"}, ArmTimeoutError),
        ({"kind": "unreadable", "text": "no message"}, ArmUnreadableError),
        ({"kind": "what", "text": "?"}, ArmUnreadableError),
        ({"kind": "refused", "text": "without numbers"}, ArmUnreadableError),
        ({}, ArmUnreadableError),
    ],
)
async def test_a_failure_is_an_error_of_its_kind(
    link: WorkerLink, answer: dict[str, Any], error: type[ArmError]
) -> None:
    with pytest.raises(error, match=f"fail: {answer.get('text', 'no reason')}".replace("?", r"\?")):
        await link.call("fail", timeout_s=20, answer=answer)


@pytest.mark.parametrize(("given", "name"), [({"name": "INVALID_PARAM"}, "INVALID_PARAM"), ({}, "SUB_CODE_3")])
async def test_a_refusal_has_the_numbers_of_the_arm(link: WorkerLink, given: dict[str, str], name: str) -> None:
    answer = {"kind": "refused", "code": 3, "sub": 3, "text": "bad", **given}
    with pytest.raises(ArmRefusedError) as refusal:
        await link.call("fail", timeout_s=20, answer=answer)
    assert (refusal.value.code, refusal.value.sub_code, refusal.value.name) == (3, 3, name)


async def test_a_payload_that_is_no_base64_cannot_be_read(link: WorkerLink) -> None:
    for payload in ("*", 7):
        with pytest.raises(ArmUnreadableError):
            await link.call("frame", timeout_s=20, document={"id": link._last + 1, "ok": True, "payload": payload})


async def test_a_late_answer_is_dropped(link: WorkerLink) -> None:
    with pytest.raises(ArmTimeoutError):
        await link.call("late", timeout_s=0.1, slack_s=0.1, s=0.5)
    assert (await link.call("echo", timeout_s=20, give="mine")).result == "mine"


async def test_answers_to_questions_that_nobody_asked_are_dropped(link: WorkerLink) -> None:
    for number in (999, "1", None):
        with pytest.raises(ArmTimeoutError):
            await link.call("frame", timeout_s=0.05, slack_s=0.05, document={"id": number, "ok": True})
    assert (await link.call("echo", timeout_s=20, give=1)).result == 1


async def test_notices_reach_the_sink_in_order(link: WorkerLink, seen: Seen) -> None:
    for number in range(3):
        with pytest.raises(ArmTimeoutError):
            await link.call("frame", timeout_s=0.01, slack_s=0.01, document={"notice": "event", "n": number})
    await seen.until(lambda: len(seen.notices) == 3)
    assert [notice["n"] for notice in seen.notices] == [0, 1, 2]


async def test_without_a_process_nothing_is_sent(link: WorkerLink) -> None:
    await link.close()
    await link.close()
    with pytest.raises(ArmAwayError, match="closed"):
        await link.call("echo", timeout_s=20)
    assert link.pid == 0


async def test_what_is_under_way_when_the_process_is_killed_is_unknown(link: WorkerLink, seen: Seen) -> None:
    call = asyncio.create_task(link.call("late", timeout_s=20, s=20))
    await asyncio.sleep(0)  # it is sent
    os.kill(link.pid, signal.SIGKILL)
    with pytest.raises(ArmTimeoutError, match="SIGKILL"):
        await call
    (why,) = seen.losses
    assert "SIGKILL" in why
    with pytest.raises(ArmAwayError, match="SIGKILL"):
        await link.call("echo", timeout_s=20)
    await seen.until(lambda: seen.comings == 2)
    assert (await link.call("echo", timeout_s=20, give=1)).result == 1


async def test_a_hanging_process_is_a_timeout_and_killed_when_restarted(link: WorkerLink, seen: Seen) -> None:
    first = link.pid
    os.kill(first, signal.SIGSTOP)
    with pytest.raises(ArmTimeoutError):
        await link.call("echo", timeout_s=0.1, slack_s=0.1)
    call = asyncio.create_task(link.call("echo", timeout_s=20))
    await asyncio.sleep(0)
    link.restart("it hangs")
    with pytest.raises(ArmTimeoutError, match="it hangs"):
        await call
    assert link.pid == 0
    await seen.until(lambda: seen.comings == 2)
    assert seen.losses == ["it hangs"]
    assert link.pid not in (0, first)


async def test_a_process_that_does_not_end_when_told_is_killed(link: WorkerLink, seen: Seen) -> None:
    await link.call("deaf", timeout_s=20)
    link.restart("no reason")
    link.restart("twice is harmless")
    await seen.until(lambda: seen.comings == 2)
    assert seen.losses == ["no reason"]


@pytest.mark.parametrize(
    "hex_bytes", ["ffffffff", b"Traceback (most recent".hex(), (struct.pack(">I", 2) + b"[]").hex()]
)
async def test_garbage_ends_the_process_and_what_is_under_way(link: WorkerLink, seen: Seen, hex_bytes: str) -> None:
    with pytest.raises(ArmTimeoutError, match="cannot be read"):
        await link.call("bytes", timeout_s=20, hex=hex_bytes)
    await seen.until(lambda: seen.comings == 2)
    assert (await link.call("echo", timeout_s=20, give=1)).result == 1


async def test_a_process_that_closes_its_link_is_ended(link: WorkerLink, seen: Seen) -> None:
    with pytest.raises(ArmTimeoutError, match="closed its link"):
        await link.call("shut", timeout_s=20)
    await seen.until(lambda: seen.comings == 2)
