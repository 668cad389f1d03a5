"""Who a command is towards the MQTT server."""

import secrets
from pathlib import Path
from typing import NamedTuple

from armbroker.client import ArmClient


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
        password = None
        if self.password_file is not None:
            password = self.password_file.read_text(encoding="utf-8").partition("\n")[0]
        return ArmClient(
            self.url, user=self.user, conn=self.conn, password=password, root=self.root, ca_file=self.ca_file
        )


def new_conn() -> str:
    """A client id of a command that was given none."""
    return f"cli-{secrets.token_hex(4)}"
