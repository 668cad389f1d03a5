"""The address of an MQTT server."""

import ssl
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

_PORTS = {"mqtt": 1883, "mqtts": 8883}


class Address(NamedTuple):
    """Host, port, and whether the connection is encrypted."""

    host: str
    port: int
    tls: bool

    def tls_context(self, ca_file: Path | None) -> ssl.SSLContext | None:
        """What proves the server: the system's authorities, or those in `ca_file`; None without encryption.

        Raises:
            OSError: `ca_file` cannot be read.
        """
        return ssl.create_default_context(cafile=ca_file) if self.tls else None


def parse_address(url: str) -> Address:
    """The address in `mqtt://host[:port]` or `mqtts://host[:port]`.

    Raises:
        ValueError: another scheme, no host, a bad port, or more than an address (user names belong in `user`).
    """
    parts = urlsplit(url)
    if parts.scheme not in _PORTS:
        raise ValueError(f"{url!r}: mqtt://host[:port] or mqtts://host[:port] is wanted")
    if not parts.hostname:
        raise ValueError(f"{url!r}: the host is missing")
    if parts.username or parts.password or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("only host and port belong into the address of the MQTT server")
    port = parts.port  # raises ValueError beyond 65535
    return Address(parts.hostname, _PORTS[parts.scheme] if port is None else port, parts.scheme == "mqtts")
