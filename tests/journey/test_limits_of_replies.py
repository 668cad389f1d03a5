"""`armbroker limits` reads what the service answers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.journey.conftest import ClientMaker
from tests.mosquitto import ROOT

JOINTS = ",".join(f"j{number}" for number in range(1, 8))


def limits(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """A command of limits."""
    command = [sys.executable, "-m", "armbroker", "limits", *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.parametrize("method", ["GetJointLimits", "GetKinematicHardLimits"])
async def test_limits_of_an_arm_are_shown(arm: str, connect: ClientMaker, tmp_path: Path, method: str) -> None:
    client = await connect()
    values = {"max_velocity": {"values": [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4]}}
    assert (await client.call(arm, "SetJointLimits", values))["ok"]
    reply = json.dumps(await client.call(arm, method))
    (tmp_path / "reply.json").write_text(reply)
    shown = limits("show", str(tmp_path / "reply.json"), "--joints", JOINTS)
    assert shown.returncode == 0, shown.stderr
    assert "j7" in shown.stdout
    if method == "GetJointLimits":
        assert "0.4" in shown.stdout
        assert limits("show", "/dev/stdin", "--joints", JOINTS, given=reply).stdout.count("0.4") == 1
    same = limits("diff", str(tmp_path / "reply.json"), str(tmp_path / "reply.json"), "--joints", JOINTS)
    assert same.returncode == 0


async def test_a_refusal_has_no_limits(arm: str, connect: ClientMaker, tmp_path: Path) -> None:
    client = await connect()
    (tmp_path / "reply.json").write_text(json.dumps(await client.call(arm, "GetSkeleton")))
    shown = limits("show", str(tmp_path / "reply.json"))
    assert shown.returncode == 1
    assert "is a refusal of the service" in shown.stderr
