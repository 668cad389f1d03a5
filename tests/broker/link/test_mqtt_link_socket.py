"""Conformance of every link: its TCP socket, and TLS."""

import os
import shutil
import socket
import ssl
import subprocess
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from broker.link import kept_link
from broker.link.mqtt_link import LinkConfig, LinkConfigError, LinkUnreachableError
from broker.tls import TlsFiles
from tests.links import LinkMaker, payloads, take, until
from tests.mosquitto import Mosquitto, free_port

FAILED = "mqtt_connection_failed"
EC_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1")


def nodelay_options(port: int) -> list[int]:
    """TCP_NODELAY of each connection of this process to `port`."""
    options = []
    for entry in Path("/proc/self/fd").iterdir():
        if entry.is_socket():
            with socket.socket(fileno=os.dup(int(entry.name))) as one, suppress(OSError, IndexError):
                if one.getpeername()[1] == port:
                    options.append(one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
    return options


def openssl(folder: Path, *arguments: str) -> None:
    """Run openssl in `folder`; the test is skipped where it is missing."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is missing: apt install openssl")
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make_ca(folder: Path, name: str) -> Path:
    """A certificate authority of the test's own."""
    openssl(folder, "req", "-x509", *EC_KEY, "-keyout", f"{name}.key", "-out", f"{name}.crt", "-subj", f"/CN={name}")
    return folder / f"{name}.crt"


@pytest.fixture
def tls_server(tmp_path: Path, start_mosquitto: Callable[[str], Mosquitto]) -> Mosquitto:
    """A Mosquitto with TLS; its certificate is for `127.0.0.1`, not `localhost`, from the authority `ca`."""
    make_ca(tmp_path, "ca")
    openssl(
        tmp_path,
        *("req", "-x509", *EC_KEY, "-CA", "ca.crt", "-CAkey", "ca.key", "-keyout", "server.key", "-out", "server.crt"),
        *("-subj", "/CN=server", "-addext", "subjectAltName=IP:127.0.0.1"),
    )
    return start_mosquitto(
        "listener {port}\nallow_anonymous true\nuser root\ntls_version tlsv1.3\n"
        f"cafile {tmp_path}/ca.crt\ncertfile {tmp_path}/server.crt\nkeyfile {tmp_path}/server.key\n"
    )


async def test_nagle_is_off(start_mosquitto: Callable[[str], Mosquitto], make_link: LinkMaker, name: str) -> None:
    server = start_mosquitto("")
    link = make_link(LinkConfig(url=server.url, client_id=name, filters=("a",)))
    await link.open()
    assert nodelay_options(server.port) == [1]


async def test_tls_with_a_ca_file(tls_server: Mosquitto, tmp_path: Path, make_link: LinkMaker, name: str) -> None:
    url = f"mqtts://127.0.0.1:{tls_server.port}"
    link = make_link(LinkConfig(url=url, client_id=name, filters=(f"{name}/a",), tls=TlsFiles(tmp_path / "ca.crt")))
    await link.open()
    link.publish(f"{name}/a", b"1")
    got = await take(link.messages(), 1)
    await link.ack(got)
    assert payloads(got) == [b"1"]
    assert nodelay_options(tls_server.port) == [1]


async def test_a_server_that_is_gone_costs_no_work_and_is_told_of_once(
    tls_server: Mosquitto, tmp_path: Path, make_link: LinkMaker, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts, made = 0, 0

    def read() -> str:
        nonlocal attempts
        attempts += 1
        return ""

    def make(*, cafile: Path | None) -> ssl.SSLContext:
        nonlocal made
        made += 1
        return usual(cafile=cafile)

    usual = ssl.create_default_context
    monkeypatch.setattr(ssl, "create_default_context", make)
    url, tls = f"mqtts://127.0.0.1:{tls_server.port}", TlsFiles(tmp_path / "ca.crt")
    link = make_link(LinkConfig(url=url, client_id=name, filters=("a",), tls=tls, read_password=read, retry_max_s=0.1))
    await link.open()
    for _ in range(2):
        with capture_logs() as logs:
            tls_server.stop()
            begun = attempts
            await until(lambda: attempts > begun + 5)  # noqa: B023 - it is asked in this round alone
        told = [one["cause"] for one in logs if one["event"] == FAILED]
        assert told
        assert all(one != following for one, following in pairwise(told))
        tls_server.start()
        await until(lambda: link.connected)
    assert made == 1


async def test_a_server_that_is_gone_is_told_of_from_time_to_time(
    start_mosquitto: Callable[[str], Mosquitto], make_link: LinkMaker, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_link, "REMIND_S", 0.0)
    server = start_mosquitto("")
    link = make_link(LinkConfig(url=server.url, client_id=name, filters=("a",), retry_max_s=0.1))
    await link.open()
    with capture_logs() as logs:
        server.stop()
        await until(
            lambda: max(Counter(one["cause"] for one in logs if one["event"] == FAILED).values(), default=0) > 1
        )


async def test_another_authority_is_not_trusted(
    tls_server: Mosquitto, tmp_path: Path, make_link: LinkMaker, name: str
) -> None:
    url = f"mqtts://127.0.0.1:{tls_server.port}"
    link = make_link(LinkConfig(url=url, client_id=name, filters=("a",), tls=TlsFiles(make_ca(tmp_path, "other"))))
    with pytest.raises(LinkUnreachableError) as refused:
        await link.open()
    assert refused.value.lasting


async def test_without_a_ca_file_the_authorities_of_the_system_decide(
    tls_server: Mosquitto, make_link: LinkMaker, name: str
) -> None:
    link = make_link(LinkConfig(url=f"mqtts://127.0.0.1:{tls_server.port}", client_id=name, filters=("a",)))
    with pytest.raises(LinkUnreachableError) as refused:
        await link.open()
    assert refused.value.lasting


async def test_the_host_name_is_checked(tls_server: Mosquitto, tmp_path: Path, make_link: LinkMaker, name: str) -> None:
    url = f"mqtts://localhost:{tls_server.port}"
    link = make_link(LinkConfig(url=url, client_id=name, filters=("a",), tls=TlsFiles(tmp_path / "ca.crt")))
    with pytest.raises(LinkUnreachableError, match="localhost") as refused:
        await link.open()
    assert refused.value.lasting


@pytest.mark.parametrize("text", [None, "no certificate"])
async def test_an_unusable_ca_file_is_refused_by_name(
    tmp_path: Path, make_link: LinkMaker, name: str, text: str | None
) -> None:
    path = tmp_path / "ca.crt"
    if text is not None:
        path.write_text(text)
    url = f"mqtts://127.0.0.1:{free_port()}"
    link = make_link(LinkConfig(url=url, client_id=name, filters=("a",), tls=TlsFiles(path)))
    with pytest.raises(LinkConfigError, match=r"^mqtt\.ca_file: .*ca\.crt"):
        await link.open()
