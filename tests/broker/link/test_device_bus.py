"""The bus of arms that speak MQTT: in memory, and on a real MQTT server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from broker.counters import Counters
from broker.link.device_bus import STRANGERS_BYTES, MqttDeviceBus, bus_config
from broker.link.mqtt5_link import Mqtt5Link
from broker.link.mqtt_link import LinkConfig, LinkUnreachableError, Will
from broker.topics import Topics
from devices.adapter import ArmAwayError
from tests.links import peer, until
from tests.memory_link import MemoryLink
from tests.mosquitto import Mosquitto
from tests.tcp_proxy import TcpProxy

TOPICS = Topics("armbroker")
CONFIG = LinkConfig(url="mqtt://127.0.0.1:1", client_id="service", filters=("a",), will=Will("w", b""))


class Listener:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.said: list[tuple[str, bytes, bool]] = []
        self.ups: list[bool] = []

    def heard(self, leaf: str, payload: bytes, *, retained: bool) -> None:
        """See `BusListener`."""
        self.said.append((leaf, payload, retained))

    def bus_changed(self, *, up: bool) -> None:
        """See `BusListener`."""
        self.ups.append(up)


class Bench:
    """A bus on a link in memory; `links` were made for it."""

    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self.links: list[MemoryLink] = []
        self.counters = Counters(asyncio.get_running_loop().time)
        self.bus = MqttDeviceBus(self._make, TOPICS, tasks, self.counters)

    def _make(self) -> MemoryLink:
        self.links.append(MemoryLink(asyncio.get_running_loop()))
        return self.links[-1]

    async def deliver(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        """Let a message come, and be handed on."""
        link = self.links[-1]
        link.deliver(topic, payload, retain=retain)
        await until(lambda: not link.unacked)
        await asyncio.sleep(0)


@asynccontextmanager
async def a_bench(*, listening: bool = True) -> AsyncIterator[tuple[Bench, Listener]]:
    async with asyncio.TaskGroup() as tasks:
        bench, listener = Bench(tasks), Listener()
        if listening:
            bench.bus.listen("r12", listener)
        await bench.bus.open()
        yield bench, listener
        await bench.bus.close()


def test_its_connection_is_another_than_that_of_the_requests() -> None:
    config = bus_config(CONFIG, TOPICS)
    assert (config.client_id, config.will, config.session_expiry_s) == ("service-dev", None, 0)
    assert config.filters == TOPICS.device_filters
    assert config.retained


async def test_without_a_listener_there_is_no_connection() -> None:
    async with a_bench(listening=False) as (bench, listener):
        assert bench.links == []
        with pytest.raises(ArmAwayError):
            bench.bus.publish("r12", "cmd", b"{}")
        bench.bus.listen("r12", listener)
        await until(lambda: listener.ups == [True])
        await bench.deliver("dev/r12/birth", b"{}")
        assert listener.said == [("birth", b"{}", False)]


async def test_an_arm_is_heard_by_its_listener_alone() -> None:
    async with a_bench() as (bench, listener):
        other = Listener()
        bench.bus.listen("r13", other)
        await bench.deliver("dev/r12/birth", b"1", retain=True)
        await bench.deliver("dev/r13/ack", b"2")
        for topic in ("dev/r12", "dev/r12/ack/more", "dev/../ack", "dev//ack", "req/a/b/c/d"):
            await bench.deliver(topic, b"3")
        assert listener.said == [("birth", b"1", True)]
        assert other.said == [("ack", b"2", False)]
        bench.bus.forget("r12")
        bench.bus.forget("r12")
        await bench.deliver("dev/r12/report", b"4")
        assert len(listener.said) == 1


async def test_many_messages_are_handed_on_in_order() -> None:
    async with a_bench() as (bench, listener):
        for number in range(500):
            bench.links[0].deliver("dev/r12/report", str(number).encode())
        await until(lambda: len(listener.said) == 500)
        assert [payload for _, payload, _ in listener.said] == [str(number).encode() for number in range(500)]


async def test_the_presence_of_an_arm_is_kept_for_who_listens_later() -> None:
    async with a_bench() as (bench, _):
        for number in range(3):
            await bench.deliver("dev/new/birth", b"%d" % number, retain=True)
        await bench.deliver("dev/new/death", b"d", retain=True)
        await bench.deliver("dev/new/report", b"r")
        later = Listener()
        bench.bus.listen("new", later)
        assert later.ups == [True]
        assert later.said == [("birth", b"2", True), ("death", b"d", True)]


async def test_who_listens_after_another_hears_the_presence_too() -> None:
    async with a_bench() as (bench, _):
        bench.bus.listen("new", Listener())
        await bench.deliver("dev/new/birth", b"1", retain=True)
        await bench.deliver("dev/new/birth", b"2")
        await bench.deliver("dev/new/report", b"r")
        bench.bus.forget("new")
        bench.bus.listen("new", later := Listener())
        assert later.said == [("birth", b"2", True)]


async def test_what_is_kept_is_bounded() -> None:
    async with a_bench() as (bench, _):
        payload = bytes(STRANGERS_BYTES // 4)
        for number in range(6):
            await bench.deliver(f"dev/new{number}/birth", payload)
        heard = []
        for number in range(6):
            bench.bus.listen(f"new{number}", later := Listener())
            heard.append(len(later.said))
        assert heard == [1, 1, 1, 1, 0, 0]


async def test_a_lost_connection_is_told_and_nothing_can_be_published() -> None:
    async with a_bench() as (bench, listener):
        bench.bus.publish("r12", "cmd", b'{"n":1}', expiry_s=5)
        assert bench.links[0].published[-1].topic == "dev/r12/cmd"
        await bench.deliver("dev/new/birth", b"1")
        bench.links[0].lose()
        with pytest.raises(ArmAwayError):
            bench.bus.publish("r12", "cmd", b"{}")
        bench.links[0].restore(present=False)
        assert listener.ups == [True, False, True]
        bench.bus.listen("new", later := Listener())
        assert later.said == []


async def test_a_command_that_the_server_refuses_is_counted_by_arm() -> None:
    async with a_bench() as (bench, _):
        bench.links[0].silent = True
        bench.bus.publish("r12", "cmd", b"{}")
        bench.links[0].answer(code=0x87)
        assert bench.counters.totals()["command_refused"] == 0
        bench.bus.publish("r12", "cmd", b"{}")
        assert bench.counters.totals()["command_refused"] == 1


async def test_a_first_listener_waits_for_a_server_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker.link.device_bus.RETRY_S", 0.01)

    class Late(MemoryLink):
        tries = 0

        async def open(self) -> bool:
            Late.tries += 1
            if Late.tries < 3:
                raise LinkUnreachableError("not yet")
            return await super().open()

    async with asyncio.TaskGroup() as tasks:
        bus = MqttDeviceBus(lambda: Late(asyncio.get_running_loop()), TOPICS, tasks)
        await bus.open()
        bus.listen("r12", listener := Listener())
        bus.listen("r13", Listener())
        await until(lambda: listener.ups == [True])
        assert Late.tries == 3
        await bus.close()
        await bus.close()


@asynccontextmanager
async def a_real_bench(url: str, topics: Topics, *arms: str) -> AsyncIterator[dict[str, Listener]]:
    """A bus on a real MQTT server, with a listener for each arm; the bus is under the key `""`."""
    config = bus_config(LinkConfig(url=url, client_id=f"bus-{topics.service('x')[:8]}", filters=()), topics)
    async with asyncio.TaskGroup() as tasks:
        bus = MqttDeviceBus(lambda: Mqtt5Link(config), topics, tasks)
        listeners = {arm: Listener() for arm in arms}
        for arm, listener in listeners.items():
            bus.listen(arm, listener)
        await bus.open()
        yield listeners
        await bus.close()


async def test_retained_births_come_at_each_connection_and_are_marked(mosquitto: Mosquitto) -> None:
    topics = Topics("bus-retained")
    async with peer(mosquitto.port) as agent, TcpProxy(mosquitto.port) as proxy:
        await agent.publish(topics.device("r12", "birth"), b"1", qos=1, retain=True)
        async with a_real_bench(proxy.url, topics, "r12") as listeners:
            said = listeners["r12"].said
            await until(lambda: said == [("birth", b"1", True)])
            await agent.publish(topics.device("r12", "birth"), b"2", qos=1, retain=True)
            await agent.publish(topics.device("r12", "report"), b"3", qos=1)
            await until(lambda: said[1:] == [("birth", b"2", False), ("report", b"3", False)])
            proxy.cut()
            await until(lambda: listeners["r12"].ups == [True, False, True])
            await until(lambda: said[3:] == [("birth", b"2", True)])


async def test_a_death_is_delivered_before_the_birth(mosquitto: Mosquitto) -> None:
    topics = Topics("bus-order")
    async with peer(mosquitto.port) as agent:
        for leaf in ("birth", "death"):
            await agent.publish(topics.device("r12", leaf), b"1", qos=1, retain=True)
        async with a_real_bench(mosquitto.url, topics, "r12") as listeners:
            await until(lambda: len(listeners["r12"].said) == 2)
            assert [leaf for leaf, _, _ in listeners["r12"].said] == ["death", "birth"]
