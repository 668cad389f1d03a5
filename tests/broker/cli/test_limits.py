import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from broker.cli.commands import app
from broker.cli.exits import Exit
from broker.cli.limits_files import MAX_BYTES

URDF = """<robot name="r"><link name="a"/><link name="b"/><link name="c"/>
<joint name="shoulder" type="revolute"><parent link="a"/><child link="b"/>
  <limit lower="-1" upper="1" velocity="2" effort="30"/>
  <safety_controller soft_lower_limit="-0.5" soft_upper_limit="0.5" k_position="10" k_velocity="0"/></joint>
<joint name="slide" type="prismatic"><parent link="b"/><child link="c"/>
  <limit lower="0" upper="0.5" velocity="1" effort="10"/></joint></robot>
"""
YAML = """driver:
  ros__parameters:
    joint_limits:
      slide: {has_velocity_limits: true, max_velocity: 0.5}
      shoulder: {has_acceleration_limits: true, max_acceleration: 4.0, has_jerk_limits: true, max_jerk: 9.0}
"""
INSIDE = {"times": [0.0, 1.0], "positions": [[0.0, 0.1], [0.1, 0.2]]}
OUTSIDE = {"times": [0.0, 1.0], "positions": [[0.0, 0.1], [0.6, 0.2]], "accelerations": [[9.0, 0.0], [0.0, 0.0]]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    files = {"arm.urdf": URDF, "limits.yaml": YAML, "in.json": json.dumps(INSIDE), "out.json": json.dumps(OUTSIDE)}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["limits", *arguments])


def test_help_has_examples() -> None:
    for command in ("show", "check", "convert", "diff"):
        assert f"armbroker limits {command} " in run(command, "--help").output


@pytest.mark.usefixtures("folder")
def test_show() -> None:
    result = run("show", "arm.urdf", "limits.yaml")
    assert result.exit_code == Exit.OK
    lines = result.output.splitlines()
    assert lines[0] == "arm.urdf (urdf)"
    assert lines[2].split() == ["shoulder", "revolute", "-1", "1", "2", "-", "-", "-", "30"]
    assert "shoulder safety: soft_upper_limit 0.5, soft_lower_limit -0.5, k_position 10, k_velocity 0" in lines
    assert lines[5] == "limits.yaml (ros)"


def test_show_twist_and_mode_and_soft_limits(folder: Path) -> None:
    message = {
        "control_mode": "CARTESIAN_JOYSTICK",
        "twist_linear": 0.5,
        "twist_angular": 90,
        "joint_speed_limits": [45],
    }
    (folder / "kinova.json").write_text(json.dumps(message))
    lines = run("show", "kinova.json", "--joints", "j1").output.splitlines()
    assert lines[2].split() == ["j1", "revolute", "-", "-", "0.785398", "-", "-", "-", "-"]
    assert lines[3:] == ["twist_linear 0.5 m/s", "twist_angular 1.5708 rad/s", "of control mode CARTESIAN_JOYSTICK"]
    run("convert", "arm.urdf", "arm.json", "--to", "skeleton", "--lossy")
    document = json.loads((folder / "arm.json").read_text())
    hard = document["joints"][0]["parameters"]["systemLimits"]
    document["joints"][0]["parameters"]["softLimits"] = {**hard, "velocity": 0.25}
    (folder / "arm.json").write_text(json.dumps(document))
    assert "shoulder (soft)" in run("show", "arm.json").output


@pytest.mark.usefixtures("folder")
def test_check_tells_doubts_and_disagreements() -> None:
    result = run("check", "arm.urdf", "limits.yaml")
    assert result.exit_code == Exit.OK
    assert result.output.splitlines() == [
        "doubtful: arm.urdf, joint shoulder, k_velocity: is 0, so the safety law allows no effort (got 0.0)",
        "ros:limits.yaml: the joints stand in another order",
        "disagree: velocity of joint slide: 0.5 m/s of ros:limits.yaml counts, urdf:arm.urdf says 1 m/s",
        "ok",
    ]


@pytest.mark.usefixtures("folder")
def test_check_a_trajectory() -> None:
    inside = run("check", "arm.urdf", "--trajectory", "in.json")
    assert (inside.exit_code, inside.output.splitlines()[-2:]) == (
        Exit.OK,
        ["trajectory: 2 points are inside the limits", "ok"],
    )
    outside = run("check", "arm.urdf", "limits.yaml", "--trajectory", "out.json", "--mode", "IDLE")
    assert outside.exit_code == Exit.REFUSED
    assert (
        "trajectory: 2 violations, the worst: point 0 at 0 s, joint shoulder: acceleration 9 beyond 4" in outside.output
    )
    assert "point 1 at 1 s, joint shoulder: position 0.6 beyond 0.5" in outside.output
    unchecked = run("check", "arm.urdf", "limits.yaml", "--trajectory", "out.json", "--no-accelerations")
    assert "trajectory: 1 violations" in unchecked.output


def test_check_shows_some_of_many_violations(folder: Path) -> None:
    long = {"times": list(range(30)), "positions": [[2.0, 0.0]] * 30}
    (folder / "long.json").write_text(json.dumps(long))
    assert "and 10 more" in run("check", "arm.urdf", "--trajectory", "long.json").output


def test_check_refuses_files_that_leave_no_position(folder: Path) -> None:
    ends = "has_position_limits: true, min_position: 1.0, max_position: 2.0"
    text = "{d: {ros__parameters: {joint_limits: {slide: {" + ends + "}}}}}"
    (folder / "far.yaml").write_text(text)
    result = run("check", "arm.urdf", "far.yaml", "--from", "urdf")
    assert result.exit_code == Exit.REFUSED
    result = run("check", "arm.urdf", "far.yaml")
    assert result.exit_code == Exit.REFUSED
    assert "joint slide: the files together leave no position" in result.output


def test_convert_refuses_and_names_what_would_be_lost(folder: Path) -> None:
    result = run("convert", "arm.urdf", "arm.yaml", "--to", "ros")
    assert result.exit_code == Exit.REFUSED
    assert "type of joint slide (prismatic)" in result.output
    assert not (folder / "arm.yaml").exists()
    result = run("convert", "arm.urdf", "arm.yaml", "--to", "ros", "--lossy", "--node", "driver")
    assert (result.exit_code, result.output) == (Exit.OK, "lost: type of joint slide (prismatic)\n")
    assert (folder / "arm.yaml").read_text().startswith("driver:")


def test_convert_into_a_file_and_diff(folder: Path) -> None:
    assert run("convert", "limits.yaml", "new.urdf", "--to", "urdf", "--into", "arm.urdf").exit_code == Exit.OK
    result = run("diff", "arm.urdf", "new.urdf")
    assert result.exit_code == Exit.REFUSED
    assert result.output.splitlines() == [
        "slide velocity: 1 -> 0.5",
        "shoulder acceleration: - -> 4",
        "shoulder jerk: - -> 9",
    ]
    assert run("diff", "arm.urdf", "arm.urdf").exit_code == Exit.OK
    assert run("convert", "limits.yaml", "v.pb", "--to", "joint_limits", "--binary", "--lossy").exit_code == Exit.OK
    assert (folder / "v.pb").read_bytes()[:1] != b"{"


def test_what_cannot_be_done_is_told(folder: Path) -> None:
    assert run("show", "none.urdf").exit_code == Exit.USAGE
    (folder / "bad.json").write_text('{"times": 1, "where": 2}')
    for arguments, reason in (
        (["show", "in.json"], "name it"),
        (["check", "arm.urdf", "--trajectory", "bad.json"], "is no trajectory"),
        (["check", "arm.urdf", "--mode", "FAST"], "is no control mode"),
    ):
        result = run(*arguments)
        assert result.exit_code == Exit.REFUSED
        assert reason in result.output
    with (folder / "huge.urdf").open("wb") as huge:
        huge.truncate(MAX_BYTES + 1)
    assert "too large" in run("show", "huge.urdf").output


def test_pictures(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    assert run("show", "arm.urdf", "--plot", "limits.png").exit_code == Exit.OK
    result = run("check", "arm.urdf", "limits.yaml", "--trajectory", "out.json", "--plot", "move.svg")
    assert result.exit_code == Exit.REFUSED
    assert (folder / "limits.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / "move.svg").read_text()
    assert "cannot be drawn" in run("show", "arm.urdf", "--plot", "limits.docx").output


@pytest.mark.usefixtures("folder")
def test_pictures_need_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "pip install armbroker[plot]" in run("show", "arm.urdf", "--plot", "limits.png").output
