"""Runs the console blocks of a document under the shipped MQTT configuration.

`python -m tests.journey.transcript FILE` writes what the commands print into the file.

In a block marked `console`, a line that begins with `$ ` is a command for bash (continued while it ends with a
backslash), the lines below are what it prints. `$ALICE` and `$BOB` hold the address and login of a user.
"""

import operator
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from broker.publish.contents import NAMES
from tests.journey.running import RunningService, settings_of
from tests.mosquitto import make_plant

PROMPT, FENCE, CONSOLE = "$ ", "```", "```console"
COMMAND_S, DOCUMENT_S, PAUSE_S = 30.0, 5.0, 0.2
DOCUMENT = "/v1/state/"
"""A command with this in it shows a retained document, which follows its event a little later."""
VOLATILE = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"), "TIME"),
    (re.compile(r'"(sec|usec)":\d+'), r'"\1":0'),
)
"""What differs from run to run: times, and the same as the two numbers of a notification."""


class Step(NamedTuple):
    """One command as printed, and what is printed below it."""

    command: str
    printed: str


def lines_of_blocks(text: str, fence: str = CONSOLE) -> Iterator[tuple[bool, str]]:
    """Each line of a document, and whether it stands in a block of that fence."""
    inside = False
    for line in text.splitlines():
        if line.startswith(FENCE):
            inside = line == fence
            yield False, line
        else:
            yield inside, line


def parse(text: str, fence: str = CONSOLE) -> list[Step]:
    """The commands of a document, in order."""
    steps: list[Step] = []
    going_on = False
    for inside, line in lines_of_blocks(text, fence):
        if not inside:
            continue
        if line.startswith(PROMPT):
            steps.append(Step(line, ""))
        elif going_on:
            steps[-1] = Step(f"{steps[-1].command}\n{line}", "")
        else:
            steps[-1] = Step(steps[-1].command, f"{steps[-1].printed}{line}\n")
            continue
        going_on = line.endswith("\\")
    return steps


def normalised(printed: str) -> str:
    """What is printed without what differs from run to run."""
    for pattern, word in VOLATILE:
        printed = pattern.sub(word, printed)
    return printed


@contextmanager
def plant_of_transcript() -> Iterator[dict[str, str]]:
    """A service with arm r12 on a Mosquitto with the shipped configuration; the environment of the commands."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        server = make_plant(folder).start()
        secret = folder / "secret"
        secret.write_text(server.passwords["svc"])
        mqtt = {"user": "svc", "password_file": str(secret), "identity": "server-acl", "client_id": "armbroker-main"}
        service = RunningService(settings_of(server.url, "armbroker", folder / "data", ["r12"], mqtt=mqtt)).start()
        try:
            logins = {
                user.upper(): f"-h 127.0.0.1 -p {server.port} -u {user} -P {server.passwords[user]}"
                for user in ("alice", "bob")
            }
            documents = (
                f"mosquitto_sub {logins['BOB']} -i bob-ready -q 1 -C {len(NAMES)} -W 30 -t armbroker/v1/state/r12/+"
            )
            subprocess.run(documents.split(), check=True, stdout=subprocess.DEVNULL)
            yield os.environ | logins
        finally:
            service.stop()
            server.stop()


def run(step: Step, environment: dict[str, str]) -> str:
    """What a command prints, errors included."""
    command = step.command.removeprefix(PROMPT)
    done = subprocess.run(
        ["bash", "-c", command],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )
    return done.stdout


def run_until(step: Step, environment: dict[str, str], expected: Callable[[str, str], bool]) -> str:
    """What a command prints; one that shows a document is repeated, for a while, until it prints what is expected.

    `expected` gets what was printed now and the time before.
    """
    printed, before = run(step, environment), ""
    deadline = time.monotonic() + DOCUMENT_S
    while DOCUMENT in step.command and not expected(printed, before) and time.monotonic() < deadline:
        time.sleep(PAUSE_S)
        printed, before = run(step, environment), printed
    return printed


def rewritten(text: str) -> str:
    """The document with what its commands print now."""
    steps = parse(text)
    with plant_of_transcript() as environment:
        printed = iter([run_until(step, environment, operator.eq) for step in steps])
    lines: list[str] = []
    going_on = False
    for inside, line in lines_of_blocks(text):
        if not inside or line.startswith(PROMPT) or going_on:
            lines.append(line)
            going_on = inside and line.endswith("\\")
            if inside and not going_on:
                lines += next(printed).splitlines()
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(rewritten(path.read_text()))
