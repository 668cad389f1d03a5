"""The rules for Prometheus and the dashboard for Grafana: accepted, tried, and about what there is."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from broker.metrics.table import LABEL_VALUES, METRICS, Kind
from schema.errors import ERRORS

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "deploy/prometheus"
DASHBOARD: dict[str, Any] = json.loads((ROOT / "deploy/grafana/armbroker.json").read_text())
ALERTS: list[dict[str, Any]] = yaml.safe_load((RULES / "alerts.yml").read_text())["groups"][0]["rules"]
TRIED: list[dict[str, Any]] = yaml.safe_load((RULES / "alerts.test.yml").read_text())["tests"]
FOREIGN = {
    "up": {"job", "instance"},
    "process_cpu_seconds_total": {"job", "instance"},
    "process_resident_memory_bytes": {"job", "instance"},
}
"""What is there without us, and its labels."""
WORDS = {
    "and", "on", "by", "sum", "min", "max", "rate", "increase", "changes", "topk", "histogram_quantile", "le",
}  # fmt: skip
"""Words of the language that are used."""


class Selector(NamedTuple):
    """A name in a query, and what it asks of labels."""

    name: str
    matchers: dict[str, str]


def names_of(query: str) -> tuple[list[Selector], set[str]]:
    """The selectors of a query, and the labels it groups by."""
    text = re.sub(r"\[[^\]]*\]", "", query)
    grouped = {label for found in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", text) for label in found.split(", ")}
    text = re.sub(r"\b(?:by|on)\s*\([^)]*\)", "", text)
    selectors = [
        Selector(name, dict(re.findall(r'(\w+)(?:=~|!~|!=|=)"([^"]*)"', matchers or "")))
        for name, matchers in re.findall(
            r"([A-Za-z_:][A-Za-z0-9_:]*)\s*(\{[^}]*\})?", re.sub(r"[0-9.]+e[0-9]+", "", text)
        )
        if name not in WORDS
    ]
    return selectors, grouped


def labels_of(name: str) -> set[str]:
    """The labels of a series by its name; KeyError where there is none."""
    if name in FOREIGN:
        return FOREIGN[name]
    base = re.sub(r"_(bucket|count|sum)\Z", "", name.removeprefix("armbroker_"))
    metric = METRICS[base]
    if (base != name.removeprefix("armbroker_")) is not (metric.kind is Kind.HISTOGRAM):
        raise KeyError(name)
    return {*metric.labels, "instance", "job", *({"le"} if name.endswith("_bucket") else ())}


def dashboard_queries() -> Iterator[str]:
    """Every query of the dashboard."""
    for panel in DASHBOARD["panels"]:
        yield from (target["expr"] for target in panel.get("targets", ()))


QUERIES = [*(rule["expr"] for rule in ALERTS), *dashboard_queries()]


def promtool(*arguments: str, folder: Path = RULES) -> subprocess.CompletedProcess[str]:
    """Run Prometheus's own tool."""
    return subprocess.run(["promtool", *arguments], cwd=folder, capture_output=True, text=True, check=False)


def test_promtool_accepts_configuration_and_rules() -> None:
    done = promtool("check", "config", "prometheus.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    done = promtool("check", "rules", "--lint-fatal", "alerts.yml")
    assert (done.returncode, f"{len(ALERTS)} rules found" in done.stdout) == (0, True), done.stdout + done.stderr


def test_each_rule_fires_and_keeps_quiet_as_its_tests_say() -> None:
    done = promtool("test", "rules", "alerts.test.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    tried = [
        (case["alert_rule_test"][0]["alertname"], bool(case["alert_rule_test"][0]["exp_alerts"])) for case in TRIED
    ]
    assert sorted(tried) == sorted((rule["alert"], fires) for rule in ALERTS for fires in (True, False))


def test_rules_tell_what_to_do() -> None:
    assert len({rule["alert"] for rule in ALERTS}) == len(ALERTS)
    for rule in ALERTS:
        assert rule["labels"]["severity"] in {"info", "warning", "critical"}
        assert rule["annotations"].keys() == {"summary", "description"}
        for page in re.findall(r"docs/\S+\.md", rule["annotations"]["description"]):
            assert (ROOT / page).is_file(), page


@pytest.mark.parametrize("query", QUERIES)
def test_queries_are_about_what_there_is(query: str) -> None:
    selectors, grouped = names_of(query)
    assert selectors
    known: set[str] = set()
    for name, matchers in selectors:
        labels = labels_of(name)
        known |= labels
        assert matchers.keys() <= labels, name
        for label, pattern in matchers.items():
            values = LABEL_VALUES.get(label, tuple(ERRORS) if label == "kind" else ())
            assert not values or any(re.fullmatch(pattern, value) for value in values), (label, pattern)
    assert grouped <= known


def test_the_names_of_a_query_are_found() -> None:
    assert names_of('sum by (le, x) (rate(a_b{c="d",e=~"f.*"}[5m])) > 1e9 and on (g) h') == (
        [Selector("a_b", {"c": "d", "e": "f.*"}), Selector("h", {})],
        {"le", "x", "g"},
    )
    with pytest.raises(KeyError):
        labels_of("armbroker_no_such")
    with pytest.raises(KeyError):
        labels_of("armbroker_ready_bucket")
    with pytest.raises(KeyError):
        labels_of("armbroker_commit_seconds")


def test_every_metric_is_on_the_dashboard_or_in_a_rule() -> None:
    used = {selector.name for query in QUERIES for selector in names_of(query)[0]}
    assert {
        name for name, metric in METRICS.items() if not any(each.startswith(metric.full_name) for each in used)
    } == set()


def test_the_dashboard_is_whole() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
        assert panel["type"] == "row" or panel["targets"], panel["title"]
    variables = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
    assert set(re.findall(r"\$\{?(\w+)", json.dumps(DASHBOARD))) - variables == {"__rate_interval", "__all"}
