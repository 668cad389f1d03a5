"""The document says what the code does: its worked numbers, its example, its table of differences."""

import re
from pathlib import Path

import pytest

from limits.tesseract.joint_safety import JointSafety
from limits.tesseract.law import SafetyJoint, published_bounds, safety_bounds, safety_parameters

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docs" / "limits_tesseract.md").read_text()
JOINT = SafetyJoint(
    velocity=1.5,
    effort=30.0,
    safety=JointSafety(soft_upper_limit=1.0, soft_lower_limit=-1.0, k_position=10.0, k_velocity=20.0),
)


def rows(header: str) -> list[list[str]]:
    """The cells of the table below a header."""
    lines = TEXT.split(f"{header} |\n")[1].splitlines()[1:]
    table = lines[: next(index for index, line in enumerate(lines) if not line.startswith("|"))]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]


def test_the_worked_numbers_are_those_of_the_law() -> None:
    parameters = safety_parameters([JOINT])
    table = rows("| e_min | e_max")
    assert len(table) == 10
    for row in table:
        position, velocity, *wanted = map(float, row)
        published = published_bounds(parameters, [position], [velocity])
        bounds = safety_bounds(parameters, [position], [velocity])
        found = [float(each[0]) for each in (published.velocity_min, published.velocity_max, *bounds)]
        assert found == pytest.approx(wanted, abs=1e-12)


def test_every_difference_has_its_test() -> None:
    tests = "".join(path.read_text() for path in (ROOT / "tests" / "limits").rglob("test_*.py"))
    table = rows("| default | test")
    assert len(table) == 18
    for row in table:
        assert f"def {row[3].strip('`')}(" in tests


def test_the_example_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(compile(example, "docs/limits_tesseract.md", "exec"), {})  # noqa: S102 - the document's own example
