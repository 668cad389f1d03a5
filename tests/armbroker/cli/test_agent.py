"""The command line of the agents."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from armbroker.agent.process import serve
from armbroker.cli.agent import AgentArguments, run, settings_of
from armbroker.cli.exits import Exit
from broker.tls import TlsFiles
from devices.adapter import ArmError
from devices.simulated import SimulatedStore
from tests.links import PATIENCE_S
from tests.mosquitto import ROOT, free_port


def arguments(tmp_path: Path, **changes: Any) -> AgentArguments:
    given = AgentArguments(
        mqtt="mqtt://127.0.0.1:1883", arm=[], arms=0, prefix="a-", model="gen3_7dof", data=tmp_path / "arms",
        root="armbroker", password_file=None, tls=TlsFiles(), keepalive=5, latency=25.0, faults=False,
    )  # fmt: skip
    return given._replace(**changes)


def test_arms_are_named_one_by_one_or_by_number(tmp_path: Path) -> None:
    settings = settings_of(arguments(tmp_path, arm=["r12", "r13"], arms=2))
    assert settings.arms == ("r12", "r13", "a-0000", "a-0001")
    (tmp_path / "password").write_text("secret\n")
    settings = settings_of(arguments(tmp_path, arm=["r12"], password_file=tmp_path / "password"))
    assert settings.login.password == "secret"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, "--arm"),
        ({"arm": ["r12", "r12"]}, "each once"),
        ({"arm": ["r/12"]}, "r/12"),
        ({"arm": ["r12"], "mqtt": "tcp://x"}, "tcp"),
        ({"arm": ["r12"], "root": "#"}, "root"),
        ({"arm": ["r12"], "password_file": Path("/nowhere")}, "nowhere"),
    ],
)
def test_what_cannot_be_used_is_named(
    tmp_path: Path, changes: dict[str, Any], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments(tmp_path, **changes)) is Exit.USAGE
    assert why in capsys.readouterr().err


async def test_a_model_has_to_be_known_and_a_directory_is_of_one_process(tmp_path: Path) -> None:
    with pytest.raises(ArmError, match="gen9"):
        await serve(settings_of(arguments(tmp_path, arm=["r12"], model="gen9")))
    store = SimulatedStore(tmp_path / "arms")
    with pytest.raises(ArmError, match="in use"):
        await serve(settings_of(arguments(tmp_path, arm=["r12"])))
    store.close()


async def test_an_agent_without_a_server_tries_on_and_ends_when_told(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "armbroker", "agent", "--arm", "r12", "--data", str(tmp_path / "arms"), "--mqtt"]
    process = await asyncio.create_subprocess_exec(
        *command, f"mqtt://127.0.0.1:{free_port()}", cwd=ROOT, stderr=subprocess.PIPE
    )
    if process.stderr is None:
        raise RuntimeError("no pipe")
    async with asyncio.timeout(PATIENCE_S):
        async for line in process.stderr:
            if b"session_lost" in line:
                break
        process.terminate()
        assert await process.wait() == 0
