"""Files of TLS: each that cannot be used is named, and why."""

import datetime as dt
import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from armbroker.certificates import Wanted, make
from broker.tls import TlsFileError, TlsFiles, tls_context


@pytest.fixture
def tls(tmp_path: Path) -> Path:
    make(tmp_path, Wanted((), ("alice", "bob"), 2), dt.datetime.now(dt.UTC))
    clients = tmp_path / "clients"
    key = load_pem_private_key((clients / "alice.key").read_bytes(), None)
    hidden = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    (tmp_path / "hidden.key").write_bytes(hidden)
    (tmp_path / "both.pem").write_bytes((clients / "alice.crt").read_bytes() + (clients / "alice.key").read_bytes())
    (tmp_path / "text").write_text("text")
    (tmp_path / "broken.crt").write_text("-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n")
    return tmp_path


@pytest.mark.parametrize(
    ("names", "which", "why"),
    [
        (("none", None, None), "ca", "No such file"),
        ((".", None, None), "ca", "Is a directory"),
        (("text", None, None), "ca", "holds no certificates"),
        ((None, "none", None), "cert", "No such file"),
        ((None, "text", None), "cert", "holds no certificate"),
        ((None, "broken.crt", "clients/alice.key"), "cert", "holds no certificate"),
        ((None, "clients/alice.crt", None), "cert", "holds no private key"),
        ((None, "clients/alice.crt", "none"), "key", "No such file"),
        ((None, "clients/alice.crt", "text"), "key", "holds no private key"),
        ((None, "clients/alice.crt", "clients/bob.key"), "key", "is not the key of the certificate in"),
        ((None, "clients/alice.crt", "hidden.key"), "key", "the key is encrypted"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tls: Path, names: tuple[str | None, ...], which: str, why: str) -> None:
    files = TlsFiles(*(None if name is None else tls / name for name in names))
    with pytest.raises(TlsFileError, match=why) as caught:
        tls_context(files)
    assert caught.value.which == which
    assert str(caught.value.path) in str(caught.value)


def test_the_server_is_checked_and_the_key_may_stand_beside_its_certificate(tls: Path) -> None:
    for files in (TlsFiles(), TlsFiles(tls / "ca.crt", tls / "both.pem"), TlsFiles(ca=tls / "ca.crt")):
        context = tls_context(files)
        assert context.check_hostname
        assert context.verify_mode is ssl.CERT_REQUIRED
