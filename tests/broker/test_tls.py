"""Files of TLS: each that cannot be used is named, and why."""

import datetime as dt
import os
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
from broker.tls import Tls, TlsFileError, TlsFiles, tls_context


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


def test_it_is_made_anew_where_a_file_changed_alone(tls: Path) -> None:
    cert, key = tls / "clients" / "alice.crt", tls / "clients" / "alice.key"
    made = Tls(TlsFiles(tls / "ca.crt", cert, key))
    contexts = [made.now(), made.now()]
    for name, holds in (("bob.crt", cert), ("bob.key", key)):
        holds.write_bytes((tls / "clients" / name).read_bytes())
        if holds == cert:
            with pytest.raises(TlsFileError, match="is not the key"):
                made.now()
    contexts += [made.now(), made.now()]
    (tls / "ca.crt").unlink()
    with pytest.raises(TlsFileError, match="No such file"):
        made.now()
    assert contexts[0] is contexts[1]
    assert contexts[1] is not contexts[2]
    assert contexts[2] is contexts[3]


def test_it_is_made_anew_where_the_system_trusts_others(tls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tls / "ca.crt"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tls))
    made = Tls(TlsFiles())
    first = made.now()
    assert made.now() is first
    os.utime(tls / "ca.crt", ns=(0, 1))
    second = made.now()
    os.utime(tls, ns=(0, 1))
    assert len({id(each) for each in (first, second, made.now())}) == 3
