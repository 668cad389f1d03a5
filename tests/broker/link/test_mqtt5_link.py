"""Our own client against a server that sends whatever there is; nothing in an intact packet ends the link."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

import pytest
import structlog
from structlog.testing import LogCapture

from broker.counters import Counters
from broker.link.mqtt5_link import Mqtt5Link
from broker.link.mqtt_link import (
    InboundMessage,
    LinkConfig,
    LinkFullError,
    LinkRefusedError,
    LinkRejectedError,
    LinkUnreachableError,
)
from tests.fake_server import CONNECT, DISCONNECT, PINGREQ, PUBACK, PUBLISH, FakeServer, Peer, publish
from tests.links import PATIENCE_S, payloads, take, until
from tests.odd_packets import ODD, lost_publishes, malformed_publishes, packets_out_of_place
from tests.raw_publish import frame, text

TOPIC = b"armbroker/v1/req/alice/plc/r12/WhoAmI"
GOOD = 60_000
"""The packet id of the good message behind a bad one."""


class Bench(NamedTuple):
    """An open link on a fake server, and what was counted."""

    server: FakeServer
    link: Mqtt5Link
    counters: Counters

    @property
    def peer(self) -> Peer:
        """The server's side of the latest connection."""
        return self.server.peers[-1]

    async def survives(self, data: bytes) -> list[InboundMessage]:
        """Send `data` and a good message behind it; what the reader was given, all of it acknowledged."""
        self.peer.send(data + publish(TOPIC, b"good", mid=GOOD))
        got: list[InboundMessage] = []
        async with asyncio.timeout(PATIENCE_S):
            async for batch in self.link.batches():
                got += batch
                await self.link.ack(batch)
                if got[-1].payload == b"good":
                    break
        await until(lambda: GOOD in self.peer.acked)
        assert len(self.server.peers) == 1
        assert self.link.connected
        return got[:-1]


@pytest.fixture
async def bench(name: str) -> AsyncIterator[Bench]:
    """A link that is open, on a server that is polite."""
    async with FakeServer() as server:
        counters = Counters(asyncio.get_running_loop().time)
        link = Mqtt5Link(LinkConfig(url=server.url, client_id=name, filters=("a",), retry_first_s=0.01), counters)
        await link.open()
        yield Bench(server, link, counters)
        await link.close()


async def opened(server: FakeServer, *, keepalive_s: int = 30, client_id: str = "c") -> Mqtt5Link:
    """A link on `server`."""
    link = Mqtt5Link(LinkConfig(url=server.url, client_id=client_id, filters=("a",), keepalive_s=keepalive_s))
    await link.open()
    return link


async def test_no_property_ends_the_link(bench: Bench) -> None:
    odd = [
        publish(TOPIC, one.name.encode(), mid=mid, properties=one.properties) for mid, one in enumerate(ODD.values(), 1)
    ]
    got = await bench.survives(b"".join(odd))
    told = [one.name for one in ODD.values() if one.told]
    assert [message.payload.decode() for message in got] == told
    assert bench.peer.acked == [*range(1, len(odd) + 1), GOOD]
    untold = len(odd) - len(told)
    assert bench.link.counts.unreadable == bench.counters.totals()["message_unreadable"] == untold


@pytest.mark.parametrize(
    ("properties", "response", "blank"),
    [
        (b"\x08" + text(b""), "", True),
        (b"", "", False),
        (b"\x08" + text(b"a/+"), "a/+", False),
        (b"\x08" + text(b"a\xff"), "a\N{REPLACEMENT CHARACTER}", False),
        (b"\x08" + text(b"a") + b"\x08" + text(b"b"), "b", False),
    ],
)
async def test_a_response_topic_stands_as_it_came(bench: Bench, properties: bytes, response: str, blank: bool) -> None:
    (got,) = await bench.survives(publish(TOPIC, properties=properties))
    assert (got.response_topic, got.blank_response) == (response, blank)


@pytest.mark.parametrize("kind", malformed_publishes(7))
async def test_a_message_that_cannot_be_read_is_acknowledged_and_counted(bench: Bench, kind: str) -> None:
    assert await bench.survives(malformed_publishes(7)[kind]) == []
    assert bench.peer.acked == [7, GOOD]
    assert bench.link.counts.unreadable == bench.counters.totals()["message_unreadable"] == 1


@pytest.mark.parametrize("kind", lost_publishes())
async def test_a_message_without_a_packet_id_is_counted(bench: Bench, kind: str) -> None:
    assert await bench.survives(lost_publishes()[kind]) == []
    assert bench.peer.acked == [GOOD]
    assert bench.link.counts.unreadable == 1


async def test_packets_out_of_place_are_passed_over(bench: Bench) -> None:
    packets = packets_out_of_place()
    assert await bench.survives(b"".join(packets.values())) == []
    counted = bench.link.counts.out_of_place
    assert counted == bench.counters.totals()["packet_out_of_place"]
    assert counted > 3 / 4 * len(packets)


async def test_what_comes_in_pieces_reads_the_same(bench: Bench) -> None:
    data = b"".join(publish(TOPIC, bytes([number]) * number * 3, mid=number + 1) for number in range(60))
    for at in range(0, len(data), 7):
        bench.peer.send(data[at : at + 7])
        if at % 70 == 0:
            await asyncio.sleep(0)
    assert payloads(await bench.survives(b"")) == [bytes([number]) * number * 3 for number in range(60)]


async def test_what_is_unreadable_is_acknowledged_in_its_turn(bench: Bench) -> None:
    bad = malformed_publishes(2)["no topic"]
    bench.peer.send(publish(TOPIC, b"1", mid=1) + bad + publish(TOPIC, b"3", mid=3))
    first, third = await take(bench.link.messages(), 2)
    await bench.link.ack([third])
    assert bench.peer.acked == []
    await bench.link.ack([first, first])
    await until(lambda: len(bench.peer.acked) == 3)
    assert bench.peer.acked == [1, 2, 3]


async def test_all_of_one_read_is_one_batch(bench: Bench) -> None:
    bench.peer.send(b"".join(publish(TOPIC, b"%d" % number, mid=number) for number in range(1, 9)))
    async for batch in bench.link.batches():
        assert payloads(batch) == [b"%d" % number for number in range(1, 9)]
        break


async def test_a_packet_too_large_for_anybody_is_cut(bench: Bench) -> None:
    (got,) = await bench.survives(publish(TOPIC, bytes(20 * 2**20), mid=9))
    assert 4 * 2**20 < len(got.payload) < 9 * 2**20
    assert bench.peer.acked == [9, GOOD]


async def test_a_length_that_none_can_have_ends_the_connection_and_not_the_link(bench: Bench) -> None:
    bench.peer.send(b"\x30\xff\xff\xff\xff\x7f")
    first = bench.peer
    await until(lambda: len(bench.server.peers) == 2 and bench.link.connected)
    assert first.said(DISCONNECT) == [b"\x81"]
    assert payloads(await take(_after(bench, publish(TOPIC, b"on")), 1)) == [b"on"]


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b"\x30\xff\xff\xff\xff\x7f", "a length of more than four bytes"),
        (frame(DISCONNECT, b"\x8b"), "reason code 0x8b"),
        (frame(DISCONNECT, b""), "reason code 0x00"),
    ],
)
async def test_why_a_connection_was_lost_is_logged(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, data: bytes, cause: str
) -> None:
    logs = LogCapture()
    monkeypatch.setattr("broker.link.mqtt5_connection._LOG", structlog.wrap_logger(None, processors=[logs]))
    bench.peer.send(data)
    await until(lambda: len(bench.server.peers) == 2 and bench.link.connected)
    await bench.link.close()
    (entry,) = logs.entries
    assert entry["event"] == "mqtt_connection_lost"
    assert cause in entry["cause"]


async def test_the_same_poison_at_each_connection_is_met_ever_more_slowly(name: str) -> None:
    async with FakeServer() as server:
        server.connack += b"\x30\xff\xff\xff\xff\x7f"
        link = Mqtt5Link(
            LinkConfig(url=server.url, client_id=name, filters=("a",), retry_first_s=0.2, first_connection_s=1.0)
        )
        with pytest.raises(Exception, match="length of more than four bytes"):
            await link.open()
        assert 1 <= len(server.peers) <= 6


async def _after(bench: Bench, data: bytes) -> AsyncIterator[InboundMessage]:
    bench.peer.send(data)
    async for message in bench.link.messages():
        yield message


async def test_a_connack_that_cannot_be_read_is_no_connection(name: str) -> None:
    async with FakeServer() as server:
        server.connack = frame(0x20, b"\x00")
        link = Mqtt5Link(LinkConfig(url=server.url, client_id=name, filters=("a",), first_connection_s=0.3))
        with pytest.raises(Exception, match="CONNACK"):
            await link.open()
        assert not link.connected


@pytest.mark.parametrize(
    ("code", "error", "text"),
    [
        (0x01, LinkRefusedError, "does not speak MQTT 5"),
        (0x05, LinkRefusedError, "0x05"),
        (0x84, LinkRefusedError, "does not speak MQTT 5"),
        (0x86, LinkRefusedError, "0x86"),
        (0x03, LinkUnreachableError, "0x03"),
        (0x89, LinkUnreachableError, "0x89"),
    ],
)
async def test_a_refusal_of_either_version_is_told(name: str, code: int, error: type[Exception], text: str) -> None:
    async with FakeServer() as server:
        server.connack = frame(0x20, bytes([0, code]))
        link = Mqtt5Link(LinkConfig(url=server.url, client_id=name, filters=("a",), first_connection_s=0.3))
        with pytest.raises(error, match=text):
            await link.open()
        assert not link.connected


@pytest.mark.parametrize("behind", [b"\x7f\x00", b"\x27\x00", b"\x12\x00\x09a"])
async def test_of_a_connack_what_can_be_read_counts(name: str, behind: bytes) -> None:
    async with FakeServer(b"\x27" + (5_000).to_bytes(4) + behind) as server:
        link = await opened(server, client_id=name)
        assert (link.connected, link.max_packet) == (True, 5_000)
        await link.close()


async def test_a_message_of_qos_2_is_taken_once_and_released(bench: Bench) -> None:
    qos_2 = bytearray(publish(TOPIC, b"2", mid=5))
    qos_2[0] = 0x34
    (got,) = await bench.survives(bytes(qos_2))
    assert got.payload == b"2"
    assert bench.peer.said(0x50) == [b"\x00\x05"]
    bench.peer.send(frame(0x62, b"\x00\x05"))
    await until(lambda: bench.peer.said(0x70) == [b"\x00\x05"])


async def test_receive_maximum_is_kept(name: str) -> None:
    async with FakeServer(b"\x21\x00\x03") as server:
        server.answer = lambda head, body: b"" if head & 0xF0 == PUBLISH else server.polite(head, body)
        link = await opened(server, client_id=name)
        receipts = [link.publish("a", b"x") for _ in range(3)]
        with pytest.raises(LinkFullError):
            link.publish("a", b"x")
        await until(lambda: len(server.peers[0].said(PUBLISH)) == 3)
        server.peers[0].send(frame(0x40, b"\x00\x02"))
        await until(lambda: any(receipt.done() for receipt in receipts))
        link.publish("a", b"x")
        await link.close()


async def test_bytes_under_way_are_bounded(name: str) -> None:
    async with FakeServer() as server:
        server.answer = lambda head, body: b"" if head & 0xF0 == PUBLISH else server.polite(head, body)
        link = await opened(server, client_id=name)
        for _ in range(30):
            link.publish("a", bytes(2**20))
        with pytest.raises(LinkFullError):
            link.publish("a", bytes(3 * 2**20))
        await link.close()


async def test_maximum_packet_size_is_kept_to_the_byte(name: str) -> None:
    async with FakeServer(b"\x27" + (200).to_bytes(4)) as server:
        link = await opened(server, client_id=name)
        assert link.max_packet == 200
        beside = len(b"\x00\x01a" + b"\x00\x01" + b"\x13" + b"\x03\x00\x10application/json")
        link.publish("a", bytes(200 - 5 - beside), content_type="application/json")
        with pytest.raises(LinkRejectedError, match="200"):
            link.publish("a", bytes(200 - 5 - beside + 1), content_type="application/json")
        await until(lambda: bool(server.peers[0].said(PUBLISH)))
        assert [len(body) for body in server.peers[0].said(PUBLISH)] == [195]
        await link.close()


async def test_a_server_without_qos_1_is_refused_by_name(name: str) -> None:
    async with FakeServer(b"\x24\x00") as server:
        with pytest.raises(LinkRefusedError, match="QoS 1") as refused:
            await opened(server, client_id=name)
        assert refused.value.reason_code == 0x9B


async def test_a_server_that_retains_nothing_is_sent_nothing_retained(name: str) -> None:
    async with FakeServer(b"\x25\x00") as server:
        link = await opened(server, client_id=name)
        link.publish("a", b"x", retain=True)
        await until(lambda: bool(server.peers[0].said(PUBLISH)))
        assert [head for head, _ in server.peers[0].packets if head & 0xF0 == PUBLISH] == [0x32]
        await link.close()


async def test_the_keep_alive_of_the_server_counts(name: str) -> None:
    async with FakeServer(b"\x13\x00\x01") as server:
        link = await opened(server, client_id=name, keepalive_s=600)
        await until(lambda: len(server.peers[0].said(PINGREQ)) >= 2)
        assert len(server.peers) == 1
        await link.close()


async def test_a_server_that_answers_nothing_is_left(name: str) -> None:
    async with FakeServer() as server:
        server.answer = lambda head, body: b"" if head == PINGREQ else server.polite(head, body)
        link = await opened(server, client_id=name, keepalive_s=1)
        await until(lambda: len(server.peers) == 2)
        await link.close()


async def test_an_id_that_the_server_assigned_is_kept(name: str) -> None:
    async with FakeServer(b"\x12" + text(name.encode())) as server:
        link = await opened(server, client_id="")
        server.peers[0].cut()
        await until(lambda: len(server.peers) == 2 and link.connected)
        first, second = (peer.said(CONNECT)[0] for peer in server.peers)
        assert name.encode() not in first
        assert second.endswith(text(name.encode()))
        await link.close()


@pytest.mark.parametrize(
    "properties",
    [
        {"content_type": "x" * 70_000},
        {"correlation": bytes(70_000)},
        {"content_type": "\0"},
        {"content_type": "\ud800"},
    ],
)
async def test_what_mqtt_cannot_carry_is_rejected(bench: Bench, properties: dict[str, object]) -> None:
    with pytest.raises(LinkRejectedError):
        bench.link.publish("a", b"", **properties)  # type: ignore[arg-type] # one of several
    for topic in ("", "a\0", "\ud800", "x" * 70_000, "a/+", "#"):
        with pytest.raises(LinkRejectedError):
            bench.link.publish(topic, b"")
    assert await bench.survives(b"") == []


def _held(batches: Sequence[InboundMessage]) -> int:
    return sum(len(message.payload) for message in batches)


async def test_reading_stops_while_too_much_is_held_and_goes_on(bench: Bench) -> None:
    """The reader takes nothing: what the link holds is bounded, and nothing is lost."""
    big, count = 2**20, 80
    for number in range(1, count + 1):
        bench.peer.send(publish(TOPIC, bytes(big), mid=number))
    await until(lambda: bench.link.held_bytes >= 16 * big)
    for _ in range(200):
        await asyncio.sleep(0)
    assert bench.link.held_bytes <= 40 * big
    seen = 0
    async for batch in bench.link.batches():
        seen += _held(batch)
        await bench.link.ack(batch)
        if seen == count * big:
            break
    await until(lambda: len(bench.peer.acked) == count)
    assert len(bench.server.peers) == 1


async def test_the_server_ends_the_connection_after_our_disconnect(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With bytes unread our own end would be a reset, which may overtake the DISCONNECT; then the will is published."""
    monkeypatch.setattr("broker.link.mqtt5_connection._CLOSE_S", PATIENCE_S)
    bench.peer.stays = True
    closing = asyncio.create_task(bench.link.close())
    await until(lambda: bench.peer.said(DISCONNECT) == [b""])
    bench.peer.send(publish(TOPIC, bytes(2**20)) * 4)
    for _ in range(20):
        await asyncio.sleep(0.005)
    assert not bench.peer.lost.is_set()
    assert not closing.done()
    bench.peer.cut()
    await closing


async def test_a_server_that_does_not_end_the_connection_is_left(bench: Bench) -> None:
    bench.peer.stays = True
    await bench.link.close()
    await asyncio.wait_for(bench.peer.lost.wait(), PATIENCE_S)


async def test_the_owner_is_told_once_a_read_that_receipts_are_settled_and_when_they_are_lost(bench: Bench) -> None:
    states: list[list[bool]] = []
    bench.server.answer = lambda _head, _body: b""
    receipts = [bench.link.publish("a", b"1"), bench.link.publish("a", b"2"), bench.link.publish("a", b"3")]
    assert bench.link.on_receipts(lambda: states.append([receipt.done() for receipt in receipts]))
    await until(lambda: len(bench.peer.said(PUBLISH)) == len(receipts))
    first, second, _ = (body[3:5] for body in bench.peer.said(PUBLISH))
    bench.peer.send(frame(PUBACK, first) + frame(PUBACK, second))
    await until(lambda: bool(states))
    bench.peer.cut()
    await until(receipts[2].failed)
    assert states == [[True, True, False], [True, True, True]]


async def test_an_acknowledgement_needs_no_waiting(bench: Bench) -> None:
    bench.peer.send(publish(TOPIC, b"good", mid=GOOD))
    async for batch in bench.link.batches():
        assert bench.link.ack_now(batch)
        break
    await until(lambda: GOOD in bench.peer.acked)


async def test_what_is_held_leaves_at_the_flush_in_one_write(bench: Bench) -> None:
    bench.peer.send(publish(TOPIC, b"good", mid=GOOD))
    async for batch in bench.link.batches():
        bench.link.hold()
        bench.link.publish("a", b"1")
        bench.link.ack_now(batch)
        bench.link.publish("a", b"2")
        break
    await asyncio.sleep(0.05)
    assert bench.peer.said(PUBLISH) == []
    bench.link.flush()
    bench.link.publish("a", b"3")
    await until(lambda: len(bench.peer.said(PUBLISH)) == 3)
    kinds = [head & 0xF0 for head, _ in bench.peer.packets if head & 0xF0 in (PUBLISH, PUBACK)]
    assert kinds == [PUBLISH, PUBACK, PUBLISH, PUBLISH]


async def test_a_link_that_never_connected_has_nothing_to_hold() -> None:
    link = Mqtt5Link(LinkConfig(url="mqtt://127.0.0.1:1", client_id="c", filters=("a",)))
    link.hold()
    link.flush()
    await link.close()
