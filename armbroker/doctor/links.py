"""Connections of the doctor: under names of their own, short, and without a session that stays."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Iterable
from typing import NamedTuple

from broker.link.mqtt5_link import Mqtt5Link
from broker.link.mqtt_link import InboundMessage, LinkConfig, LinkDownError, LinkError, was_taken
from broker.tls import TlsFiles

PATIENCE_S = 10.0
"""How long the MQTT server may take for anything."""


class Who(NamedTuple):
    """How to connect, and as whom."""

    url: str
    user: str
    password: str = ""
    tls: TlsFiles = TlsFiles()


def token() -> str:
    """What no client and no arm is called."""
    return f"doctor-{secrets.token_hex(4)}"


@contextlib.asynccontextmanager
async def connected(who: Who, conn: str, filters: Iterable[str], *, retained: bool = False) -> AsyncIterator[Mqtt5Link]:
    """A connection with these subscriptions; it never leaves a session behind.

    Raises:
        LinkError: the MQTT server is not reached, refuses, or refuses a subscription.
    """
    link = Mqtt5Link(
        LinkConfig(
            url=who.url, client_id=conn, filters=tuple(filters), user=who.user, password=who.password, tls=who.tls,
            session_expiry_s=0, first_connection_s=PATIENCE_S, retained=retained,
        )
    )  # fmt: skip
    try:
        await link.open()
        yield link
    finally:
        await link.close()


async def taken(link: Mqtt5Link, topic: str, payload: bytes = b"") -> bool:
    """Whether the MQTT server takes a message on this topic; a lost connection says no."""
    try:
        receipt = link.publish(topic, payload)
    except LinkDownError:
        return False
    return await was_taken(receipt, PATIENCE_S)


async def until(
    link: Mqtt5Link, wanted: Callable[[InboundMessage], bool], see: Callable[[InboundMessage], None], within_s: float
) -> bool:
    """Hand on messages until the one that is wanted; False if it does not come in time."""
    with contextlib.suppress(TimeoutError, LinkError):
        async with asyncio.timeout(within_s):
            async for message in link.messages():
                await link.ack([message])
                if wanted(message):
                    return True
                see(message)
    return False
