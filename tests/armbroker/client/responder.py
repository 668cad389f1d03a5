"""A stand-in for the service: it answers requests as a test says, and keeps them."""

import asyncio
import contextlib
import json
import secrets
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

import aiomqtt
import msgpack
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

NEW_PROPERTIES: Callable[[int], Properties] = Properties


class Asked(NamedTuple):
    """A request as it came: levels below `req/`, envelope, and the properties."""

    user: str
    conn: str
    arm: str
    method: str
    request: dict[str, Any]
    response_topic: str
    correlation: bytes
    content_type: str
    expiry_s: int = 0

    def reply(self, *, ok: bool = True, stage: str = "applied", **fields: Any) -> dict[str, Any]:
        """A whole reply to it."""
        head = {"id": self.request.get("id", ""), "arm": self.arm, "method": self.method, "ok": ok, "stage": stage}
        tail = {"final": True, "rev": 2, "seq": 1, "at": "2026-11-30T09:12:04.512345Z", "warnings": []}
        return head | tail | ({"result": {}} if ok else {}) | fields

    def refusal(self, kind: str, retry: str, **fields: Any) -> dict[str, Any]:
        """A refusal of it."""
        error = {"code": 3, "sub_code": 3, "name": "INVALID_PARAM", "kind": kind, "message": kind, "retry": retry}
        return self.reply(ok=False, stage="refused", error=error | {"violations": []} | fields)


Answer = Callable[[Asked], dict[str, Any] | None]


class Responder:
    """Answers with what `answer` returns, nothing for None; `asked` holds every request, oldest first."""

    def __init__(self, client: aiomqtt.Client, answer: Answer) -> None:
        self.client = client
        self.answer = answer
        self.asked: list[Asked] = []
        self.came = asyncio.Event()

    async def run(self) -> None:
        """Serve until the connection ends."""
        async for message in self.client.messages:
            asked = _asked(message)
            self.asked.append(asked)
            self.came.set()
            reply = self.answer(asked)
            if reply is not None:
                await self.send(asked, reply)

    async def send(self, asked: Asked, reply: dict[str, Any], correlation: bytes | None = None) -> None:
        """Send a reply to `asked`, with its correlation data or others."""
        properties = NEW_PROPERTIES(PacketTypes.PUBLISH)
        properties.CorrelationData = asked.correlation if correlation is None else correlation
        properties.ContentType = asked.content_type
        packed = msgpack.packb(reply) if asked.content_type.endswith("msgpack") else json.dumps(reply).encode()
        await self.client.publish(asked.response_topic, packed, 1, properties=properties)

    async def publish(self, topic: str, document: dict[str, Any] | None, *, retain: bool = False) -> None:
        """Publish a document or event; None clears."""
        payload = b"" if document is None else json.dumps(document).encode()
        await self.client.publish(f"armbroker/v1/{topic}", payload, 1, retain=retain)


def _asked(message: aiomqtt.Message) -> Asked:
    user, conn, arm, method = message.topic.value.split("/")[3:]
    properties: Any = message.properties
    decode = msgpack.unpackb if properties.ContentType.endswith("msgpack") else json.loads
    correlation, reply = properties.CorrelationData, properties.ResponseTopic
    return Asked(
        user,
        conn,
        arm,
        method,
        decode(message.payload),
        reply,
        correlation,
        properties.ContentType,
        getattr(properties, "MessageExpiryInterval", 0),
    )


def always(asked: Asked) -> dict[str, Any]:
    """The answer of a service that applies everything."""
    return asked.reply()


@contextlib.asynccontextmanager
async def responding(port: int, answer: Answer = always, *, password: str | None = None) -> AsyncIterator[Responder]:
    """A running responder on the MQTT server at `port`."""
    options: dict[str, Any] = {"username": "svc", "password": password} if password else {}
    name = f"responder-{secrets.token_hex(4)}"
    async with (
        aiomqtt.Client("127.0.0.1", port, protocol=aiomqtt.ProtocolVersion.V5, identifier=name, **options) as client,
        asyncio.TaskGroup() as tasks,
    ):
        await client.subscribe("armbroker/v1/req/#", 1)
        responder = Responder(client, answer)
        task = tasks.create_task(responder.run())
        yield responder
        while not task.done():  # what aiomqtt waits for may lose a cancellation that meets its result (Python 3.11)
            task.cancel()
            await asyncio.wait([task], timeout=0.5)
