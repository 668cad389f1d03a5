"""Every metric on one page; `docs/metrics.md` is written from it."""

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from broker.counters import COUNTERS
from broker.histogram import Counted
from broker.record.traffic import SHOWN_AFTER, SHOWN_MOST, STAGES
from handlers.plans.states import PlanState
from schema.arms import Activity

PREFIX = "armbroker_"
Labels = tuple[str, ...]
"""Values of the labels of a metric, in the order of its row."""
Value = float | Counted
Figures = Mapping[str, Mapping[Labels, Value]]
"""Every metric by its name: its values by their labels."""


class Kind(enum.StrEnum):
    """What Prometheus does with a metric."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


class Metric(NamedTuple):
    """One metric: its name without the prefix, its unit (empty: things), its labels and what it tells.

    Counters end in `_total`, histograms are in seconds, and both begin at 0 with each run of the service.
    """

    name: str
    kind: Kind
    unit: str
    labels: tuple[str, ...]
    help: str

    @property
    def full_name(self) -> str:
        """The name as Prometheus has it."""
        return f"{PREFIX}{self.name}"


GAUGE, COUNTER, HISTOGRAM = Kind.GAUGE, Kind.COUNTER, Kind.HISTOGRAM
_NONE: tuple[str, ...] = ()

# fmt: off
_ROWS = (
    Metric("info", GAUGE, "", ("version", "instance", "root"), "1, with what the service is"),
    Metric("ready", GAUGE, "", _NONE, "1 while requests are taken and answered in time, as /readyz tells"),
    Metric("start_time_seconds", GAUGE, "seconds", _NONE, "When this run of the service began, since 1970"),
    Metric("epoch", GAUGE, "", _NONE, "Epoch of this run"),
    # what comes in
    Metric("requests_total", COUNTER, "", ("method", "outcome", "codec"), "Requests that were answered, by stage of the answer; `open`: nobody knows the outcome yet; method `other`: none of ours"),
    Metric("refusals_total", COUNTER, "", ("user", "kind"), f"Refusals; users without an entry in the settings are `other`, but {SHOWN_MOST} that were refused more than {SHOWN_AFTER} times"),
    Metric("incidents_total", COUNTER, "", ("what",), "What svc/<instance> counts by name"),
    Metric("requests_waiting", GAUGE, "", _NONE, "Requests that were received and not decided yet"),
    Metric("requests_waiting_bytes", GAUGE, "bytes", _NONE, "Their payloads"),
    Metric("replies_owed", GAUGE, "", _NONE, "Requests that were received and not answered yet"),
    Metric("users_held", GAUGE, "", _NONE, "Users who are held to little because they asked for more than the service can do"),
    # changes
    Metric("stage_seconds", HISTOGRAM, "seconds", ("stage",), "Stages of changes: store (receipt to commit 1), queue (to the arm), arm (write and read-back), settle (to commit 2); publish: until the MQTT server took a publication, of one at a time every fourth"),
    Metric("changes", GAUGE, "", ("state",), "Changes without an end: queued, pending (their arm cannot take them), held (somebody has to decide)"),
    Metric("oldest_unsettled_seconds", GAUGE, "seconds", _NONE, "How long ago the oldest change without an end was accepted; 0 without one"),
    Metric("arm_queue_longest", GAUGE, "", _NONE, "Jobs in the longest queue of an arm"),
    # arms
    Metric("arms", GAUGE, "", ("presence", "authority"), "Arms by presence and authority"),
    Metric("arms_online", GAUGE, "", ("activity",), "Arms that are online by what they do, as far as their adapters tell"),
    Metric("arms_drifted", GAUGE, "", _NONE, "Arms that report something else than is desired, while no change of it is under way"),
    Metric("overrides", GAUGE, "", _NONE, "Changes with an end that are in force, or wait below others"),
    Metric("overrides_overdue", GAUGE, "", _NONE, "Changes whose end the arm did not take, or may not be given: a value that was to be tightened is still there"),
    Metric("plans", GAUGE, "", ("plan_state",), "Changes of groups, rollouts and proposals of which something may still become"),
    # the store
    Metric("commit_seconds", HISTOGRAM, "seconds", _NONE, "Commits to the disk, from hand-over to return"),
    Metric("store_bytes", GAUGE, "bytes", ("file",), "Sizes of the store's file (database) and of its write-ahead log (wal)"),
    Metric("store_free_bytes", GAUGE, "bytes", _NONE, "What is free on its disk"),
    Metric("store_full", GAUGE, "", _NONE, "1 while changes are refused because the disk is full"),
    # what goes out
    Metric("outbox_publications", GAUGE, "", _NONE, "Publications that the MQTT server did not take yet"),
    Metric("outbox_lag_seconds", GAUGE, "seconds", _NONE, "How long about the oldest of them has been waiting"),
    Metric("events_unpublished", GAUGE, "", _NONE, "Events in the store that the MQTT server did not take yet"),
    Metric("documents_waiting", GAUGE, "", _NONE, "Retained documents of arms that changed and were not sent yet"),
    Metric("documents_lag_seconds", GAUGE, "seconds", _NONE, "For how long the next of them has been due"),
    # the machine
    Metric("loop_lag_seconds", HISTOGRAM, "seconds", _NONE, "How much later than due the event loop did what it does every second"),
    Metric("mqtt_connected", GAUGE, "", ("connection",), "1 while connected: requests, presence, arms (only where arms speak MQTT)"),
    Metric("mqtt_connections_total", COUNTER, "", ("connection",), "Connections made; above 1: reconnections"),
    Metric("mqtt_sessions_lost_total", COUNTER, "", ("connection",), "Connections that found their session gone"),
    Metric("round_trip_seconds", HISTOGRAM, "seconds", _NONE, "The document svc/<instance>, told every 10 s, from us to the MQTT server and back"),
    Metric("round_trip_age_seconds", GAUGE, "seconds", _NONE, "How long ago it came back last"),
    Metric("clock_ok", GAUGE, "", _NONE, "1 while the machine's clock is believed"),
    Metric("clock_offset_seconds", GAUGE, "seconds", _NONE, "How far the machine's clock is from service time while it is not"),
)
# fmt: on


def _table(rows: tuple[Metric, ...]) -> Mapping[str, Metric]:
    """The rows by name.

    Raises:
        ValueError: a name stands twice.
    """
    table = {row.name: row for row in rows}
    if len(table) != len(rows):
        raise ValueError("a metric stands twice in the table")
    return MappingProxyType(table)


METRICS: Mapping[str, Metric] = _table(_ROWS)
"""Every metric by its name without the prefix."""
LABEL_VALUES: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "stage": STAGES,
    "what": tuple(COUNTERS),
    "state": ("queued", "pending", "held"),
    "plan_state": tuple(state for state in PlanState if state is not PlanState.ENDED),
    "presence": ("online", "offline", "held", "unknown"),
    "authority": ("observe", "advise", "control"),
    "activity": tuple(Activity),
    "file": ("database", "wal"),
    "connection": ("requests", "presence", "arms"),
    "outcome": ("refused", "read", "checked", "stored", "applied", "open"),
    "codec": ("json", "msgpack", "protobuf"),
})  # fmt: skip
"""All values of the labels whose values are few and known."""
