"""A plant whose MQTT server lets nobody in without a certificate, which names the user."""

import asyncio
import datetime as dt
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from armbroker import ArmClient, ClientError
from armbroker.certificates import Wanted, make
from tests.links import PATIENCE_S
from tests.mosquitto import PLANT, ROOT, Mosquitto, write_acl

CONFIG = """
listener {port} 127.0.0.1
cafile {folder}/tls/ca.crt
certfile {folder}/tls/server.crt
keyfile {folder}/tls/server.key
tls_version tlsv1.3
require_certificate true
use_identity_as_username true
acl_file {folder}/armbroker.acl
user root
set_tcp_nodelay true
"""
SETTINGS = """
[mqtt]
url = "{url}"
user = "svc"
ca_file = "tls/ca.crt"
cert_file = "tls/clients/svc.crt"
key_file = "tls/clients/svc.key"
identity = "server-acl"
client = "{client}"
[store]
dir = "data"
reserve_mib = 1
[clients.alice]
[[arm]]
id = "r12"
adapter = "{adapter}"
model = "gen3_7dof"
authority = "control"
"""
USERS = ("svc", "alice", "bob", "r12")


def certify(folder: Path, users: tuple[str, ...] = USERS) -> None:
    """Make, or make anew, an authority and all certificates in `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    make(folder, Wanted(("127.0.0.1",), users, 7), dt.datetime.now(dt.UTC))


class CertifiedPlant:
    """A Mosquitto that asks for certificates, not started; `url` is where to connect to."""

    def __init__(self, folder: Path, config: str = CONFIG) -> None:
        self.folder, self.tls = folder, folder / "tls"
        certify(self.tls)
        write_acl(folder / "armbroker.acl", PLANT)
        self.server = Mosquitto(folder, config)
        self.url = f"mqtts://127.0.0.1:{self.server.port}"

    def client(self, user: str, conn: str, *, cert: str = "") -> ArmClient:
        """A client of a user, with the certificate of that one unless told."""
        files = self.tls / "clients" / (cert or user)
        return ArmClient(
            self.url,
            user=user,
            conn=conn,
            ca_file=self.tls / "ca.crt",
            cert_file=files.with_suffix(".crt"),
            key_file=files.with_suffix(".key"),
        )

    @contextmanager
    def service(self, client: str = "own", adapter: str = "simulated", *more: str) -> Iterator[subprocess.Popen[bytes]]:
        """The service, as a process, with more options."""
        config = self.folder / "fleet.toml"
        config.write_text(SETTINGS.format(url=self.url, client=client, adapter=adapter))
        with self.running("run", "--config", str(config), *more) as process:
            yield process

    @contextmanager
    def running(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """A command of armbroker, killed at the end; what it writes goes to `log`."""
        command = [sys.executable, "-m", "armbroker", *arguments]
        with (
            (self.folder / "programs.log").open("ab") as log,
            subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT, start_new_session=True) as process,
        ):
            try:
                yield process
            finally:
                process.kill()

    @property
    def log(self) -> str:
        """What service and agents wrote."""
        return (self.folder / "programs.log").read_text()


async def online(client: ArmClient) -> None:
    """Wait until a service says that it is there."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                if any(service.online for service in await client.services(0.2)):
                    return
            except ClientError:
                await asyncio.sleep(0.1)
