"""The address of an MQTT server."""

import ssl
from pathlib import Path
from typing import NamedTuple

from broker.server_url import parse_server_url


class Address(NamedTuple):
    """Host, port, and whether the connection is encrypted."""

    host: str
    port: int
    tls: bool

    def tls_context(self, ca_file: Path | None) -> ssl.SSLContext | None:
        """What proves the server: the system's authorities, or those in `ca_file`; None without encryption.

        Raises:
            OSError: `ca_file` cannot be read; it is named.
            ValueError: `ca_file` holds no certificates; it is named.
        """
        if not self.tls:
            return None
        try:
            return ssl.create_default_context(cafile=ca_file)
        except ssl.SSLError as error:
            raise ValueError(f"{ca_file}: holds no certificates: {error.reason or error}") from None
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(ca_file)) from None


def parse_address(url: str) -> Address:
    """The address in `mqtt://host[:port]` or `mqtts://host[:port]`.

    Raises:
        ValueError: another scheme, no host, a bad port, or more than an address (user names belong in `user`).
    """
    return Address(*parse_server_url(url))
