"""Conformance of every link: how connections are made, lost, made again and ended."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from broker.link.mqtt_link import (
    UNTOLD_MAX_PACKET,
    LinkConfig,
    LinkDownError,
    LinkRefusedError,
    LinkTakenOverError,
    LinkUnreachableError,
    MqttLink,
    Will,
)
from broker.link.outbound import Outbound
from tests.fake_server import DISCONNECT, FakeServer
from tests.links import PATIENCE_S, LinkMaker, holder, payloads, peer, settled, take, until
from tests.mosquitto import SHIPPED, Mosquitto, free_port, make_plant, write_passwords
from tests.raw_publish import frame
from tests.tcp_proxy import TcpProxy

PERSISTENT = """
listener {port} 127.0.0.1
allow_anonymous true
user root
persistence true
persistence_location {folder}/
"""


async def next_session(link: MqttLink) -> asyncio.Queue[bool]:
    """A queue that gets `session_present` of each connection from now on."""
    sessions: asyncio.Queue[bool] = asyncio.Queue()
    link.on_session(sessions.put_nowait)
    return sessions


async def test_a_wrong_password_is_refused_at_once(plant: Mosquitto, make_link: LinkMaker, name: str) -> None:
    link = make_link(LinkConfig(url=plant.url, client_id=name, filters=("a",), user="svc", password="wrong"))
    with pytest.raises(LinkRefusedError, match="svc") as refused:
        await link.open()
    assert refused.value.reason_code == 0x87
    assert "wrong" not in str(refused.value)
    assert not link.connected


async def test_user_and_password_are_sent(plant: Mosquitto, make_link: LinkMaker, name: str) -> None:
    password = plant.passwords["svc"]
    link = make_link(LinkConfig(url=plant.url, client_id=name, filters=("a",), user="svc", password=password))
    await link.open()
    assert link.connected


async def test_no_server_is_told_after_the_deadline(make_link: LinkMaker, name: str) -> None:
    url = f"mqtt://127.0.0.1:{free_port()}"
    link = make_link(LinkConfig(url=url, client_id=name, filters=("a",), first_connection_s=0.5))
    began_s = time.monotonic()
    with pytest.raises(LinkUnreachableError, match=url):
        await link.open()
    assert time.monotonic() - began_s < PATIENCE_S
    with pytest.raises(LinkDownError):
        link.publish("a", b"")


async def test_a_server_that_starts_late_is_found(mosquitto: Mosquitto, make_link: LinkMaker, name: str) -> None:
    async with TcpProxy(mosquitto.port) as proxy:
        proxy.refusing = True
        link = make_link(LinkConfig(url=proxy.url, client_id=name, filters=(f"{name}/a",)))
        opening = asyncio.create_task(link.open())
        await until(lambda: proxy.refused > 1)
        proxy.refusing = False
        assert not await opening
        assert link.connected


async def test_a_restart_of_a_persistent_server_keeps_the_session(
    start_mosquitto: Callable[[str], Mosquitto], make_link: LinkMaker, name: str
) -> None:
    server = start_mosquitto(PERSISTENT)
    link = make_link(LinkConfig(url=server.url, client_id=name, filters=(f"{name}/a",)))
    await link.open()
    messages = link.messages()
    async with peer(server.port) as plc:
        await plc.publish(f"{name}/a", "1", qos=1)
    await take(messages, 1)
    sessions = await next_session(link)
    server.stop()
    await until(lambda: not link.connected)
    with pytest.raises(LinkDownError):
        link.publish(f"{name}/a", b"")
    server.start()
    assert await asyncio.wait_for(sessions.get(), PATIENCE_S)
    again = await take(messages, 1)
    assert payloads(again) == [b"1"]
    assert again[0].dup


async def test_a_lost_session_is_told_and_subscribed_again_before_anything_else(
    start_mosquitto: Callable[[str], Mosquitto], make_link: LinkMaker, name: str
) -> None:
    server = start_mosquitto("")
    link = make_link(LinkConfig(url=server.url, client_id=name, filters=(f"{name}/a",)))
    own: list[Outbound] = []
    link.on_session(lambda _: own.append(link.publish(f"{name}/a", b"from the callback")))
    await link.open()
    messages = link.messages()
    await take(messages, 1)
    sessions = await next_session(link)
    server.stop()
    await until(lambda: not link.connected)
    server.start()
    assert not await asyncio.wait_for(sessions.get(), PATIENCE_S)
    assert payloads(await take(messages, 1)) == [b"from the callback"]
    await settled(own)
    assert link.counts.sessions_lost == 1


async def test_a_cut_fails_what_was_under_way(mosquitto: Mosquitto, make_link: LinkMaker, name: str) -> None:
    async with TcpProxy(mosquitto.port) as proxy:
        link = make_link(LinkConfig(url=proxy.url, client_id=name, filters=(f"{name}/a",)))
        await link.open()
        proxy.forwarding.clear()
        receipt = link.publish(f"{name}/b", b"1")
        assert not receipt.done()
        assert not receipt.failed()
        proxy.cut()
        await settled([receipt])
        assert receipt.failed()
        assert receipt.reason_code() == 0


async def test_an_error_of_a_session_callback_ends_the_messages(
    mosquitto: Mosquitto, make_link: LinkMaker, name: str
) -> None:
    async with TcpProxy(mosquitto.port) as proxy:
        link = make_link(LinkConfig(url=proxy.url, client_id=name, filters=(f"{name}/a",)))
        await link.open()

        def fail(session_present: bool) -> None:
            raise ZeroDivisionError(session_present)

        link.on_session(fail)
        proxy.cut()
        with pytest.raises(ZeroDivisionError):
            await take(link.messages(), 1)


@pytest.mark.parametrize("ending", ["kill", "close with the will"])
async def test_the_will_is_published(
    mosquitto: Mosquitto, link_kind: str, make_link: LinkMaker, name: str, ending: str
) -> None:
    will = Will(f"{name}/svc", b"offline")
    config = LinkConfig(url=mosquitto.url, client_id=name, filters=(f"{name}/a",), will=will)
    async with peer(mosquitto.port) as monitor:
        await monitor.subscribe(f"{name}/svc", qos=1)
        if ending == "kill":
            with holder(link_kind, config, 0):
                pass
        else:
            link = make_link(config)
            await link.open()
            await link.close(will=True)
        seen = await asyncio.wait_for(anext(aiter(monitor.messages)), PATIENCE_S)
    async with peer(mosquitto.port) as late:
        await late.subscribe(f"{name}/svc", qos=1)
        kept = await asyncio.wait_for(anext(aiter(late.messages)), PATIENCE_S)
    assert (seen.payload, kept.payload, kept.retain) == (b"offline", b"offline", True)


async def test_close_leaves_the_will_unpublished(mosquitto: Mosquitto, make_link: LinkMaker, name: str) -> None:
    will = Will(f"{name}/svc", b"offline", retain=False)
    link = make_link(LinkConfig(url=mosquitto.url, client_id=name, filters=(f"{name}/a",), will=will))
    async with peer(mosquitto.port) as monitor:
        await monitor.subscribe(f"{name}/svc", qos=1)
        await link.open()
        await link.close()
        await monitor.publish(f"{name}/svc", "barrier", qos=1)
        seen = await asyncio.wait_for(anext(aiter(monitor.messages)), PATIENCE_S)
    assert seen.payload == b"barrier"


async def test_each_loss_is_told_but_not_the_end(mosquitto: Mosquitto, make_link: LinkMaker, name: str) -> None:
    async with TcpProxy(mosquitto.port) as proxy:
        link = make_link(LinkConfig(url=proxy.url, client_id=name, filters=(f"{name}/a",)))
        lost: list[bool] = []
        link.on_session(lambda _: None, lambda: lost.append(link.connected))
        await link.open()
        sessions = await next_session(link)
        for count in (1, 2):
            proxy.cut()
            assert await asyncio.wait_for(sessions.get(), PATIENCE_S)
            assert lost == [False] * count
        await link.close()
        assert len(lost) == 2


async def test_what_is_retained_comes_at_each_connection_if_asked_for(
    mosquitto: Mosquitto, make_link: LinkMaker, name: str
) -> None:
    async with peer(mosquitto.port) as plc, TcpProxy(mosquitto.port) as proxy:
        await plc.publish(f"{name}/a", "1", qos=1, retain=True)
        config = LinkConfig(url=proxy.url, client_id=name, filters=(f"{name}/a",), retained=True, session_expiry_s=0)
        link = make_link(config)
        assert not await link.open()
        messages = link.messages()
        await plc.publish(f"{name}/a", "2", qos=1, retain=True)
        first = await take(messages, 2)
        assert [(each.payload, each.retain) for each in first] == [(b"1", True), (b"2", False)]
        await link.ack(first)
        proxy.cut()
        (again,) = await take(messages, 1)
        assert (again.payload, again.retain) == (b"2", True)
        assert link.counts.sessions_lost == 0


async def test_the_largest_packet_is_what_the_server_told(
    mosquitto: Mosquitto, plant: Mosquitto, make_link: LinkMaker, name: str
) -> None:
    untold = make_link(LinkConfig(url=mosquitto.url, client_id=name, filters=("a",)))
    told = make_link(
        LinkConfig(url=plant.url, client_id=name, filters=("a",), user="bob", password=plant.passwords["bob"])
    )
    assert told.max_packet == UNTOLD_MAX_PACKET
    await untold.open()
    await told.open()
    assert untold.max_packet == UNTOLD_MAX_PACKET
    shipped = (SHIPPED / "armbroker.conf").read_text().splitlines()
    configured = next(line for line in shipped if line.startswith("max_packet_size"))
    assert told.max_packet == int(configured.split()[1])


async def test_a_session_taken_over_ends_the_link(make_link: LinkMaker, name: str) -> None:
    async with FakeServer() as server:
        link, lost = make_link(LinkConfig(url=server.url, client_id=name, filters=(f"{name}/a",))), asyncio.Event()
        link.on_session(lambda _: None, lost.set)
        await link.open()
        server.peers[0].send(frame(DISCONNECT, b"\x8e"))
        with pytest.raises(LinkTakenOverError, match=name):
            await take(link.messages(), 1)
        assert lost.is_set()
        assert not link.connected
        assert len(server.peers) == 1
        with pytest.raises(LinkDownError):
            link.publish(f"{name}/b", b"1")


async def test_each_attempt_asks_for_the_password_of_now(tmp_path: Path, make_link: LinkMaker, name: str) -> None:
    server = make_plant(tmp_path).start()
    known, asked = server.passwords["svc"], []

    def read() -> str:
        asked.append(known)
        return known

    try:
        link = make_link(
            LinkConfig(url=server.url, client_id=name, filters=("a",), user="svc", read_password=read, retry_max_s=0.2)
        )
        await link.open()
        server.stop()
        write_passwords(tmp_path / "passwords", {**server.passwords, "svc": "another"})
        server.start()
        await until(lambda: server.log.count("not authorised") > 1)
        assert not link.connected
        known = "another"
        await until(lambda: link.connected)
        assert asked[-1] == "another"
    finally:
        server.stop()
