"""A plant whose MQTT server has the shipped bound listeners."""

import datetime as dt
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from armbroker import ArmClient
from armbroker.certificates import Wanted, make
from broker.link.mqtt_link import LinkConfig
from broker.tls import TlsFiles
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
[policy]
file = "policy.toml"
[clients.alice]
arms = ["@cell-4"]
[[arm]]
id = "r12"
model = "gen3_7dof"
groups = ["cell-4"]
"""
POLICY = """[[rule]]
name = "all for all"
roles = ["*"]
allow = ["tighten", "loosen", "rollout"]
"""


class BoundPlant:
    """A Mosquitto with the shipped configuration and the bound listeners; only ports and paths differ."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        now = dt.datetime.now(dt.UTC)
        make(folder / "people", Wanted(("127.0.0.1",), ("alice", "svc"), 30), now)
        make(folder / "service", Wanted((), ("svc",), 30), now)
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
        (self.folder / "policy.toml").write_text(POLICY)
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
