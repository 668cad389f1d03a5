"""The walk of the page about fleet operations: bob loosens only with a second person.

`python -m tests.journey.fleet.test_policy_walk` writes what its commands print into the page.
"""

import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.journey.running import RunningService, settings_of
from tests.journey.transcript import COMMAND_S, Step, commands_of, lines_of_blocks, normalised, parse
from tests.mosquitto import ROOT, make_plant

PAGE = ROOT / "docs" / "fleet.md"
SESSION, TOML = "```shell-session", "```toml"


def policy_of(text: str) -> str:
    """The policy that the page shows."""
    lines = [line for inside, line in lines_of_blocks(text, TOML) if inside]
    start = next(number for number, line in enumerate(lines) if line == "[roles]")
    shown = "\n".join(lines[start:]) + "\n"
    tomllib.loads(shown)
    return shown


@contextmanager
def plant(text: str) -> Iterator[tuple[Path, dict[str, str]]]:
    """A service with the policy of the page; where the commands run, and their environment."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        server = make_plant(folder).start()
        profiles = folder / "config" / "armbroker"
        profiles.mkdir(parents=True)
        for user in ("svc", "alice", "bob"):
            (profiles / user).write_text(server.passwords[user])
        (profiles / "profiles.toml").write_text(
            "".join(
                f'[{user}]\nurl = "{server.url}"\nuser = "{user}"\nconn = "{user}-desk"\npassword_file = "{user}"\n'
                for user in ("alice", "bob")
            )
        )
        rules = folder / "policy.toml"
        rules.write_text(policy_of(text))
        mqtt = {
            "user": "svc", "password_file": str(profiles / "svc"), "identity": "server-acl", "client_id": "armbroker-1",
        }  # fmt: skip
        settings = settings_of(
            server.url, "armbroker", folder / "data", ["r12"], mqtt=mqtt, policy={"file": str(rules)}
        )
        service = RunningService(settings).start()
        try:
            environment = commands_of(server.url) | {"XDG_CONFIG_HOME": str(folder / "config"), "HOME": str(folder)}
            yield folder, environment
        finally:
            service.stop()
            server.stop()


def printed(steps: list[Step], text: str) -> list[str]:
    """What each command prints."""
    with plant(text) as (folder, environment):
        return [
            subprocess.run(
                ["bash", "-c", step.command.removeprefix("$ ")], env=environment, cwd=folder, check=False, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=COMMAND_S,
            ).stdout
            for step in steps
        ]  # fmt: skip


@pytest.mark.long
def test_the_walk_prints_what_the_page_says() -> None:
    text = PAGE.read_text()
    steps = parse(text, SESSION)
    assert len(steps) >= 8
    for step, now in zip(steps, printed(steps, text), strict=True):
        assert normalised(now) == normalised(step.printed), step.command


def rewritten(text: str) -> str:
    """The page with what its commands print now."""
    answers = iter(printed(parse(text, SESSION), text))
    lines: list[str] = []
    for inside, line in lines_of_blocks(text, SESSION):
        if not inside or line.startswith("$ "):
            lines.append(line)
        if inside and line.startswith("$ "):
            lines += next(answers).splitlines()
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text()))
