"""The retained documents of plans: `state/@all/plan-<n>`, at most one a second of each, the newest 256."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from broker.plans.live import Live
from broker.publish.outbox import Publication
from broker.record.ledger import Ledger
from broker.record.replies import JSON
from broker.timers import Timers
from broker.topics import Topics
from schema.arms import FLEET

GAP_S = 1.0
SHOWN_MOST = 256
META_KEY = "plan_documents"
"""Where the store says which plans have a document."""


class Boards:
    """Publishes what plans came to."""

    def __init__(self, ledger: Ledger, timers: Timers, topics: Topics, instance: str, known: str) -> None:
        self._ledger, self._timers, self._topics, self._instance = ledger, timers, topics, instance
        self._shown: list[int] = msgspec.json.decode(known or "[]", type=list[int])
        self._due: dict[int, Live] = {}
        self._sent: dict[int, float] = {}

    def mark(self, live: Live) -> None:
        """A plan, or a row of it, changed."""
        n = live.plan.n
        if live.dry or not live.plan.progress.shown:
            return
        waits = n in self._due
        self._due[n] = live  # one that ended and begins again is another object
        if waits:
            return
        now_s = self._ledger.clock.monotonic()
        self._timers.put(max(0.0, self._sent.get(n, -GAP_S) + GAP_S - now_s), self._send, n)

    def catch_up(self, lately: Callable[[int], Live | None]) -> None:
        """Publish again what the last run may have owed: the documents of plans that moved shortly before its end."""
        for n in self._shown:
            if (live := lately(n)) is not None:
                self.mark(live)

    def _send(self, n: int) -> None:
        live = self._due.pop(n)
        if n not in self._shown:
            if self._shown and n < self._shown[0] and len(self._shown) >= SHOWN_MOST:
                return
            self._show(n)
        self._sent[n] = self._ledger.clock.monotonic()
        self._publish(n, JSON.encode_document(self._document(live)))
        if not live.plan.live:
            self._sent.pop(n, None)

    def _show(self, n: int) -> None:
        """One more plan has a document; the oldest of too many has none any more."""
        self._shown = sorted({*self._shown, n})
        while len(self._shown) > SHOWN_MOST:
            self._publish(self._shown.pop(0), b"")
        self._ledger.store.batch.set_meta(META_KEY, msgspec.json.encode(self._shown).decode())
        self._ledger.store.flush_soon()

    def _publish(self, n: int, payload: bytes) -> None:
        topic = self._topics.state(FLEET, f"plan-{n}")
        content_type = JSON.content_type if payload else ""
        publication = Publication(topic, payload, content_type, retain=True)
        self._ledger.after_commit(partial(self._ledger.outbox.send, publication))

    def _document(self, live: Live) -> dict[str, Any]:
        head = {"arm": FLEET, "svc": self._instance, "epoch": self._ledger.epoch}
        return head | live.plan.document()
