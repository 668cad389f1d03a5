"""Settings: read, checked, and refused by name."""

import math
from pathlib import Path

import pytest

from broker.settings import ClientSettings, Settings, SettingsError, duration_us, from_document, load, quick


def test_defaults() -> None:
    settings = from_document({})
    assert (settings.root, settings.instance, settings.mqtt.client_id) == ("armbroker", "main", "")
    assert settings.arm_defaults.queue == 256
    assert settings.arm_defaults.pending_max_age_us == 15 * 60 * 1_000_000
    assert settings.password() == ""
    assert settings.tls == (None, None, None)


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"rot": "x"}, "rot"),
        ({"root": "a//b"}, "1 to 5 levels"),
        ({"instance": "a/b"}, "instance"),
        ({"mqtt": {"identity": "maybe"}}, "mqtt.identity: 'maybe'"),
        ({"mqtt": {"url": "mqtt://plant.example"}}, "mqtt.url: 'plant.example'"),
        ({"mqtt": {"url": "mqtt://127.0.0.1.example"}}, "not on loopback"),
        ({"mqtt": {"cert_file": "a.crt"}}, "mqtt.cert_file: a certificate is presented over TLS alone"),
        ({"mqtt": {"url": "mqtts://localhost", "key_file": "a.key"}}, "mqtt.key_file: is the key of mqtt.cert_file"),
        ({"clients": {"ann": {"clock": "sun"}}}, "clients.ann.clock: 'sun'"),
        ({"arm_defaults": {"queue": 0}}, "arm_defaults.queue: 0 is not between 1 and 10000"),
        ({"arm_defaults": {"pending_max_age": "soon"}}, "arm_defaults.pending_max_age: 'soon'"),
        ({"arm": [{"id": "a/b"}]}, "arm.id: 'a/b'"),
        ({"arm": [{"id": "r1"}, {"id": "R1"}]}, "differ only in case"),
        ({"arm": [{"id": "r1"}, {"id": "r1"}]}, "the same"),
        ({"arm": [{"id": 1}]}, "arm[0].id"),
        ({"checks": {"strict": "yes"}}, "checks.strict"),
        ({"arm": [{"id": "r1", "authority": "all"}]}, "arm r1: authority: 'all'; allowed are observe, advise, control"),
        ({"arm": [{"id": "r1", "checks": {"loosest": "NONE"}}]}, "arm r1: checks.loosest: 'NONE'; allowed are DYNAMIC"),
        ({"arm": [{"id": "r1", "site_caps": {"speed": 1.0}}]}, "arm r1: site_caps.speed: no such quantity"),
        ({"arm": [{"id": "r1", "site_caps": {"velocity": [1.0, math.inf]}}]}, "site_caps.velocity: inf is not finite"),
    ],
)
def test_what_cannot_be_is_refused_by_name(document: dict[str, object], why: str) -> None:
    with pytest.raises(SettingsError) as caught:
        from_document(document)
    assert why in str(caught.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "[::1]"])
def test_a_server_that_proves_nobody_may_stand_on_loopback(host: str) -> None:
    assert from_document({"mqtt": {"url": f"mqtt://{host}:1884"}}).mqtt.identity == "none"


def test_a_remote_server_is_accepted_when_it_proves_users_or_we_are_told_so() -> None:
    for more in ({"identity": "server-acl"}, {"allow_unproven_remote": True}):
        assert from_document({"mqtt": {"url": "mqtts://plant.example", **more}})


@pytest.mark.parametrize(
    ("text", "us"),
    [("500ms", 500_000), ("30s", 30_000_000), ("15min", 900_000_000), ("24 h", 86_400_000_000), ("1d", 86_400_000_000)],
)
def test_durations(text: str, us: int) -> None:
    assert duration_us("x", text) == us


def test_a_file_and_the_environment(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("pass word\n")
    file = tmp_path / "fleet.toml"
    file.write_text(f'root = "a"\n[mqtt]\npassword_file = "{secret}"\n[[arm]]\nid = "r1"\n')
    settings = load(
        file, {"ARMBROKER_ROOT": "b/c", "ARMBROKER_MQTT_CLIENT_ID": "one", "ARMBROKER_STORE_DIR": "/d", "HOME": "/"}
    )
    assert (settings.root, settings.mqtt.client_id, settings.data_dir) == ("b/c", "one", Path("/d"))
    assert settings.password() == "pass word"
    assert [arm.id for arm in settings.arm] == ["r1"]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        load(tmp_path / "none.toml", {})
    bad = tmp_path / "bad.toml"
    bad.write_text("root = ")
    with pytest.raises(SettingsError, match=r"bad\.toml"):
        load(bad, {})
    with pytest.raises(SettingsError, match=r"mqtt\.password_file"):
        from_document({"mqtt": {"password_file": str(tmp_path / "none")}}).password()


def test_the_quick_form() -> None:
    settings = quick("mqtt://127.0.0.1:1883", Path("/d"), 2, latency_ms=0, faults=True, root="trial")
    assert isinstance(settings, Settings)
    assert [(arm.id, arm.model) for arm in settings.arm] == [("sim-0000", "gen3_7dof"), ("sim-0001", "gen3_7dof")]
    assert (settings.root, settings.sim.faults, settings.sim.latency_ms) == ("trial", True, 0)
    assert settings.rates.rate == 0


FILE = """\
root = "a//b"
log_level = "loud"

[mqtt]
url = "mqtt://plant.example"

[clients.ann]
clock = "sun"

[arm_defaults]
queue = 0
pending_max_age = "soon"

[[arm]]
id = "r1"
checks.loosest = "NONE"

[[arm]]
id = "R1"
site_caps = { velocity = [1.0, inf], speed = 1 }

[[arm]]
id = "a/b"
"""


def faults_of(path: Path, text: str, environment: dict[str, str] | None = None) -> list[str]:
    """What is told of a file, without the file's folder."""
    path.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load(path, environment or {})
    return [line.removeprefix(f"{path.parent}/") for line in str(caught.value).splitlines()]


def test_everything_wrong_with_a_file_is_told_at_once_with_lines(tmp_path: Path) -> None:
    faults = faults_of(tmp_path / "fleet.toml", FILE)
    assert [fault.split(": ")[0] for fault in faults] == [
        f"fleet.toml:{line}" for line in (1, 2, 5, 8, 11, 12, 16, 19, 20, 20, 23)
    ]
    assert faults[-1] == "fleet.toml:23: arm.id: 'a/b' is no arm id ([A-Za-z0-9][A-Za-z0-9._-]{0,62})"


def test_keys_and_types_are_looked_at_before_what_values_mean(tmp_path: Path) -> None:
    faults = faults_of(tmp_path / "fleet.toml", FILE.replace("clock", "clok").replace("queue = 0", 'queue = "0"'))
    of_clients = ", ".join(ClientSettings.__struct_fields__)
    assert faults == [
        f"fleet.toml:8: clients.ann.clok: no such setting; known here are {of_clients}",
        "fleet.toml:11: arm_defaults.queue: expected `int`, got `str`",
    ]


def test_what_the_environment_says_is_told_by_its_variable(tmp_path: Path) -> None:
    environment = {"ARMBROKER_MQTT_URL": "mqtt://far.example", "ARMBROKER_LOG_LEVEL": "all"}
    faults = faults_of(tmp_path / "fleet.toml", 'instance = "a/b"\n', environment)
    assert [fault.split(": ")[:2] for fault in faults] == [
        ["ARMBROKER_LOG_LEVEL", "log_level"],
        ["ARMBROKER_MQTT_URL", "mqtt.url"],
        ["fleet.toml:1", "instance"],
    ]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"root = \n", "fleet.toml:1: Invalid value"),
        (b"root = 'a'\n\n[mqtt\n", "fleet.toml:3: Expected ']' at the end of a table declaration"),
        (b"a = 1\nb = [\n", "fleet.toml:3: Invalid value"),
        (b"# \xc3\xa4\nroot = '\xe4'\n", "fleet.toml:2: no UTF-8: invalid continuation byte"),
        (b"mqtt = 1\n", "fleet.toml:1: mqtt: expected a table, got 1"),
    ],
)
def test_what_is_no_toml_is_told_with_its_line(tmp_path: Path, data: bytes, why: str) -> None:
    path = tmp_path / "fleet.toml"
    path.write_bytes(data)
    with pytest.raises(SettingsError) as caught:
        load(path, {"ARMBROKER_MQTT_USER": "x"})
    assert str(caught.value).startswith(f"{tmp_path}/{why}")


def test_a_wrong_url_is_told(tmp_path: Path) -> None:
    [fault] = faults_of(tmp_path / "fleet.toml", '[mqtt]\nurl = "mqtt://[::1"\n')
    assert fault.startswith("fleet.toml:2: mqtt.url: 'mqtt://[::1': Invalid")


def test_rates_that_cannot_be_are_told(tmp_path: Path) -> None:
    text = "[rates]\nrate = -1\nburst = 0.5\n[clients.ann]\nrate = 2000000\nburst = 10\n"
    assert faults_of(tmp_path / "fleet.toml", text) == [
        "fleet.toml:2: rates.rate: -1 is not between 0 (without bound) and 1,000,000",
        "fleet.toml:3: rates.burst: 0.5 is not between 1 and 1,000,000",
        "fleet.toml:5: clients.ann.rate: 2e+06 is not between 0 (without bound) and 1,000,000",
    ]


def test_a_name_before_that_cannot_be_is_told(tmp_path: Path) -> None:
    arms = (("a", "b"), ("b", "a/b"), ("c", "C"), ("d", "old"), ("e", "OLD"), ("f", "older"))
    text = "".join(f'[[arm]]\nid = "{name}"\nwas = "{was}"\nmodel = "gen3_7dof"\n' for name, was in arms)
    assert faults_of(tmp_path / "fleet.toml", text) == [
        "fleet.toml:3: arm a: was: 'b' is still an arm of these settings (b)",
        "fleet.toml:7: arm b: was: 'a/b' is no arm id ([A-Za-z0-9][A-Za-z0-9._-]{0,62})",
        "fleet.toml:11: arm c: was: 'C' is still an arm of these settings (c)",
        "fleet.toml:19: arm e: was: 'OLD' is what d was",
    ]
    whole = load_text(tmp_path / "fleet.toml", '[[arm]]\nid = "a"\nwas = "b"\n[[arm]]\nid = "c"\n')
    assert whole.renames == {"a": "b"}


def load_text(path: Path, text: str) -> Settings:
    path.write_text(text)
    return load(path, {})
