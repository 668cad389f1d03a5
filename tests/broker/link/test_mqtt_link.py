"""The records of the link, and conformance of every link: the session, redelivery, acknowledgement."""

from collections.abc import Callable

import pytest

from broker.link.mqtt_link import LinkConfig, LinkConfigError, ServerAddress, parse_url
from tests.links import LinkMaker, holder, payloads, peer, settled, take, until
from tests.mosquitto import Mosquitto
from tests.tcp_proxy import TcpProxy

UNLIMITED = """
listener {port} 127.0.0.1
allow_anonymous true
max_inflight_messages 0
max_queued_messages 100000
"""


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("mqtt://plant", ServerAddress("plant", 1883, tls=False)),
        ("mqtts://plant", ServerAddress("plant", 8883, tls=True)),
        ("mqtts://10.1.2.3:1234/", ServerAddress("10.1.2.3", 1234, tls=True)),
        ("mqtt://[::1]:1884", ServerAddress("::1", 1884, tls=False)),
    ],
)
def test_a_url_gives_the_address(url: str, address: ServerAddress) -> None:
    assert parse_url(url) == address


@pytest.mark.parametrize(
    "url",
    [
        "",
        "plant",
        "plant:1883",
        "tcp://plant",
        "mqtt://",
        "mqtt://plant:x",
        "mqtt://plant:70000",
        "mqtt://plant/a",
        "mqtt://plant?a=b",
        "mqtt://plant#a",
        "mqtt://alice:secret@plant",
    ],
)
def test_any_other_url_is_refused_by_name(url: str) -> None:
    with pytest.raises(LinkConfigError, match=r"^mqtt\.url: ") as refused:
        parse_url(url)
    assert "secret" not in str(refused.value)


def test_the_password_is_not_shown() -> None:
    config = LinkConfig(url="mqtt://plant", client_id="c", filters=(), user="svc", password="secret")
    assert "secret" not in f"{config} {config!r}"


async def test_the_session_persists_and_keeps_what_came_meanwhile(
    mosquitto: Mosquitto, make_link: LinkMaker, name: str
) -> None:
    config = LinkConfig(url=mosquitto.url, client_id=name, filters=(f"{name}/a", f"{name}/b/#"))
    first = make_link(config)
    assert not await first.open()
    await first.close()
    async with peer(mosquitto.port) as plc:
        for number, topic in enumerate((f"{name}/a", f"{name}/b/c", f"{name}/other", f"{name}/a")):
            await plc.publish(topic, str(number), qos=1)
    second = make_link(config)
    assert await second.open()
    messages = second.messages()
    got = await take(messages, 3)
    assert payloads(got) == [b"0", b"1", b"3"]
    assert not any(message.dup for message in got)
    await second.ack(got)


async def test_a_link_with_other_filters_reads_them_in_its_old_session(
    mosquitto: Mosquitto, make_link: LinkMaker, name: str
) -> None:
    first = make_link(LinkConfig(url=mosquitto.url, client_id=name, filters=(f"{name}/old",)))
    await first.open()
    await first.close()
    second = make_link(LinkConfig(url=mosquitto.url, client_id=name, filters=(f"{name}/new",)))
    assert await second.open()
    await until(lambda: f"{name} 1 {name}/new" in mosquitto.log)
    async with peer(mosquitto.port) as plc:
        await plc.publish(f"{name}/new", "1", qos=1)
    assert payloads(await take(second.messages(), 1)) == [b"1"]


async def test_what_a_killed_process_did_not_ack_comes_again_in_order(
    mosquitto: Mosquitto, link_kind: str, make_link: LinkMaker, name: str
) -> None:
    config = LinkConfig(url=mosquitto.url, client_id=name, filters=(f"{name}/#",))
    seed = make_link(config)
    await seed.open()
    await seed.close()
    async with peer(mosquitto.port) as plc:
        for number in range(5):
            await plc.publish(f"{name}/{number % 2}", str(number), qos=1)
        with holder(link_kind, config, 5):
            pass
        await plc.publish(f"{name}/0", "5", qos=1)
    link = make_link(config)
    assert await link.open()
    got = await take(link.messages(), 6)
    assert payloads(got) == [b"0", b"1", b"2", b"3", b"4", b"5"]
    assert [message.dup for message in got] == [True] * 5 + [False]


async def test_what_was_not_acked_before_a_cut_comes_again_in_order(
    mosquitto: Mosquitto, make_link: LinkMaker, name: str
) -> None:
    async with TcpProxy(mosquitto.port) as proxy, peer(mosquitto.port) as plc:
        link = make_link(LinkConfig(url=proxy.url, client_id=name, filters=(f"{name}/a",)))
        await link.open()
        for number in range(4):
            await plc.publish(f"{name}/a", str(number), qos=1)
        messages = link.messages()
        await link.ack((await take(messages, 4))[:2])
        await until(lambda: len(proxy.pubacks()[0]) == 2)
        proxy.cut()
        again = await take(messages, 2)
        assert payloads(again) == [b"2", b"3"]
        assert all(message.dup for message in again)


async def test_a_stale_ack_is_dropped_and_counted(mosquitto: Mosquitto, make_link: LinkMaker, name: str) -> None:
    async with TcpProxy(mosquitto.port) as proxy, peer(mosquitto.port) as plc:
        link = make_link(LinkConfig(url=proxy.url, client_id=name, filters=(f"{name}/a",)))
        await link.open()
        messages = link.messages()
        await plc.publish(f"{name}/a", "old", qos=1)
        old = await take(messages, 1)
        proxy.cut()
        again = await take(messages, 1)
        await link.ack(old)
        assert link.counts.stale_acks == 1
        await plc.publish(f"{name}/a", "barrier", qos=1)
        barrier = await take(messages, 1)
        assert proxy.pubacks()[-1] == []
        await link.ack([*again, *barrier])
        await until(lambda: len(proxy.pubacks()[-1]) == 2)
        assert link.counts.stale_acks == 1


async def test_an_ack_while_disconnected_is_dropped_and_counted(
    start_mosquitto: Callable[[str], Mosquitto], make_link: LinkMaker, name: str
) -> None:
    server = start_mosquitto("")
    link = make_link(LinkConfig(url=server.url, client_id=name, filters=(f"{name}/a",)))
    await link.open()
    async with peer(server.port) as plc:
        await plc.publish(f"{name}/a", "1", qos=1)
    old = await take(link.messages(), 1)
    server.stop()
    await until(lambda: not link.connected)
    await link.ack(old)
    assert link.counts.stale_acks == 1


async def test_acks_leave_in_arrival_order(mosquitto: Mosquitto, make_link: LinkMaker, name: str) -> None:
    async with TcpProxy(mosquitto.port) as proxy, peer(mosquitto.port) as plc:
        link = make_link(LinkConfig(url=proxy.url, client_id=name, filters=(f"{name}/a",)))
        await link.open()
        for number in range(9):
            await plc.publish(f"{name}/a", str(number), qos=1)
        got = await take(link.messages(), 9)
        await link.ack(got[3:6])
        await link.ack(got[:3])
        await link.ack(got[6:])
        await until(lambda: len(proxy.pubacks()[0]) == 9)
        assert proxy.pubacks()[0] == sorted(proxy.pubacks()[0])


async def test_a_message_that_never_comes_again_holds_back_no_ack(
    mosquitto: Mosquitto, make_link: LinkMaker, name: str
) -> None:
    """Another connection of the session took it; the same happens when it expires before it is delivered again."""
    config = LinkConfig(url=mosquitto.url, client_id=name, filters=(f"{name}/a",))
    async with TcpProxy(mosquitto.port) as proxy, peer(mosquitto.port) as plc:
        link = make_link(LinkConfig(url=proxy.url, client_id=name, filters=config.filters))
        await link.open()
        messages = link.messages()
        await plc.publish(f"{name}/a", "first", qos=1)
        await take(messages, 1)
        proxy.refusing = True
        proxy.cut()
        other = make_link(config)
        await other.open()
        await other.ack(await take(other.messages(), 1))
        await other.close()
        proxy.refusing = False
        await plc.publish(f"{name}/a", "second", qos=1)
        second = await take(messages, 1)
        assert payloads(second) == [b"second"]
        await link.ack(second)
        await until(lambda: len(proxy.pubacks()[-1]) == 1)


async def test_a_link_read_again_after_a_pause_goes_on(mosquitto: Mosquitto, make_link: LinkMaker, name: str) -> None:
    link = make_link(LinkConfig(url=mosquitto.url, client_id=name, filters=(f"{name}/a",)))
    await link.open()
    async with peer(mosquitto.port) as plc:
        for number in range(3):
            await plc.publish(f"{name}/a", str(number), qos=1)
    async for message in link.messages():
        assert message.payload == b"0"
        break
    assert payloads(await take(link.messages(), 2)) == [b"1", b"2"]


async def test_more_than_fits_in_memory_waits_in_the_session(
    start_mosquitto: Callable[[str], Mosquitto], make_link: LinkMaker, name: str
) -> None:
    """The MQTT server sends everything at once here; the link reads no faster than its owner."""
    count = 3_000
    server = start_mosquitto(UNLIMITED)
    config = LinkConfig(url=server.url, client_id=name, filters=(f"{name}/a",))
    seed = make_link(config)
    await seed.open()
    await seed.close()
    plc = make_link(LinkConfig(url=server.url, client_id=f"{name}-plc", filters=(f"{name}/b",)))
    await plc.open()
    for number in range(count):
        sent = plc.publish(f"{name}/a", str(number).encode())
        if number % 500 == 0 or number == count - 1:
            await settled([sent])
    link = make_link(config)
    assert await link.open()
    messages = link.messages()
    for number in range(count):
        got = await take(messages, 1)
        assert payloads(got) == [str(number).encode()]
        await link.ack(got)
    assert link.counts.connections == 1


async def test_messages_end_with_close(mosquitto: Mosquitto, make_link: LinkMaker, name: str) -> None:
    link = make_link(LinkConfig(url=mosquitto.url, client_id=name, filters=(f"{name}/a",)))
    await link.open()
    link.publish(f"{name}/a", b"1")
    messages = link.messages()
    await take(messages, 1)
    await link.close()
    await link.close()
    assert [message async for message in messages] == []
    assert [message async for message in link.messages()] == []
    assert not link.connected
