"""What comes in: judged before it is decoded, decided by turns, acknowledged in order."""

import asyncio
import json
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from broker.accept import rates, turnstile
from broker.accept.costs import PAGE_COST
from broker.accept.rates import ANSWER_BURST, EXEMPT_BURST, MOST
from broker.link.mqtt_link import InboundMessage
from handlers.rpc_table import RPC_TABLE
from tests.virtual_plant import Plant, play

SET = "SetTwistLinearSoftLimit"
SMALL = {"rate": 0.1, "burst": 3}


def value(number: float) -> dict[str, Any]:
    return {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": number}


def replies(plant: Plant, user: str = "u") -> list[dict[str, Any]]:
    return [each.document for each in plant.link.published if each.topic.startswith(f"res/{user}/")]


def rows(plant: Plant, table: str) -> int:
    (count,) = plant.store._connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - constants
    return int(count)


def test_beyond_its_rate_a_user_is_refused_from_memory_and_others_are_not(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for number in range(5):
            plant.send("r1", "SetGravityVector", {"z": -9.7 - number / 100}, id=f"n{number}")
        refused = await plant.reply("n4")
        assert refused["error"].items() >= {
            "code": 3, "sub_code": 51, "name": "DEVICE_NOT_READY", "kind": "rate_limited", "retry": "same_id",
        }.items()  # fmt: skip
        assert (refused["ok"], refused["stage"], refused["final"]) == (False, "refused", False)
        assert (refused["arm"], refused["method"]) == ("r1", "SetGravityVector")
        wait_ms = refused["error"]["retry_after_ms"]
        assert 0 < wait_ms <= 12_000
        assert (await plant.call("r1", "SetGravityVector", {"z": -9.9}, user="other"))["stage"] == "applied"
        await plant.committed()
        before = rows(plant, "job"), rows(plant, "audit")
        for _ in range(3):
            plant.send("r1", "SetGravityVector", {"z": -9.95}, id="again")
            await plant.reply("again")
        await plant.committed()
        assert (rows(plant, "job"), rows(plant, "audit")) == before
        await plant.turn(4 * wait_ms / 1000)
        assert (await plant.call("r1", "SetGravityVector", {"z": -9.95}, id="again"))["stage"] == "applied"
        assert plant.service._counters.totals()["rate_limited"] >= 4

    play(tmp_path, scenario, rates=SMALL)


def test_a_refusal_goes_to_the_id_whatever_else_is_wrong(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for _ in range(3):
            plant.send("r1", "GetGravityVector")
        plant.link.deliver("req/u/c/r1/SetGravityVector", b'{"id": "boxed", "bogus": 1}')
        plant.link.deliver("req/u/c/r1/SetGravityVector", b'{"no request at all')
        plant.link.deliver("req/u/c/r1/Dance", b'{"id": "odd"}')
        await plant.turn(0.5)
        topics = [each.topic for each in plant.link.published if each.topic.startswith("res/u/c/")]
        assert {"res/u/c/boxed", "res/u/c/_", "res/u/c/odd"} <= set(topics)

    play(tmp_path, scenario, rates=SMALL)


def test_tightenings_neither_count_nor_are_refused(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for number in range(10):
            plant.send("r1", "SetGravityVector", {"z": -9.7 - number / 100})
        await plant.turn(0.1)
        for number in range(10):
            reply = await plant.call("r1", SET, value(0.4 - number / 100), id=f"t{number}")
            assert reply["stage"] == "applied", reply
        loosening = await plant.call("r1", SET, value(0.45), id="loose")
        assert loosening["error"]["kind"] == "rate_limited"
        unchanged = await plant.call("r1", SET, value(0.31), id="same")
        assert unchanged["error"]["kind"] == "rate_limited"

    play(tmp_path, scenario, rates=SMALL)


def test_a_part_that_tightens_what_stays_beside_it_is_no_loosening(tmp_path: Path) -> None:
    def speeds(joint: int, limit: float) -> dict[str, Any]:
        prefix = f"joint_limits.joint_{joint}"
        return {"parameters": {f"{prefix}.has_velocity_limits": True, f"{prefix}.max_velocity": limit}}

    async def scenario(plant: Plant) -> None:
        for joint in (1, 2):
            assert (await plant.call("r1", "SetJointParameters", speeds(joint, 0.5)))["stage"] == "applied"
        for number in range(10):
            plant.send("r1", "SetGravityVector", {"z": -9.7 - number / 100})
        await plant.turn(0.1)
        for joint in (1, 2):
            reply = await plant.call("r1", "SetJointParameters", speeds(joint, 0.4))
            assert reply["stage"] == "applied", reply
        assert (await plant.call("r1", "SetJointParameters", speeds(1, 0.45)))["error"]["kind"] == "rate_limited"

    play(tmp_path, scenario, rates=SMALL)


def test_tightenings_leave_the_bucket_full(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for number in range(10):
            assert (await plant.call("r1", SET, value(0.4 - number / 100)))["stage"] == "applied"
        for number in range(3):
            assert (await plant.call("r1", "SetGravityVector", {"z": -9.7 - number / 100}))["ok"]

    play(tmp_path, scenario, rates=SMALL)


def test_the_budget_of_tightenings_is_bounded(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        most = int(EXEMPT_BURST)
        for number in range(3 * most):
            plant.send("r1", SET, value(0.45 - number / 1000))
        await plant.turn(2.0)
        assert sum(reply["ok"] for reply in replies(plant)) <= most + 10

    play(tmp_path, scenario, rates=SMALL)


def test_of_many_refusals_only_some_are_answered_and_all_are_acknowledged_in_order(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for number in range(1000):
            plant.send("r1", "GetGravityVector", id=f"n{number}")
        await plant.turn(1.0)
        assert [json.loads(message.payload)["id"] for message in plant.link.acked] == [f"n{n}" for n in range(1000)]
        assert len(replies(plant)) == 3 + ANSWER_BURST
        totals = plant.service._counters.totals()
        assert totals["rate_limited"] + totals["rate_limited_unanswered"] == 997

    play(tmp_path, scenario, rates=SMALL)


def test_a_user_is_answered_while_another_has_sent_much(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for number in range(400):
            plant.send("r1", "GetGravityVector", id=f"n{number}")
        plant.send("r2", "GetGravityVector", user="other", id="mine")
        await plant.turn(1.0)
        order = [each.topic for each in plant.link.published if each.topic.startswith("res/")]
        assert order.index("res/other/c/mine") < 20
        assert plant.link.acked[-1].topic.endswith("/req/other/c/r2/GetGravityVector")

    play(tmp_path, scenario)


def test_a_user_is_answered_while_another_reads_pages(tmp_path: Path) -> None:
    """A page costs its user as much as many requests before it is read: few of them wait, and others come between."""

    async def scenario(plant: Plant) -> None:
        plant.send("r2", "GetGravityVector", user="other")
        for number in range(400):
            plant.send("r1", "GetHistory", {"limit": 500}, id=f"n{number}")
        plant.send("r2", "GetGravityVector", user="other", id="mine")
        await plant.turn(1.0)
        order = [each.topic for each in plant.link.published if each.topic.startswith("res/")]
        assert order.index("res/other/c/mine") <= ANSWER_BURST + 4
        assert len([one for one in replies(plant) if one["ok"]]) <= MOST / PAGE_COST + 2
        assert len(plant.link.acked) == 402

    play(tmp_path, scenario)


def test_short_pages_are_charged_as_such(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for _ in range(50):
            assert (await plant.call("r1", "GetEvents", {"limit": 1, "after_seq": 0}))["ok"]

    play(tmp_path, scenario, rates={"rate": 0.1, "burst": 60})


def test_whatever_is_asked_there_is_one_reply_and_nothing_is_owed_after(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for method in RPC_TABLE:
            for arm in ("r1", "nobody"):
                plant.send(arm, method, {}, id=f"{arm}-{method}")
            plant.link.deliver(f"req/u/c/r1/{method}", b"{")
        for _ in range(3):
            plant.send("r1", SET, value(0.2), id="same")
        await plant.turn(30.0)
        assert len(replies(plant)) == 3 * len(RPC_TABLE) + 3
        assert plant.service._replies.owed == {}

    play(tmp_path, scenario)


def test_what_waits_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more is read while so much waits for its turn."""
    monkeypatch.setattr(turnstile, "AHEAD_MESSAGES", 10)

    async def scenario(plant: Plant) -> None:
        taking = plant.service._stage_1.turnstile
        taking._picking = plant.loop.call_later(3600, lambda: None)
        for number in range(100):
            plant.send("r1", "GetGravityVector", id=f"n{number}")
            await plant.turn()
        assert len(taking._shares) == 10
        taking._pick()
        await plant.turn(1.0)
        assert len(replies(plant)) == 100

    play(tmp_path, scenario)


def test_requests_are_decided_while_receipts_lie_behind_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it a service that reads no more waits for ever for what it does not read."""
    monkeypatch.setattr(turnstile, "REPLIES_MOST", 200)

    async def scenario(plant: Plant) -> None:
        plant.link.answer()
        await plant.turn(1.0)
        plant.link.silent = plant.link.deaf = True
        for number in range(800):
            plant.send("nobody", "GetGravityVector", id=f"n{number}")
        await plant.turn(1.0)
        assert len(plant.link.acked) == 800

    play(tmp_path, scenario)


def test_replies_are_bounded_while_receipts_lie_behind_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has no bound is refused without an answer then, and the others are decided."""
    monkeypatch.setattr(turnstile, "REPLIES_MOST", 200)
    monkeypatch.setattr(rates, "STUCK", 400)

    async def scenario(plant: Plant) -> None:
        plant.link.answer()
        await plant.turn(1.0)
        plant.link.silent = plant.link.deaf = True
        for _ in range(50):
            for _ in range(100):
                plant.send("nobody", "GetGravityVector")
            await plant.turn(0.1)
        assert len(plant.link.acked) == 5000
        held = plant.service._outbox.backlog
        assert held < 1500
        plant.send("nobody", "GetGravityVector", user="other", id="mine")
        await plant.turn(0.1)
        assert len(plant.link.acked) == 5001
        assert plant.service._outbox.backlog == held + 1
        plant.link.deaf = False
        plant.link.answer()
        while not replies(plant, "other"):
            await plant.turn(0.1)

    play(tmp_path, scenario, rates={"rate": 0})


def test_nothing_is_decided_while_too_many_replies_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it replies pile up in memory whenever requests come faster than the MQTT server takes replies."""
    monkeypatch.setattr(turnstile, "REPLIES_MOST", 200)

    async def scenario(plant: Plant) -> None:
        plant.link.answer()
        await plant.turn(1.0)
        plant.link.silent = True
        for number in range(800):
            plant.send("nobody", "GetGravityVector", id=f"n{number}")
        await plant.turn(1.0)
        assert 200 <= plant.service._outbox.backlog <= 300
        assert len(plant.link.acked) <= 300
        plant.link.answer()
        await plant.reply("n799")
        await plant.turn(0.1)
        assert len(plant.link.acked) == 800

    play(tmp_path, scenario)


class Turns:
    """Counts the turns that were gone through; with `hangs` no commit is waited for."""

    def __init__(self, plant: Plant, *, hangs: bool = False) -> None:
        self._plant, self.passed, self._hangs = plant, 0, hangs

    async def try_one(self) -> bool:
        """Whether a turn is gone through in some rounds of the event loop, or as soon as all is committed."""
        before = self.passed
        self._plant.service._stage_1.turnstile.turn(self._pass)
        for _ in range(100):
            await self._plant.turn()
        if not self._hangs:
            await self._plant.turn(0.1)
            await self._plant.committed()
        return self.passed > before

    def _pass(self) -> None:
        self.passed += 1


def test_a_turn_is_gone_through_at_rest_and_under_load(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        turns = Turns(plant)
        assert await turns.try_one()
        for number in range(300):
            plant.send("r1", "SetGravityVector", {"z": -9.7 - number / 10_000})
        await turns.try_one()
        await plant.committed()
        assert turns.passed == 2

    play(tmp_path, scenario)


def test_no_turn_is_gone_through_while_nothing_is_picked(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        turns, taking = Turns(plant), plant.service._stage_1.turnstile
        never = taking._picking = plant.loop.call_later(3600, lambda: None)
        assert not await turns.try_one()
        never.cancel()
        taking._picking = None
        assert await turns.try_one()

    play(tmp_path, scenario)


def test_no_turn_is_gone_through_while_what_came_is_not_taken_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(plant: Plant) -> None:
        turns, taking, released = Turns(plant), plant.service._stage_1.turnstile, asyncio.Event()

        async def hang(message: InboundMessage) -> bool:
            del message
            return await released.wait()

        monkeypatch.setattr(taking._quarantine, "watching", True)
        monkeypatch.setattr(taking._quarantine, "suspects", lambda _: True)
        monkeypatch.setattr(taking._quarantine, "begin", hang)
        assert await turns.try_one()
        plant.send("r1", "GetGravityVector")
        await plant.turn(0.1)
        await turns.try_one()
        assert not await turns.try_one()
        released.set()
        await plant.turn(0.1)
        assert await turns.try_one()

    play(tmp_path, scenario)


def test_no_turn_is_gone_through_while_nothing_is_committed(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        turns, gate = Turns(plant, hangs=True), Event()
        plant.store._writer.run(lambda _: gate.wait())
        plant.send("r1", "SetGravityVector", {"z": -9.75}, id="slow")
        try:
            await turns.try_one()
            assert not await turns.try_one()
        finally:
            gate.set()
        await plant.reply("slow")
        await plant.committed()
        assert await turns.try_one()

    play(tmp_path, scenario)


def test_waiting_for_the_mqtt_server_is_no_hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turnstile, "REPLIES_MOST", 20)
    monkeypatch.setattr(turnstile, "AHEAD_MESSAGES", 10)

    async def scenario(plant: Plant) -> None:
        turns = Turns(plant)
        plant.link.answer()
        await plant.turn(1.0)
        plant.link.silent = True
        for number in range(100):
            plant.send("nobody", "GetGravityVector", id=f"n{number}")
        for _ in range(5):
            assert await turns.try_one()
        plant.link.lose()
        for _ in range(5):
            assert await turns.try_one()
        plant.link.answer()
        plant.link.restore(present=True)
        await plant.turn(1.0)

    play(tmp_path, scenario)
