"""Sessions of an agent on a real MQTT server, each with its own number."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiomqtt

from armbroker.agent.connection import AgentConnection, AgentLogin
from armbroker.agent.numbers import SessionNumbers
from broker.topics import Topics
from devices.simulated import SimulatedArm, SimulatedStore
from schema.arms import Fault
from tests.links import PATIENCE_S, peer
from tests.mosquitto import Mosquitto
from tests.tcp_proxy import TcpProxy

ARM = "r12"


class Bench:
    """An agent in this process, and what the MQTT server delivers of it."""

    def __init__(self, agent: AgentConnection, arm: SimulatedArm, client: aiomqtt.Client, topics: Topics) -> None:
        self.agent = agent
        self.arm = arm
        self.stop = asyncio.Event()
        self._client = client
        self._topics = topics
        self._messages = aiter(client.messages)

    async def heard(self) -> tuple[str, dict[str, Any]]:
        """The next message of the arm."""
        message = await asyncio.wait_for(anext(self._messages), PATIENCE_S)
        return message.topic.value.rpartition("/")[2], json.loads(message.payload)

    async def presence(self) -> tuple[str, int]:
        """Leaf and session of the next message, a birth or a death."""
        leaf, document = await self.heard()
        return leaf, document["session"]

    async def command(self, **document: Any) -> None:
        """Publish a command."""
        await self._client.publish(self._topics.device(ARM, "cmd"), json.dumps(document), qos=1)


@asynccontextmanager
async def a_bench(server: Mosquitto, url: str, root: str, folder: Path) -> AsyncIterator[Bench]:
    topics, store, numbers = Topics(root), SimulatedStore(folder), SessionNumbers(folder)
    arm = SimulatedArm(ARM, "gen3_7dof", store, latency_s=0.0)
    async with peer(server.port) as client:
        for leaf in ("birth", "death", "ack", "report"):
            await client.subscribe(topics.device(ARM, leaf), qos=1)
        agent = AgentConnection(ARM, arm, AgentLogin(url, topics), numbers)
        bench = Bench(agent, arm, client, topics)
        serving = asyncio.create_task(agent.serve(bench.stop))
        yield bench
        bench.stop.set()
        await asyncio.wait_for(serving, PATIENCE_S)
        await arm.close()
        store.close()
        numbers.close()


async def test_a_session_begins_answers_and_ends_with_a_goodbye(mosquitto: Mosquitto, tmp_path: Path) -> None:
    async with a_bench(mosquitto, mosquitto.url, "agent-one", tmp_path) as bench:
        assert await bench.presence() == ("birth", 1)
        await bench.command(session=1, read=3, verb="read", item="control_mode", expires_in_ms=5000)
        leaf, ack = await bench.heard()
        assert (leaf, ack["read"], ack["ok"]) == ("ack", 3, True)
        bench.stop.set()
        assert await bench.presence() == ("death", 1)


async def test_a_lost_connection_is_the_end_of_a_session(mosquitto: Mosquitto, tmp_path: Path) -> None:
    async with TcpProxy(mosquitto.port) as proxy, a_bench(mosquitto, proxy.url, "agent-cut", tmp_path) as bench:
        assert await bench.presence() == ("birth", 1)
        proxy.cut()
        heard = {await bench.presence() for _ in range(2)}
        assert heard == {("death", 1), ("birth", 2)}
        await bench.command(session=1, read=3, verb="read", item="control_mode", expires_in_ms=5000)
        leaf, ack = await bench.heard()
        assert (leaf, ack["session"], ack["ok"]) == ("ack", 2, False)


async def test_an_arm_out_of_reach_ends_its_session(mosquitto: Mosquitto, tmp_path: Path) -> None:
    async with a_bench(mosquitto, mosquitto.url, "agent-away", tmp_path) as bench:
        assert await bench.presence() == ("birth", 1)
        bench.arm.inject(Fault("offline"))
        assert await bench.presence() == ("death", 1)
        bench.arm.inject(Fault("none"))
        assert await bench.presence() == ("birth", 2)
