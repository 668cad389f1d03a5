"""Reads all metrics off a running service."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from broker.accept.turnstile import Turnstile
from broker.arms.arm_session import ArmSession
from broker.link.device_bus import MqttDeviceBus
from broker.link.mqtt_link import MqttLink
from broker.metrics.census import Census
from broker.metrics.readiness import obstacles
from broker.metrics.summary import summary
from broker.metrics.table import LABEL_VALUES, METRICS, Figures, Labels, Value
from broker.presence.presence import Presence
from broker.record.ledger import Ledger
from broker.record.replies import Replies
from broker.settings import Settings
from broker.store.sizes import sizes
from broker.version import service_version

_NO_LABELS: Labels = ()
LOOKS = 10
"""How often it is tried to pass what serves requests: others may try at the same time."""


class Parts(NamedTuple):
    """What of a service is read; `settings` are those of its start."""

    settings: Settings
    sessions: Mapping[str, ArmSession]
    ledger: Ledger
    replies: Replies
    turnstile: Turnstile
    presence: Presence
    link: MqttLink
    bus: MqttDeviceBus
    since_us: int
    plan_states: Callable[[], Iterable[str]]


class Reading:
    """Reads one service."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.census = Census()

    @property
    def serving(self) -> bool:
        """Whether it took requests already."""
        return self._parts.turnstile.open

    @property
    def obstacles(self) -> list[str]:
        """Why it cannot be asked anything now, or not answer in time; nothing if it can."""
        parts = self._parts
        if not self.serving:
            return ["it is starting"]
        return obstacles(parts.link, parts.presence, parts.ledger, parts.turnstile)

    async def count_arms(self) -> None:
        """Count the arms anew."""
        await self.census.take(self._parts.sessions.values())

    def summary(self) -> dict[str, Any]:
        """What `svc/<instance>` tells of them."""
        return summary(self.figures())

    def figures(self) -> Figures:
        """All metrics as they are now, and the arms as they were counted last."""
        found: dict[str, dict[Labels, Value]] = {name: {} for name in METRICS}
        for part in (
            self._service(),
            self._requests(),
            self._arms(),
            self._store(),
            self._publications(),
            self._world(),
        ):
            for name, labels, value in part:
                found[name][labels] = value
        return found

    def _service(self) -> Iterable[tuple[str, Labels, Value]]:
        parts = self._parts
        settings = parts.settings
        yield "info", (service_version(), settings.instance, settings.root), 1
        yield "ready", _NO_LABELS, not self.obstacles
        yield "start_time_seconds", _NO_LABELS, parts.since_us / 1e6
        yield "epoch", _NO_LABELS, parts.ledger.epoch

    def _requests(self) -> Iterable[tuple[str, Labels, Value]]:
        parts, traffic = self._parts, self._parts.ledger.traffic
        yield from (("requests_total", labels, count) for labels, count in traffic.answers.items())
        yield from (("refusals_total", labels, count) for labels, count in traffic.refusals.items())
        yield from (("incidents_total", (what,), count) for what, count in parts.ledger.counters.totals().items())
        waiting, size = parts.turnstile.waiting
        yield "requests_waiting", _NO_LABELS, waiting
        yield "requests_waiting_bytes", _NO_LABELS, size
        yield "replies_owed", _NO_LABELS, sum(parts.replies.owed.values())
        yield "users_held", _NO_LABELS, parts.turnstile.held
        yield from (("stage_seconds", (stage,), counted) for stage, counted in traffic.stages.items())

    def _arms(self) -> Iterable[tuple[str, Labels, Value]]:
        count, now_us = self.census.last, self._parts.ledger.clock.now_us()
        for presence in LABEL_VALUES["presence"]:
            for authority in LABEL_VALUES["authority"]:
                yield "arms", (presence, authority), count.arms[presence, authority]
        yield from (("arms_online", (doing,), count.doing[doing]) for doing in LABEL_VALUES["activity"])
        yield "arms_drifted", _NO_LABELS, count.drifted
        yield "overrides", _NO_LABELS, count.overrides
        yield "overrides_overdue", _NO_LABELS, count.overdue
        plans = Counter(self._parts.plan_states())
        yield from (("plans", (state,), plans[state]) for state in LABEL_VALUES["plan_state"])
        yield from (("changes", (state,), count.changes[state]) for state in LABEL_VALUES["state"])
        age_us = max(0, now_us - count.oldest_us) if count.oldest_us else 0
        yield "oldest_unsettled_seconds", _NO_LABELS, age_us / 1e6
        yield "arm_queue_longest", _NO_LABELS, count.longest_queue
        yield "events_unpublished", _NO_LABELS, count.unpublished

    def _store(self) -> Iterable[tuple[str, Labels, Value]]:
        store, found = self._parts.ledger.store, sizes(self._parts.settings.data_dir)
        yield "commit_seconds", _NO_LABELS, store.commits
        yield "store_bytes", ("database",), found.database
        yield "store_bytes", ("wal",), found.wal
        yield "store_free_bytes", _NO_LABELS, found.free
        yield "store_full", _NO_LABELS, store.reserve.look()

    def _publications(self) -> Iterable[tuple[str, Labels, Value]]:
        ledger = self._parts.ledger
        yield "outbox_publications", _NO_LABELS, ledger.outbox.backlog
        yield "outbox_lag_seconds", _NO_LABELS, ledger.outbox.oldest_s
        waiting, lag_s = ledger.documents.waiting
        yield "documents_waiting", _NO_LABELS, waiting
        yield "documents_lag_seconds", _NO_LABELS, lag_s

    def _world(self) -> Iterable[tuple[str, Labels, Value]]:
        presence, clock = self._parts.presence, self._parts.ledger.clock
        yield "loop_lag_seconds", _NO_LABELS, presence.pulse.lags.counted
        links = {"requests": self._parts.link, "presence": presence.link, "arms": self._parts.bus.link}
        for name, link in links.items():
            if link is not None:
                yield "mqtt_connected", (name,), link.connected
                yield "mqtt_connections_total", (name,), link.counts.connections
                yield "mqtt_sessions_lost_total", (name,), link.counts.sessions_lost
        yield "round_trip_seconds", _NO_LABELS, presence.round_trips.counted
        yield "round_trip_age_seconds", _NO_LABELS, clock.monotonic() - presence.heard_s
        told = clock.told
        yield "clock_ok", _NO_LABELS, told.state == "ok"
        yield "clock_offset_seconds", _NO_LABELS, told.seconds

    async def passes(self, within_s: float) -> bool:
        """Whether what a request passes is gone through in time: it is read, has its turn, and is committed."""
        passed = asyncio.Event()
        for _ in range(LOOKS):
            self._parts.turnstile.turn(passed.set)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(within_s / LOOKS):
                    await passed.wait()
                    return True
        return False
