import subprocess
import sys
from pathlib import Path

import pytest

from broker.cli.exits import Exit
from broker.cli.run import asked_of, run


def test_the_quick_form() -> None:
    arguments = "--mqtt mqtt://127.0.0.1:7 --data /d --sim 2 --sim-latency 0 --sim-faults --root plant"
    settings = asked_of(arguments.split()).settings
    assert settings.mqtt.url == "mqtt://127.0.0.1:7"
    assert settings.data_dir == Path("/d")
    assert [arm.id for arm in settings.arm] == ["sim-0000", "sim-0001"]
    assert settings.sim.latency_ms == 0
    assert settings.sim.faults
    assert settings.root == "plant"


def test_the_quick_form_has_defaults() -> None:
    settings, reread, accept_lost, take_over = asked_of(["--mqtt", "mqtt://127.0.0.1"])
    assert not accept_lost
    assert reread is None
    assert not take_over
    assert len(settings.arm) == 3
    assert settings.sim.latency_ms == 25
    assert not settings.sim.faults


def test_a_settings_file_and_a_log_level(tmp_path: Path) -> None:
    file = tmp_path / "fleet.toml"
    file.write_text('[[arm]]\nid = "left"\nmodel = "gen3_lite"\n')
    settings, reread, accept_lost, take_over = asked_of(
        ["--config", str(file), "--log-level", "warning", "--accept-lost-history", "--take-over"]
    )
    assert accept_lost
    assert take_over
    assert reread is not None
    assert reread(0).settings == settings
    assert [arm.id for arm in settings.arm] == ["left"]
    assert settings.log_level == "warning"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("", "--config FILE or --mqtt URL is needed"),
        ("--sim 3", "--config FILE or --mqtt URL is needed"),
        ("--config f --sim-faults", "--config and --sim-faults exclude each other"),
        ("--mqtt mqtt://127.0.0.1 --sim many", "--sim"),
        ("--mqtt mqtt://127.0.0.1 --sim -1", "-1 < 0"),
        ("--mqtt mqtt://127.0.0.1 --sim-latency nan", "nan is not between 0 and 60000"),
        ("--mqtt mqtt://127.0.0.1 --speed 3", "--speed"),
        ("--mqtt mqtt://127.0.0.1 --log-level loud", "loud"),
    ],
)
def test_a_wrong_command_line_is_usage(arguments: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run(arguments.split())
    assert caught.value.code == Exit.USAGE
    assert why in capsys.readouterr().err


def test_wrong_settings_are_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--mqtt", "mqtt://plant.example"]) == Exit.USAGE
    assert "plant.example" in capsys.readouterr().err


def test_everything_wrong_with_a_file_is_told_with_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "fleet.toml"
    file.write_text('[[arm]]\nid = "left"\nmodel = "gen4"\n[[arm]]\nid = "right"\nadapter = "simulatd"\n')
    assert run(["--config", str(file)]) == Exit.USAGE
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"armbroker run: {file}:3: arm left: model: 'gen4'; allowed are gen3_7dof")
    assert second.startswith(f"{file}:6: arm right: no adapter 'simulatd'; known: ")


def test_the_service_does_not_load_what_only_other_commands_need() -> None:
    code = """
import asyncio, sys
from broker.__main__ import main
asyncio.run = lambda serving: serving.close() or 0
sys.argv = "armbroker run --mqtt mqtt://127.0.0.1".split()
try:
    main()
except SystemExit as end:
    print("ended", end.code, "with broker.app" if "broker.app" in sys.modules else "")
print("loaded", [name for name in ("typer", "click", "rich.console", "aiomqtt", "paho") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=30)
    assert done.stdout == "ended 0 with broker.app\nloaded []\n", done.stderr


def test_its_help_has_examples() -> None:
    command = [sys.executable, "-m", "broker", "run", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    assert "armbroker run --config" in done.stdout
