"""Keep alive of one connection: something is said in time, and an MQTT server that answers nothing is found out."""

import asyncio
from collections.abc import Callable

from broker.link.mqtt5_outgoing import Outgoing
from broker.link.mqtt5_packets import PING

_ASKED_TWICE = 2
"""A process that stood still for long would otherwise leave a server that it has just asked."""


class KeepAlive:
    """Pings while nothing else is answered; `gone` is called when a ping stayed unanswered for a keep alive.

    `answered_s` is when the MQTT server last answered something, or was not listened to (s of the loop's clock).
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, outgoing: Outgoing, gone: Callable[[], None]) -> None:
        self.answered_s = loop.time()
        self.listening = True
        """Whether what it answers is read."""
        self._asked_s = 0.0
        """When it was asked first for an answer that has not come, if later than `answered_s`."""
        self._unanswered = 0
        self._loop = loop
        self._outgoing = outgoing
        self._gone = gone
        self._seconds = 0
        self._timer: asyncio.TimerHandle | None = None

    def start(self, seconds: int) -> None:
        """Watch from now on; 0 is never."""
        self._seconds = seconds
        if seconds:
            self._timer = self._loop.call_later(seconds / 2, self._look)

    def stop(self) -> None:
        """Watch no longer."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        now_s, half_s = self._loop.time(), self._seconds / 2
        if not self.listening:
            self.answered_s = now_s
        waiting = self._asked_s > self.answered_s
        self._unanswered = self._unanswered if waiting else 0
        if self._unanswered >= _ASKED_TWICE and now_s - self._asked_s >= self._seconds:
            self._gone()
            return
        if waiting or now_s - min(self.answered_s, self._outgoing.wrote_s) >= half_s / 2:
            self._outgoing.send(PING)
            self._asked_s = self._asked_s if waiting else now_s
            self._unanswered += 1
        self._timer = self._loop.call_later(half_s, self._look)
