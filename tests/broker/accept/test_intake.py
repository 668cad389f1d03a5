"""What waited before it was received is marked, until a marker came back."""

import asyncio
import json
import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from broker.accept.intake import AGAIN_S, STILL_S, Intake, marker_levels
from broker.clock import Clock
from broker.counters import Counters
from broker.link.mqtt_link import InboundMessage, LinkFullError
from broker.link.outbound import TAKEN, Outbound
from broker.presence.identity import Identity
from broker.presence.presence import Presence
from broker.topics import Topics
from tests.memory_link import BASE, MemoryLink
from tests.virtual_plant import Plant, play, run

MARKER = f"{BASE}/req/svc/armbroker-1/_/"
SET = "SetTwistLinearSoftLimit"
MODE = "CARTESIAN_JOYSTICK"


class MarkerLink(MemoryLink):
    """Hands markers back when told to, or after a refusal of so many publications."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.markers: list[str] = []
        self.full = 0

    def give(self, message: Outbound) -> None:
        """See `MqttLink`."""
        if self.full:
            self.full -= 1
            raise LinkFullError("full")
        assert (message.payload, message.retain) == (b"", True)
        self.markers.append(message.topic)
        message.code = TAKEN

    def bounce(self, number: int = -1) -> None:
        """Let a marker come back."""
        self.deliver(self.markers[number].removeprefix(self.prefix), b"", retain=True)


class Bench:
    """An intake on a link, and the ages of what came: payload to `sent_after_s`."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        identity = Identity("main", Clock(), Counters(loop.time), 1, take_over=False)
        self.presence = Presence(identity, Topics("armbroker"), Clock())
        self.presence._sure.set()
        self.presence.pulse.start()
        self.link = MarkerLink(loop)
        self.intake = Intake(self.link, self.presence, MARKER)
        self.came: list[InboundMessage] = []
        self.pause_s = 0.0
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for batch in self.intake.batches():
            self.came += batch
            await asyncio.sleep(self.pause_s)

    async def ages(self, *payloads: bytes) -> dict[bytes, float | None]:
        """Deliver messages; the ages of all that came so far."""
        for payload in payloads:
            self.link.deliver("req/u/c/r1/WhoAmI", payload)
        await asyncio.sleep(0.01)
        return {message.payload: message.sent_after_s for message in self.came if message.payload}


def on_a_bench(scenario: Callable[[Bench], Awaitable[None]]) -> None:
    """Run a scenario in virtual time."""

    async def whole() -> None:
        bench = Bench()
        await scenario(bench)
        bench.intake.close()
        bench.presence.pulse.close()
        bench._reading.cancel()

    run(whole)


def test_what_a_resumed_session_brings_before_the_marker_is_of_any_age() -> None:
    async def scenario(bench: Bench) -> None:
        bench.link.restore(present=True)
        await bench.ages(b"waited")
        bench.link.bounce()
        assert await bench.ages(b"new") == {b"waited": -math.inf, b"new": None}
        assert len(bench.link.markers) == 1
        assert [message.topic for message in bench.came if not message.payload] == bench.link.markers

    on_a_bench(scenario)


def test_in_a_new_session_nothing_waited() -> None:
    async def scenario(bench: Bench) -> None:
        bench.link.restore(present=False)
        assert await bench.ages(b"new") == {b"new": None}
        assert len(bench.link.markers) == 1

    on_a_bench(scenario)


def test_markers_of_earlier_connections_prove_nothing() -> None:
    async def scenario(bench: Bench) -> None:
        bench.link.restore(present=True)
        bench.link.lose()
        bench.link.restore(present=True)
        bench.link.bounce(0)
        assert await bench.ages(b"waited") == {b"waited": -math.inf}
        bench.link.bounce(1)
        assert (await bench.ages(b"new"))[b"new"] is None
        assert all(message.retain for message in bench.came if not message.payload)

    on_a_bench(scenario)


def test_a_marker_that_does_not_come_back_is_published_again() -> None:
    async def scenario(bench: Bench) -> None:
        bench.link.full = 1
        bench.link.restore(present=True)
        assert await bench.ages(b"one") == {b"one": -math.inf}
        await asyncio.sleep(2 * AGAIN_S + 1)
        assert len(bench.link.markers) == 2
        assert (await bench.ages(b"two"))[b"two"] == -math.inf
        bench.link.bounce()
        assert (await bench.ages(b"three"))[b"three"] is None
        await asyncio.sleep(3 * AGAIN_S)
        assert len(bench.link.markers) == 2
        bench.link.lose()
        await asyncio.sleep(3 * AGAIN_S)
        assert len(bench.link.markers) == 2

    on_a_bench(scenario)


def test_after_standing_still_messages_may_have_waited_since() -> None:
    async def scenario(bench: Bench) -> None:
        bench.link.restore(present=False)
        bench.link.bounce()
        await bench.ages(b"before")
        bench.presence.pulse.last_s -= 4 * STILL_S
        since_s, bench.presence.sure_until_s = bench.presence.pulse.last_s, 0.0
        assert await bench.ages(b"after") == {b"before": None, b"after": since_s}
        bench.link.bounce()
        assert (await bench.ages(b"new"))[b"new"] is None

    on_a_bench(scenario)


def test_after_a_pause_of_the_acceptor_messages_may_have_waited_since() -> None:
    async def scenario(bench: Bench) -> None:
        bench.link.restore(present=False)
        bench.link.bounce()
        bench.pause_s = 2 * STILL_S
        began_s = asyncio.get_running_loop().time()
        await bench.ages(b"slow")
        bench.pause_s = 0.0
        await asyncio.sleep(5 * STILL_S)
        ages = await bench.ages(b"after")
        assert ages[b"after"] == pytest.approx(began_s, abs=2 * STILL_S + 0.1)
        bench.link.bounce()
        assert (await bench.ages(b"new"))[b"new"] is None

    on_a_bench(scenario)


def test_markers_stand_where_the_access_rules_let_a_user_publish() -> None:
    assert marker_levels("svc", "armbroker-1") == ("svc", "armbroker-1", "_")
    assert marker_levels("", "a/b") == ("", "service", "_")


def _request(name: str, **fields: Any) -> bytes:
    return json.dumps({"id": name, **fields}).encode()


def _twist(value: float) -> dict[str, Any]:
    return {"control_mode": MODE, "twist_linear_soft_limit": value}


def test_what_waited_while_the_service_was_away(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", SET, _twist(0.25))
        plant.link.lose()
        for name, method, params in (
            ("tighter", SET, _twist(0.125)),
            ("looser", SET, _twist(0.3)),
            ("mode", "SetControlMode", {"control_mode": MODE}),
            ("reset", "ResetTwistLinearSoftLimit", {"control_mode": MODE}),
            ("tool", "SetGravityVector", {"z": -9.79}),
            ("read", "GetGravityVector", {}),
            ("factory", "RestoreFactory", {}),
        ):
            plant.link.deliver(f"req/u/c/r1/{method}", _request(name, params=params))
        plant.link.deliver("req/u/c/r1/SetGravityVector", _request("dated", params={"z": -9.8}), expiry_s=60)
        plant.link.restore(present=True)
        kinds = {}
        for name in ("tighter", "looser", "mode", "reset", "tool", "read", "factory", "dated"):
            reply = await plant.reply(name)
            kinds[name] = "" if reply["ok"] else reply["error"]["kind"]
        old = dict.fromkeys(("looser", "mode", "reset", "tool", "factory"), "expired")
        assert kinds == {"tighter": "", "read": "", "dated": "", **old}
        assert (await plant.call("r1", SET, _twist(0.3)))["stage"] == "applied"

    play(tmp_path, scenario)
