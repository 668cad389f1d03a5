"""Changes with `when: idle` over MQTT: the example of the protocol in every codec, and a service that is killed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.journey.client import Client
from tests.journey.conftest import ClientMaker
from tests.journey.processes import ServiceProcess, online
from tests.mosquitto import Mosquitto

CODECS = ("json", "msgpack", "protobuf")
PAYLOAD, CHANGED = "SetPayloadInformation", "config/PAYLOAD_CONFIGURATION_CHANGED"


async def mode(client: Client, arm: str, name: str) -> None:
    """Let an arm be in a control mode."""
    await client.change(arm, "SetControlMode", {"control_mode": name})


@pytest.mark.parametrize("codec", CODECS)
async def test_the_example_of_the_protocol(connect: ClientMaker, arm: str, codec: str) -> None:
    client = await connect(codec=codec)
    monitor = await connect(f"evt/{arm}/outcome", user="monitor")
    await mode(client, arm, "ANGULAR_TRAJECTORY")
    fields = {"id": f"20-{codec}", "when": "idle", "ttl_ms": 1_500}
    reply = await client.change(arm, PAYLOAD, {"payload_mass": 1.2}, **fields)
    assert (reply["stage"], reply["final"], reply["rev"]) == ("stored", False, 3)
    (warned,) = reply["warnings"]
    assert warned["name"] == "WAITS_FOR_IDLE"
    assert warned["message"].startswith(f"{arm} is in ANGULAR_TRAJECTORY; the change waits for IDLE for 2 s, until ")
    event = await monitor.document(f"evt/{arm}/outcome", lambda one: one["event"] == "CHANGE_NOT_APPLIED")
    assert (event["rev"], event["cause"], event["request_id"]) == (3, "expired", f"alice/{client.conn}/20-{codec}")
    again = await client.call(arm, PAYLOAD, {"payload_mass": 1.2}, **fields)
    assert (again["duplicate"], again["error"]["kind"]) == (True, "expired")


@pytest.mark.parametrize("codec", CODECS)
async def test_it_goes_out_when_the_arm_is_idle(connect: ClientMaker, arm: str, codec: str) -> None:
    client = await connect(codec=codec)
    monitor = await connect(f"evt/{arm}/#", f"state/{arm}/config", user="monitor")
    await mode(client, arm, "ANGULAR_TRAJECTORY")
    reply = await client.change(arm, PAYLOAD, {"payload_mass": 1.2}, when="idle", ttl_ms=604_800_000)
    waiting = await monitor.document(f"state/{arm}/config", lambda one: any("when" in each for each in one["pending"]))
    assert [(each.get("when"), each["rev"]) for each in waiting["pending"]] == [("idle", reply["rev"])]
    await mode(client, arm, "IDLE")
    event = await monitor.document(f"evt/{arm}/{CHANGED}", lambda one: one["cause"] == "applied")
    assert event["rev"] == reply["rev"]
    again = await client.call(arm, PAYLOAD, {"payload_mass": 1.2}, when="idle", id=reply["id"], ttl_ms=604_800_000)
    assert (again["stage"], again["duplicate"], again["in_force"]) == ("applied", True, True)
    other = await client.call(arm, PAYLOAD, {"payload_mass": 1.2}, id=reply["id"])
    assert other["error"]["kind"] == "id_reused"


@pytest.fixture
def process(mosquitto: Mosquitto, tmp_path: Path) -> Iterator[ServiceProcess]:
    """A service process with arm r1."""
    made = ServiceProcess(mosquitto, tmp_path, "idlekill", ("r1",))
    yield made
    made.kill()


async def repeated(client: Client) -> dict[str, Any]:
    """The reply to a repeat; the first one comes again after a kill that nobody knows it survived."""
    await client.send("r1", PAYLOAD, {"id": "p", "when": "idle", "params": {"payload_mass": 1.2}})
    return await client.document("res/ann/ann/p", lambda reply: reply.get("duplicate", False))


async def test_a_change_that_waits_outlives_kills_and_is_written_once(process: ServiceProcess) -> None:
    """Killed while it waits, right after the arm became idle, and right after its end."""
    async with Client(process.port, process.root, "ann", "ann") as client:
        await client.subscribe("evt/r1/#", "svc/+")
        process.start()
        await online(client, 1)
        await mode(client, "r1", "ANGULAR_TRAJECTORY")
        reply = await client.change("r1", PAYLOAD, {"payload_mass": 1.2}, when="idle", id="p")
        process.kill()
        process.start()
        await online(client, 2)
        again = await repeated(client)
        assert (again["stage"], again["final"], again["duplicate"]) == ("stored", False, True)
        await mode(client, "r1", "IDLE")
        process.kill()
        process.start()
        await online(client, 3)
        event = await client.document(f"evt/r1/{CHANGED}", lambda one: one["cause"] == "applied")
        assert (event["rev"], event["request_id"]) == (reply["rev"], "ann/ann/p")
        process.kill()
        process.start()
        await online(client, 4)
        again = await repeated(client)
        assert (again["stage"], again["in_force"]) == ("applied", True)
        history = (await client.change("r1", "GetHistory"))["result"]["changes"]
        assert [one["outcome"] for one in history if one["item"] == "payload_information"] == ["applied"]
