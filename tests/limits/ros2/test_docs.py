"""The table of differences names a test for every row, and every such test has its row."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
TESTS = sorted(Path(__file__).parent.glob("test_differences_of_*.py"))


def test_every_row_has_its_test_and_every_test_its_row() -> None:
    text = (ROOT / "docs" / "limits_ros2.md").read_text(encoding="utf-8")
    table = text.split("## Every difference")[1].split("## Parameter files")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and not line.startswith("| case")]
    named = [re.findall(r"`(test_\w+)` \|$", row) for row in rows]
    code = "".join(file.read_text(encoding="utf-8") for file in TESTS)
    written = re.findall(r"^def (test_\w+)", code, re.MULTILINE)
    assert all(len(names) == 1 for names in named)
    assert sorted(name for names in named for name in names) == sorted(written)
