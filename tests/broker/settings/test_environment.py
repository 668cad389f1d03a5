"""Settings that variables of the environment give."""

from pathlib import Path

import pytest

from broker.settings import SettingsError, load
from broker.settings.environment import VARIABLES, strays
from broker.settings.load import look_at


def settings_file(tmp_path: Path, text: str = "") -> Path:
    path = tmp_path / "fleet.toml"
    path.write_text(text)
    return path


def test_every_setting_that_is_no_list_of_tables_has_a_variable() -> None:
    assert {"ARMBROKER_ROOT", "ARMBROKER_MQTT_URL", "ARMBROKER_CHECKS_STRICT", "ARMBROKER_SIM_LATENCY_MS"} <= {
        *VARIABLES
    }
    assert VARIABLES["ARMBROKER_ARM_DEFAULTS_QUEUE"] == (("arm_defaults", "queue"), int)


def test_values_are_those_of_toml_where_they_are_no_texts(tmp_path: Path) -> None:
    environment = {
        "ARMBROKER_CHECKS_STRICT": "true",
        "ARMBROKER_ARM_DEFAULTS_QUEUE": "7",
        "ARMBROKER_SIM_LATENCY_MS": "2.5",
        "ARMBROKER_LOCKS_LONGEST": "30min",
        "ARMBROKER_CLIENTS": '{"*" = {rights = ["write"]}}',
        "ARMBROKER_INSTANCE": "7",
        "HOME": "/",
    }
    settings = load(settings_file(tmp_path, "[checks]\nstrict = false\n"), environment)
    assert (settings.checks.strict, settings.arm_defaults.queue, settings.sim.latency_ms) == (True, 7, 2.5)
    assert (settings.locks.longest, settings.instance) == ("30min", "7")
    assert settings.clients["*"].rights == ("write",)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("ARMBROKER_CHECKS_STRICT", "yes", "ARMBROKER_CHECKS_STRICT: checks.strict: expected `bool`, got `str`"),
        ("ARMBROKER_ARM_DEFAULTS_QUEUE", "0", "ARMBROKER_ARM_DEFAULTS_QUEUE: arm_defaults.queue: 0 is not between"),
        ("ARMBROKER_MQTT_URL", "tcp://a:geheim@h", "ARMBROKER_MQTT_URL: mqtt.url: 'tcp://***@h': user and password"),
    ],
)
def test_what_a_variable_cannot_say_is_told_with_its_name(tmp_path: Path, name: str, value: str, why: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(settings_file(tmp_path), {name: value})
    assert str(caught.value).startswith(why)
    assert "geheim" not in str(caught.value)


def test_a_variable_of_a_table_that_the_file_spoils_is_left_to_the_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"fleet.toml:1: mqtt: expected a table, got 1"):
        load(settings_file(tmp_path, "mqtt = 1\n"), {"ARMBROKER_MQTT_USER": "x"})


def test_variables_that_give_no_setting_are_told(tmp_path: Path) -> None:
    environment = {"ARMBROKER_MQTT_ULR": "x", "armbroker_root": "y", "ARMBROKER_QQQQQQQQQQQQQQ": "", "ARMS": "z"}
    assert strays(environment) == [
        "ARMBROKER_MQTT_ULR: no such setting; did you mean 'ARMBROKER_MQTT_URL'?",
        "armbroker_root: no such setting; did you mean 'ARMBROKER_ROOT'?",
        "ARMBROKER_QQQQQQQQQQQQQQ: no such setting",
    ]
    assert look_at(settings_file(tmp_path), environment).doubts[:3] == tuple(strays(environment))


def test_relative_paths_count_from_the_file_and_those_of_variables_from_here(tmp_path: Path) -> None:
    text = """
[mqtt]
password_file = "secret/pw"
ca_file = "/etc/ca.crt"
[[arm]]
id = "r1"
urdf = "urdf/r1.urdf"
skeleton = "../r1.textproto"
"""
    settings = load(settings_file(tmp_path, text), {"ARMBROKER_STORE_DIR": "here"})
    assert settings.mqtt.password_file == f"{tmp_path}/secret/pw"
    assert settings.mqtt.ca_file == "/etc/ca.crt"
    assert settings.store.dir == "here"
    (arm,) = settings.arm
    assert (arm.urdf, arm.skeleton) == (f"{tmp_path}/urdf/r1.urdf", f"{tmp_path}/../r1.textproto")
    assert arm.ros_yaml == ""
    assert load(settings_file(tmp_path), {}).store.dir == f"{tmp_path}/data"
