"""Conformance of every link: publishing, properties, bounds, and a load under resets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import aiomqtt
import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from broker.link.mqtt_link import (
    LinkConfig,
    LinkDownError,
    LinkFullError,
    LinkRejectedError,
    MqttLink,
    was_taken,
)
from broker.link.outbound import Outbound
from tests.links import PATIENCE_S, LinkMaker, payloads, peer, settled, take, until
from tests.mosquitto import Mosquitto
from tests.tcp_proxy import TcpProxy


@pytest.fixture
async def link(mosquitto: Mosquitto, make_link: LinkMaker, name: str) -> MqttLink:
    """An open link that reads `<name>/in`."""
    made = make_link(LinkConfig(url=mosquitto.url, client_id=name, filters=(f"{name}/in",)))
    await made.open()
    return made


@pytest.fixture
async def monitor(mosquitto: Mosquitto, name: str) -> AsyncIterator[aiomqtt.Client]:
    """A client of another library that reads `<name>/out/#`."""
    async with peer(mosquitto.port) as client:
        await client.subscribe(f"{name}/out/#", qos=1)
        yield client


async def seen(client: aiomqtt.Client) -> aiomqtt.Message:
    """The next message of `client`."""
    return await asyncio.wait_for(anext(aiter(client.messages)), PATIENCE_S)


async def test_a_publish_is_done_when_acknowledged(link: MqttLink, monitor: aiomqtt.Client, name: str) -> None:
    receipt = link.publish(f"{name}/out/a", b"1")
    assert not receipt.done()
    assert not receipt.failed()
    await settled([receipt])
    assert not receipt.failed()
    assert receipt.reason_code() == 0
    message = await seen(monitor)
    assert (message.payload, message.qos, message.retain) == (b"1", 1, False)


async def test_whether_a_publish_was_taken_is_waited_for_so_long(link: MqttLink, name: str) -> None:
    receipt = link.publish(f"{name}/out/a", b"1")
    assert not await was_taken(receipt, 0.0)
    assert await was_taken(receipt, PATIENCE_S)


async def test_publishes_arrive_in_order(link: MqttLink, monitor: aiomqtt.Client, name: str) -> None:
    await settled([link.publish(f"{name}/out/{number % 3}", str(number).encode()) for number in range(500)])
    assert [(await seen(monitor)).payload for _ in range(500)] == [str(number).encode() for number in range(500)]


async def test_properties_go_out(link: MqttLink, monitor: aiomqtt.Client, name: str) -> None:
    for correlation in (b"\x00\xff", b""):
        link.publish(f"{name}/out/a", b"1", content_type="application/json", expiry_s=300, correlation=correlation)
    link.publish(f"{name}/out/a", b"2")
    full, without_correlation, bare = [vars((await seen(monitor)).properties) for _ in range(3)]
    assert (full["ContentType"], full["CorrelationData"]) == ("application/json", b"\x00\xff")
    assert 298 <= full["MessageExpiryInterval"] <= 300
    assert "CorrelationData" not in without_correlation
    assert not {"ContentType", "MessageExpiryInterval", "CorrelationData"} & set(bare)


async def test_properties_come_in(link: MqttLink, mosquitto: Mosquitto, name: str) -> None:
    properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call] # paho leaves it untyped
    properties.ContentType = "application/msgpack"
    properties.ResponseTopic = f"{name}/res"
    properties.CorrelationData = b"\x01\x00"
    properties.MessageExpiryInterval = 60
    began_s = asyncio.get_running_loop().time()
    async with peer(mosquitto.port) as plc:
        await plc.publish(f"{name}/in", "1", qos=1, properties=properties)
        await plc.publish(f"{name}/in", "2", qos=1)
    full, bare = await take(link.messages(), 2)
    assert (full.content_type, full.response_topic, full.correlation) == (
        "application/msgpack",
        f"{name}/res",
        b"\x01\x00",
    )
    assert full.expiry_s is not None
    assert 0 < full.expiry_s <= 60
    assert (bare.topic, bare.payload, bare.content_type, bare.response_topic) == (f"{name}/in", b"2", "", "")
    assert (bare.correlation, bare.expiry_s) == (b"", None)
    assert began_s <= full.received_s <= bare.received_s <= asyncio.get_running_loop().time()
    assert (full.sent_after_s, bare.sent_after_s) == (None, None)


async def test_an_mqtt_3_1_1_publisher_is_read(link: MqttLink, mosquitto: Mosquitto, name: str) -> None:
    async with peer(mosquitto.port, protocol=aiomqtt.ProtocolVersion.V311) as plc:
        for qos in (0, 1, 2):
            await plc.publish(f"{name}/in", str(qos), qos=qos)
    got = await take(link.messages(), 3)
    assert sorted(payloads(got)) == [b"0", b"1", b"2"]
    assert {(message.content_type, message.expiry_s) for message in got} == {("", None)}
    await link.ack(got)
    assert link.counts.stale_acks == 0


async def test_retained_requests_are_shown_and_old_ones_not_delivered(
    mosquitto: Mosquitto, make_link: LinkMaker, name: str
) -> None:
    config = LinkConfig(url=mosquitto.url, client_id=name, filters=(f"{name}/in/#",))
    seed = make_link(config)
    await seed.open()
    await seed.close()
    async with peer(mosquitto.port) as plc:
        link = make_link(config)
        await link.open()
        messages = link.messages()
        await plc.publish(f"{name}/in/kept", "old", qos=1, retain=True)
        live = await take(messages, 1)
        assert live[0].retain
        await link.ack(live)
        await link.close()
        again = make_link(config)
        await again.open()
        await plc.publish(f"{name}/in/a", "barrier", qos=1)
        assert payloads(await take(again.messages(), 1)) == [b"barrier"]


async def test_a_retained_document_is_kept_and_cleared(link: MqttLink, mosquitto: Mosquitto, name: str) -> None:
    await settled([link.publish(f"{name}/out/state", b"{}", retain=True)])
    async with peer(mosquitto.port) as late:
        await late.subscribe(f"{name}/out/#", qos=1)
        kept = await seen(late)
    assert (kept.payload, kept.retain) == (b"{}", True)
    await settled([link.publish(f"{name}/out/state", b"", retain=True)])
    async with peer(mosquitto.port) as late:
        await late.subscribe(f"{name}/out/#", qos=1)
        link.publish(f"{name}/out/a", b"barrier")
        assert (await seen(late)).payload == b"barrier"


async def test_what_is_under_way_is_bounded(mosquitto: Mosquitto, make_link: LinkMaker, name: str) -> None:
    async with TcpProxy(mosquitto.port) as proxy:
        link = make_link(LinkConfig(url=proxy.url, client_id=name, filters=(f"{name}/in",)))
        await link.open()
        proxy.forwarding.clear()
        receipts: list[Outbound] = []
        with suppress(LinkFullError):
            while len(receipts) < 100_000:
                receipts.append(link.publish(f"{name}/out/a", bytes(100)))
        assert 100 < len(receipts) < 100_000
        proxy.forwarding.set()
        await settled(receipts)
        assert not any(receipt.failed() for receipt in receipts)
        await settled([link.publish(f"{name}/out/a", b"goes on")])


async def test_a_refused_publish_tells_the_reason(plant: Mosquitto, make_link: LinkMaker, name: str) -> None:
    link = make_link(
        LinkConfig(url=plant.url, client_id=name, filters=("a",), user="bob", password=plant.passwords["bob"])
    )
    await link.open()
    refused = link.publish("armbroker/v1/state/r12/config", b"{}", retain=True)
    assert not await was_taken(refused, PATIENCE_S)
    assert refused.done()
    assert refused.failed()
    assert refused.reason_code() == 0x87
    assert link.connected


@pytest.mark.parametrize(("topic", "size"), [("a", 80_000), ("a/+", 1), ("a/#", 1), ("", 1)])
async def test_what_could_never_be_published_is_rejected(
    plant: Mosquitto, make_link: LinkMaker, name: str, topic: str, size: int
) -> None:
    link = make_link(
        LinkConfig(url=plant.url, client_id=name, filters=("a",), user="bob", password=plant.passwords["bob"])
    )
    await link.open()
    with pytest.raises(LinkRejectedError):
        link.publish(topic, bytes(size))
    assert link.connected


class Echo:
    """Answers each request on `out` once, and offers again what failed, as an outbox does."""

    def __init__(self, link: MqttLink, out: str) -> None:
        self._link = link
        self._out = out
        self.answers: dict[bytes, Outbound] = {}

    @property
    def all_acknowledged(self) -> bool:
        """Whether the MQTT server has every answer."""
        return all(receipt.done() and not receipt.failed() for receipt in self.answers.values())

    async def serve(self) -> None:
        """Answer and ack for ever."""
        async for message in self._link.messages():
            if self._answer(message.payload):
                await self._link.ack([message])

    async def offer_again(self, count: int) -> None:
        """Publish again what failed, until `count` answers are acknowledged."""
        while len(self.answers) < count or not self.all_acknowledged:
            for payload in [one for one, receipt in self.answers.items() if receipt.failed()]:
                self._answer(payload)
            await asyncio.sleep(0.01)

    def _answer(self, payload: bytes) -> bool:
        if payload not in self.answers or self.answers[payload].failed():
            try:
                self.answers[payload] = self._link.publish(self._out, payload)
            except (LinkDownError, LinkFullError):
                return False
        return True


async def test_resets_under_load_lose_nothing(
    mosquitto: Mosquitto, monitor: aiomqtt.Client, make_link: LinkMaker, name: str
) -> None:
    count = 300
    async with TcpProxy(mosquitto.port) as proxy, peer(mosquitto.port) as plc:
        link = make_link(LinkConfig(url=proxy.url, client_id=name, filters=(f"{name}/in",), retry_first_s=0.02))
        await link.open()
        echo = Echo(link, f"{name}/out/a")
        serving = asyncio.create_task(echo.serve())

        async def load() -> None:
            for number in range(count):
                await plc.publish(f"{name}/in", str(number), qos=1)
                if number % 75 == 50:
                    before = link.counts.connections
                    proxy.cut()
                    await until(lambda: link.counts.connections > before and link.connected)  # noqa: B023 - awaited here

        async with asyncio.TaskGroup() as group:
            group.create_task(load())
            group.create_task(echo.offer_again(count))
        serving.cancel()
        wanted = {str(number).encode() for number in range(count)}
        while wanted:
            wanted.discard((await seen(monitor)).payload)
        assert (link.counts.connections, link.counts.sessions_lost) == (5, 0)


TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


async def test_a_trace_goes_out_and_comes_in(link: MqttLink, mosquitto: Mosquitto, name: str) -> None:
    async with peer(mosquitto.port) as client:
        await client.subscribe(f"{name}/out/#", qos=1)
        link.publish(f"{name}/out/a", b"1", content_type="application/json", correlation=b"c" * 16, trace=TRACE)
        link.publish(f"{name}/out/a", b"2", content_type="application/json")
        first, second = [vars((await seen(client)).properties) for _ in range(2)]
        assert first["UserProperty"] == [("traceparent", TRACE)]
        assert first["CorrelationData"] == b"c" * 16
        assert "UserProperty" not in second
        given: tuple[list[tuple[str, str]], ...] = (
            [("traceparent", TRACE)],
            [("tracestate", "x=1"), ("traceparent", TRACE), ("other", "y" * 300)],
            [("traceparent", TRACE.upper())],
            [("Traceparent", TRACE)],
            [("traceparent", "")],
            [("traceparent", "x" * 60_000)],
        )
        for pairs in given:
            properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call] # paho leaves it untyped
            properties.UserProperty = pairs
            properties.ContentType = "application/json"
            await client.publish(f"{name}/in", b"1", qos=1, properties=properties)
    messages = await take(link.messages(), len(given))
    assert [message.trace for message in messages] == [TRACE, TRACE, "", "", "", ""]
    assert {message.content_type for message in messages} == {"application/json"}
