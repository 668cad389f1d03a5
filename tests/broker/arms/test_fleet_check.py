"""What the settings say of arms is looked at with their adapters and files, and nothing is opened."""

import datetime as dt
from pathlib import Path

import pytest

from armbroker.certificates import Wanted, make
from broker.arms.fleet_check import read_fleet
from broker.arms.limit_files import LimitFiles
from broker.settings import SettingsError
from tests.journey.limit_files import urdf

NOW_US = 7
ARMS = """\
mqtt = { password_file = "{folder}/none", ca_file = "{folder}" }

[[arm]]
id = "r1"
adapter = "no_adapter"

[[arm]]
id = "r2"
model = "gen4"
options = { speed = 1, latency_ms = "5" }

[[arm]]
id = "r3"
model = "gen3_7dof"
urdf = "{folder}/none.urdf"
[arm.options]
latency_ms = -1

[[arm]]
id = "r4"
ros_yaml = "{folder}/bad.yaml"
model = "gen3_7dof"

[[arm]]
id = "r5"
model = "gen3_7dof"
site_caps.velocity = [1.0]
"""


def test_everything_is_told_with_lines(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_bytes(b"a: \xff\n")
    path = tmp_path / "fleet.toml"
    path.write_text(ARMS.replace("{folder}", str(tmp_path)))
    with pytest.raises(SettingsError) as caught:
        read_fleet(path, NOW_US, {})
    found = [line.removeprefix(f"{path}:") for line in str(caught.value).splitlines()]
    for fault, start in zip(
        found,
        [
            f"1: mqtt.password_file: {tmp_path}/none: No such file or directory",
            f"1: mqtt.ca_file: {tmp_path}: Is a directory",
            "5: arm r1: no adapter 'no_adapter'; known: ",
            "9: arm r2: model: 'gen4'; allowed are gen3_7dof, ",
            "10: arm r2: option speed: unknown; known: latency_ms",
            "10: arm r2: option latency_ms: '5': expected `float`, got `str`",
            f"15: arm r3: urdf: {tmp_path}/none.urdf: No such file or directory",
            "17: arm r3: option latency_ms: -1: expected `float` >= 0",
            "21: arm r4: ros_yaml: 'utf-8' codec can't decode",
            "24: arm r5: site_caps, velocity: needs one number a joint (got 1, bound 7)",
        ],
        strict=True,
    ):
        assert fault.startswith(start)


def test_the_policy_is_looked_at_with_the_settings(tmp_path: Path) -> None:
    path, rules = tmp_path / "fleet.toml", tmp_path / "policy.toml"
    path.write_text('[policy]\nfile = "policy.toml"\n[[arm]]\nid = "r1"\nmodel = "gen3_7dof"\ngroups = ["cell-4"]\n')
    with pytest.raises(SettingsError, match=rf"{rules}: No such file or directory"):
        read_fleet(path, NOW_US, {})
    rule = '[[rule]]\nname = "a"\nroles = ["*"]\nallow = ["hold"]\n'
    rules.write_text(f'{rule}groups = ["cell-4", "cell-5"]\n')
    checked = read_fleet(path, NOW_US, {})
    assert checked.policy is not None
    assert [rule.arms for rule in checked.policy.rules] == [frozenset({"r1"})]
    assert checked.doubts[-1] == (f"{rules}:5: rule \"a\": groups: no group 'cell-5'; did you mean 'cell-4'?")
    path.write_text(path.read_text().replace("gen3_7dof", "gen4"))
    rules.write_text(f"{rule}speed = 1\n")
    with pytest.raises(SettingsError) as caught:
        read_fleet(path, NOW_US, {})
    first, second = str(caught.value).splitlines()
    assert first.startswith(f"{path}:5: arm r1: model: 'gen4'")
    assert second.startswith(f'{rules}:5: rule "a": speed: no such setting')


def test_a_model_that_is_needed_and_left_out_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "fleet.toml"
    path.write_text('[[arm]]\nid = "r1"\nadapter = "simulated"\n')
    with pytest.raises(SettingsError, match=r"arm r1: model: it is needed; allowed are gen3_7dof, "):
        read_fleet(path, NOW_US, {})


def test_without_a_policy_nothing_is_read(tmp_path: Path) -> None:
    path = tmp_path / "fleet.toml"
    path.write_text('[[arm]]\nid = "r1"\nmodel = "gen3_7dof"\n')
    assert read_fleet(path, NOW_US, {}).policy is None


def test_the_files_are_kept_as_they_were_read(tmp_path: Path) -> None:
    name = urdf(tmp_path / "gen3.urdf")
    path = tmp_path / "fleet.toml"
    path.write_text(f'[[arm]]\nid = "r1"\nmodel = "gen3_7dof"\nurdf = "{name}"\n')
    checked = read_fleet(path, NOW_US, {})
    [arm] = checked.settings.arm
    digest = checked.files.digest(arm)
    urdf(tmp_path / "gen3.urdf", velocity=0.5)
    sources = checked.files.sources(arm)
    assert sources.urdf is not None
    assert sources.since_us == NOW_US
    assert checked.files.digest(arm) == digest
    again = LimitFiles(NOW_US)
    again.sources(arm)
    assert again.digest(arm) != digest


def test_a_file_of_parameters_that_the_arm_itself_holds(tmp_path: Path) -> None:
    path = tmp_path / "fleet.toml"
    path.write_text('[[arm]]\nid = "r1"\nadapter = "ros2"\nros_yaml = "limits.yaml"\noptions.node = "/arm/driver"\n')
    with pytest.raises(SettingsError, match=r"arm r1: ros_yaml: '.*/limits"):
        read_fleet(path, NOW_US, {})


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ({"cert_file": "none.crt"}, "4: mqtt.cert_file: {folder}/none.crt: No such file or directory"),
        ({"cert_file": "text"}, "4: mqtt.cert_file: {folder}/text: holds no certificate"),
        ({"cert_file": "clients/a.crt"}, "4: mqtt.cert_file: {folder}/clients/a.crt: holds no private key"),
        (
            {"cert_file": "clients/a.crt", "key_file": "clients/b.key"},
            "5: mqtt.key_file: {folder}/clients/b.key: is not the key of the certificate in {folder}/clients/a.crt",
        ),
    ],
)
def test_a_certificate_that_cannot_be_presented_is_told_with_its_line(
    tmp_path: Path, names: dict[str, str], why: str
) -> None:
    make(tmp_path, Wanted((), ("a", "b"), 2), dt.datetime.now(dt.UTC))
    (tmp_path / "text").write_text("text")
    path = tmp_path / "fleet.toml"
    given = "".join(f'{name} = "{value}"\n' for name, value in names.items())
    path.write_text(f'[mqtt]\nurl = "mqtts://127.0.0.1"\nuser = "svc"\n{given}')
    with pytest.raises(SettingsError) as caught:
        read_fleet(path, NOW_US, {})
    assert str(caught.value).startswith(f"{path}:{why.replace('{folder}', str(tmp_path))}")
