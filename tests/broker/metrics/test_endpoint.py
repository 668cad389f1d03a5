"""What the pages answer, and what becomes of clients that are wrong, slow or many."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from broker.metrics import endpoint
from broker.metrics.endpoint import CONNECTIONS_MOST, HEAD_MOST, Watch, listening
from broker.settings import MetricsSettings, SettingsError, from_document
from tests.virtual_plant import Plant, play

ANYWHERE = MetricsSettings("127.0.0.1:0")


async def ask(port: int, head: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send a head; status, header fields and body of the answer, 0 where the connection just ended."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(head)
        answer = await reader.read()
    except ConnectionResetError:  # refused before it was read
        answer = b""
    finally:
        writer.close()
    if not answer:
        return 0, {}, b""
    top, _, body = answer.partition(b"\r\n\r\n")
    status, *fields = top.decode().split("\r\n")
    return int(status.split(" ")[1]), dict(field.lower().split(": ", 1) for field in fields), body


async def get(port: int, path: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    """Ask for a page as a client does."""
    return await ask(port, f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())


@asynccontextmanager
async def served(watch: Watch | None = None) -> AsyncIterator[int]:
    """The port of pages."""
    async with listening(ANYWHERE, watch or Watch()) as port:
        yield port


async def test_a_service_that_does_not_run_yet_is_healthy_and_not_ready() -> None:
    async with served() as port:
        assert (await get(port, "/healthz"))[0] == 200
        status, _, body = await get(port, "/readyz")
        assert (status, b"MQTT server" in body) == (503, True)
        assert (await get(port, "/metrics"))[0] == 503


async def test_head_says_the_same_without_a_body() -> None:
    async with served() as port:
        status, fields, body = await get(port, "/healthz", "HEAD")
        _, same, text = await get(port, "/healthz")
        assert (status, fields, body) == (200, same, b"")
        assert int(fields["content-length"]) == len(text) > 0


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", 405),
        (b"DELETE / HTTP/1.1\r\n\r\n", 405),
        (b"GET / HTTP/1.1\r\n\r\n", 404),
        (b"GET /metrics/../healthz HTTP/1.1\r\n\r\n", 404),
        (b"GET /healthz?x=1 HTTP/1.0\r\n\r\n", 200),
        (b"GET /healthz\r\n\r\n", 400),
        (b"GET /healthz HTTP/2.0\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
        (b"\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nX: " + b"x" * (3 * HEAD_MOST), 431),
        (b"GET /heal", 0),
    ],
)
async def test_odd_requests_are_told_so(head: bytes, status: int) -> None:
    async with served() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head)
        if status == 0:
            writer.write_eof()
        try:
            answer = await reader.read()
        except ConnectionResetError:  # it went away while much was still being sent
            answer = b"HTTP/1.1 431 "
        writer.close()
        assert answer[9:12] == (b"" if not status else str(status).encode())
        assert (await get(port, "/healthz"))[0] == 200
        if status == 405:
            assert b"Allow: GET, HEAD\r\n" in answer


async def test_who_says_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "PATIENCE_S", 0.05)
    async with served() as port:
        assert (await ask(port, b"GET /metrics HTTP/1.1\r\n"))[0] == 0


async def test_connections_are_bounded() -> None:
    async with served() as port:
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(CONNECTIONS_MOST)]
        while (answer := await get(port, "/healthz"))[0] == 200:  # until the server has seen the others
            pass
        assert answer[0] in (503, 0)
        for _, writer in idle:
            writer.close()
        while (await get(port, "/healthz"))[0] != 200:
            pass


async def test_without_a_setting_nothing_is_listened_on() -> None:
    async with listening(MetricsSettings(), Watch()) as port:
        assert port == 0


async def test_an_address_in_use_is_told_by_the_setting() -> None:
    async with served() as port:
        taken = MetricsSettings(f"127.0.0.1:{port}")
        with pytest.raises(SettingsError, match=rf"metrics\.listen: 127\.0\.0\.1:{port}: .*in use"):
            async with listening(taken, Watch()):
                pass


def test_the_pages_of_a_service_that_runs(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        watch = Watch()
        watch.reading = plant.service.reading
        page = await watch.metrics()
        assert (page.status, page.content_type.startswith("text/plain; version=")) == (200, True)
        assert b'\narmbroker_arms{authority="control",presence="online"} 2.0\n' in page.body
        assert (await watch.health()).status == (await watch.readiness()).status == 200
        plant.link.lose()
        page = await watch.readiness()
        assert (page.status, page.body) == (503, b"it is not connected to the MQTT server\n")
        assert (await watch.health()).status == 200
        turnstile = plant.service._stage_1.turnstile
        turnstile._picking = plant.loop.call_later(3600.0, turnstile._pick)
        page = await watch.health()
        assert (page.status, page.body) == (503, b"nothing passed what serves requests within 5 s\n")
        turnstile.open = False
        assert (await watch.health()).status == 200
        assert (await watch.readiness()).body == b"it is starting\n"

    play(tmp_path, scenario)


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ({"listen": "9464"}, "is no host:port"),
        ({"listen": "127.0.0.1:99999"}, "is no host:port"),
        ({"listen": "127.0.0.1:9464/metrics"}, "is no host:port"),
        ({"listen": "0.0.0.0:9464"}, "is not on loopback"),
        ({"listen": "[::]:9464"}, "is not on loopback"),
        ({"listen": "plant-pc:9464"}, "is not on loopback"),
    ],
)
def test_addresses_that_cannot_be_are_refused(table: dict[str, str], text: str) -> None:
    with pytest.raises(SettingsError, match=text) as caught:
        from_document({"metrics": table})
    assert str(caught.value).startswith("metrics.listen: ")


@pytest.mark.parametrize(
    ("table", "address"),
    [
        ({"listen": "127.0.0.1:9464"}, ("127.0.0.1", 9464)),
        ({"listen": "localhost:0"}, ("localhost", 0)),
        ({"listen": "[::1]:9464"}, ("::1", 9464)),
        ({"listen": "0.0.0.0:9464", "allow_remote": True}, ("0.0.0.0", 9464)),  # noqa: S104 - nothing listens
    ],
)
def test_addresses_that_can_be(table: dict[str, object], address: tuple[str, int]) -> None:
    assert from_document({"metrics": table}).metrics.address == address
