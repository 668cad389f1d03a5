"""One start of the service: its name, and the document that tells of it."""

import secrets
import sys
from collections.abc import Callable
from typing import Any

from broker.clock import Clock
from broker.counters import Counters
from broker.presence.document import ONLINE, STARTING
from broker.version import service_version
from schema.codecs import CODECS
from schema.codecs.times import format_time

JSON = CODECS["application/json"]
LARGEST = sys.maxsize


class Identity:
    """One start; `take_over` whether it tells others to end."""

    def __init__(self, instance: str, clock: Clock, counters: Counters, epoch: int, *, take_over: bool) -> None:
        self.instance = instance
        self.start = secrets.token_hex(8)
        self.since = format_time(clock.now_us())
        self.epoch = epoch
        """The epoch that the documents tell."""
        self.passed = False
        """Whether it made sure that nobody else serves the root."""
        self.take_over = take_over
        self.seen_us = 0
        """The `seen_at` of the last document."""
        self.metrics: Callable[[], dict[str, Any]] | None = None
        """What the document tells while the service is online; set by the composition root."""
        self._clock, self._counters = clock, counters

    def document(self, state: str) -> dict[str, Any]:
        """The document `svc/<instance>` of this moment; no two say the same `seen_at`."""
        self.seen_us = max(self._clock.now_us(), self.seen_us + 1)
        document: dict[str, Any] = {
            "state": state,
            "since": self.since,
            "seen_at": format_time(self.seen_us),
            "version": service_version(),
            "epoch": self.epoch,
            "start": self.start,
            "counters": self._counters.totals(),
            "clock": self._clock.told._asdict(),
        }
        if state == STARTING:
            document |= {"passed": self.passed, "take_over": self.take_over}
        elif state == ONLINE and self.metrics is not None:
            document["metrics"] = self.metrics()
        return document

    def payload(self, state: str, most: int = LARGEST) -> bytes:
        """The document as it is published: without metrics where it would have more bytes."""
        document = self.document(state)
        payload = JSON.encode_document(document)
        if len(payload) > most and document.pop("metrics", None) is not None:
            return JSON.encode_document(document)
        return payload
