"""Runs the console blocks of a document under the shipped MQTT configuration.

`python -m tests.journey.transcript FILE` writes what the commands print into the file; `--trial` on the plant of the
tutorial.

In a block marked `console`, a line that begins with `$ ` is a command for bash (continued while it ends with a
backslash), the lines below are what it prints. `$ALICE` and `$BOB` hold the address and login of a user; `armbroker` is
in the path, and speaks for alice.
"""

import operator
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

from broker.publish.contents import NAMES
from tests.journey.running import RunningService, settings_of
from tests.mosquitto import ROOT, Mosquitto, make_plant

PROMPT, FENCE, CONSOLE = "$ ", "```", "```console"
COMMAND_S, DOCUMENT_S, PAUSE_S = 120.0, 30.0, 0.2
LOOKING = ("/v1/state/", " Get", " Explain")
"""A command with one of these in it looks at what follows a change a little later, and may look again."""
VOLATILE = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"), "TIME"),
    (re.compile(r'"(sec|usec)":\d+'), r'"\1":0'),
    (re.compile(r"(?m)^\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d) "), "TIME "),
    (re.compile(r"\buntil \d\d:\d\d:\d\d\b"), "until TIME"),
    (re.compile(r" id [0-9a-f]{8}-000001\b"), " id ID"),
)
"""What differs from run to run: times, the same as the two numbers of a notification, ids of the command line."""


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
            secret.write_text(server.passwords["alice"])
            yield os.environ | logins | commands_of(server.url) | {"ARMBROKER_MQTT_PASSWORD_FILE": str(secret)}
        finally:
            service.stop()
            server.stop()


def commands_of(url: str) -> dict[str, str]:
    """The variables by which `armbroker` is found, and finds its server."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "PYTHONPATH": str(ROOT), "ARMBROKER_MQTT_URL": url, "ARMBROKER_MQTT_USER": "alice"}


@contextmanager
def plant_of_trial() -> Iterator[dict[str, str]]:
    """A service as the tutorial starts it, on a Mosquitto that proves no name; the environment of the commands."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        server = Mosquitto(folder).start()
        arms = [f"sim-{number:04}" for number in range(3)]
        service = RunningService(settings_of(server.url, "armbroker", folder / "data", arms)).start()
        try:
            documents = (
                f"mosquitto_sub -p {server.port} -q 1 -C {len(arms) * len(NAMES)} -W 30 -t armbroker/v1/state/+/+"
            )
            subprocess.run(documents.split(), check=True, stdout=subprocess.DEVNULL)
            yield os.environ | commands_of(server.url)
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
    """What a command prints; one that only looks is repeated, for a while, until it prints what is expected.

    `expected` gets what was printed now and the time before.
    """
    printed, before = run(step, environment), ""
    deadline = time.monotonic() + DOCUMENT_S
    while (
        any(word in step.command for word in LOOKING) and not expected(printed, before) and time.monotonic() < deadline
    ):
        time.sleep(PAUSE_S)
        printed, before = run(step, environment), printed
    return printed


def rewritten(text: str, plant: Callable[[], AbstractContextManager[dict[str, str]]]) -> str:
    """The document with what its commands print now."""
    steps = parse(text)
    with plant() as environment:
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
    trial = "--trial" in sys.argv
    path = Path(sys.argv[1])
    path.write_text(rewritten(path.read_text(), plant_of_trial if trial else plant_of_transcript))
