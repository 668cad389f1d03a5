"""The address of an MQTT server, and texts that may hold one: a password in it is never shown."""

import re
from typing import NamedTuple
from urllib.parse import urlsplit

PORTS = {"mqtt": 1883, "mqtts": 8883}
_WITH_USER = re.compile(r"//[^\s'\"]*@")
_PORT_MOST = 65_535


class ServerUrl(NamedTuple):
    """Host, port, and whether the connection is encrypted."""

    host: str
    port: int
    tls: bool


def masked(text: str) -> str:
    """A text without the users and passwords of the addresses in it."""
    return _WITH_USER.sub("//***@", text)


def parse_server_url(url: str) -> ServerUrl:
    """The address in `mqtt://host[:port]` or `mqtts://host[:port]`.

    Raises:
        ValueError: another scheme, no host, a bad port, or more than an address; no password is shown.
    """
    shown = repr(masked(url))
    if "@" in url:
        raise ValueError(f"{shown}: user and password have settings of their own, they are not taken from the address")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"{shown}: {error}") from None
    if parts.scheme not in PORTS:
        raise ValueError(f"{shown}: mqtt://host[:port] or mqtts://host[:port] is wanted")
    if not parts.hostname:
        raise ValueError(f"{shown}: the host is missing")
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError(f"{shown}: nothing may follow the port")
    if port is not None and not 1 <= port <= _PORT_MOST:
        raise ValueError(f"{shown}: the port is not between 1 and {_PORT_MOST}")
    return ServerUrl(parts.hostname, PORTS[parts.scheme] if port is None else port, parts.scheme == "mqtts")
