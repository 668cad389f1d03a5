import asyncio

import pytest

from armbroker.client import ArmClient, NoServerError, connection
from armbroker.client.connection import FIRST_DELAY_S, LONGEST_DELAY_S, QUICK_LOSSES, delays
from tests.links import PATIENCE_S
from tests.mosquitto import Mosquitto


def test_pauses_grow_with_jitter_up_to_a_bound() -> None:
    waits = delays()
    first, *_, last = [waits.next_s() for _ in range(12)]
    assert FIRST_DELAY_S / 2 <= first <= FIRST_DELAY_S
    assert LONGEST_DELAY_S / 2 <= last <= LONGEST_DELAY_S


async def test_a_refused_subscription_is_told() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """An MQTT server that refuses every subscription as not authorized."""
        await reader.read(1000)
        writer.write(bytes.fromhex("2003000000"))
        subscribe = await reader.read(1000)
        writer.write(bytes.fromhex("9004") + subscribe[2:4] + bytes.fromhex("0087"))
        await reader.read()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"mqtt://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(NoServerError, match=r"refused the subscription to armbroker/v1/res/alice/x/\+"):
            async with ArmClient(url, user="alice", conn="x"):
                pass


async def test_leaving_while_connecting_waits_for_the_thread_that_connects() -> None:
    connected = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """An MQTT server that is slow to say yes."""
        await reader.read(1000)
        connected.set()
        await asyncio.sleep(0.05)
        writer.write(bytes.fromhex("2003000000"))
        await reader.read()
        writer.close()

    async def connect(url: str) -> None:
        async with ArmClient(url, user="alice", conn="x"):
            pass

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        task = asyncio.create_task(connect(f"mqtt://127.0.0.1:{server.sockets[0].getsockname()[1]}"))
        await connected.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_connections_that_are_lost_at_once_again_and_again_are_told(caplog: pytest.LogCaptureFixture) -> None:
    lost = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """An MQTT server that another client of the same name takes us from."""
        nonlocal lost
        await reader.read(1000)
        writer.write(bytes.fromhex("2003000000"))
        subscribe = await reader.read(1000)
        writer.write(bytes.fromhex("9004") + subscribe[2:4] + bytes.fromhex("0001"))
        await writer.drain()
        lost += 1
        writer.close()

    def told() -> list[str]:
        return [each.getMessage() for each in caplog.records if "another client uses" in each.getMessage()]

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"mqtt://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with ArmClient(url, user="alice", conn="twice"):
            while lost < QUICK_LOSSES + 2:
                assert not told() or lost >= QUICK_LOSSES
                await asyncio.sleep(0.01)
    [text] = told()
    assert text.startswith("another client uses the connection id 'twice', it seems: 3 connections in a row")


async def test_two_clients_with_one_connection_id_are_told(
    mosquitto: Mosquitto, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "QUICK_S", PATIENCE_S)

    def told() -> bool:
        return any("another client uses" in each.getMessage() for each in caplog.records)

    async def work() -> str:
        """Stay until one is told; a server that says so itself ends one of them."""
        while not told():
            try:
                async with ArmClient(mosquitto.url, user="alice", conn="the-same") as client:
                    while not told():
                        await client.services(0.05)
            except NoServerError as error:
                if "another client connected" in str(error):
                    return str(error)
        return "another client uses"

    async with asyncio.timeout(PATIENCE_S):
        works = [asyncio.create_task(work()) for _ in range(2)]
        (ended, *_), others = await asyncio.wait(works, return_when=asyncio.FIRST_COMPLETED)
        for other in others:
            other.cancel()
        await asyncio.gather(*others, return_exceptions=True)
    assert ended.result().startswith("another client")
