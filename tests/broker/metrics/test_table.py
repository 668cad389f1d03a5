"""The table of metrics keeps to the conventions of Prometheus."""

import re

import pytest

from broker.counters import COUNTERS
from broker.metrics.table import LABEL_VALUES, METRICS, Kind, Metric
from schema.arms import Authority
from schema.codecs import CODECS
from schema.envelope import Stage

NAMES = {
    "info", "ready", "start_time_seconds", "epoch", "requests_total", "refusals_total", "incidents_total",
    "requests_waiting", "requests_waiting_bytes", "replies_owed", "users_held", "stage_seconds", "changes",
    "oldest_unsettled_seconds", "arm_queue_longest", "arms", "arms_online", "arms_drifted", "commit_seconds",
    "overrides", "overrides_overdue", "plans",
    "store_bytes", "store_free_bytes", "store_full", "outbox_publications", "outbox_lag_seconds",
    "events_unpublished", "documents_waiting", "documents_lag_seconds", "loop_lag_seconds", "mqtt_connected",
    "mqtt_connections_total", "mqtt_sessions_lost_total", "round_trip_seconds", "round_trip_age_seconds", "clock_ok",
    "clock_offset_seconds",
}  # fmt: skip


def test_the_table_is_known_here() -> None:
    assert set(METRICS) == NAMES


@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.name)
def test_names_follow_the_conventions(metric: Metric) -> None:
    assert re.fullmatch(r"armbroker_[a-z][a-z0-9_]*[a-z0-9]", metric.full_name)
    assert metric.name.endswith("_total") is (metric.kind is Kind.COUNTER)
    assert metric.unit in ("", "seconds", "bytes")
    unit_in_name = metric.name.removesuffix("_total").rpartition("_")[2]
    assert (unit_in_name in ("seconds", "bytes")) is bool(metric.unit) or metric.name == "store_bytes"
    if metric.unit:
        assert metric.unit in metric.name
    if metric.kind is Kind.HISTOGRAM:
        assert metric.unit == "seconds"
    assert "le" not in metric.labels
    assert metric.help
    assert not metric.help.endswith(".")


def test_known_values_of_labels_are_those_of_their_tables() -> None:
    used = {label for metric in METRICS.values() for label in metric.labels}
    assert used - LABEL_VALUES.keys() == {"version", "instance", "root", "method", "user", "kind"}
    assert LABEL_VALUES.keys() <= used
    assert set(LABEL_VALUES["codec"]) == {codec.name for codec in CODECS.values()}
    assert set(LABEL_VALUES["outcome"]) == {*(stage.value for stage in Stage), "open"}
    assert set(LABEL_VALUES["authority"]) == {each.value for each in Authority}
    assert set(LABEL_VALUES["what"]) == set(COUNTERS)
