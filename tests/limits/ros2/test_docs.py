"""The table of differences names a test for every row, and every such test has its row."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
TESTS = Path(__file__).with_name("test_compat_and_strict.py")


def test_every_row_has_its_test_and_every_test_its_row() -> None:
    text = (ROOT / "docs" / "limits_ros2.md").read_text(encoding="utf-8")
    table = text.split("## Every difference")[1].split("## Parameter files")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and not line.startswith("| case")]
    named = [re.findall(r"`(test_\w+)` \|$", row) for row in rows]
    written = re.findall(r"^def (test_\w+)", TESTS.read_text(encoding="utf-8"), re.MULTILINE)
    assert all(len(names) == 1 for names in named)
    assert sorted(name for names in named for name in names) == sorted(written)
