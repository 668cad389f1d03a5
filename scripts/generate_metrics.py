"""Write `docs/metrics.md` from the table of metrics.

`python -m scripts.generate_metrics FOLDER`, from the root of the repository; `scripts/generate` does it.
"""

import sys
from pathlib import Path

from broker.metrics.readiness import BEHIND_MOST
from broker.metrics.summary import LEFT_OUT, TOLD_BY
from broker.metrics.table import LABEL_VALUES, METRICS, Metric
from scripts.generate_docs import NOTE, code, table

PAGE = Path("docs/metrics.md")
TEMPLATE = Path(__file__).with_name("metrics.template.md")


def metric_row(metric: Metric) -> tuple[str, ...]:
    """One line of the table of metrics."""
    return (code(metric.full_name), metric.kind.value, metric.unit, " ".join(map(code, metric.labels)), metric.help)


def page() -> str:
    """The page."""
    parts = {
        "note": NOTE,
        "behind": f"{BEHIND_MOST:,}",
        "metrics": table(("name", "type", "unit", "labels", "what it tells"), map(metric_row, METRICS.values())),
        "labels": table(
            ("label", "values"), ((code(name), ", ".join(map(code, values))) for name, values in LABEL_VALUES.items())
        ),
        "by": ", ".join(f"{code(name)} by {code(label)}" for name, label in TOLD_BY.items()),
        "left_out": ", ".join(map(code, sorted(LEFT_OUT))),
    }
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"{{{{{name}}}}}", part.rstrip("\n"))
    return text


def main(folder: Path) -> None:
    """Write the page below a folder."""
    (folder / "docs").mkdir(parents=True, exist_ok=True)
    (folder / PAGE).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
