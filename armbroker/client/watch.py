"""Following events and documents over a connection."""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, NamedTuple, NotRequired, Self, TypedDict

import msgspec

from armbroker.client.connection import Connection
from armbroker.client.documents import ReplyDocument, decode
from armbroker.client.errors import ClientError
from armbroker.client.messages import Incoming
from armbroker.client.monitor import (
    PLAN_DOCUMENT,
    Again,
    Gap,
    Monitor,
    Resynced,
    Step,
    Watched,
    WatchedDocument,
)
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


class _Missing(TypedDict):
    first: int
    last: int


class _Fetched(TypedDict):
    events: list[_Event]
    first_seq: int
    more: bool
    missing: NotRequired[list[_Missing]]


class Renew(NamedTuple):
    """To start anew, once the connection is up; `ask` for the documents where it does not send them by itself."""

    why: str
    ask: bool


class Watch:
    """One follower of an arm, or of all (None), an async iterator; `fetch` asks the service for missed events.

    Whoever is cancelled while waiting for the next can ask for it again. It ends when it is no longer `subscribed`, and
    raises NoServerError when the connection has ended for good.
    """

    def __init__(self, connection: Connection, topics: Topics, arm: str | None, fetch: Fetch) -> None:
        self._connection = connection
        self._arm = arm
        self._fetch = fetch
        level = "+" if arm is None else arm
        self._filters = (topics.event(level, "#"), topics.state(level, "+"), topics.service("+"))
        self._waiting: asyncio.Queue[tuple[PublicTopic, Incoming] | Renew | None] = asyncio.Queue()
        self._steps: deque[Step | Renew] = deque()
        self._monitor = Monitor()
        self._ended = False

    def offer(self, source: PublicTopic, message: Incoming) -> None:
        """Take a message of the connection, if it is ours."""
        if source.family != "svc" and self._arm not in {None, source.arm}:
            return
        if self._waiting.qsize() < WAITING_LIMIT:
            self._waiting.put_nowait((source, message))
        else:
            self._start_anew(Renew(f"more than {WAITING_LIMIT} messages were waiting to be read", ask=True))

    def lose(self) -> None:
        """Take note that the connection is gone, and with it what was published meanwhile."""
        self._start_anew(Renew("the connection to the MQTT server was lost", ask=False))

    def _start_anew(self, news: Renew) -> None:
        while not self._waiting.empty():
            self._waiting.get_nowait()
        self._waiting.put_nowait(news)

    @contextlib.asynccontextmanager
    async def subscribed(self) -> AsyncIterator[None]:
        """While it lasts, messages come.

        Raises:
            NoServerError: the connection ended for good, or may not read.
        """
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(self._end)
            for topic_filter in self._filters:
                stack.push_async_callback(self._connection.unsubscribe, topic_filter)
                await self._connection.subscribe(topic_filter)
            yield

    def _end(self) -> None:
        self._ended = True
        self._waiting.put_nowait(None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Watched:
        while True:
            if not self._steps:
                news = None if self._ended else await self._waiting.get()
                if news is None:
                    raise StopAsyncIteration
                self._steps.extend(self._steps_of(news))
                continue
            step = self._steps[0]  # stays there while it is waited for
            if isinstance(step, Gap):
                done = await self._fill(step)
            elif isinstance(step, Renew):
                done = await self._renew(step)
            elif isinstance(step, Again):
                done = self._monitor.event(*step)
            else:
                self._steps.popleft()
                return step
            self._steps.popleft()
            self._steps.extendleft(reversed(done))

    def _steps_of(self, news: tuple[PublicTopic, Incoming] | Renew) -> Sequence[Step | Renew]:
        """What one message comes to; nothing, with a log line, if it cannot be read."""
        if isinstance(news, Renew):
            if news.ask:
                self._monitor.reset()
            else:
                self._monitor.lost()
            return [Resynced("", news.why), news]
        source, message = news
        try:
            document = decode(message.payload, message.content_type) if message.payload else None
            if source.family == "svc":
                return self._of_service(source.arm, document)
            if source.family == "state":
                if document is not None and not source.below.startswith(PLAN_DOCUMENT):
                    msgspec.convert(document, _Ordered)
                return self._monitor.document(source.arm, source.below, document, retained=message.retained)
            return self._monitor.event(source.arm, source.below, _checked(document))
        except (ValueError, msgspec.ValidationError) as error:
            LOG.warning("unreadable message on %s: %s", message.topic, error)
            return []

    def _of_service(self, instance: str, document: dict[str, Any] | None) -> Sequence[Step | Renew]:
        """What a service says of itself; one that counts lower than before has another store."""
        seen = WatchedDocument(instance, "svc", document)
        said = document or {}
        epoch = said.get("epoch")
        if said.get("state") == "online" and isinstance(epoch, int) and self._monitor.service(epoch):
            why = f"the store of the service is another one: its epoch is {epoch}"
            return [seen, Resynced("", why), Renew(why, ask=True)]
        return [seen]

    async def _renew(self, step: Renew) -> list[Step]:
        """Start from the documents again."""
        await self._connection.ready()
        if step.ask:
            for topic_filter in self._filters[1:]:
                await self._connection.subscribe(topic_filter)
                await self._connection.unsubscribe(topic_filter)
        return []

    async def _fill(self, gap: Gap) -> list[Step]:
        """One page of the events of a gap, and the rest of the gap; where they cannot be had, word of it."""
        steps: list[Step] = []
        try:
            result = (await self._fetch(gap.arm, gap.after))["result"]
            page = msgspec.convert(result, _Fetched)
        except (ClientError, msgspec.ValidationError) as error:
            self._monitor.filled(gap)
            why = f"events {gap.after + 1} to {gap.upto} could not be fetched: {error}"
            return [Resynced(gap.arm, why)]
        if page["first_seq"] > gap.after + 1:
            why = f"events {gap.after + 1} to {page['first_seq'] - 1} are no longer kept"
            steps.append(Resynced(gap.arm, why))
        for event in result["events"]:
            steps += self._monitor.fetched(gap.arm, event_topic(event["event"]), event)
        for lost in page.get("missing", []):
            if page["first_seq"] <= lost["first"] <= gap.upto:
                why = f"events {lost['first']} to {min(lost['last'], gap.upto)} cannot be had any more"
                steps.append(Resynced(gap.arm, why))
        ends = [event["seq"] for event in page["events"]] + [lost["last"] for lost in page.get("missing", [])]
        last = max(ends, default=gap.upto)
        if page["more"] and last < gap.upto:
            return [*steps, gap._replace(after=last)]
        self._monitor.filled(gap)
        return steps


def _checked(document: dict[str, Any] | None) -> dict[str, Any]:
    """The document, which is an event."""
    msgspec.convert(document, _Event)
    return document or {}
