"""Who a command is towards the MQTT server."""

import secrets
from pathlib import Path
from typing import NamedTuple

from armbroker.client import ArmClient
from armbroker.client.connection import Login


class Account(NamedTuple):
    """MQTT server, user, client id and root, as given on the command line."""

    url: str
    user: str
    conn: str
    password_file: Path | None
    ca_file: Path | None
    root: str

    def client(self) -> ArmClient:
        """A client of this account; call within a running event loop.

        Raises:
            ValueError: something cannot be used.
            OSError: a file cannot be read.
        """
        return ArmClient(
            self.url, user=self.user, conn=self.conn, password=self.password(), root=self.root, ca_file=self.ca_file
        )

    def login(self) -> Login:
        """The same for a connection that is no client's.

        Raises:
            OSError: the password file cannot be read.
        """
        return Login(self.url, self.user, self.password(), self.conn, self.ca_file)

    def password(self) -> str | None:
        """The first line of the password file.

        Raises:
            OSError: it cannot be read.
        """
        if self.password_file is None:
            return None
        return self.password_file.read_text(encoding="utf-8").partition("\n")[0]


def new_conn() -> str:
    """A client id of a command that was given none."""
    return f"cli-{secrets.token_hex(4)}"
