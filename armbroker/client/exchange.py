"""One request under way: sent again, with the same id, until a reply settles it or its time is over."""

import asyncio
import logging
import math
from typing import NamedTuple

import aiomqtt

from armbroker.client.connection import Connection
from armbroker.client.documents import ReplyDocument
from armbroker.client.errors import NoServerError
from armbroker.client.messages import Outgoing
from schema.backoff import Backoff

LOG = logging.getLogger(__name__)

LONGEST_PATIENCE_S = 12.0
"""Without a reply for so long the request is sent again; the service answers within 10 s."""
SENDS = 3
"""Into so many parts the timeout is cut: at the end of each the request is sent again."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 3.0
"""Pauses before a refused request is sent again as it is; `retry_after_ms` makes them longer."""


AHEAD = "issued_in_future"
"""The kind of refusal of a request whose clock is ahead of the service's."""


def may_repeat(reply: ReplyDocument) -> bool:
    """True if the service asks for the same request once more."""
    return not reply["ok"] and reply["error"]["retry"] == "same_id"


class Unanswered(NamedTuple):
    """No reply that settles the request: how often it was handed to the MQTT server, and what cut the waiting short."""

    sent: int
    why: NoServerError | None = None


class Exchange:
    """One request, however often it is sent.

    Each copy is dropped by the MQTT server `life_s` after it was sent (0: never), and once nobody waits for the reply.
    """

    def __init__(self, connection: Connection, message: Outgoing, life_s: float) -> None:
        self._connection = connection
        self._message = message
        self._life_s = life_s
        self._deadline_s = 0.0
        self._news: asyncio.Queue[ReplyDocument | NoServerError | None] = asyncio.Queue()
        self._sent = 0

    def answer(self, reply: ReplyDocument) -> None:
        """Take a reply."""
        self._news.put_nowait(reply)

    def lose(self) -> None:
        """Take note that the connection is gone: what was sent may be lost."""
        self._news.put_nowait(None)

    async def run(self, timeout: float) -> ReplyDocument | Unanswered:  # noqa: ASYNC109 - ends with a value, no error
        """The reply that settles the request; at the end a `retry: same_id` refusal, if every copy was refused.

        Raises:
            NoServerError: the connection ended for good, and nothing was sent.
        """
        patience = min(timeout / SENDS, LONGEST_PATIENCE_S)
        self._deadline_s = asyncio.get_running_loop().time() + timeout
        waits = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S, jitter=None)
        refusals: list[ReplyDocument] = []
        try:
            async with asyncio.timeout(timeout):
                while True:
                    reply = await self._attempt(patience)
                    if reply is None:
                        continue
                    if not may_repeat(reply):
                        return reply
                    refusals.append(reply)
                    if reply["error"]["kind"] == AHEAD and self._message.undated:
                        self._message = self._message._replace(payload=self._message.undated)
                    await asyncio.sleep(max(waits.next_s(), reply["error"].get("retry_after_ms", 0) / 1000))
        except TimeoutError:
            # a copy without a reply may have been accepted after another was refused
            return refusals[-1] if 0 < self._sent <= len(refusals) else Unanswered(self._sent)
        except NoServerError as error:
            if not self._sent:
                raise
            return Unanswered(self._sent, error)

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

    def _expiry_s(self) -> int:
        """Whole seconds that this copy is worth something."""
        if not self._life_s:
            return 0
        left_s = self._deadline_s - asyncio.get_running_loop().time()
        return max(1, math.ceil(min(left_s, self._life_s)))

    async def _send(self) -> None:
        try:
            await self._connection.ready()
            self._sent += 1
            await self._connection.publish(self._message._replace(expiry_s=self._expiry_s()))
        except NoServerError as error:
            self._news.put_nowait(error)
        except aiomqtt.MqttError as error:
            LOG.debug("%s not sent: %s", self._message.topic, error)
