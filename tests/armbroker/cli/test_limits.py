import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from armbroker.cli.commands import app
from armbroker.cli.exits import Exit
from armbroker.cli.limits_read import MAX_BYTES

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


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / name.replace("__", ".")).write_text(text)


ARM = """<robot name="cell"><link name="a"/><link name="b"/><link name="c"/><link name="d"/>
<joint name="r_tilt" type="revolute"><parent link="a"/><child link="b"/>
  <limit lower="-1.3" upper="1.3" velocity="1.9" effort="25"/></joint>
<joint name="r_spin" type="continuous"><parent link="b"/><child link="c"/><limit velocity="2.9" effort="12"/></joint>
<joint name="r_jaw" type="prismatic"><parent link="c"/><child link="d"/>
  <limit lower="0" upper="0.04" velocity="0.1" effort="20"/></joint></robot>
"""
TWO = '{"jointSpeedLimits": [40.5, 61.5]}'


def test_a_file_without_a_joint_of_the_arm_is_never_ok(folder: Path) -> None:
    write(folder, cell__urdf=ARM, other__yaml="joint_limits: {elbow: {has_jerk_limits: true, max_jerk: 3.5}}")
    result = run("check", "cell.urdf", "other.yaml")
    names = "r_tilt, r_spin, r_jaw"
    assert (result.exit_code, result.output.splitlines()) == (
        Exit.REFUSED,
        [
            f"ros:other.yaml: not one of its joints (elbow) is one of the arm's ({names}); nothing was compared",
            "not ok",
        ],
    )
    compared = run("diff", "cell.urdf", "other.yaml")
    assert compared.exit_code == Exit.REFUSED
    assert compared.output.startswith("other.yaml: not one of its joints (elbow) is one of")
    put = run("convert", "other.yaml", "new.urdf", "--to", "urdf", "--into", "cell.urdf", "--lossy")
    assert (put.exit_code, (folder / "new.urdf").exists()) == (Exit.REFUSED, False)
    assert "other.yaml, joints: not one of its joints is there to be put into" in put.output


def test_limits_without_names_need_some_beside_an_arm_with_more_joints(folder: Path) -> None:
    write(folder, cell__urdf=ARM, two__json=TWO)
    for order in (["cell.urdf", "two.json"], ["two.json", "cell.urdf"]):
        result = run("check", *order)
        assert result.exit_code == Exit.REFUSED
        assert "--joints gives them some" in result.output
        named = run("check", *order, "--joints", "r_spin,r_tilt")
        assert named.exit_code == Exit.OK
    assert (
        "kinova:two.json: joint r_jaw is missing; it gives no limits of it"
        in run("check", "cell.urdf", "two.json", "--joints", "r_spin,r_tilt").output
    )
    result = run("diff", "cell.urdf", "two.json", "--joints", "tilt,spin")
    assert "r_tilt velocity: 1.9 -> 0.706858" in result.output.splitlines()
    assert "note: two.json, joint spin is compared with r_spin" in result.output.splitlines()
    refused = run("show", "cell.urdf", "--joints", "a,b,c")
    assert (refused.exit_code, "has names of its own" in refused.output) == (Exit.REFUSED, True)


def test_joints_without_names_are_compared_in_their_order(folder: Path) -> None:
    three = '{"joint_speed_limits": [40.5, 61.5, 70]}'
    write(folder, cell__urdf=ARM, three__json=three, other__json=three.replace("70", "71"))
    assert "r_jaw velocity: 1.22173 -> 0.1" in run("diff", "three.json", "cell.urdf").output
    assert run("diff", "three.json", "other.json").output == "joint_3 velocity: 1.22173 -> 1.23918\n"
    assert run("check", "three.json", "other.json").exit_code == Exit.OK


def test_a_prefix_is_found_in_either_order(folder: Path) -> None:
    write(folder, cell__urdf=ARM, plain__yaml="joint_limits: {tilt: {has_velocity_limits: true, max_velocity: 1.45}}")
    told = run("check", "cell.urdf", "plain.yaml").output.splitlines()
    assert "ros:plain.yaml: joint r_tilt is called tilt" in told
    assert (
        "disagree: velocity of joint r_tilt: 1.45 rad/s of ros:plain.yaml counts, urdf:cell.urdf says 1.9 rad/s" in told
    )
    assert "urdf:cell.urdf: joint tilt is called r_tilt" in run("check", "plain.yaml", "cell.urdf").output
    put = run("convert", "plain.yaml", "new.urdf", "--to", "urdf", "--into", "cell.urdf")
    assert (put.exit_code, put.output) == (Exit.OK, "note: new.urdf, joint tilt is put into r_tilt\n")
    assert run("diff", "cell.urdf", "new.urdf").output == "r_tilt velocity: 1.9 -> 1.45\n"


def test_what_is_read_past_is_told_by_every_command(folder: Path) -> None:
    text = "joint_limits: {tilt: {min_position: -0.45, max_position: 0.55, has_jerk_limits: true, max_jerk: 7.5}}"
    write(folder, odd__yaml=text, base__urdf=ARM)
    lines = [
        f"note: odd.yaml, joint tilt, {key}: does not count, because has_position_limits is not given (got {value})"
        for key, value in (("min_position", -0.45), ("max_position", 0.55))
    ]
    for arguments in (["show", "odd.yaml"], ["check", "odd.yaml"], ["diff", "odd.yaml", "odd.yaml"]):
        result = run(*arguments)
        assert result.exit_code == Exit.OK
        assert [line for line in result.output.splitlines() if line in lines][:2] == lines
    for arguments in (["--to", "ros"], ["--to", "urdf", "--into", "base.urdf"]):
        result = run("convert", "odd.yaml", "new", *arguments)
        assert (result.exit_code, (folder / "new").exists()) == (Exit.REFUSED, False)
        assert "min_position of joint tilt (-0.45): does not count" in result.output.splitlines()[0]
        assert "max_position of joint tilt (0.55): does not count" in result.output.splitlines()[1]
    result = run("convert", "odd.yaml", "new", "--to", "ros", "--lossy")
    assert [line.split(":")[:2] for line in result.output.splitlines()] == [
        ["lost", " min_position of joint tilt (-0.45)"],
        ["lost", " max_position of joint tilt (0.55)"],
    ]


def test_a_motion_of_some_joints(folder: Path) -> None:
    motion = {"joints": ["r_jaw", "r_tilt"], "times": [0, 1], "positions": [[0.01, 0], [0.02, 1.35]]}
    write(folder, cell__urdf=ARM, move__json=json.dumps(motion))
    result = run("check", "cell.urdf", "--trajectory", "move.json")
    assert (result.exit_code, result.output.splitlines()[1:]) == (
        Exit.REFUSED,
        ["point 1 at 1 s, joint r_tilt: position 1.35 beyond 1.3", "not ok"],
    )
    pytest.importorskip("matplotlib")
    assert run("check", "cell.urdf", "--trajectory", "move.json", "--plot", "move.svg").exit_code == Exit.REFUSED
    assert "<svg" in (folder / "move.svg").read_text()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"joints": ["r_jaw", "wheel"]}, "move.json, joint wheel, joints: is no joint of the arm"),
        ({"joints": "r_jaw"}, "move.json, joints: is no list of names"),
        ({"joints": ["r_jaw"]}, "move.json, positions: has 2 joints, the limits have 1: r_jaw;"),
        ({}, "move.json, positions: has 2 joints, the limits have 3: r_tilt, r_spin, r_jaw; `joints` lists those"),
        ({"speeds": []}, "move.json, speeds: is no trajectory: is not known"),
        ({"times": [0, 0]}, "move.json, times: does not grow at point 1"),
    ],
)
def test_a_motion_that_does_not_fit_is_told_with_its_file(
    folder: Path, changes: dict[str, object], reason: str
) -> None:
    motion = {"times": [0, 1], "positions": [[0.01, 0], [0.02, 1]], **changes}
    write(folder, cell__urdf=ARM, move__json=json.dumps(motion), not__json="[]", half__json='{"times": [1]}')
    result = run("check", "cell.urdf", "--trajectory", "move.json")
    assert (result.exit_code, reason in result.output) == (Exit.REFUSED, True)
    for name, text in (("not.json", "not.json: is no trajectory: "), ("half.json", "half.json, positions: is no traj")):
        assert text in run("check", "cell.urdf", "--trajectory", name).output


NODES = """hand: {ros__parameters: {joint_limits: {j: {has_jerk_limits: true, max_jerk: 11.5}}}}
arm: {ros__parameters: {joint_limits: {j: {has_jerk_limits: true, max_jerk: 22.5}}}}
"""


@pytest.mark.parametrize(
    ("options", "node", "jerk"),
    [(["--node", "arm"], "arm", 22.5), (["--node", "hand", "--to-node", "/cell/left"], "/cell/left", 11.5)],
)
def test_the_node_that_is_read_and_the_one_that_is_written(
    folder: Path, options: list[str], node: str, jerk: float
) -> None:
    write(folder, nodes__yaml=NODES)
    assert run("convert", "nodes.yaml", "new.yaml", "--to", "ros", *options).exit_code == Exit.OK
    text = (folder / "new.yaml").read_text()
    assert (text.splitlines()[0], f"max_jerk: {jerk}" in text) == (f"{node}:", True)


def test_numbers_that_are_close_are_told_apart(folder: Path) -> None:
    write(folder, a__urdf=ARM, b__urdf=ARM.replace('velocity="1.9"', 'velocity="1.9000000001"'))
    assert run("diff", "a.urdf", "b.urdf").output == "r_tilt velocity: 1.9 -> 1.9000000001\n"
    motion = {"joints": ["r_tilt"], "times": [0, 9], "positions": [[0], [1.30000001]]}
    write(folder, move__json=json.dumps(motion))
    assert "position 1.30000001 beyond 1.3" in run("check", "a.urdf", "--trajectory", "move.json").output


def test_no_zero_has_a_sign(folder: Path) -> None:
    text = ARM.replace('lower="0"', 'lower="-0"')
    write(folder, a__urdf=text, b__urdf=text.replace('lower="-0"', 'lower="-0.01"'))
    for arguments in (["show", "a.urdf"], ["diff", "a.urdf", "b.urdf"]):
        assert "-0 " not in run(*arguments).output.replace("\n", " ")
    ends = "has_position_limits: true, min_position: -0.01, max_position: 0.04"
    write(folder, c__yaml="joint_limits: {r_jaw: {" + ends + "}}")
    expected = "disagree: position_lower of joint r_jaw: 0 m of urdf:a.urdf counts, ros:c.yaml says -0.01 m"
    assert expected in run("check", "a.urdf", "c.yaml").output.splitlines()


def test_limits_of_ros2_control_are_shown_and_count(folder: Path) -> None:
    limit = '<command_interface name="velocity"><param name="max">1.75</param></command_interface>'
    system = f'<ros2_control name="s"><joint name="r_tilt">{limit}</joint></ros2_control></robot>'
    write(folder, cell__urdf=ARM.replace("</robot>", system))
    assert "r_tilt (ros2_control) - - 1.75 - - - -" in " ".join(run("show", "cell.urdf").output.split())
    told = run("check", "cell.urdf").output.splitlines()
    assert told[0] == (
        "disagree: velocity of joint r_tilt: 1.75 rad/s of ros2_control:cell.urdf counts, urdf:cell.urdf says 1.9 rad/s"
    )
    motion = {"joints": ["r_tilt"], "times": [0, 0.5], "positions": [[0], [0.9]]}
    write(folder, move__json=json.dumps(motion))
    assert "mean_velocity 1.8 beyond 1.75" in run("check", "cell.urdf", "--trajectory", "move.json").output


def test_doubts_about_units_are_told(folder: Path) -> None:
    write(
        folder, cell__urdf=ARM.replace('"1.3"', '"75"').replace('"-1.3"', '"-75"'), two__json='{"twist_angular": 0.5}'
    )
    lines = run("check", "cell.urdf", "two.json").output.splitlines()
    assert [line.split(":")[0] + line.split(",")[1] for line in lines if line.startswith("doubtful")] == [
        "doubtful joint r_tilt",
        "doubtful joint r_tilt",
        "doubtful twist_angular: every value is under 2 deg/s",
    ]
    assert lines[-1] == "ok"


def test_a_fixed_joint_is_called_so(folder: Path) -> None:
    mount = '<link name="e"/><joint name="mount" type="fixed"><parent link="d"/><child link="e"/></joint></robot>'
    numbers = "{has_velocity_limits: true, max_velocity: 0.5}"
    text = f"joint_limits: {{r_tilt: {numbers}, mount: {numbers}, claw: {numbers}}}"
    write(folder, cell__urdf=ARM.replace("</robot>", mount), some__yaml=text)
    assert (
        "ros:some.yaml: joint mount is fixed; its limits are not used" in run("check", "cell.urdf", "some.yaml").output
    )
    command = ["convert", "some.yaml", "new.urdf", "--to", "urdf", "--into", "cell.urdf"]
    refused = run(*command)
    assert (refused.exit_code, refused.output.splitlines()) == (
        Exit.REFUSED,
        [
            "some.yaml: cell.urdf cannot take: velocity of joint mount (0.5): the joint is fixed there",
            "some.yaml: cell.urdf cannot take: velocity of joint claw (0.5): there is no such joint",
            "nothing was written; --lossy writes the rest",
        ],
    )
    done = run(*command, "--lossy")
    assert (done.exit_code, done.output.splitlines()) == (
        Exit.OK,
        [
            "lost: velocity of joint mount (0.5): the joint is fixed there",
            "lost: velocity of joint claw (0.5): there is no such joint",
        ],
    )


def test_accelerations_that_older_readers_pass_over_are_told(folder: Path) -> None:
    text = "joint_limits: {r_spin: {has_acceleration_limits: true, max_acceleration: 6.25}}"
    write(folder, cell__urdf=ARM, some__yaml=text)
    result = run("convert", "some.yaml", "new.urdf", "--to", "urdf", "--into", "cell.urdf")
    assert result.output.startswith("note: new.urdf, readers of URDF 1.0 pass over acceleration of r_spin: ")
    assert "counts from version 1.2 of URDF on" in run("check", "new.urdf").output
