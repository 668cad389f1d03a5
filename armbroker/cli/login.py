"""Who a command is towards the MQTT server."""

import secrets
from pathlib import Path
from typing import NamedTuple

from armbroker.cli.profiles import Profile
from armbroker.client import ArmClient
from armbroker.client.connection import Login
from broker.tls import TlsFiles


class Account(NamedTuple):
    """MQTT server, user, client id, files and root of a command."""

    url: str
    user: str
    conn: str
    password_file: Path | None
    tls: TlsFiles
    root: str

    def client(self) -> ArmClient:
        """A client of this account; call within a running event loop.

        Raises:
            ValueError: something cannot be used.
            OSError: a file cannot be read.
        """
        return ArmClient(
            self.url,
            user=self.user,
            conn=self.conn,
            password=self.password(),
            root=self.root,
            ca_file=self.tls.ca,
            cert_file=self.tls.cert,
            key_file=self.tls.key,
        )

    def login(self) -> Login:
        """The same for a connection that is no client's.

        Raises:
            OSError: the password file cannot be read.
        """
        return Login(self.url, self.user, self.password(), self.conn, self.tls)

    def password(self) -> str | None:
        """The first line of the password file.

        Raises:
            OSError: it cannot be read.
        """
        if self.password_file is None:
            return None
        return self.password_file.read_text(encoding="utf-8").partition("\n")[0]


def account_of(profile: Profile) -> Account:
    """The account of a profile; a client id is made for one that names none."""
    password, *files = (
        Path(name) if name else None
        for name in (profile.password_file, profile.ca_file, profile.cert_file, profile.key_file)
    )
    conn = profile.conn or f"cli-{secrets.token_hex(4)}"
    return Account(profile.url, profile.user, conn, password, TlsFiles(*files), profile.root)
