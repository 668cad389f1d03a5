"""The figures for those who have MQTT only: what `svc/<instance>` tells. Pure, and bounded by the tables."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from broker.histogram import Counted
from broker.metrics.table import METRICS, Figures, Labels, Value

TOLD_BY: Mapping[str, str] = MappingProxyType(
    {"requests_total": "outcome", "refusals_total": "kind", "arms": "presence"}
)
"""Of metrics with several labels the one that is told; the values of the others are added up."""
LEFT_OUT = frozenset({"info", "incidents_total", "start_time_seconds", "epoch"})
"""Metrics that the document has under other names."""
_DIGITS = 6


def summary(figures: Figures) -> dict[str, Any]:
    """Each metric by its name: a number, or numbers by one label; of times count, sum, median and 99 %."""
    return {name: _told(name, values) for name, values in figures.items() if name not in LEFT_OUT}


def _told(name: str, values: Mapping[Labels, Value]) -> Any:
    labels = METRICS[name].labels
    if not labels:
        return next((_number(value) for value in values.values()), None)
    place = labels.index(TOLD_BY[name]) if name in TOLD_BY else 0
    told: dict[str, Any] = {}
    for key, value in values.items():
        number = _number(value)
        told[key[place]] = told.get(key[place], 0) + number if len(labels) > 1 else number
    return told


def _number(value: Value) -> Any:
    if isinstance(value, Counted):
        half, most = value.quantile(0.5), value.quantile(0.99)
        return {"count": value.below[-1], "sum": round(value.sum_s, _DIGITS), "p50": half, "p99": most}
    return int(value) if value == int(value) else round(value, _DIGITS)
