"""Following events and documents over a connection."""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any, TypedDict

import msgspec

from broker.client.connection import Connection
from broker.client.documents import ReplyDocument, decode
from broker.client.errors import ClientError
from broker.client.messages import Incoming
from broker.client.monitor import Again, Gap, Monitor, Resynced, Step, Watched, WatchedDocument
from broker.topics import PublicTopic, Topics
from schema.events import event_topic

LOG = logging.getLogger(__name__)

WAITING_LIMIT = 100_000
"""Messages that may wait for a slow reader of one watch; beyond, it starts anew."""

Fetch = Callable[[str, int], Awaitable[ReplyDocument]]
"""GetEvents: arm, after_seq."""


class _Ordered(TypedDict):
    epoch: int
    seq: int


class _Event(_Ordered):
    prev: int
    event: str


class _Fetched(TypedDict):
    events: list[_Event]
    first_seq: int
    more: bool


class Watch:
    """One follower of an arm, or of all (None); `fetch` asks the service for events that were missed."""

    def __init__(self, connection: Connection, topics: Topics, arm: str | None, fetch: Fetch) -> None:
        self._connection = connection
        self._arm = arm
        self._fetch = fetch
        level = "+" if arm is None else arm
        self._filters = (topics.event(level, "#"), topics.state(level, "+"), topics.service("+"))
        self._waiting: asyncio.Queue[tuple[PublicTopic, Incoming] | Resynced] = asyncio.Queue(WAITING_LIMIT)
        self._overflowed = False
        self._monitor = Monitor()

    def offer(self, source: PublicTopic, message: Incoming) -> None:
        """Take a message of the connection, if it is ours."""
        if source.family != "svc" and self._arm not in {None, source.arm}:
            return
        if self._waiting.full():
            self._overflowed = True
            self._start_anew(f"more than {WAITING_LIMIT} messages were waiting to be read")
        else:
            self._waiting.put_nowait((source, message))

    def lose(self) -> None:
        """Take note that the connection is gone, and with it what was published meanwhile."""
        self._start_anew("the connection to the MQTT server was lost")

    def _start_anew(self, why: str) -> None:
        while not self._waiting.empty():
            self._waiting.get_nowait()
        self._waiting.put_nowait(Resynced("", why))

    @contextlib.asynccontextmanager
    async def subscribed(self) -> AsyncIterator[None]:
        """While it lasts, messages come.

        Raises:
            NoServerError: the connection ended for good, or may not read.
        """
        async with contextlib.AsyncExitStack() as stack:
            for topic_filter in self._filters:
                stack.push_async_callback(self._connection.unsubscribe, topic_filter)
                await self._connection.subscribe(topic_filter)
            yield

    async def follow(self) -> AsyncGenerator[Watched, None]:
        """What is seen, for ever.

        Raises:
            NoServerError: the connection ended for good.
        """
        while True:
            news = await self._waiting.get()
            if isinstance(news, Resynced):
                yield news
                await self._renew()
                continue
            async with contextlib.aclosing(self._do(self._steps(*news))) as shown:
                async for each in shown:
                    yield each

    async def _renew(self) -> None:
        """Start from the documents again: a new connection brings them by itself."""
        self._monitor.reset()
        await self._connection.ready()
        if self._overflowed:
            self._overflowed = False
            for topic_filter in self._filters[1:]:
                await self._connection.subscribe(topic_filter)
                await self._connection.unsubscribe(topic_filter)

    def _steps(self, source: PublicTopic, message: Incoming) -> list[Step]:
        """What one message comes to; nothing, with a log line, if it cannot be read."""
        try:
            document = decode(message.payload, message.content_type) if message.payload else None
            if source.family == "svc":
                return [WatchedDocument(source.arm, "svc", document)]
            if source.family == "state":
                if document is not None:
                    msgspec.convert(document, _Ordered)
                return self._monitor.document(source.arm, source.below, document, retained=message.retained)
            return self._monitor.event(source.arm, source.below, _checked(document))
        except (ValueError, msgspec.ValidationError) as error:
            LOG.warning("unreadable message on %s: %s", message.topic, error)
            return []

    async def _do(self, steps: list[Step]) -> AsyncGenerator[Watched, None]:
        todo = deque(steps)
        while todo:
            step = todo.popleft()
            if isinstance(step, Again):
                todo.extendleft(reversed(self._monitor.event(*step)))
            elif isinstance(step, Gap):
                async with contextlib.aclosing(self._fill(step)) as events:
                    async for each in events:
                        yield each
                self._monitor.filled(step)
            else:
                yield step

    async def _fill(self, gap: Gap) -> AsyncGenerator[Watched, None]:
        """The events of a gap, and where some cannot be had, word of it."""
        after = gap.after
        try:
            while after < gap.upto:
                result = (await self._fetch(gap.arm, after))["result"]
                page = msgspec.convert(result, _Fetched)
                if page["first_seq"] > after + 1:
                    yield Resynced(gap.arm, f"events {after + 1} to {page['first_seq'] - 1} are no longer kept")
                for event in result["events"]:
                    for step in self._monitor.fetched(gap.arm, event_topic(event["event"]), event):
                        yield step
                    after = event["seq"]
                if not (page["more"] and page["events"]):
                    return
        except (ClientError, msgspec.ValidationError) as error:
            yield Resynced(gap.arm, f"events {after + 1} to {gap.upto} could not be fetched: {error}")


def _checked(document: dict[str, Any] | None) -> dict[str, Any]:
    """The document, which is an event."""
    msgspec.convert(document, _Event)
    return document or {}
