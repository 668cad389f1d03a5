"""The example of docs/client.md does what the page says, with the real service."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from armbroker.client import ArmClient, WatchedDocument
from tests.mosquitto import Mosquitto

PAGE = Path(__file__).resolve().parents[3] / "docs" / "client.md"


async def _arm_is_online(url: str) -> None:
    async with ArmClient(url, user="alice", conn="waiting") as client, client.watch("sim-0000") as watched:
        async for each in watched:
            if (
                isinstance(each, WatchedDocument)
                and (each.document or {}).get("state") == "online"
                and each.arm == "sim-0000"
            ):
                return


async def test_the_example_prints_what_the_page_says(
    start_mosquitto: Callable[[str], Mosquitto], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = start_mosquitto("").url
    code, shown = re.findall(r"```(?:python)?\n(.*?)```", PAGE.read_text(), re.DOTALL)[:2]
    command = [sys.executable, "-m", "armbroker", "run", "--mqtt", url, "--data", str(tmp_path), "--sim", "1"]
    with (tmp_path / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as service:
        try:
            await _arm_is_online(url)
            names = {"__name__": "example"}
            exec(compile(code, str(PAGE), "exec"), names)  # noqa: S102 - the example of our own page
            await names["main"](url)  # type: ignore[operator] # main is defined by the example
        finally:
            service.terminate()
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(shown.splitlines())
