"""A certificate authority for development, and what it signs."""

import datetime as dt
import ipaddress
import os
import re
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from broker.topics import is_name

AHEAD = dt.timedelta(minutes=5)
"""Certificates count from a little before now: clocks differ."""
CA_DAYS = 3650
LONGEST_DAYS = 825
SERVER = "server"
_LABEL = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)")


class CertsError(ValueError):
    """What cannot be signed, or is in the way; it names it."""


class Wanted(NamedTuple):
    """What the directory shall hold: names of the MQTT server, users, days that certificates last."""

    hosts: tuple[str, ...]
    clients: tuple[str, ...]
    days: int
    renew: bool = False


class _Pair(NamedTuple):
    cert: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def make(folder: Path, wanted: Wanted, now: dt.datetime) -> list[Path]:
    """Make what is missing, of the authority, the server and the clients; the certificates that were written.

    Raises:
        CertsError: a name cannot be used, or the authority in `folder` is damaged.
        OSError: `folder` cannot be written.
    """
    alternatives = [_alternative(host) for host in wanted.hosts]
    for client in wanted.clients:
        if not is_name(client):
            raise CertsError(f"--client {client!r}: no user ([A-Za-z0-9][A-Za-z0-9._-]{{0,62}})")
    if not 1 <= wanted.days <= LONGEST_DAYS:
        raise CertsError(f"--days {wanted.days}: not between 1 and {LONGEST_DAYS}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "clients").mkdir(exist_ok=True)
    written = []
    if not (folder / "ca.crt").exists() and not (folder / "ca.key").exists():
        written.append(_write(folder / "ca", _authority(folder, now)))
    authority = _read(folder / "ca")
    until = now + dt.timedelta(days=wanted.days)
    jobs: list[tuple[Path, str, list[x509.GeneralName]]] = [
        (folder / "clients" / name, name, []) for name in dict.fromkeys(wanted.clients)
    ]
    if alternatives:
        jobs.insert(0, (folder / SERVER, wanted.hosts[0], alternatives))
    for stem, name, names in jobs:
        if wanted.renew or not _of(stem, ".crt").exists():
            written.append(_write(stem, _signed(authority, name, names, (now - AHEAD, until))))
    return written


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        if len(host) > 253 or not all(map(_LABEL.fullmatch, host.split("."))):  # noqa: PLR2004 - as DNS says
            raise CertsError(f"--host {host[:80]!r}: no name of a host, and no address") from None
        return x509.DNSName(host)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=signs_certificates, crl_sign=signs_certificates,
        encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _authority(folder: Path, now: dt.datetime) -> _Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(f"armbroker development CA {folder.resolve().name}")
    builder = _builder(name, name, key.public_key(), (now - AHEAD, now + dt.timedelta(days=CA_DAYS)))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
    return _Pair(builder.sign(key, hashes.SHA256()), key)


def _signed(
    authority: _Pair, name: str, names: list[x509.GeneralName], during: tuple[dt.datetime, dt.datetime]
) -> _Pair:
    """A certificate of the server (with `names`) or of a client, its user being the common name."""
    key = ec.generate_private_key(ec.SECP256R1())
    purpose = ExtendedKeyUsageOID.SERVER_AUTH if names else ExtendedKeyUsageOID.CLIENT_AUTH
    last = min(during[1], authority.cert.not_valid_after_utc)
    builder = _builder(_name(name), authority.cert.subject, key.public_key(), (during[0], last))
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    builder = builder.add_extension(issuer, critical=False)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return _Pair(builder.sign(authority.key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, during: tuple[dt.datetime, dt.datetime]
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number(), *during)
    return builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)


def _of(stem: Path, suffix: str) -> Path:
    """A file beside others; names of users may have dots."""
    return stem.with_name(f"{stem.name}{suffix}")


def _write(stem: Path, pair: _Pair) -> Path:
    """The key first, each in one go; whoever reads a new key with an old certificate tries again."""
    kind, no_passphrase = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    _replace(_of(stem, ".key"), pair.key.private_bytes(serialization.Encoding.PEM, kind, no_passphrase), 0o600)
    cert = _of(stem, ".crt")
    _replace(cert, pair.cert.public_bytes(serialization.Encoding.PEM), 0o644)
    return cert


def _replace(path: Path, data: bytes, mode: int) -> None:
    fresh = _of(path, ".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)
        os.fsync(file.fileno())
    fresh.replace(path)


def _read(stem: Path) -> _Pair:
    """The authority of the directory."""
    cert, key = _of(stem, ".crt"), _of(stem, ".key")
    for path in (cert, key):
        if not path.exists():
            raise CertsError(f"{path}: missing, though the other half of the authority is there")
    try:
        found = x509.load_pem_x509_certificate(cert.read_bytes())
        private = serialization.load_pem_private_key(key.read_bytes(), password=None)
    except (ValueError, TypeError) as error:
        raise CertsError(f"{cert}, {key}: no certificate and key in PEM: {error}") from None
    if not isinstance(private, ec.EllipticCurvePrivateKey) or found.public_key() != private.public_key():
        raise CertsError(f"{key}: is not the key of {cert}")
    return _Pair(found, private)
