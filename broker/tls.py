"""How TLS is spoken: whom to trust, and the certificate that proves us; files are read at each call."""

import contextlib
import hashlib
import ssl
from pathlib import Path
from typing import NamedTuple


class TlsFiles(NamedTuple):
    """Files of a TLS connection: `ca` instead of the system's authorities; `cert` and `key` of a client certificate.

    Without `key` the key stands in the file of the certificate.
    """

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None


class TlsFileError(Exception):
    """A file that TLS cannot be spoken with; `which` is `ca`, `cert` or `key`, `why` does not name it."""

    def __init__(self, which: str, path: Path, why: str, errno: int | None = None) -> None:
        super().__init__(f"{path}: {why}")
        self.which, self.path, self.why, self.errno = which, path, why, errno


class Tls:
    """TLS by some files, by what they hold at each question; made anew only where that changed, which takes 20 ms."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._made: tuple[list[bytes], ssl.SSLContext] | None = None

    def now(self) -> ssl.SSLContext:
        """See `tls_context`."""
        held = _held(self._files)
        if self._made is None or self._made[0] != held:
            self._made = held, tls_context(self._files)
        return self._made[1]


def tls_context(files: TlsFiles) -> ssl.SSLContext:
    """TLS with certificate and host name of the server checked, and our own certificate if there is one.

    Raises:
        TlsFileError: a file cannot be used.
    """
    for which, path in files._asdict().items():
        if path is not None:
            _readable(which, path)
    try:
        context = ssl.create_default_context(cafile=files.ca)
    except ssl.SSLError as error:
        raise TlsFileError("ca", files.ca or Path(), f"holds no certificates: {error.reason or error}") from None
    if files.cert is not None:
        _present(context, files.cert, files.key)
    return context


def _held(files: TlsFiles) -> list[bytes]:
    """What the files hold, as digests, and which authorities the system trusts where no file names them."""
    held = [_readable(which, path) for which, path in files._asdict().items() if path is not None]
    if files.ca is None:
        usual = ssl.get_default_verify_paths()
        for path in filter(None, (usual.cafile, usual.capath)):  # of the folder OpenSSL reads a file when it is needed
            with contextlib.suppress(OSError):
                held.append(b"%d" % Path(path).stat().st_mtime_ns)
    return [hashlib.sha256(each).digest() for each in held]


def _readable(which: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise TlsFileError(which, path, error.strerror or str(error), error.errno) from None


def _present(context: ssl.SSLContext, cert: Path, key: Path | None) -> None:
    """Let the context present a certificate."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cert)
    except ssl.SSLError as error:
        raise TlsFileError("cert", cert, f"holds no certificate: {error.reason or error}") from None
    which, path = ("cert", cert) if key is None else ("key", key)
    try:
        context.load_cert_chain(cert, key, password=_no_passphrase)
    except _EncryptedKeyError:
        raise TlsFileError(which, path, "the key is encrypted; a service has nobody to ask") from None
    except ssl.SSLError as error:
        mismatch = error.reason == "KEY_VALUES_MISMATCH"
        why = f"is not the key of the certificate in {cert}" if mismatch else "holds no private key"
        raise TlsFileError(which, path, why) from None


class _EncryptedKeyError(Exception):
    pass


def _no_passphrase() -> str:
    raise _EncryptedKeyError
