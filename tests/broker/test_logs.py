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
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    entry = json.loads(line)
    assert (entry["event"], entry["level"], entry["arm"]) == ("loud", "warning", "r1")
    assert entry["timestamp"].endswith("Z")


LEVELS = """
from broker.logs import level, set_level
set_level("info")
log.info("heard")
log.debug(level())
set_level("error")
log.warning("quiet")
try:
    1 / 0
except ZeroDivisionError:
    log.exception("failed")
"""


def test_the_level_can_be_set_while_loggers_are_in_use() -> None:
    command = [sys.executable, "-c", CODE + LEVELS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [json.loads(line)["event"] for line in done.stderr.splitlines()] == ["loud", "heard", "failed"]


EXCHANGED = """
import io, sys
earlier, sys.stderr = sys.stderr, io.StringIO()
log.warning("unseen")
sys.stderr.close()
sys.stderr = earlier
log.warning("seen")
"""


def test_a_logger_in_use_follows_an_exchanged_standard_error() -> None:
    command = [sys.executable, "-c", CODE.replace("log.warning", "log.info") + EXCHANGED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [json.loads(line)["event"] for line in done.stderr.splitlines()] == ["seen"]


JOURNAL = """
from broker.logs import moment, put, set_up, write_waiting
set_up("info", priorities=True)
log.info("plain")
log.warning("loud")
log.error("louder")
put([{"arm": "r1", "event": "change", "level": "info", "timestamp": moment()}])
write_waiting()
"""


def test_the_journal_is_told_the_priority_of_each_line() -> None:
    command = [sys.executable, "-c", CODE.replace('log.warning("loud", arm="r1")', "") + JOURNAL]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [line[:3] for line in done.stderr.splitlines()] == ["<6>", "<4>", "<3>", "<6>"]
    change = json.loads(done.stderr.splitlines()[-1][3:])
    assert change["timestamp"].endswith("Z")
    assert (change["event"], change["level"], change["arm"]) == ("change", "info", "r1")


def test_what_happens_with_every_change_has_a_level_too() -> None:
    code = CODE.replace('log.warning("loud", arm="r1")', "from broker.logs import moment; assert moment() == ''")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


TURN = """
import sys, structlog
from broker import logs

class Counted:
    def __init__(self, stream):
        self.stream, self.writes = stream, 0
    def write(self, text):
        self.writes += 1
        return self.stream.write(text)
    def flush(self):
        self.stream.flush()

def put(number):
    logs.put([{"number": number, "timestamp": logs.moment()}])

logs.set_up("info")
sys.stderr = counted = Counted(sys.stderr)
for number in range(3):
    put(number)
assert counted.writes == 0
logs.write_waiting()
logs.write_waiting()
assert counted.writes == 1
put(3)
structlog.get_logger().warning("loud", number=4)
put(5)
logs.write_waiting()
"""


def test_what_happens_with_every_change_is_written_together_and_in_order() -> None:
    done = subprocess.run([sys.executable, "-c", TURN], capture_output=True, text=True, check=True)
    assert [json.loads(line)["number"] for line in done.stderr.splitlines()] == [0, 1, 2, 3, 4, 5]
