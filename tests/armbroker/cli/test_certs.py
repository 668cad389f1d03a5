"""Certificates for development: what is made, what stays, what is refused."""

import datetime as dt
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from typer.testing import CliRunner

from armbroker.certificates import CertsError, Wanted, make
from armbroker.cli.commands import app
from armbroker.cli.exits import Exit

NOW = dt.datetime(2026, 12, 1, 9, 0, tzinfo=dt.UTC)
BOTH = Wanted(("plant.example", "10.1.2.3"), ("svc", "a.b"), 30)


def cert(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_server_and_clients_are_signed_by_the_authority(tmp_path: Path) -> None:
    written = make(tmp_path / "tls", BOTH, NOW)
    assert [path.name for path in written] == ["ca.crt", "server.crt", "svc.crt", "a.b.crt"]
    authority = cert(written[0])
    for path in written[1:]:
        cert(path).verify_directly_issued_by(authority)
        assert cert(path).not_valid_after_utc == NOW + dt.timedelta(days=30)
    names = cert(written[1]).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["plant.example"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["10.1.2.3"]
    client = cert(written[2])
    assert client.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == "svc"
    usage = client.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_keys_are_for_their_owner_alone(tmp_path: Path) -> None:
    make(tmp_path / "tls", BOTH, NOW)
    keys = list((tmp_path / "tls").rglob("*.key"))
    assert len(keys) == 4
    assert {path.stat().st_mode & 0o777 for path in keys} == {0o600}
    assert (tmp_path / "tls").stat().st_mode & 0o777 == 0o700


def test_what_is_there_stays_unless_it_is_renewed(tmp_path: Path) -> None:
    make(tmp_path, BOTH, NOW)
    before = everything(tmp_path)
    assert make(tmp_path, BOTH, NOW) == []
    assert everything(tmp_path) == before
    added = make(tmp_path, Wanted((), ("bob",), 30), NOW)
    assert [path.name for path in added] == ["bob.crt"]
    renewed = make(tmp_path, BOTH._replace(renew=True), NOW)
    assert [path.name for path in renewed] == ["server.crt", "svc.crt", "a.b.crt"]
    after = everything(tmp_path)
    assert after["ca.crt"] == before["ca.crt"]
    assert after["clients/svc.key"] != before["clients/svc.key"]
    cert(renewed[1]).verify_directly_issued_by(cert(tmp_path / "ca.crt"))


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (Wanted(("a b",), (), 30), "--host 'a b'"),
        (Wanted(("",), (), 30), "--host ''"),
        (Wanted((), ("a/b",), 30), "--client 'a/b'"),
        (Wanted((), ("../../x",), 30), "--client '../../x'"),
        (Wanted((), ("+",), 30), r"--client '\+'"),
        (Wanted((), ("alice",), 0), "--days 0"),
        (Wanted((), ("alice",), 826), "--days 826"),
    ],
)
def test_what_cannot_be_signed_is_refused_and_nothing_is_made(tmp_path: Path, wanted: Wanted, why: str) -> None:
    with pytest.raises(CertsError, match=why):
        make(tmp_path / "tls", wanted, NOW)
    assert not (tmp_path / "tls").exists()


@pytest.mark.parametrize(("name", "text"), [("ca.key", None), ("ca.crt", None), ("ca.key", "nonsense"), ("ca.crt", "")])
def test_half_an_authority_is_named(tmp_path: Path, name: str, text: str | None) -> None:
    make(tmp_path, BOTH, NOW)
    if text is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text(text)
    with pytest.raises(CertsError, match=name):
        make(tmp_path, Wanted((), ("bob",), 3), NOW)


def test_a_key_of_another_authority_is_refused(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        make(tmp_path / folder, BOTH, NOW)
    (tmp_path / "one" / "ca.key").write_bytes((tmp_path / "two" / "ca.key").read_bytes())
    with pytest.raises(CertsError, match="is not the key of"):
        make(tmp_path / "one", Wanted((), ("bob",), 3), NOW)


def test_the_command_says_what_it_is_for(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["certs", str(tmp_path / "tls"), "--host", "localhost", "--client", "svc"])
    assert done.exit_code == Exit.OK
    assert f"{tmp_path}/tls/clients/svc.crt" in done.stdout
    assert "For development and trials" in done.stderr
    assert CliRunner().invoke(app, ["certs", str(tmp_path), "--client", "a/b"]).exit_code == Exit.USAGE
