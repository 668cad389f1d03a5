import subprocess
import sys
from pathlib import Path

import pytest

from armbroker.cli.exits import Exit
from armbroker.cli.run import asked_of, run


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
    settings, *others = asked_of(["--mqtt", "mqtt://127.0.0.1"])
    assert others == [None, (), False, False, False, True]
    assert len(settings.arm) == 3
    assert settings.sim.latency_ms == 25
    assert not settings.sim.faults


def test_a_settings_file_and_a_log_level(tmp_path: Path) -> None:
    file = tmp_path / "fleet.toml"
    file.write_text('[[arm]]\nid = "left"\nmodel = "gen3_lite"\n')
    told = ["--log-level", "warning", "--accept-lost-history", "--take-over", "--no-wait"]
    settings, reread, doubts, *others = asked_of(["--config", str(file), *told])
    assert others == [True, True, False, False]
    assert doubts == ("clients: nobody is granted anything, so that every user may read only",)
    assert reread is not None
    assert reread(0).settings == settings
    assert [arm.id for arm in settings.arm] == ["left"]
    assert settings.log_level == "warning"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("", "--config FILE or --mqtt URL is needed"),
        ("--sim 3", "--config FILE or --mqtt URL is needed"),
        ("--check", "--config FILE is needed"),
        ("--check --mqtt mqtt://127.0.0.1", "--check looks at a file"),
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


def test_a_check_tells_all_that_is_wrong_and_makes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "fleet.toml"
    wrong = """[mqtt]
url = "tcp://svc:geheim@127.0.0.1:1883"
ca_file = "fleet.toml"
password_file = "nowhere"
[arm_defaults]
queue = 100000000
[clients."a/b"]
[clients.alice]
arms = ["r1", "r21", "x y"]
rights = ["wirte"]
replies = "terse"
[locks]
longest = "1ms"
[[arm]]
id = "r12"
model = "gen4"
urdf = "none.urdf"
"""
    file.write_text(wrong)
    assert run(["--check", "--config", str(file)]) == Exit.USAGE
    told = capsys.readouterr().err.removeprefix("armbroker run: ").splitlines()
    assert [(int(line.split(":")[1]), line.split(": ")[1]) for line in told] == [
        (2, "mqtt.url"),
        (3, "mqtt.ca_file"),
        (4, "mqtt.password_file"),
        (6, "arm_defaults.queue"),
        (7, 'clients."a/b"'),
        (9, "clients.alice.arms[0]"),
        (9, "clients.alice.arms[1]"),
        (9, "clients.alice.arms[2]"),
        (10, "clients.alice.rights[0]"),
        (11, "clients.alice.replies"),
        (13, "locks.longest"),
        (16, "arm r12"),
        (17, "arm r12"),
    ]
    assert "did you mean 'r12'?" in told[6]
    assert "did you mean 'write'?" in told[8]
    assert not any("geheim" in line for line in told)
    assert [each.name for each in tmp_path.iterdir()] == ["fleet.toml"]


def test_a_check_of_a_good_file_says_so_and_what_is_doubtful(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMBROKER_CHECKS_STRCT", "true")
    file = tmp_path / "fleet.toml"
    file.write_text('[clients.alice]\narms = ["x*"]\n[clients.bob]\n[[arm]]\nid = "r1"\nmodel = "gen3_7dof"\n')
    assert run(["--config", str(file), "--check"]) == Exit.OK
    told = capsys.readouterr().out.splitlines()
    assert told[-2:] == ["doubtful: clients.alice.arms: no arm matches 'x*'", "ok: 1 arms"]
    strict = "ARMBROKER_CHECKS_STRCT: no such setting; did you mean 'ARMBROKER_CHECKS_STRICT'?"
    assert f"doubtful: {strict}" in told
    assert [each.name for each in tmp_path.iterdir()] == ["fleet.toml"]


def test_the_service_does_not_load_what_only_other_commands_need() -> None:
    code = """
import asyncio, sys
from armbroker.__main__ import main
asyncio.run = lambda serving: serving.close() or 0
sys.argv = "armbroker run --mqtt mqtt://127.0.0.1".split()
try:
    main()
except SystemExit as end:
    print("ended", end.code, "with broker.app" if "broker.app" in sys.modules else "")
print("loaded", [name for name in ("typer", "click", "rich.console", "aiomqtt", "paho") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "ended 0 with broker.app\nloaded []\n", done.stderr


def test_its_help_has_examples() -> None:
    command = [sys.executable, "-m", "armbroker", "run", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "armbroker run --config" in done.stdout
