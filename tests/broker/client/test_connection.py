import asyncio
from itertools import islice

import pytest

from broker.client import ArmClient, NoServerError
from broker.client.connection import FIRST_DELAY_S, LONGEST_DELAY_S, delays


def test_pauses_grow_with_jitter_up_to_a_bound() -> None:
    first, *_, last = islice(delays(), 12)
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
