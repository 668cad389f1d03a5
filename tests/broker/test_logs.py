"""Logs are JSON lines on standard error."""

import json
import subprocess
import sys

CODE = """
import structlog
from broker.logs import set_up
set_up("warning")
log = structlog.get_logger()
log.info("quiet")
log.warning("loud", arm="r1")
"""


def test_one_object_a_line_from_the_level_up() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    entry = json.loads(line)
    assert (entry["event"], entry["level"], entry["arm"]) == ("loud", "warning", "r1")
    assert entry["timestamp"].endswith("Z")
