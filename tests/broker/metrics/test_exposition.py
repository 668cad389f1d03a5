"""The text is what Prometheus's own parser reads, and every number of the figures is in it."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from broker.histogram import Counted
from broker.metrics.exposition import text_of
from broker.metrics.table import METRICS, Kind
from tests.virtual_plant import Plant, play


def test_the_text_holds_all_figures(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call(
            "r1", "SetTwistLinearSoftLimit", {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.1}
        )
        await plant.call("r1", "NoSuchMethod")
        figures = plant.service.reading.figures()
        families = {family.name: family for family in text_string_to_metric_families(text_of(figures).decode())}
        ours = {name for name in families if name.startswith("armbroker_")}
        assert ours == {metric.full_name.removesuffix("_total") for metric in METRICS.values()}
        for name, values in figures.items():
            metric = METRICS[name]
            family = families[metric.full_name.removesuffix("_total")]
            assert (family.type, family.documentation) == (metric.kind.value, metric.help)
            found = {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for sample in family.samples}
            for labels, value in values.items():
                key = tuple(sorted(zip(metric.labels, labels, strict=True)))
                if isinstance(value, Counted):
                    assert found[f"{metric.full_name}_count", key] == value.below[-1]
                    assert found[f"{metric.full_name}_sum", key] == pytest.approx(value.sum_s)
                    steps = [each for (each, _), each_value in found.items() if each.endswith("_bucket")]
                    assert len(steps) == len(values) * (len(value.bounds) + 1)
                else:
                    assert found[metric.full_name, key] == pytest.approx(float(value)), (name, labels)

    play(tmp_path, scenario)


def test_the_process_is_told_of(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        text = text_of(plant.service.reading.figures()).decode()
        assert "\nprocess_resident_memory_bytes " in text
        assert "\nprocess_cpu_seconds_total " in text

    play(tmp_path, scenario)


def test_hostile_names_are_escaped() -> None:
    text = text_of({"refusals_total": {('a"b\\c\nd', "out_of_limits"): 1}}).decode()
    (family,) = [each for each in text_string_to_metric_families(text) if each.name == "armbroker_refusals"]
    assert [sample.labels["user"] for sample in family.samples] == ['a"b\\c\nd']


def test_a_histogram_without_one_is_a_fault() -> None:
    (histogram,) = [name for name, metric in METRICS.items() if metric.kind is Kind.HISTOGRAM and not metric.labels][:1]
    with pytest.raises(TypeError, match=histogram):
        text_of({histogram: {(): 1.0}})
    with pytest.raises(TypeError, match="no number"):
        text_of({"ready": {(): Counted((1.0,), (0, 0), 0.0)}})
