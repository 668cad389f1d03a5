"""Stage 1: acknowledgements, order, and the boundary of errors."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from broker.link.mqtt_link import InboundMessage
from handlers.rpc_table import RPC_TABLE
from tests.stored import changes
from tests.virtual_plant import Plant, play

SET = "SetTwistLinearSoftLimit"
ITEM, SLOT = "twist_linear_soft_limit", "CARTESIAN_JOYSTICK"
VALUE = {"control_mode": SLOT, ITEM: 0.25}


def test_an_acknowledgement_follows_the_commit_and_never_waits_for_an_arm(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang")
        await plant.turn(1.0)
        committed: list[bool] = []
        ack_now = plant.link.ack_now

        def note(messages: Sequence[InboundMessage]) -> bool:
            committed.extend(plant.store.find("u", "c", "a") is not None for _ in messages)
            return ack_now(messages)

        plant.link.ack_now = note  # type: ignore[method-assign]
        plant.send("r1", SET, VALUE, id="a")
        while not committed:
            await plant.turn()
        assert committed == [True]
        assert [job.request_id for job in plant.session().unsettled()] == ["u/c/a"]

    play(tmp_path, scenario)


def test_acknowledgements_are_in_the_order_of_arrival(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for number in range(50):
            plant.send("r1", SET if number % 3 else "GetGravityVector", VALUE if number % 3 else None, id=f"n{number}")
        await plant.reply("n49")
        await plant.turn(1.0)
        assert [json.loads(message.payload)["id"] for message in plant.link.acked] == [f"n{n}" for n in range(50)]

    play(tmp_path, scenario)


def test_bad_levels_are_dropped_counted_and_acknowledged(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for topic in ("req/u/c/r1", "req/u/c/r1/GetGravityVector/more", "req//c/r1/GetGravityVector"):
            plant.link.deliver(topic, b"{}")
        await plant.call("r1", "WhoAmI")
        await plant.turn(1.0)
        assert plant.service._counters.totals()["request_dropped"] == 3
        assert len(plant.link.acked) == 4

    play(tmp_path, scenario)


def test_what_nobody_foresaw_is_an_internal_error_and_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError

    async def scenario(plant: Plant) -> None:
        rpc = RPC_TABLE["SetGravityVector"]
        with monkeypatch.context() as patch:
            patch.setitem(RPC_TABLE, "SetGravityVector", msgspec.structs.replace(rpc, decide=fail))
            reply = await plant.call("r1", "SetGravityVector", {"z": -9.8}, id="x")
        assert (reply["error"]["kind"], reply["error"]["retry"], reply["final"]) == ("internal", "same_id", False)
        assert (await plant.call("r1", "SetGravityVector", {"z": -9.8}, id="x"))["stage"] == "applied"

    play(tmp_path, scenario)


def test_a_copy_in_the_same_batch_waits_for_the_same_outcome(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for _ in range(3):
            plant.send("r1", SET, VALUE, id="same")
        await plant.turn(1.0)
        replies = [each.document for each in plant.link.published if each.topic == "res/u/c/same"]
        assert [reply.get("duplicate", False) for reply in replies] == [False, True, True]
        assert {(reply["rev"], reply["seq"], reply["stage"]) for reply in replies} == {(2, 1, "applied")}
        assert len(plant.events()) == 1

    play(tmp_path, scenario)


def test_after_the_end_of_acceptance_the_same_id_counts_later(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plant.service._stage_1.acceptor.closing = True
        reply = await plant.call("r1", SET, VALUE, id="late")
        assert (reply["error"]["kind"], reply["error"]["retry"]) == ("shutting_down", "same_id")
        plant.service._stage_1.acceptor.closing = False
        assert (await plant.call("r1", SET, VALUE, id="late"))["stage"] == "applied"

    play(tmp_path, scenario)


def test_reads_see_what_is_committed_only(tmp_path: Path) -> None:
    """A read that was decided on uncommitted state is answered after the commit of that state."""

    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang")
        plant.send("r1", SET, VALUE, id="w")
        plant.send("r1", "GetKinematicSoftLimits", {"control_mode": SLOT}, id="r", view="desired")
        reply = await plant.reply("r")
        assert reply["result"]["twist_linear"] == 0.25
        assert len(changes(plant.store._connection)) == 1

    play(tmp_path, scenario)
