"""`armbroker devices`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from armbroker.cli.commands import app
from armbroker.cli.devices_work import options_of
from armbroker.cli.exits import Exit
from devices.adapter import AdapterSettingError
from devices.registry import BUILT_IN
from devices.simulated import SimulatedArm


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["devices", *arguments], env={"COLUMNS": "120"})


def test_list_shows_every_adapter_and_whether_it_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUILT_IN, "broken", "devices.no_such_module:Arm")
    lines = {line.split()[0]: line for line in run("list").output.splitlines()}
    assert lines["simulated"].split(maxsplit=3)[1:3] == ["built", "in"]
    assert lines["simulated"].endswith(SimulatedArm.about.purpose)
    assert "cannot be used: adapter broken (devices.no_such_module:Arm)" in lines["broken"]
    rows = {row["name"]: row for row in json.loads(run("list", "--json").output)}
    assert rows["simulated"] == {
        "name": "simulated",
        "from": "built in",
        "usable": True,
        "purpose": SimulatedArm.about.purpose,
    }
    assert not rows["broken"]["usable"]


def test_show_tells_everything_of_an_adapter() -> None:
    lines = run("show", "simulated").output.splitlines()
    assert "models: gen3_7dof, gen3_6dof, gen3_lite" in lines
    assert "deadlines: connect 2 s, read 2 s, write 5 s" in lines
    assert "authority: control, unless the settings say" in lines
    assert any(line.startswith("methods: ControlConfigurationTopic, ") for line in lines)
    assert any(line.startswith("  latency_ms (number, >= 0, <= 60000, default 25.0): how long") for line in lines)
    document = json.loads(run("show", "simulated", "--json").output)
    assert document["options"][0]["name"] == "latency_ms"
    assert document["rig"] == "devices.simulated.rig:make"


def test_an_unknown_adapter_is_told() -> None:
    result = run("show", "simulatd")
    assert result.exit_code == Exit.REFUSED
    assert "no adapter 'simulatd'; known: " in result.output


def test_verify_runs_behaviours_and_tells_how_each_ended() -> None:
    chosen = ["--behaviour", "connect", "--behaviour", "shutdown", "--option", "latency_ms=0"]
    result = run("verify", "simulated", *chosen)
    assert result.exit_code == Exit.OK, result.output
    assert result.output.splitlines() == ["connect   pass", "shutdown  pass", "2 pass, 0 n/a, 0 FAIL"]


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (["--behaviour", "fly"], Exit.USAGE, "no behaviour fly; known: connect, "),
        (["--option", "latency_ms"], Exit.REFUSED, "--option latency_ms: K=V is wanted"),
        (["--option", "latency_ms=-1"], Exit.REFUSED, "option latency_ms: -1: expected `float` >= 0"),
        (["--option", "latency_ms=fast"], Exit.REFUSED, "option latency_ms: 'fast': expected `float`"),
        (["--model", "gen3_lite"], Exit.REFUSED, "fit gen3_7dof"),
    ],
)
def test_verify_wrongly_used(arguments: list[str], code: Exit, why: str) -> None:
    result = run("verify", "simulated", *arguments)
    assert (result.exit_code, why in result.output) == (code, True), result.output


def test_options_are_texts_where_the_adapter_wants_texts() -> None:
    table = SimulatedArm.about.options
    assert options_of(["latency_ms=2.5", "x=true", "y=a=b"], table) == {"latency_ms": 2.5, "x": True, "y": "a=b"}
    with pytest.raises(AdapterSettingError):
        options_of([""], table)


@pytest.mark.parametrize("command", [[], ["list"], ["show"], ["verify"]])
def test_every_help_has_examples(command: list[str]) -> None:
    assert "armbroker devices" in run(*command, "--help").output


def test_install_kortex_says_what_is_wrong_with_a_wheel(tmp_path: Path) -> None:
    result = run("install-kortex", str(tmp_path / "kortex_api.whl"), "--data", str(tmp_path))
    assert result.exit_code == Exit.REFUSED
    assert "kortex_api.whl is no wheel" in result.output
    assert list(tmp_path.iterdir()) == []
