"""A client made from `docs/asyncapi.json` alone: what a program knows that read nothing else."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Self

import aiomqtt
from jsonschema import Draft7Validator

from tests.links import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT: dict[str, Any] = json.loads((ROOT / "docs/asyncapi.json").read_text())
WRITTEN_FOR = "armbroker/v1/"
"""Where the topics of the committed document begin; those of another root begin elsewhere."""


def found(ref: str) -> Any:
    """What a reference of the document points to."""
    part: Any = DOCUMENT
    for step in ref.removeprefix("#/").split("/"):
        part = part[step]
    return part


def checked(payload_schema: dict[str, Any], payload: Any) -> None:
    """Compare a payload with a schema of the document."""
    Draft7Validator({**payload_schema, "components": DOCUMENT["components"]}).validate(payload)


class Generated:
    """One coroutine a method, by the name of its operation; `at` addresses others, `with_` sets fields of requests."""

    def __init__(
        self, connection: aiomqtt.Client, messages: AsyncIterator[aiomqtt.Message], root: str, **levels: str
    ) -> None:
        self._connection, self._messages, self._root, self._levels = connection, messages, root, levels
        self._fields: dict[str, Any] = {}
        self._numbers = iter(range(1, 10_000))
        self._kept: dict[str, Any] = {}
        """What came last on topics that nobody waited for."""

    def _copy(self) -> Self:
        copy = type(self)(self._connection, self._messages, self._root, **self._levels)
        copy._fields, copy._numbers, copy._kept = dict(self._fields), self._numbers, self._kept
        return copy

    def at(self, arm: str) -> Self:
        """The same client for an arm, or for a group."""
        copy = self._copy()
        copy._levels = {**self._levels, "arm": arm}
        return copy

    def with_(self, **fields: Any) -> Self:
        """The same client with fields of its requests beside `params`."""
        copy = self._copy()
        copy._fields = fields
        return copy

    def __getattr__(self, method: str) -> Callable[..., Any]:
        operation = DOCUMENT["operations"].get(method)
        if operation is None or "reply" not in operation:
            raise AttributeError(method)

        async def call(**params: Any) -> Any:
            name = f"gen-{next(self._numbers)}"
            request = {"id": name, "params": params, **self._fields}
            (message,) = operation["messages"]
            checked(found(message["$ref"])["payload"], request)
            topic = self._filled(found(operation["channel"]["$ref"])["address"], method=method)
            wanted = self._filled(found(operation["reply"]["channel"]["$ref"])["address"], leaf=name)
            await self._connection.publish(topic, json.dumps(request).encode(), qos=1)
            reply = await self._take(wanted, lambda _: True)
            checked(found(operation["reply"]["messages"][0]["$ref"])["payload"], reply)
            return reply

        return call

    async def follow(self, *channels: str) -> None:
        """Subscribe to channels, whatever their parameters."""
        for channel in channels:
            address = re.sub(r"\{\w+\}", "+", DOCUMENT["channels"][channel]["address"])
            await self._connection.subscribe(re.sub(r"[^/]+\+", "+", address).replace(WRITTEN_FOR, self._root), qos=1)

    async def told(self, channel: str, wanted: Callable[[Any], bool], **levels: str) -> Any:
        """The document of a channel that is as wanted; each that comes is as the channel says."""
        described = DOCUMENT["channels"][channel]
        (message,) = described["messages"].values()
        document = await self._take(self._filled(described["address"], **levels), wanted)
        checked(message["payload"], document)
        return document

    async def _take(self, topic: str, wanted: Callable[[Any], bool]) -> Any:
        if topic in self._kept and wanted(self._kept[topic]):
            return self._kept.pop(topic)
        async with asyncio.timeout(PATIENCE_S):
            async for message in self._messages:
                document = json.loads(message.payload or b"null")
                if str(message.topic) == topic and document is not None and wanted(document):
                    return document
                self._kept[str(message.topic)] = document
        raise RuntimeError("the connection ended")

    def _filled(self, address: str, **more: str) -> str:
        """An address with its parameters filled in."""
        filled = re.sub(r"\{(\w+)\}", lambda level: (self._levels | more)[level[1]], address)
        return filled.replace(WRITTEN_FOR, self._root)
