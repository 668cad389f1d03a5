"""The arms that a service tells of, as far as the MQTT server sends them within a short time."""

import asyncio

from armbroker.client.connection import Connection, Login
from armbroker.client.messages import Incoming
from broker.topics import Topics

QUIET_S = 0.1
"""Retained documents come at once: after such a pause there are no more."""


async def arm_names(login: Login, topics: Topics, within_s: float) -> list[str]:
    """The ids of the arms with a presence, sorted; those that came in time.

    Raises:
        NoServerError: the MQTT server is not reached, or refuses.
        ValueError, OSError: the login cannot be used.
    """
    found: set[str] = set()
    news = asyncio.Event()

    def take(message: Incoming) -> None:
        source = topics.parse_public(message.topic)
        if source is not None and message.payload:
            found.add(source.arm)
            news.set()

    connection = Connection(login, take, lambda: None)
    await connection.subscribe(topics.state("+", "presence"))
    try:
        async with asyncio.timeout(within_s):
            await connection.open()
            while True:
                news.clear()
                async with asyncio.timeout(QUIET_S if found else within_s):
                    await news.wait()
    except TimeoutError:
        return sorted(found)
    finally:
        await connection.close()
