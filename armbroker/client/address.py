"""The address of an MQTT server."""

import ssl
from typing import NamedTuple

from broker.server_url import parse_server_url
from broker.tls import TlsFileError, TlsFiles, tls_context


class Address(NamedTuple):
    """Host, port, and whether the connection is encrypted."""

    host: str
    port: int
    tls: bool

    def tls_context(self, files: TlsFiles) -> ssl.SSLContext | None:
        """What proves the server, and us if there is a certificate; None without encryption.

        Raises:
            OSError: a file cannot be read; it is named.
            ValueError: a file holds not what it should; it is named.
        """
        if not self.tls:
            if files.cert is not None:
                raise ValueError(f"{files.cert}: a certificate is presented over TLS alone: mqtts:// is wanted")
            return None
        try:
            return tls_context(files)
        except TlsFileError as error:
            if error.errno is not None:
                raise OSError(error.errno, error.why, str(error.path)) from None
            raise ValueError(str(error)) from None


def parse_address(url: str) -> Address:
    """The address in `mqtt://host[:port]` or `mqtts://host[:port]`.

    Raises:
        ValueError: another scheme, no host, a bad port, or more than an address (user names belong in `user`).
    """
    return Address(*parse_server_url(url))
