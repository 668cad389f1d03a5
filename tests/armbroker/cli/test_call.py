"""What `armbroker call` refuses before anything is sent."""

from pathlib import Path

import pytest

from armbroker.cli.call import Request, run
from armbroker.cli.exits import Exit
from armbroker.cli.login import Account
from broker.tls import TlsFiles
from tests.mosquitto import free_port


@pytest.mark.parametrize(
    ("params", "options", "why"),
    [
        ('{"z":-9.81,"z":9.81}', {}, "PARAMS-JSON: key 'z' is given twice"),
        ('{"a":{"b":1,"b":2}}', {}, "key 'b' is given twice"),
        ("[" * 100_000, {}, "PARAMS-JSON: nested too deep"),
        ("[1]", {}, "an object is wanted"),
        ("{", {}, "PARAMS-JSON: "),
        ("{}", {"wait": "aplied"}, "--wait: 'aplied' is none of applied, stored; did you mean 'applied'?"),
        ("{}", {"unit": "degrees"}, "--unit: 'degrees' is none of deg, rad"),
        ("{}", {"view": "all"}, "--view: 'all' is none of reported, desired, ground"),
    ],
)
def test_what_cannot_be_sent_is_usage(
    params: str, options: dict[str, str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    account = Account(f"mqtt://127.0.0.1:{free_port()}", "alice", "a-1", None, TlsFiles(), "armbroker")
    request = Request("r12", "SetGravityVector", params, 1.0, None, options)  # type: ignore[arg-type] # any words
    assert run(account, request, as_json=False) == Exit.USAGE
    told = capsys.readouterr().err
    assert why in told
    assert "Traceback" not in told


@pytest.mark.parametrize(("text", "why"), [(None, "No such file"), ("no certificate", "holds no certificates")])
def test_a_file_of_authorities_that_cannot_be_used_is_named(
    tmp_path: Path, text: str | None, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ca.crt"
    if text is not None:
        file.write_text(text)
    account = Account("mqtts://127.0.0.1:1", "alice", "a-1", None, TlsFiles(file), "armbroker")
    request = Request("r12", "GetControlMode", "{}", 1.0, None, {})
    assert run(account, request, as_json=False) == Exit.USAGE
    told = capsys.readouterr().err
    assert str(file) in told
    assert why in told


@pytest.mark.parametrize(
    ("valid_for", "until", "why"),
    [
        ("soon", None, "--valid-for: 'soon' is no length; write for example 90s, 10min, 2h or 3d"),
        (None, "soon", "--until: 'soon' is no time; write for example 22:00 or 2026-11-30T22:00:00+01:00"),
        (None, "2020-01-01T00:00:00Z", "--until: '2020-01-01T00:00:00Z' is past"),
    ],
)
def test_an_end_that_is_none_is_usage(
    valid_for: str | None, until: str | None, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    account = Account(f"mqtt://127.0.0.1:{free_port()}", "alice", "a-1", None, TlsFiles(), "armbroker")
    request = Request("r12", "SetGravityVector", "{}", 1.0, None, {}, valid_for=valid_for, until=until)
    assert run(account, request, as_json=False) == Exit.USAGE
    assert why in capsys.readouterr().err
