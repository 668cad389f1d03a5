"""Certificates instead of passwords, with a real Mosquitto that asks everybody for one."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from armbroker import NoReplyError
from armbroker.cli.exits import Exit
from tests.journey.certified import CertifiedPlant, certify, online
from tests.links import PATIENCE_S


@pytest.fixture
def plant(tmp_path: Path) -> Iterator[CertifiedPlant]:
    """The plant, running."""
    plant = CertifiedPlant(tmp_path)
    plant.server.start()
    yield plant
    plant.server.stop()


@pytest.mark.parametrize("client", ["own", "mqttium"])
async def test_a_service_and_a_person_prove_themselves(plant: CertifiedPlant, client: str) -> None:
    with plant.service(client):
        async with plant.client("alice", "alice-1") as alice:
            await online(alice)
            reply = await alice.call("r12", "WhoAmI", timeout=PATIENCE_S)
    assert reply.get("result", {})["user"] == "alice"
    assert "as 'svc'" not in plant.log
    users = {line.partition(", u'")[2].partition("'")[0] for line in plant.server.log.splitlines() if ", u'" in line}
    assert users == {"svc", "alice"}


async def test_an_arm_that_speaks_mqtt_proves_itself(plant: CertifiedPlant) -> None:
    clients = plant.tls / "clients"
    agent = (
        *("agent", "--arm", "r12", "--mqtt", plant.url, "--data", str(plant.folder / "r12")),
        *(
            "--ca-file",
            str(plant.tls / "ca.crt"),
            "--cert",
            f"{clients}/{{arm}}.crt",
            "--key",
            f"{clients}/{{arm}}.key",
        ),
    )
    with plant.service(adapter="mqtt_agent"), plant.running(*agent):
        async with (
            plant.client("alice", "alice-1") as alice,
            alice.watch("r12") as watched,
            asyncio.timeout(PATIENCE_S),
        ):
            async for each in watched:
                if "presence" in each and getattr(each, "document", {}).get("state") == "online":
                    break
            reply = await alice.call("r12", "SetGravityVector", {"x": 0, "y": 0, "z": -9.7}, timeout=PATIENCE_S)
    assert reply["stage"] == "applied"


async def test_nobody_gets_in_without_a_certificate_of_this_authority(plant: CertifiedPlant, tmp_path: Path) -> None:
    certify(tmp_path / "other")
    foreign = tmp_path / "other" / "clients"
    theirs, trusted = plant.tls / "ca.crt", tmp_path / "other" / "ca.crt"
    pair = ("--cert", str(foreign / "alice.crt"), "--key", str(foreign / "alice.key"))
    for ca, options, why in (
        (theirs, (), "certificate required"),
        (theirs, pair, "unknown ca"),
        (trusted, (), "CERTIFICATE_VERIFY_FAILED"),
    ):
        who = ("--mqtt", plant.url, "--user", "alice", "--ca-file", str(ca), *options)
        with plant.running("call", "r12", "WhoAmI", *who) as call:
            assert await asyncio.to_thread(call.wait, PATIENCE_S) == Exit.NO_SERVER
        assert why in plant.log.splitlines()[-1]


async def test_the_certificate_is_the_user_whatever_name_is_said(plant: CertifiedPlant) -> None:
    with plant.service():
        async with plant.client("alice", "alice-1") as alice:
            await online(alice)
        pretender = plant.client("alice", "bob-1", cert="bob")
        async with pretender as bob:
            with pytest.raises(NoReplyError):
                await bob.call("r12", "WhoAmI", timeout=1.0)


async def test_certificates_and_authority_are_exchanged_while_all_run(plant: CertifiedPlant) -> None:
    with plant.service() as service:
        async with plant.client("alice", "alice-1") as alice:
            await online(alice)
            certify(plant.folder / "fresh")
            plant.server.stop()
            shutil.copytree(plant.folder / "fresh", plant.tls, dirs_exist_ok=True)
            plant.server.start()
            await online(alice)
            reply = await alice.call("r12", "WhoAmI", timeout=PATIENCE_S)
        assert reply["ok"]
        assert service.poll() is None


async def test_a_certificate_that_is_not_taken_is_told(plant: CertifiedPlant) -> None:
    certify(plant.folder / "other")
    shutil.copytree(plant.folder / "other" / "clients", plant.tls / "clients", dirs_exist_ok=True)
    with plant.service("own", "simulated", "--no-wait") as service:
        assert await asyncio.to_thread(service.wait, PATIENCE_S) == Exit.NO_SERVER
    assert "alert unknown ca" in plant.log
