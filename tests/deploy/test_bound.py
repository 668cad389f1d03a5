"""Client ids and the service's session: what the plain listener leaves open, and what the bound ones close."""

import asyncio
import datetime as dt
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiomqtt
import pytest

from armbroker import ArmClient, NoReplyError
from armbroker.cli.certs_work import Wanted, make
from broker.link.mqtt5_link import Mqtt5Link
from broker.link.mqtt_link import LinkConfig, LinkError
from broker.tls import TlsFiles
from tests.journey.certified import PATIENCE_S, online
from tests.links import peer
from tests.mosquitto import PLANT, ROOT, SHIPPED, SITE, Mosquitto, free_port, write_acl, write_passwords

SERVICE_ID = "armbroker-main-secret"
SETTINGS = """
[mqtt]
url = "mqtts://127.0.0.1:{port}"
user = "svc"
client_id = "{client_id}"
ca_file = "people/ca.crt"
cert_file = "service/clients/svc.crt"
key_file = "service/clients/svc.key"
identity = "server-acl"
[store]
dir = "data"
reserve_mib = 1
[clients.alice]
[[arm]]
id = "r12"
model = "gen3_7dof"
"""


class BoundPlant:
    """A Mosquitto with the shipped configuration and the bound listeners; only ports and paths differ."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        now = dt.datetime.now(dt.UTC)
        make(folder / "people", Wanted(("127.0.0.1",), ("alice", "svc"), 7), now)
        make(folder / "service", Wanted((), ("svc",), 7), now)
        self.passwords = {user: secrets.token_hex(4) for user in ("alice", "bob", "svc")}
        write_passwords(folder / "passwords", self.passwords)
        write_acl(folder / "armbroker.acl", PLANT)
        shipped = (SHIPPED / "armbroker.conf").read_text().replace(SITE, f"{folder}/site")
        self.server = Mosquitto(folder, shipped, self.passwords)
        self.service_port = free_port()
        listeners = (SHIPPED / "listener-bound.conf").read_text()
        for old, new in (
            ("listener 8883", f"listener {self.server.port} 127.0.0.1\nuser root"),
            ("listener 8884", f"listener {self.service_port} 127.0.0.1"),
            ("/etc/mosquitto/certs/service-ca.crt", f"{folder}/service/ca.crt"),
            ("/etc/mosquitto/certs/", f"{folder}/people/"),
            ("/etc/mosquitto/", f"{folder}/"),
            ("/var/lib/mosquitto/", f"{folder}/"),
            ("log_dest file /var/log/mosquitto/mosquitto.log", ""),
        ):
            assert old in listeners
            listeners = listeners.replace(old, new)
        (folder / "site").mkdir()
        (folder / "site" / "listener.conf").write_text(listeners)

    def config(self, user: str, conn: str, *, port: int = 0, certs: str = "") -> LinkConfig:
        """How a user connects, under any client id, with password or a certificate out of a folder."""
        people = self.folder / "people" / "ca.crt"
        files = self.folder / certs / "clients" / user
        tls = TlsFiles(people, files.with_suffix(".crt"), files.with_suffix(".key")) if certs else TlsFiles(people)
        return LinkConfig(
            url=f"mqtts://127.0.0.1:{port or self.server.port}",
            client_id=conn,
            filters=("armbroker/v1/svc/+",),
            user=user,
            password=self.passwords[user],
            tls=tls,
            first_connection_s=2.0,
        )

    def client(self, user: str, conn: str) -> ArmClient:
        """A client by password."""
        ca = self.folder / "people" / "ca.crt"
        password = self.passwords[user]
        return ArmClient(f"mqtts://127.0.0.1:{self.server.port}", user=user, conn=conn, password=password, ca_file=ca)

    @contextmanager
    def service(self) -> Iterator[subprocess.Popen[bytes]]:
        """The service on its own listener."""
        config = self.folder / "fleet.toml"
        config.write_text(SETTINGS.format(port=self.service_port, client_id=SERVICE_ID))
        command = [sys.executable, "-m", "armbroker", "run", "--config", str(config)]
        with (
            (self.folder / "service.log").open("ab") as log,
            subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT, start_new_session=True) as process,
        ):
            try:
                yield process
            finally:
                process.kill()

    @property
    def log(self) -> str:
        """What the service wrote."""
        return (self.folder / "service.log").read_text()


@pytest.fixture
def bound(tmp_path: Path) -> Iterator[BoundPlant]:
    """The plant, running."""
    plant = BoundPlant(tmp_path)
    plant.server.start()
    yield plant
    plant.server.stop()


async def test_a_foreign_user_with_the_clients_id_of_the_service_is_only_itself(bound: BoundPlant) -> None:
    with bound.service() as service:
        async with bound.client("alice", "alice") as alice:
            await online(alice)
            taken = f"as {SERVICE_ID} "
            before = bound.server.log.count(taken)
            for conn in (SERVICE_ID, f"{SERVICE_ID}-read", f"{SERVICE_ID}-dev"):
                link = Mqtt5Link(bound.config("bob", conn))
                await link.open()
                await link.close()
            assert (await alice.call("r12", "WhoAmI", timeout=PATIENCE_S))["ok"]
        assert service.poll() is None
    assert bound.server.log.count(taken) == before == 1
    assert "as bob " in bound.server.log
    assert "mqtt_connection_lost" not in bound.log


async def test_nobody_else_gets_in_where_the_service_does(bound: BoundPlant) -> None:
    port = bound.service_port
    for config in (
        bound.config("svc", SERVICE_ID, port=port),
        bound.config("alice", SERVICE_ID, port=port, certs="people"),
        bound.config("svc", SERVICE_ID, port=port, certs="people"),
    ):
        with pytest.raises(LinkError):
            await Mqtt5Link(config).open()
    service = Mqtt5Link(bound.config("svc", SERVICE_ID, port=port, certs="service"))
    await service.open()
    await service.close()


async def test_requests_that_wait_for_the_service_are_not_taken(bound: BoundPlant) -> None:
    with bound.service():
        async with bound.client("alice", "alice") as alice:
            await online(alice)
    async with bound.client("alice", "alice") as alice:
        asked = asyncio.create_task(alice.call("r12", "WhoAmI", timeout=PATIENCE_S))
        thief = Mqtt5Link(bound.config("bob", SERVICE_ID))
        assert await thief.open() is False
        await thief.close()
        with bound.service():
            assert (await asked)["ok"]


async def test_a_client_has_to_call_itself_by_its_user(bound: BoundPlant) -> None:
    with bound.service():
        async with bound.client("alice", "alice") as alice:
            await online(alice)
        async with bound.client("alice", "hmi-1") as other:
            with pytest.raises(NoReplyError):
                await other.call("r12", "WhoAmI", timeout=1.0)


async def test_on_the_plain_listener_the_secret_of_the_id_is_what_keeps_others_out(plant: Mosquitto) -> None:
    password = plant.passwords["svc"]
    config = LinkConfig(url=plant.url, client_id=SERVICE_ID, filters=("a",), user="svc", password=password)
    service = Mqtt5Link(config)
    await service.open()
    lost = asyncio.Event()
    service.on_session(lambda _: None, lost.set)
    thief = peer(
        plant.port, SERVICE_ID, user="bob", password=plant.passwords["bob"], protocol=aiomqtt.ProtocolVersion.V311
    )
    async with thief:
        await asyncio.wait_for(lost.wait(), PATIENCE_S)
    await service.close()
