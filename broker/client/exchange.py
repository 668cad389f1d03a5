"""One request under way: sent again, with the same id, until a reply settles it or its time is over."""

import asyncio
import contextlib
import logging
from collections.abc import Iterator

import aiomqtt

from broker.client.connection import Connection, Outgoing
from broker.client.documents import ReplyDocument
from broker.client.errors import NoServerError

LOG = logging.getLogger(__name__)

LONGEST_PATIENCE_S = 12.0
"""Without a reply for so long the request is sent again; the service answers within 10 s."""
SENDS = 3
"""Into so many parts the timeout is cut: at the end of each the request is sent again."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 3.0
"""Pauses before a refused request is sent again as it is; `retry_after_ms` makes them longer."""


def pauses() -> Iterator[float]:
    """Seconds before each repetition after a refusal: doubling, up to `LONGEST_PAUSE_S`."""
    pause = FIRST_PAUSE_S
    while True:
        yield pause
        pause = min(pause * 2, LONGEST_PAUSE_S)


def may_repeat(reply: ReplyDocument) -> bool:
    """True if the service asks for the same request once more."""
    return not reply["ok"] and reply["error"]["retry"] == "same_id"


class Exchange:
    """One request, however often it is sent.

    Attributes:
        sent: how often the request was handed to the MQTT server.
    """

    def __init__(self, connection: Connection, message: Outgoing) -> None:
        self._connection = connection
        self._message = message
        self._news: asyncio.Queue[ReplyDocument | NoServerError | None] = asyncio.Queue()
        self.sent = 0

    def answer(self, reply: ReplyDocument) -> None:
        """Take a reply."""
        self._news.put_nowait(reply)

    def lose(self) -> None:
        """Take note that the connection is gone: what was sent may be lost."""
        self._news.put_nowait(None)

    async def run(self, timeout: float) -> ReplyDocument | None:  # noqa: ASYNC109 - ends with a value, not an error
        """The reply that settles the request; at the end the last `retry: same_id` refusal, or None.

        Raises:
            NoServerError: the connection ended for good.
        """
        patience = min(timeout / SENDS, LONGEST_PATIENCE_S)
        waits = pauses()
        refusal: ReplyDocument | None = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while True:
                    reply = await self._attempt(patience)
                    if reply is None:
                        continue
                    if not may_repeat(reply):
                        return reply
                    refusal = reply
                    await asyncio.sleep(max(next(waits), reply["error"].get("retry_after_ms", 0) / 1000))
        return refusal

    async def _attempt(self, patience: float) -> ReplyDocument | None:
        """Send, and take the first reply; None when it is time to send again."""
        sending = asyncio.create_task(self._send())
        try:
            async with asyncio.timeout(patience):
                news = await self._news.get()
        except TimeoutError:
            return None
        finally:
            sending.cancel()
            await asyncio.wait([sending])
            if not sending.cancelled():
                sending.result()
        if isinstance(news, NoServerError):
            raise news
        return news

    async def _send(self) -> None:
        try:
            await self._connection.ready()
            self.sent += 1
            await self._connection.publish(self._message)
        except NoServerError as error:
            self._news.put_nowait(error)
        except aiomqtt.MqttError as error:
            LOG.debug("%s not sent: %s", self._message.topic, error)
