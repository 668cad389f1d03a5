"""Settings: read, checked, and refused by name."""

import math
from pathlib import Path

import pytest

from broker.settings import Settings, SettingsError, duration_us, from_document, load, quick


def test_defaults() -> None:
    settings = from_document({})
    assert (settings.root, settings.instance, settings.client_id) == ("armbroker", "main", "armbroker-main")
    assert settings.arm_defaults.queue == 256
    assert settings.arm_defaults.pending_max_age_us == 15 * 60 * 1_000_000
    assert settings.password() == ""
    assert settings.ca_path is None


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"rot": "x"}, "rot"),
        ({"root": "a//b"}, "1 to 5 levels"),
        ({"instance": "a/b"}, "instance"),
        ({"mqtt": {"identity": "maybe"}}, "mqtt.identity: 'maybe'"),
        ({"mqtt": {"url": "mqtt://plant.example"}}, "mqtt.url: 'plant.example'"),
        ({"mqtt": {"url": "mqtt://127.0.0.1.example"}}, "not on loopback"),
        ({"clients": {"ann": {"clock": "sun"}}}, "clients.ann.clock: 'sun'"),
        ({"arm_defaults": {"queue": 0}}, "arm_defaults.queue: 0 < 1"),
        ({"arm_defaults": {"pending_max_age": "soon"}}, "arm_defaults.pending_max_age: 'soon'"),
        ({"arm": [{"id": "a/b"}]}, "arm.id: 'a/b'"),
        ({"arm": [{"id": "r1"}, {"id": "R1"}]}, "differ only in case"),
        ({"arm": [{"id": "r1"}, {"id": "r1"}]}, "the same"),
        ({"arm": [{"id": 1}]}, "arm[0].id"),
        ({"checks": {"strict": "yes"}}, "checks.strict"),
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
    assert (settings.root, settings.client_id, settings.data_dir) == ("b/c", "one", Path("/d"))
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
