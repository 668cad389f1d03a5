"""What the reference agent says and does in one session."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from armbroker.agent.session import QUEUE_MOST, AgentSession, Said
from devices.adapter import Command
from devices.mqtt_agent.birth import read_birth
from devices.mqtt_agent.commands import Order, write_order
from devices.simulated import SimulatedArm, SimulatedStore
from schema.arms import Fault, Verb
from schema.messages import GravityVector
from tests.links import until

GRAVITY = ("gravity_vector", 0)
UP, DOWN = GravityVector(0.0, 0.0, 9.81), GravityVector(0.0, 0.0, -9.81)
REFUSALS = {"INVALID_PARAM": 3, "METHOD_TIMEOUT": 131, "DEVICE_NOT_READY": 51, "DEVICE_DISCONNECTED": 50}


class Bench:
    """One session of a simulated arm, and what it said."""

    def __init__(self, arm: SimulatedArm) -> None:
        self.arm = arm
        self.said: list[Said] = []
        self.session = AgentSession(arm, self.said.append)
        arm.watch(self.session.notice)

    def documents(self, leaf: str) -> list[dict[str, Any]]:
        return [json.loads(said.payload) for said in self.said if said.leaf == leaf]

    async def answer(self, order: Order | dict[str, Any]) -> dict[str, Any]:
        """The acknowledgement of a command."""
        count = len(self.documents("ack"))
        self.session.command(json.dumps(order).encode() if isinstance(order, dict) else write_order(order))
        await until(lambda: len(self.documents("ack")) > count)
        return self.documents("ack")[-1]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    store = SimulatedStore(tmp_path)
    arm = SimulatedArm("r12", "gen3_7dof", store, latency_s=0.0)
    bench = Bench(arm)
    bench.session.begin(4, await arm.connect())
    working = asyncio.create_task(bench.session.work())
    yield bench
    working.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await working
    await arm.close()
    store.close()


def write(epoch: int, cmd_seq: int, value: GravityVector = UP, *, session: int = 4, expires_in_ms: int = 5000) -> Order:
    command = Command(epoch, cmd_seq, Verb.SET, GRAVITY, value)
    return Order(session, (epoch, cmd_seq), expires_in_ms, command, GRAVITY)


async def test_a_session_begins_with_a_retained_birth(bench: Bench) -> None:
    (said,) = bench.said
    assert (said.leaf, said.retain) == ("birth", True)
    birth = read_birth(said.payload)
    assert (birth.session, birth.description.model, birth.ready) == (4, "gen3_7dof", True)


async def test_a_write_is_reported_acknowledged_and_read(bench: Bench) -> None:
    assert await bench.answer(write(2, 1)) == {"session": 4, "epoch": 2, "cmd_seq": 1, "ok": True, "fence": [2, 1]}
    (report,) = bench.documents("report")
    assert (report["n"], report["event"], report["item"], report["ours"]) == (
        1, "GRAVITY_VECTOR_CHANGED", "gravity_vector", True
    )  # fmt: skip
    answer = await bench.answer(Order(4, (1,), 2000, None, GRAVITY))
    assert answer == {"session": 4, "read": 1, "ok": True, "fence": [2, 1], "value": {"x": 0.0, "y": 0.0, "z": 9.81}}
    answer = await bench.answer(Order(4, (2,), 2000, None, None))
    assert len(answer["items"]) == 21


async def test_a_reset_says_what_the_arm_took(bench: Bench) -> None:
    await bench.answer(write(2, 1))
    order = Order(4, (2, 2), 5000, Command(2, 2, Verb.RESET, GRAVITY, None), GRAVITY)
    assert (await bench.answer(order))["value"] == {"x": 0.0, "y": 0.0, "z": -9.81}


async def test_the_same_command_is_answered_again_and_a_lower_one_refused(bench: Bench) -> None:
    first = await bench.answer(write(2, 5))
    assert await bench.answer(write(2, 5)) == first
    assert len(bench.documents("report")) == 1
    for epoch, cmd_seq in ((2, 4), (1, 99)):
        assert (await bench.answer(write(epoch, cmd_seq, DOWN)))["error"]["name"] == "METHOD_FAILED"
    assert await bench.arm.read(GRAVITY) == UP


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"session": 3}, "INVALID_PARAM"),
        ({"later_field": 1}, "INVALID_PARAM"),
        ({"verb": "jump"}, "INVALID_PARAM"),
        ({"value": {"x": 1}}, "INVALID_PARAM"),
        ({"item": "no_item"}, "INVALID_PARAM"),
    ],
)
async def test_what_is_not_meant_or_not_understood_is_refused(bench: Bench, changes: dict[str, Any], name: str) -> None:
    document = json.loads(write_order(write(2, 1))) | changes
    answer = await bench.answer(document)
    assert (answer["session"], answer["epoch"], answer["cmd_seq"], answer["ok"]) == (4, 2, 1, False)
    assert (answer["error"]["sub_code"], answer["error"]["name"]) == (REFUSALS[name], name)
    assert (await bench.answer(write(2, 1)))["ok"]


async def test_what_cannot_be_answered_is_ignored(bench: Bench) -> None:
    for payload in (b"", b"?", b"{}", b'{"session":4}', b"x" * 20_000):
        bench.session.command(payload)
    bench.session.command(write_order(write(2, 1)), retained=True)
    assert (await bench.answer(write(2, 2)))["cmd_seq"] == 2
    assert len(bench.documents("ack")) == 1


async def test_a_command_is_not_begun_late(bench: Bench) -> None:
    bench.arm.inject(Fault("delay", delay_ms=50))
    for number in range(1, 3):
        bench.session.command(write_order(write(2, number, expires_in_ms=20)))
    await until(lambda: len(bench.documents("ack")) == 2)
    first, second = bench.documents("ack")
    assert first["ok"]
    assert second["error"]["name"] == "METHOD_TIMEOUT"


async def test_a_line_that_is_full_takes_no_more(bench: Bench) -> None:
    for number in range(QUEUE_MOST + 1):
        bench.session.command(write_order(write(2, number)))
    (refusal,) = bench.documents("ack")
    assert (refusal["cmd_seq"], refusal["error"]["name"]) == (QUEUE_MOST, "DEVICE_NOT_READY")
    await until(lambda: len(bench.documents("ack")) == QUEUE_MOST + 1)


async def test_what_became_of_a_command_is_not_guessed(bench: Bench) -> None:
    bench.arm.inject(Fault("garbage"))
    bench.session.command(write_order(write(2, 1)))
    bench.session.command(write_order(Order(4, (1,), 2000, None, GRAVITY)))
    await until(bench.session._waiting.empty)
    await asyncio.sleep(0)
    bench.arm.inject(Fault("none"))
    assert (await bench.answer(Order(4, (2,), 2000, None, GRAVITY)))["read"] == 2
    assert [ack.get("read") for ack in bench.documents("ack")] == [2]


async def test_an_arm_out_of_reach_ends_the_session(bench: Bench) -> None:
    bench.arm.inject(Fault("offline"))
    assert bench.session.ended.is_set()
    assert (await bench.answer(write(2, 1)))["error"]["name"] == "DEVICE_DISCONNECTED"


async def test_an_arm_that_went_away_before_the_beginning_ends_the_session(bench: Bench) -> None:
    session = AgentSession(bench.arm, bench.said.append)
    bench.arm.watch(session.notice)
    description = await bench.arm.connect()
    bench.arm.inject(Fault("offline"))
    assert not session.ended.is_set()
    session.begin(5, description)
    assert session.ended.is_set()


async def test_readiness_is_reported_and_said_in_the_birth(bench: Bench) -> None:
    bench.arm.inject(Fault("moving"))
    bench.arm.inject(Fault("none"))
    assert [(each["n"], each["ready"]) for each in bench.documents("report")] == [(1, False), (2, True)]
    assert [each["ready"] for each in bench.documents("birth")] == [True, False, True]
    assert bench.documents("birth")[1]["why"]
    assert [each["activity"] for each in bench.documents("report")] == ["moving", "idle"]
    assert [each["activity"] for each in bench.documents("birth")] == ["idle", "moving", "idle"]


async def test_a_foreign_change_is_reported(bench: Bench) -> None:
    bench.arm.inject(Fault("foreign_change", slot=GRAVITY, value=UP))
    (report,) = bench.documents("report")
    assert (report["ours"], bool(report["connection"])) == (False, True)
