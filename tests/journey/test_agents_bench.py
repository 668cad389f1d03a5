"""`bench/agents.py` with few agents keeps its bounds."""

import os
import re
import subprocess
import sys

from tests.mosquitto import ROOT


def test_few_agents_are_there_told_missed_and_heard_in_time() -> None:
    command = [sys.executable, "bench/agents.py", "--arms", "20", "--processes", "2", "--slack", "4"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = dict(re.findall(r"^(\w+) .* n +(\d+)", done.stdout, re.MULTILINE))
    assert found == {"online": "20", "tightening": "20", "gone": "10", "back": "10", "foreign": "20"}
    assert "memory" in done.stdout
