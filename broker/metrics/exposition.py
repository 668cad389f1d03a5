"""The figures in the text format of Prometheus."""

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from broker.histogram import Counted
from broker.metrics.table import METRICS, Figures, Kind, Labels, Metric, Value

CONTENT_TYPE = CONTENT_TYPE_LATEST
_Values = Iterable[tuple[Labels, Value]]
_PLAIN = {Kind.GAUGE: GaugeMetricFamily, Kind.COUNTER: CounterMetricFamily}
_PROCESS = CollectorRegistry()
ProcessCollector(registry=_PROCESS)


class _Snapshot(Collector):
    """Figures that were read already."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Family]:
        """The families, in the order of the table."""
        for name, values in self._figures.items():
            metric = METRICS[name]
            yield (
                _histogram(metric, values.items()) if metric.kind is Kind.HISTOGRAM else _plain(metric, values.items())
            )


def text_of(figures: Figures) -> bytes:
    """The text of a scrape, with what Prometheus's library tells of the process; may be called from any thread."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Snapshot(figures))
    return generate_latest(registry) + generate_latest(_PROCESS)


def _plain(metric: Metric, values: _Values) -> Family:
    family: GaugeMetricFamily | CounterMetricFamily = _PLAIN[metric.kind](
        metric.full_name, metric.help, labels=metric.labels
    )
    for labels, value in values:
        family.add_metric(labels, _number(value))
    return family


def _histogram(metric: Metric, values: _Values) -> Family:
    family = HistogramMetricFamily(metric.full_name, metric.help, labels=metric.labels)
    for labels, value in values:
        if not isinstance(value, Counted):
            raise TypeError(f"{metric.name}: {value!r} is no histogram")
        bounds = (*(str(bound) for bound in value.bounds), "+Inf")
        family.add_metric(labels, list(zip(bounds, map(float, value.below), strict=True)), value.sum_s)
    return family


def _number(value: Value) -> float:
    if isinstance(value, Counted):
        raise TypeError("a histogram is no number")
    return float(value)
