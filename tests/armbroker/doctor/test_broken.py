"""Each check of the doctor fails on a set-up that is really broken in this one way."""

import asyncio
import datetime as dt
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from armbroker.certificates import Wanted, make
from armbroker.doctor import local, server, service
from armbroker.doctor.access import Access, usable_conn
from armbroker.doctor.findings import CHECKS, Finding, Outcome
from armbroker.doctor.links import Who
from broker.settings import Settings, from_document
from broker.tls import TlsFiles
from broker.topics import Topics
from schema.codecs.times import format_time
from tests.journey.running import RunningService, settings_of
from tests.links import PATIENCE_S, peer
from tests.mosquitto import OPEN_CONFIG, PLANT, Mosquitto, free_port, write_acl, write_passwords

NOW = dt.datetime.now(dt.UTC)
TOPICS = Topics("armbroker")
RULED = """
listener {port} 127.0.0.1
allow_anonymous false
password_file {folder}/passwords
acl_file {folder}/armbroker.acl
user root
"""
TLS = """
listener {port} 127.0.0.1
cafile {folder}/tls/ca.crt
certfile {folder}/tls/server.crt
keyfile {folder}/tls/server.key
allow_anonymous true
user root
"""


class Scene:
    """Broken set-ups in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.servers: list[Mosquitto] = []

    def open(self, more: str = "") -> Mosquitto:
        """A Mosquitto that lets everybody do everything, with more lines."""
        return self._start(OPEN_CONFIG + more)

    def tls(self, days: int = 30) -> tuple[Mosquitto, TlsFiles]:
        """A Mosquitto with TLS that lets in everybody, and its authority."""
        make(self.folder / "tls", Wanted(("127.0.0.1",), (), days), NOW)
        return self._start(TLS), TlsFiles(self.folder / "tls" / "ca.crt")

    def ruled(self, rule: str = "") -> Mosquitto:
        """A Mosquitto with the rules that are written, and one more."""
        write_passwords(self.folder / "passwords", {"svc": "s", "bob": "b"})
        write_acl(self.folder / "armbroker.acl", PLANT)
        with (self.folder / "armbroker.acl").open("a") as rules:
            rules.write(f"\n{rule}\n")
        return self._start(RULED)

    async def access(self, rule: str = "") -> Access:
        """Bob at such a server."""
        found = self.ruled(rule)
        bob = Who(found.url, "bob", "b")
        return Access(TOPICS, bob, Who(found.url, "svc", "s"), await usable_conn(TOPICS, bob))

    def _start(self, config: str) -> Mosquitto:
        self.servers.append(Mosquitto(self.folder, config).start())
        return self.servers[-1]


def settings(**document: Any) -> Settings:
    return from_document(document)


def anybody(found: Mosquitto) -> Who:
    return Who(found.url, "svc")


async def wrong_settings(scene: Scene) -> Finding:
    (scene.folder / "fleet.toml").write_text('[mqtt]\nca_file = "none.crt"\n')
    return local.read_settings(scene.folder / "fleet.toml", 0)[1]


async def readable_password(scene: Scene) -> Finding:
    path = scene.folder / "password"
    path.write_text("secret")
    path.chmod(0o644)
    return local.secret_files(settings(mqtt={"password_file": str(path)}))


async def full_disk(scene: Scene) -> Finding:
    return local.disk(settings(store={"dir": str(scene.folder), "reserve_mib": 65_536}))


async def nobody_there(scene: Scene) -> Finding:
    del scene
    return (await server.connection(Who(f"mqtt://127.0.0.1:{free_port()}", "svc"), TOPICS))[0][-1]


async def clear_text(scene: Scene) -> Finding:
    del scene
    return local.encryption(settings(mqtt={"url": "mqtt://plant.example", "allow_unproven_remote": True}))


async def ending_certificate(scene: Scene) -> Finding:
    found, files = scene.tls(days=3)
    return await server.certificate(Who(f"mqtts://127.0.0.1:{found.port}", "svc", "", files), NOW)


async def wrong_authority(scene: Scene) -> Finding:
    found, _ = scene.tls()
    make(scene.folder / "other", Wanted((), (), 3), NOW)
    foreign = TlsFiles(scene.folder / "other" / "ca.crt")
    return await server.certificate(Who(f"mqtts://127.0.0.1:{found.port}", "svc", "", foreign), NOW)


async def anonymous(scene: Scene) -> Finding:
    return await server.nobody(anybody(scene.open()))


async def any_certificate(scene: Scene) -> Finding:
    found, files = scene.tls()
    return await server.foreign_certificate(Who(f"mqtts://127.0.0.1:{found.port}", "svc", "", files), NOW)


async def abilities(scene: Scene, more: str, check: str) -> Finding:
    found, _ = await server.connection(anybody(scene.open(more)), TOPICS)
    return next(each for each in found if each.check == check)


async def nothing_retained(scene: Scene) -> Finding:
    return await abilities(scene, "retain_available false\n", "limits")


async def short_packets(scene: Scene) -> Finding:
    return await abilities(scene, "max_packet_size 20000\n", "packet-size")


async def old_server(scene: Scene) -> Finding:
    del scene
    return server.version_finding("mosquitto version 1.6.12")


async def no_service(scene: Scene) -> Finding:
    return service.judge(await service.listen(anybody(scene.open()), TOPICS, now_us, 0.5), "main")[0]


async def two_services(scene: Scene) -> Finding:
    return (await heard(scene, {"main": 0.0, "other": 0.0}))[1]


async def wrong_clock(scene: Scene) -> Finding:
    return (await heard(scene, {"main": 3600.0}))[2]


async def heard(scene: Scene, ahead_s: dict[str, float]) -> list[Finding]:
    """What is judged of services whose clocks are ahead by so much."""
    found = scene.open()
    listening = asyncio.create_task(service.listen(anybody(found), TOPICS, now_us, 3.0))
    async with peer(found.port) as beats:
        while not listening.done():
            for instance, seconds in ahead_s.items():
                seen_at = format_time(now_us() + int(seconds * 1e6))
                document = {"state": "online", "since": seen_at, "seen_at": seen_at, "start": instance, "epoch": 1}
                await beats.publish(TOPICS.service(instance), msgspec.json.encode(document), qos=1, retain=True)
            await asyncio.wait([listening], timeout=0.2)
    return service.judge(listening.result(), "main")


async def no_reply(scene: Scene) -> Finding:
    bob = Who(scene.ruled().url, "bob", "b")
    return await service.round_trip(bob, TOPICS, "bob-1", settings(arm=[{"id": "r12", "model": "gen3_7dof"}]))


async def spoofed(scene: Scene) -> Finding:
    return await (await scene.access("user bob\ntopic write armbroker/v1/req/#")).spoofed_user()


async def as_service(scene: Scene) -> Finding:
    return await (await scene.access("user bob\ntopic write armbroker/v1/state/+/+")).service_topics()


async def reads_replies(scene: Scene) -> Finding:
    return await (await scene.access("pattern read armbroker/v1/res/#")).foreign_replies()


async def reads_everything(scene: Scene) -> Finding:
    return await (await scene.access("user bob\ntopic read #")).wildcard_reader()


async def guessable(scene: Scene) -> Finding:
    return await (await scene.access()).client_ids("armbroker-main-CHANGE-ME")


async def ghosts(scene: Scene) -> Finding:
    found = scene.open()
    async with peer(found.port) as other:
        for topic in (TOPICS.state("r99", "config"), TOPICS.request("bob", "b", "r12", "WhoAmI")):
            await other.publish(topic, "{}", qos=1, retain=True)
    return await service.retained_ghosts(anybody(found), TOPICS, settings(arm=[{"id": "r12"}]), now_us)


def now_us() -> int:
    return time.time_ns() // 1000


BROKEN: dict[str, tuple[Callable[[Scene], Awaitable[Finding]], str]] = {
    "settings": (wrong_settings, ":2: mqtt.ca_file: "),
    "secret-files": (readable_password, "mode 0644, at most 0640 is wanted"),
    "disk": (full_disk, "262,144 MiB wanted"),
    "connection": (nobody_there, "no MQTT server at"),
    "encryption": (clear_text, "in clear"),
    "certificate": (ending_certificate, "trusted, for 3 more days"),
    "nobody": (anonymous, "lets in without user and password"),
    "foreign-certificate": (any_certificate, "lets in as svc of a foreign authority"),
    "limits": (nothing_retained, "retains nothing"),
    "packet-size": (short_packets, "20,000 bytes, 70,000 wanted"),
    "server-version": (old_server, "1.6.12"),
    "service": (no_service, "main: no such service"),
    "second-service": (two_services, "2 services live: main (main), other (other)"),
    "clock": (wrong_clock, " s ahead of this computer's"),
    "round-trip": (no_reply, "user bob got no reply within 10 s"),
    "spoofed-user": (spoofed, "user bob publishes requests under the name doctor-"),
    "service-topics": (as_service, "user bob publishes on armbroker/v1/state/+/config"),
    "foreign-replies": (reads_replies, "user bob reads replies and notices of others: armbroker/v1/res/doctor-"),
    "wildcard-reader": (reads_everything, "user bob reads requests of others, or commands for arms: "),
    "client-ids": (guessable, "can be guessed: 'armbroker-main-CHANGE-ME'"),
    "retained-ghosts": (ghosts, "armbroker/v1/state/r99/config: no such arm in the settings"),
}


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """Set-ups, ended with the test."""
    made = Scene(tmp_path)
    yield made
    for each in made.servers:
        each.stop()


def test_every_check_is_seen_to_fail() -> None:
    assert BROKEN.keys() == CHECKS.keys()


@pytest.mark.parametrize("check", list(CHECKS))
async def test_what_is_broken_is_found(scene: Scene, check: str) -> None:
    broken, why = BROKEN[check]
    finding = await broken(scene)
    assert (finding.check, finding.outcome) == (check, Outcome.FAIL), finding
    assert why in finding.text


async def test_a_server_of_another_authority_is_found(scene: Scene) -> None:
    finding = await wrong_authority(scene)
    assert finding.outcome is Outcome.FAIL
    assert "CERTIFICATE_VERIFY_FAILED" in finding.text


async def test_every_broken_rule_is_told_apart(scene: Scene) -> None:
    access = await scene.access("pattern write armbroker/v1/req/%u/+/+/+")
    finding = await access.spoofed_user()
    assert "under the client id doctor-" in finding.text
    assert "under the name" not in finding.text
    for work in (access.service_topics, access.foreign_replies, access.wildcard_reader):
        assert (await work()).outcome is Outcome.PASS


async def test_a_secret_client_id_is_as_good_as_a_bound_one(scene: Scene) -> None:
    access = await scene.access()
    for client_id in ("", "armbroker-main-0123456789abcdef"):
        assert (await access.client_ids(client_id)).outcome is Outcome.PASS


async def test_where_the_service_may_not_publish_nothing_is_said(scene: Scene) -> None:
    access = await scene.access("user svc\ntopic deny armbroker/v1/res/#")
    assert (await access.foreign_replies()).outcome is Outcome.NOT_CHECKED


async def test_retained_documents_of_the_service_are_no_ghosts(mosquitto: Mosquitto, tmp_path: Path) -> None:
    running = RunningService(settings_of(mosquitto.url, "doctored", tmp_path, ["r1", "r2"])).start()
    try:
        who = Who(mosquitto.url, "svc")
        finding = await service.retained_ghosts(who, Topics("doctored"), running.settings, now_us)
        assert finding.outcome is Outcome.PASS
        missing = from_document({"root": "doctored", "arm": [{"id": "r1"}]})
        async with asyncio.timeout(PATIENCE_S):
            while "doctored/v1/state/r2/config: no such arm in the settings" not in finding.text:
                finding = await service.retained_ghosts(who, Topics("doctored"), missing, now_us)
    finally:
        running.stop()


async def test_a_service_that_is_gone_without_a_word_is_a_ghost(scene: Scene) -> None:
    found, old = scene.open(), format_time(now_us() - 60_000_000)
    async with peer(found.port) as other:
        document = {"state": "online", "since": old, "seen_at": old, "start": "x", "epoch": 1}
        await other.publish(TOPICS.service("main"), msgspec.json.encode(document), qos=1, retain=True)
    finding = await service.retained_ghosts(anybody(found), TOPICS, settings(), now_us)
    assert "nobody stands behind it" in finding.text
    silent = service.judge(await service.listen(anybody(found), TOPICS, now_us, 0.5), "main")
    assert silent[0].outcome is Outcome.FAIL
    assert f"last seen {old}" in silent[0].text
    assert [each.outcome for each in silent[1:]] == [Outcome.NOT_CHECKED] * 2


def test_the_host_of_this_computer_is_no_loopback() -> None:
    url = f"mqtt://{socket.gethostname() or 'host'}"
    finding = local.encryption(settings(mqtt={"url": url, "allow_unproven_remote": True}))
    assert finding.outcome is Outcome.FAIL
