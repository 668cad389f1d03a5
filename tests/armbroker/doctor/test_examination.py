"""The whole of the doctor on a sound plant, and on one that it cannot look into."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from armbroker.cli.doctor import lines, ordinary, run
from armbroker.cli.exits import Exit
from armbroker.doctor.examination import NEEDS_USER, OF_A_USER, examine
from armbroker.doctor.findings import CHECKS, Finding, Outcome, failed, passed
from armbroker.doctor.links import Who
from broker.settings import from_document
from broker.tls import TlsFiles
from tests.deploy.bound import BoundPlant
from tests.journey.certified import online
from tests.mosquitto import ROOT, free_port, write_passwords


async def all_of(config: Path, who: Who | None = None) -> dict[str, Finding]:
    found = [finding async for finding in examine(config, lambda _: who)]
    assert [each.check for each in found] == list(dict.fromkeys(each.check for each in found)), "each once"
    return {each.check: each for each in found}


async def test_everything_passes_where_everything_is_right_and_nothing_is_left(tmp_path: Path) -> None:
    plant = BoundPlant(tmp_path)
    plant.server.start()
    try:
        with plant.service() as service:
            async with plant.client("alice", "alice") as alice:
                await online(alice)
                twist = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.2}
                waves = {"method": "SetTwistLinearSoftLimit", "params": twist, "on_failure": "pause"}
                await alice.call("@cell-4", "Rollout", waves, timeout=20)
                before = 1
                while before == 1:
                    before = (await alice.call("r12", "GetHistory", {}, timeout=20))["rev"]
                password = tmp_path / "bob.password"
                password.write_text(plant.passwords["bob"])
                command = [
                    *(sys.executable, "-m", "armbroker", "doctor", "--config", str(tmp_path / "fleet.toml"), "--json"),
                    *("--user", "bob", "--password-file", str(password)),
                    *("--mqtt", f"mqtts://127.0.0.1:{plant.server.port}"),
                ]
                done = await asyncio.to_thread(
                    subprocess.run, command, capture_output=True, text=True, cwd=ROOT, check=False
                )
                assert (await alice.call("r12", "GetHistory", {}, timeout=20))["rev"] == before
            assert service.poll() is None
        report = {line["check"]: line for line in map(json.loads, done.stdout.splitlines())}
        assert {name: line["outcome"] for name, line in report.items()} == dict.fromkeys(CHECKS, "pass"), done.stdout
        assert (done.returncode, done.stderr) == (Exit.OK, "")
        assert "mqtt_connection_lost" not in plant.log
    finally:
        plant.server.stop()


async def test_without_an_ordinary_user_its_checks_are_not_made(tmp_path: Path) -> None:
    plant = BoundPlant(tmp_path)
    plant.server.start()
    try:
        with plant.service():
            found = await all_of(tmp_path / "fleet.toml")
    finally:
        plant.server.stop()
    assert {found[check] for check in OF_A_USER} == {
        Finding(check, Outcome.NOT_CHECKED, NEEDS_USER) for check in OF_A_USER
    }
    assert found.keys() == CHECKS.keys()


@pytest.mark.parametrize(("text", "why"), [("[mqtt", "fleet.toml:1"), ("rot = 1\n", "fleet.toml:1: rot")])
async def test_settings_that_cannot_be_used_end_it(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "fleet.toml").write_text(text)
    found = await all_of(tmp_path / "fleet.toml")
    assert found["settings"].outcome is Outcome.FAIL
    assert why in found["settings"].text
    assert {each.outcome for check, each in found.items() if check != "settings"} == {Outcome.NOT_CHECKED}
    assert found.keys() == CHECKS.keys()


async def test_a_server_that_is_not_there_ends_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "fleet.toml"
    config.write_text(f'[mqtt]\nurl = "mqtt://127.0.0.1:{free_port()}"\n')
    assert await asyncio.to_thread(run, config, {}, as_json=False) == Exit.REFUSED
    told = capsys.readouterr().out
    assert "FAIL         connection: no MQTT server at" in told
    assert told.count("the MQTT server was not reached") == len(CHECKS) - 6


def test_a_failure_is_told_with_what_it_means_and_what_to_do() -> None:
    for check, (means, remedy) in CHECKS.items():
        text = lines(failed(check, "so"))
        assert text == f"FAIL         {check}: so\n             means: {means}\n             do: {remedy}"
        assert failed(check, "so").as_document()["remedy"] == remedy
        assert lines(passed(check, "so")) == f"pass         {check}: so"


def test_the_ordinary_user_is_one_that_was_named_and_not_the_service(tmp_path: Path) -> None:
    settings = from_document({"mqtt": {"url": "mqtts://localhost", "user": "svc", "ca_file": "/ca.crt"}})
    assert ordinary(settings, {}) is None
    assert ordinary(settings, {"user": "svc"}) is None
    (tmp_path / "word").write_text("secret\nmore")
    assert ordinary(settings, {"user": "bob", "password_file": str(tmp_path / "word")}) == Who(
        "mqtts://localhost", "bob", "secret", TlsFiles(Path("/ca.crt"))
    )
    given = {
        "user": "bob",
        "url": "mqtts://127.0.0.1:1",
        "ca_file": "/x.crt",
        "cert_file": "/b.crt",
        "key_file": "/b.key",
    }
    tls = TlsFiles(Path("/x.crt"), Path("/b.crt"), Path("/b.key"))
    assert ordinary(settings, given) == Who("mqtts://127.0.0.1:1", "bob", "", tls)


async def test_an_ordinary_user_that_is_not_let_in_is_told(tmp_path: Path) -> None:
    plant = BoundPlant(tmp_path)
    write_passwords(tmp_path / "passwords", {"alice": "other"})
    plant.server.start()
    try:
        with plant.service():
            bob = Who(f"mqtts://127.0.0.1:{plant.server.port}", "bob", "none", TlsFiles(tmp_path / "people" / "ca.crt"))
            found = await all_of(tmp_path / "fleet.toml", bob)
    finally:
        plant.server.stop()
    assert found["round-trip"].outcome is Outcome.FAIL
    assert "refused user 'bob'" in found["round-trip"].text
    assert found["spoofed-user"].outcome is Outcome.NOT_CHECKED
