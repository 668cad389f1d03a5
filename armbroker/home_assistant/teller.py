"""Tells Home Assistant of arms as they come and go."""

import asyncio
import json
from collections.abc import AsyncIterator

from armbroker.client.connection import Connection, Login
from armbroker.client.messages import Incoming, Outgoing
from armbroker.home_assistant.discovery import device, discovery_topic
from broker.topics import Topics

QUIET_S = 2.0
"""Retained documents come at once: so long after the last one all were seen."""


class Teller:
    """Publishes, retained, the device of each arm below `root`, and takes it back when the arm is gone.

    With `remove` it takes back the devices of all arms instead.
    """

    def __init__(self, login: Login, root: str, prefix: str, *, remove: bool = False) -> None:
        self._login, self._root, self._prefix, self._remove = login, root, prefix, remove
        self._topics = Topics(root)
        self._news: asyncio.Queue[Incoming] = asyncio.Queue()
        self._told: dict[str, bytes] = {}

    async def run(self, *, once: bool) -> AsyncIterator[tuple[str, bool]]:
        """Each arm that was told of (true) or taken back (false); ends with `once` when all that is retained was seen.

        Raises:
            NoServerError: no MQTT server, or it refused us.
        """
        connection = Connection(self._login, self._news.put_nowait, lambda: None)
        await connection.open()
        try:
            await connection.subscribe(self._topics.state("+", "presence"))
            while True:
                try:
                    async with asyncio.timeout(QUIET_S if once else None):
                        message = await self._news.get()
                except TimeoutError:
                    return
                source = self._topics.parse_public(message.topic)
                if source is None:
                    continue
                payload = self._payload(source.arm, message.payload)
                if payload == self._told.get(source.arm):
                    continue
                self._told[source.arm] = payload
                topic = discovery_topic(self._prefix, self._root, source.arm)
                await connection.publish(Outgoing(topic, payload, "application/json", b"", "", retain=True))
                yield source.arm, bool(payload)
        finally:
            await connection.close()

    def _payload(self, arm: str, presence: bytes) -> bytes:
        if self._remove or not presence:
            return b""
        return json.dumps(device(self._topics, self._root, arm, json.loads(presence))).encode()
