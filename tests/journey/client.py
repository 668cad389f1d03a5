"""A client of the plant network for tests, on aiomqtt: MQTT 5 or 3.1.1, any codec."""

import asyncio
import json
import socket
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tests.journey.forms import CONTENT_TYPES, decode_reply, encode_request
from tests.links import PATIENCE_S

VERSIONS = {5: aiomqtt.ProtocolVersion.V5, 4: aiomqtt.ProtocolVersion.V311}
_new_properties: Callable[[int], Properties] = Properties


class Received(NamedTuple):
    """One message as it came; `topic` below the root."""

    topic: str
    payload: bytes
    retained: bool
    content_type: str
    correlation: bytes
    expiry_s: int
    qos: int

    @property
    def document(self) -> dict[str, Any]:
        """The payload as JSON."""
        document: dict[str, Any] = json.loads(self.payload)
        return document


def _received(message: aiomqtt.Message, root: str) -> Received:
    properties = message.properties
    payload = message.payload if isinstance(message.payload, bytes) else b""
    return Received(
        message.topic.value.removeprefix(f"{root}/"),
        payload,
        message.retain,
        str(getattr(properties, "ContentType", "")),
        bytes(getattr(properties, "CorrelationData", b"")),
        int(getattr(properties, "MessageExpiryInterval", 0)),
        message.qos,
    )


class Client:
    """One connection of one user, subscribed to the user's replies and notices; use as `async with`.

    `inbox` holds what came and was not taken yet.
    """

    def __init__(
        self,
        port: int,
        root: str,
        user: str,
        conn: str,
        *,
        version: int = 5,
        codec: str = "json",
        password: str | None = None,
    ) -> None:
        self.root, self.user, self.conn, self.codec, self.version = root, user, conn, codec, version
        self.inbox: list[Received] = []
        self._client = aiomqtt.Client(
            "127.0.0.1",
            port,
            identifier=conn,
            username=user if password is not None else None,
            password=password,
            protocol=VERSIONS[version],
            timeout=PATIENCE_S,
            socket_options=((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),),
        )
        self._news = asyncio.Event()
        self._reader: asyncio.Task[None] | None = None
        self._count = 0

    async def __aenter__(self) -> Self:
        """Connect and subscribe."""
        await self._client.__aenter__()
        self._reader = asyncio.create_task(self._read())
        await self.subscribe(f"res/{self.user}/+/+", f"ntf/{self.user}/+/+")
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Disconnect."""
        if self._reader is not None:
            self._reader.cancel()
        await self._client.__aexit__(None, None, None)

    async def _read(self) -> None:
        async for message in self._client.messages:
            self.inbox.append(_received(message, self.root))
            self._news.set()

    async def subscribe(self, *filters: str) -> None:
        """Subscribe to topics below the root."""
        for each in filters:
            await self._client.subscribe(f"{self.root}/{each}", qos=1)

    async def take(self, wanted: Callable[[Received], bool]) -> Received:
        """The next message that is wanted, out of the inbox; waits for it."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for message in self.inbox:
                    if wanted(message):
                        self.inbox.remove(message)
                        return message
                self._news.clear()
                await self._news.wait()

    async def take_topic(self, topic: str) -> Received:
        """The next message on a topic below the root."""
        return await self.take(lambda message: message.topic == topic)

    async def document(self, topic: str, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next document on a topic that is as wanted."""
        taken = await self.take(lambda message: message.topic == topic and wanted(message.document))
        return taken.document

    def events(self, arm: str = "") -> list[dict[str, Any]]:
        """The events that came so far, of one arm or all; they stay in the inbox."""
        return [message.document for message in self.inbox if message.topic.startswith(f"evt/{arm}")]

    def new_id(self) -> str:
        """An id that this connection did not use."""
        self._count += 1
        return f"{self._count:06d}"

    async def publish(
        self,
        topic: str,
        payload: bytes,
        *,
        content_type: str = "",
        response_topic: str = "",
        correlation: bytes = b"",
        expiry_s: int = 0,
        retain: bool = False,
        qos: int = 1,
    ) -> None:
        """Publish below the root; what is set of the properties goes along (MQTT 5)."""
        properties = _new_properties(PacketTypes.PUBLISH)
        given = {
            "ContentType": content_type,
            "ResponseTopic": response_topic,
            "CorrelationData": correlation,
            "MessageExpiryInterval": expiry_s,
        }
        for name, value in given.items():
            if value:
                setattr(properties, name, value)
        with_properties = properties if self.version == 5 else None
        await self._client.publish(f"{self.root}/{topic}", payload, qos=qos, retain=retain, properties=with_properties)

    async def send(self, arm: str, method: str, request: dict[str, Any], **properties: Any) -> None:
        """Publish a request given as the protocol's JSON object, in this client's codec."""
        payload = encode_request(self.codec, method, request)
        if self.version == 5:
            properties.setdefault("content_type", CONTENT_TYPES[self.codec])
        await self.publish(f"req/{self.user}/{self.conn}/{arm}/{method}", payload, **properties)

    async def reply(self, leaf: str, conn: str = "") -> dict[str, Any]:
        """The next reply on a leaf of this connection (or another of the same user)."""
        message = await self.take_topic(f"res/{self.user}/{conn or self.conn}/{leaf}")
        return decode_reply(self.codec, message.payload)

    async def call(self, arm: str, method: str, params: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
        """Send a request, with an id unless one is given, and return its reply."""
        request = {"id": self.new_id(), **fields}
        if params is not None:
            request["params"] = params
        await self.send(arm, method, request)
        return await self.reply(request["id"])

    async def change(
        self, arm: str, method: str, params: dict[str, Any] | None = None, **fields: Any
    ) -> dict[str, Any]:
        """As `call`; the reply has to be one of success, however busy the machine is."""
        if method == "SetControlMode":
            fields.setdefault("ttl_ms", 60_000)
        reply = await self.call(arm, method, params, **fields)
        if not reply["ok"]:
            raise AssertionError(reply)
        return reply
