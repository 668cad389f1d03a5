"""What the conformance tests of MQTT links share: the links, peers on another client library, short helpers."""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

import aiomqtt
import msgspec

from broker.link.mqtt5_link import Mqtt5Link
from broker.link.mqtt_link import InboundMessage, LinkConfig, MqttLink
from broker.link.mqttium_link import MqttiumLink
from broker.link.outbound import Outbound
from tests.mosquitto import ROOT

LinkMaker = Callable[[LinkConfig], MqttLink]

LINKS: dict[str, LinkMaker] = {"own": Mqtt5Link, "mqttium": MqttiumLink}
"""Every link; the tests in tests/broker/test_mqtt_link*.py hold for each."""

PATIENCE_S = 60.0


def peer(
    port: int,
    name: str = "",
    *,
    user: str | None = None,
    password: str | None = None,
    protocol: aiomqtt.ProtocolVersion = aiomqtt.ProtocolVersion.V5,
) -> aiomqtt.Client:
    """A client that is not ours; `name` is its client id."""
    return aiomqtt.Client(
        "127.0.0.1",
        port,
        identifier=name or None,
        username=user,
        password=password,
        protocol=protocol,
        timeout=PATIENCE_S,
    )


async def take(messages: AsyncIterator[InboundMessage], count: int) -> list[InboundMessage]:
    """The next `count` messages."""
    async with asyncio.timeout(PATIENCE_S):
        return [await anext(messages) for _ in range(count)]


async def until(condition: Callable[[], bool]) -> None:
    """Wait until `condition` holds; for what nobody announces."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - receipts are polled by design
            await asyncio.sleep(0.005)


async def settled(receipts: Sequence[Outbound]) -> None:
    """Wait until all are done."""
    await until(lambda: all(receipt.done() for receipt in receipts))


def payloads(messages: Sequence[InboundMessage]) -> list[bytes]:
    """The payloads, in order."""
    return [message.payload for message in messages]


@contextlib.contextmanager
def holder(link: str, config: LinkConfig, count: int) -> Iterator[subprocess.Popen[bytes]]:
    """A process whose link (a key of `LINKS`) holds `count` messages without acking; killed at the end."""
    command = [sys.executable, "-m", "tests.link_holder", link, msgspec.json.encode(config).decode(), str(count)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, start_new_session=True) as process:
        try:
            stdout = process.stdout
            if stdout is None or not any(b"holding" in line for line in stdout):
                raise RuntimeError(f"the process of {config} ended early")
            yield process
        finally:
            process.kill()
