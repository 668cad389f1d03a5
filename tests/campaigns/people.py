"""Those who use the service in a campaign: they connect again for ever, and send again until they have a reply."""

import asyncio
import contextlib
import json
import random
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tests.journey.forms import CONTENT_TYPES, decode_reply, encode_request

Document = dict[str, Any]
_AGAIN_S = 0.05
_STEP_S = 10.0
"""A message to oneself that does not come for so long was lost with its MQTT server."""
_SESSION_S = 3600
_new_properties: Callable[[int], Properties] = Properties


@dataclass(frozen=True)
class Told:
    """A message as it came; `topic` below the root."""

    topic: str
    payload: bytes
    retained: bool

    @cached_property
    def document(self) -> Document:
        """The payload as JSON; nobody changes it."""
        document: Document = json.loads(self.payload)
        return document


class Asked(NamedTuple):
    """A request and every reply to it."""

    full_id: str
    arm: str
    method: str
    fields: Document
    replies: list[Document]


class Person:
    """One connection of one user, made again whenever it is lost; its session stays. Use as `async with`.

    `told` holds everything that came but replies; replies go to those who wait for them, and to `strays`.
    """

    def __init__(self, port: int, root: str, user: str, *, codec: str = "json", filters: tuple[str, ...] = ()) -> None:
        self.root, self.user, self.conn, self.codec = root, user, f"{user}-1", codec
        self.told: list[Told] = []
        self.strays: list[Document] = []
        self._port = port
        self._filters = (f"res/{user}/+/+", *filters)
        self._waiting: dict[str, asyncio.Future[Document]] = {}
        self._client: aiomqtt.Client | None = None
        self._connected = asyncio.Event()
        self._news = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._count = 0

    async def __aenter__(self) -> Self:
        """Begin to connect, and wait until it is done once."""
        self._keeper = asyncio.create_task(self._keep())
        await self._connected.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        """End."""
        if self._keeper is not None:
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper

    async def _keep(self) -> None:
        properties = _new_properties(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = _SESSION_S
        while True:
            with contextlib.suppress(aiomqtt.MqttError, OSError):
                async with aiomqtt.Client(
                    "127.0.0.1", self._port, identifier=self.conn, protocol=aiomqtt.ProtocolVersion.V5,
                    clean_start=False, properties=properties, timeout=5.0,
                    socket_options=((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),),
                ) as client:  # fmt: skip
                    for each in self._filters:
                        await client.subscribe(f"{self.root}/{each}", qos=1)
                    self._client = client
                    self._connected.set()
                    async for message in client.messages:
                        self._take(message)
            self._client = None
            self._connected.clear()
            await asyncio.sleep(_AGAIN_S)

    def _take(self, message: aiomqtt.Message) -> None:
        topic = message.topic.value.removeprefix(f"{self.root}/")
        payload = message.payload if isinstance(message.payload, bytes) else b""
        if topic.startswith("res/"):
            reply = decode_reply(self.codec, payload)
            waiting = self._waiting.get(topic.rpartition("/")[2])
            if waiting is None or waiting.done():
                self.strays.append(reply)
            else:
                waiting.set_result(reply)
        else:
            self.told.append(Told(topic, payload, message.retain))
        self._news.set()

    def new_id(self) -> str:
        """An id that this connection did not use."""
        self._count += 1
        return f"{self._count:06d}"

    async def send(self, arm: str, method: str, request: Document) -> bool:
        """Publish a request; whether the MQTT server took it."""
        await self._connected.wait()
        properties = _new_properties(PacketTypes.PUBLISH)
        properties.ContentType = CONTENT_TYPES[self.codec]
        topic = f"{self.root}/req/{self.user}/{self.conn}/{arm}/{method}"
        with contextlib.suppress(aiomqtt.MqttError):
            if self._client is not None:
                payload = encode_request(self.codec, method, request)
                await self._client.publish(topic, payload, qos=1, properties=properties)
                return True
        await asyncio.sleep(_AGAIN_S)
        return False

    async def ask(self, asked: Asked, patience_s: float) -> Document:
        """Send a request again and again, with the same id, until a reply comes."""
        request_id = asked.full_id.rpartition("/")[2]
        while True:
            _end_if_cancelled()
            waiting = self._waiting[request_id] = asyncio.get_running_loop().create_future()
            with contextlib.suppress(TimeoutError):
                if await self.send(asked.arm, asked.method, {"id": request_id, **asked.fields}):
                    async with asyncio.timeout(patience_s):
                        reply: Document = await waiting
                    if reply["ok"] or reply["error"]["retry"] not in ("same_id", "repeat"):
                        asked.replies.append(reply)
                        return reply
                    await asyncio.sleep(_AGAIN_S)  # not remembered: the same request again, a little later

    async def call(self, arm: str, method: str, params: Document, patience_s: float = 5.0) -> Document:
        """Ask something new."""
        full_id = f"{self.user}/{self.conn}/{self.new_id()}"
        return await self.ask(Asked(full_id, arm, method, {"params": params}, []), patience_s)

    async def in_step(self) -> None:
        """Wait until all has come that the MQTT server had for this connection: a message to itself, JSON, is last."""
        leaf = self.new_id()
        waiting = self._waiting[leaf] = asyncio.get_running_loop().create_future()
        while not waiting.done():
            _end_if_cancelled()
            await self._connected.wait()
            with contextlib.suppress(aiomqtt.MqttError):
                if self._client is not None:
                    await self._client.publish(f"{self.root}/res/{self.user}/{self.conn}/{leaf}", b"{}", qos=1)
            await asyncio.wait({waiting}, timeout=_STEP_S)

    async def until(self, wanted: Callable[[Told], bool]) -> Told:
        """The first message told, from the beginning, that is wanted; waits for it."""
        done = 0
        while True:
            for message in self.told[done:]:
                if wanted(message):
                    return message
            done = len(self.told)
            self._news.clear()
            await self._news.wait()


def _end_if_cancelled() -> None:
    """Raise CancelledError if it was raised in this task before: `asyncio.wait_for`, in the library, may lose it."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def dice_of(seed: float) -> random.Random:
    """Seeded dice."""
    return random.Random(seed)  # noqa: S311 - a seeded schedule, no secret
