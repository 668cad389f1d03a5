"""The table of differences names a test for every row, and every such test has its row."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from limits.ros2.arrays import JointValues

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


def test_the_example_runs() -> None:
    text = (ROOT / "docs" / "limits_ros2.md").read_text(encoding="utf-8")
    code = text.split("```python\n")[1].split("```")[0]
    limits = "{has_velocity_limits: true, max_velocity: 1.0}"
    joints = f"{{joint_limits: {{shoulder: {limits}, elbow: {limits}}}}}"
    given: dict[str, Any] = {
        "text": f"arm: {{driver: {{ros__parameters: {joints}}}}}",
        "actual": JointValues(position=np.zeros(2)),
        "desired": JointValues(position=np.ones(2)),
        "dt": 0.1,
    }
    exec(code, given)  # noqa: S102 - the example is ours
    assert given["answer"].desired.position.tolist() == [0.1, 0.1]
