import re
from pathlib import Path

import pytest

from schema import intrinsic

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "limits_intrinsic.md").read_text(encoding="utf-8")
ROWS = [
    line for line in TEXT.splitlines() if line.startswith("| ") and not line.startswith(("| Message |", "| What |"))
]
NAMED = re.compile(r"\| `(tests/[a-z_/]+\.py)::(test_[a-z0-9_]+)` \|$")
NESTED = {
    "Joint.Parameters": "JointParameters",
    "Joint.Parameters.Dynamics": "JointDynamics",
    "Joint.LinearDependency": "LinearDependency",
    "Link.Parameters": "LinkParameters",
}


@pytest.mark.parametrize("row", ROWS)
def test_every_row_names_a_test_that_exists(row: str) -> None:
    match = NAMED.search(row)
    assert match is not None, row
    file, name = match.groups()
    assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")


def test_every_message_has_a_row() -> None:
    first = ROWS[: next(index for index, row in enumerate(ROWS) if row.startswith("| NaN among"))]
    told = {NESTED.get(name, name) for row in first for name in row.split(" | ")[0].removeprefix("| ").split(", ")}
    records = {
        name
        for name, found in vars(intrinsic).items()
        if isinstance(found, type) and found.__module__ == intrinsic.__name__ and name != "JointType"
    }
    assert records <= told
