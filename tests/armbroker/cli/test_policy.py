"""`armbroker policy`: a file is looked at, and tried on what was."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from armbroker.cli import policy_work
from armbroker.cli.commands import app
from armbroker.cli.exits import Exit
from armbroker.cli.run import run as run_service
from broker.clock import Clock
from broker.store.store import FILE
from tests.virtual_plant import START_US, Plant, play

RULES = """\
[roles]
engineer = ["alice"]
[[rule]]
name = "slower is for everybody"
roles = ["*"]
allow = ["tighten"]
[[rule]]
name = "engineers loosen"
roles = ["engineer"]
items = ["twist_linear_soft_limit", "joint_limits"]
allow = ["loosen"]
ceilings = { twist_linear = 0.25 }
"""
MODE: dict[str, object] = {"control_mode": "CARTESIAN_JOYSTICK"}
TWIST = "SetTwistLinearSoftLimit"


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["policy", *map(str, words)])


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A file of rules."""
    path = tmp_path / "policy.toml"
    path.write_text(RULES, encoding="utf-8")
    return path


def fleet(tmp_path: Path, **more: str) -> Path:
    """Settings of two arms, one of them in a group."""
    path = tmp_path / "fleet.toml"
    tables = "".join(f"[{name}]\n{text}\n" for name, text in more.items())
    arms = '[[arm]]\nid = "r1"\nmodel = "gen3_7dof"\ngroups = ["cell-4"]\n[[arm]]\nid = "r2"\nmodel = "gen3_7dof"\n'
    path.write_text(tables + arms, encoding="utf-8")
    return path


def test_check_says_what_is_right_and_what_is_wrong(rules: Path) -> None:
    said = run("check", rules)
    assert said.exit_code == Exit.OK
    assert said.stdout.startswith("ok: 2 rules, digest ")
    assert said.stderr == ""
    rules.write_text(RULES.replace("loosen", "losen").replace("joint_limits", "joint"), encoding="utf-8")
    said = run("check", rules)
    assert (said.exit_code, said.stdout) == (Exit.USAGE, "")
    first, second = said.stderr.splitlines()
    assert first.startswith(f'armbroker policy: {rules}:10: rule "engineers losen": items[1]: no such name')
    assert second.startswith(f'armbroker policy: {rules}:11: rule "engineers losen": allow[0]: no such name')
    assert run("check", rules.with_name("none.toml")).exit_code == Exit.USAGE


def test_check_compares_with_the_arms_and_groups_of_settings(rules: Path, tmp_path: Path) -> None:
    rules.write_text(RULES.replace('items = ["', 'groups = ["cell-5", "cell-4"]\nitems = ["'), encoding="utf-8")
    said = run("check", rules)
    assert (said.exit_code, "--config FLEET tells whether there are such" in said.stderr) == (Exit.OK, True)
    said = run("check", rules, "--config", fleet(tmp_path))
    assert (said.exit_code, said.stderr) == (Exit.OK, "")
    assert f"doubtful: {rules}:10: rule \"engineers loosen\": groups: no group 'cell-5'" in said.stdout
    assert run("check", rules, "--config", tmp_path / "none.toml").exit_code == Exit.USAGE


def test_run_check_looks_at_the_policy_too(rules: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = fleet(tmp_path, policy='file = "policy.toml"')
    assert run_service(["--check", "--config", str(config)]) == Exit.OK
    rules.write_text(RULES.replace('roles = ["*"]', 'roles = ["x"]\ngroups = ["hall"]'), encoding="utf-8")
    assert run_service(["--check", "--config", str(config)]) == Exit.USAGE
    assert f'{rules}:5: rule "slower is for everybody": roles[0]: no such name' in capsys.readouterr().err
    rules.write_text(RULES.replace('roles = ["*"]', 'roles = ["*"]\ngroups = ["hall"]'), encoding="utf-8")
    assert run_service(["--check", "--config", str(config)]) == Exit.OK
    assert "doubtful: " in (said := capsys.readouterr().out)
    assert "no group 'hall'" in said
    rules.unlink()
    assert run_service(["--check", "--config", str(config)]) == Exit.USAGE


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with changes of two users."""

    async def scenario(plant: Plant) -> None:
        async def done(method: str, params: dict[str, object], user: str, arm: str = "r1") -> None:
            reply = await plant.call(arm, method, params, user=user)
            assert reply["ok"], reply

        await done(TWIST, {**MODE, "twist_linear_soft_limit": 0.2}, "zoe")
        await plant.turn(3_600.0)
        await done(TWIST, {**MODE, "twist_linear_soft_limit": 0.22}, "alice")
        await done(TWIST, {**MODE, "twist_linear_soft_limit": 0.24}, "bob")
        await done(TWIST, {**MODE, "twist_linear_soft_limit": 0.4}, "alice")
        await done("ResetTwistLinearSoftLimit", MODE, "alice")
        await done("ResetJointLimits", {}, "alice")
        await done("SetControlMode", MODE, "bob")
        await done("SetPayloadInformation", {"payload_mass": 1.5}, "alice", "r2")
        await done("HoldArm", {"reason": "x"}, "bob", "r2")
        await done("ReleaseArm", {}, "bob", "r2")
        await done("RestoreFactory", {}, "alice", "r2")
        await plant.committed()

    play(tmp_path / "data", scenario)
    monkeypatch.setattr(policy_work, "Clock", lambda: Clock(lambda: START_US + 3_700_000_000))
    return tmp_path / "data"


def test_replay_says_which_changes_a_file_would_have_refused(rules: Path, history: Path) -> None:
    said = run("replay", rules, "--store", history, "--days", "1")
    assert said.exit_code == Exit.REFUSED
    *lines, counts = [line.split("Z ", 1)[-1] for line in said.stdout.splitlines()]
    assert [line.split(": ", 1)[0] for line in lines] == [
        "r2 rev 3 alice RestoreFactory", "r2 rev 2 bob ReleaseArm", "r2 rev 2 bob HoldArm",
        "r2 rev 2 alice SetPayloadInformation payload_information", "r1 rev 8 bob SetControlMode control_mode",
        "r1 rev 6 alice ResetTwistLinearSoftLimit twist_linear_soft_limit/CARTESIAN_JOYSTICK",
        "r1 rev 5 alice SetTwistLinearSoftLimit twist_linear_soft_limit/CARTESIAN_JOYSTICK",
        "r1 rev 4 bob SetTwistLinearSoftLimit twist_linear_soft_limit/CARTESIAN_JOYSTICK",
    ]  # fmt: skip
    assert lines[2].endswith(": refused: bob may not hold or release r2: no rule allows hold.")
    assert lines[5].endswith("and which value a Reset brings is not known beforehand.")
    assert '0.4 m/s > 0.25 m/s, ceiling of rule "engineers loosen"' in lines[6]
    assert lines[7].endswith(
        'bob may not loosen twist_linear_soft_limit of r1: rule "engineers loosen" is for engineer.'
    )
    assert counts == "11 changes of 1 days: 3 pass, 0 proposal, 8 refused, 0 unreadable"


def test_replay_looks_at_every_slot_of_a_batch(rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(plant: Plant) -> None:
        for limit, mass in ((0.3, 0.0), (0.2, 0.0), (0.22, 0.0), (0.1, 1.5)):
            items = {
                "twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": limit},
                "payload_information": {"payload_mass": mass},
            }
            assert (await plant.call("r1", "ApplyConfig", {"items": items}, user="alice"))["ok"]
        await plant.committed()

    play(tmp_path / "data", scenario)
    monkeypatch.setattr(policy_work, "Clock", lambda: Clock(lambda: START_US + 1_000_000))
    *lines, counts = run("replay", rules, "--store", tmp_path / "data").stdout.splitlines()
    (line,) = lines
    assert "alice ApplyConfig: refused: alice may not loosen payload_information of r1: rule" in line
    assert counts == "4 changes of 30 days: 3 pass, 0 proposal, 1 refused, 0 unreadable"


def test_replay_tells_what_would_have_waited_for_a_second_person(rules: Path, history: Path) -> None:
    rules.write_text(RULES + "two_person = true\n", encoding="utf-8")
    lines = run("replay", rules, "--store", history).stdout.splitlines()
    waiting = [line.split(": ", 1)[1] for line in lines if ": proposal: " in line]
    assert waiting == ['proposal: rule "engineers loosen" needs a second person'] * 2
    assert lines[-1] == "11 changes of 30 days: 1 pass, 2 proposal, 8 refused, 0 unreadable"


def test_check_tells_that_a_second_person_needs_a_server_that_proves_users(rules: Path, tmp_path: Path) -> None:
    rules.write_text(RULES + "two_person = true\n", encoding="utf-8")
    assert run("check", rules).exit_code == Exit.OK
    said = run("check", rules, "--config", fleet(tmp_path))
    assert said.exit_code == Exit.USAGE
    assert f'{rules}:13: rule "engineers loosen": two_person: needs mqtt.identity' in said.stderr
    config = fleet(tmp_path, mqtt='identity = "server-acl"')
    assert run("check", rules, "--config", config).exit_code == Exit.OK


def test_replay_looks_back_so_many_days_only(rules: Path, history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    day_us = 86_400_000_000
    monkeypatch.setattr(policy_work, "Clock", lambda: Clock(lambda: START_US + day_us + 1_000_000))
    assert run("replay", rules, "--store", history, "--days", "1").stdout.endswith(
        "10 changes of 1 days: 2 pass, 0 proposal, 8 refused, 0 unreadable\n"
    )
    assert run("replay", rules, "--store", history, "--days", "2").stdout.endswith(
        "11 changes of 2 days: 3 pass, 0 proposal, 8 refused, 0 unreadable\n"
    )


def test_replay_of_a_file_that_allows_all_of_it(rules: Path, history: Path, tmp_path: Path) -> None:
    rules.write_text(
        '[[rule]]\nname = "all"\nroles = ["*"]\nallow = ["tighten", "loosen", "mode"]\n'
        '[[rule]]\nname = "locks"\nroles = ["*"]\ngroups = ["hall"]\nallow = ["hold"]\n',
        encoding="utf-8",
    )
    said = run("replay", rules, "--store", history)
    assert (said.exit_code, len(said.stdout.splitlines())) == (Exit.REFUSED, 3)
    assert "without --config they have no arms" in said.stderr
    config = fleet(tmp_path, store=f'dir = "{history}"')
    config.write_text(config.read_text().replace('id = "r2"', 'id = "r2"\ngroups = ["hall"]'), encoding="utf-8")
    said = run("replay", rules, "--config", config)
    assert (said.exit_code, said.stderr) == (Exit.OK, "")
    assert said.stdout == "11 changes of 30 days: 11 pass, 0 proposal, 0 refused, 0 unreadable\n"


def test_what_arms_and_service_do_is_not_asked(rules: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(plant: Plant) -> None:
        value = {"item": "twist_linear_soft_limit", "slot": "CARTESIAN_JOYSTICK", "value": 0.1}
        await plant.fault("r1", "foreign_change", **value)
        await plant.document("evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", lambda event: event["cause"] == "foreign")
        await plant.committed()

    play(tmp_path / "data", scenario)
    monkeypatch.setattr(policy_work, "Clock", lambda: Clock(lambda: START_US + 1_000_000))
    said = run("replay", rules, "--store", tmp_path / "data")
    assert said.stdout == "0 changes of 30 days: 0 pass, 0 proposal, 0 refused, 0 unreadable\n"


def test_a_damaged_row_is_counted(rules: Path, history: Path) -> None:
    with closing(sqlite3.connect(history / FILE, isolation_level=None)) as connection:
        connection.execute("UPDATE job SET accepted = x'00' WHERE rev = 5")
    said = run("replay", rules, "--store", history)
    assert said.stdout.endswith("11 changes of 30 days: 3 pass, 0 proposal, 7 refused, 1 unreadable\n")


def test_it_reads_beside_the_running_service(rules: Path, tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", TWIST, {**MODE, "twist_linear_soft_limit": 0.2})
        await plant.committed()
        assert (
            await asyncio.to_thread(run, "replay", rules, "--store", tmp_path / "data", "--days", "400")
        ).exit_code == 0

    play(tmp_path / "data", scenario)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "--store DIR or --config FLEET is needed"),
        (["--store", "nowhere"], "No such file"),
        (["--config", "nowhere.toml"], "No such file"),
    ],
)
def test_what_cannot_be_carried_out_is_said(rules: Path, words: list[str], why: str) -> None:
    said = run("replay", rules, *words)
    assert (said.exit_code, said.stdout) == (Exit.USAGE, "")
    assert why in said.stderr
