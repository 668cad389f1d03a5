"""The page's server over real sockets."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest

from armbroker.board.board import Board, RowChanged
from armbroker.board.feed import Feed
from armbroker.client import ArmClient
from armbroker.web import answers as answers_module
from armbroker.web import http
from armbroker.web import server as server_module
from armbroker.web.answers import Answers
from armbroker.web.files import FILES
from armbroker.web.http import HEAD_MOST, Hosts
from armbroker.web.server import Bind, PageServer, parse_bind
from armbroker.web.stream import Pace, Viewers
from tests.armbroker.board.documents import told

WAIT_S = 20.0


class Site(NamedTuple):
    board: Board
    viewers: Viewers
    port: int


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """A page of one arm, for two viewers at most; a viewer may read nothing for a fifth of a second."""
    board = Board()
    for each in told():
        board.take(each, 0.0, 0.0)
    viewers = Viewers(board, 2, Pace(between_s=0.0, alive_s=0.1, stall_s=0.2))
    feed = Feed(ArmClient("mqtt://127.0.0.1:1", user="u", conn="c"), board, viewers.tell)
    server = await PageServer(Answers(board, feed), viewers, Hosts([])).listen(Bind("127.0.0.1", 0))
    yield Site(board, viewers, server.sockets[0].getsockname()[1])
    server.close()


async def exchange(site: Site, sent: bytes) -> Reply:
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    writer.write(sent)
    answered = await asyncio.wait_for(reader.read(), WAIT_S)
    writer.close()
    head, _, body = answered.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return Reply(int(first.split()[1]), headers, body)


async def get(site: Site, path: str, *headers: str, method: str = "GET") -> Reply:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers]
    return await exchange(site, "\r\n".join([*lines, "", ""]).encode())


@pytest.mark.parametrize("path", FILES)
async def test_files(site: Site, path: str) -> None:
    reply = await get(site, path)
    assert (reply.status, int(reply.headers["content-length"])) == (200, len(reply.body))
    assert "script-src 'self'" in reply.headers["content-security-policy"]
    head = await get(site, path, method="HEAD")
    assert (head.status, head.headers, head.body) == (200, reply.headers, b"")
    again = await get(site, path, f"If-None-Match: {reply.headers['etag']}")
    assert (again.status, again.body) == (304, b"")


async def test_the_detail_of_an_arm(site: Site) -> None:
    reply = await get(site, "/api/arm/r1")
    detail: dict[str, Any] = json.loads(reply.body)
    assert (detail["row"]["id"], detail["mode"]) == ("r1", "ANGULAR_JOYSTICK")
    assert {limit["layer"] for limit in detail["limits"]} == {"hard", "soft"}
    assert reply.headers["cache-control"] == "no-store"
    other = json.loads((await get(site, "/api/arm/r1?mode=IDLE")).body)
    assert other["mode"] == "IDLE"


async def test_a_comparison(site: Site) -> None:
    facts = json.loads((await get(site, "/api/compare?arm=r1&arm=r1")).body)["facts"]
    assert not any(fact["differs"] for fact in facts)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/arm/r2", 404),
        ("/api/arm/", 404),
        ("/api/arm/../../etc/passwd", 404),
        ("/api/nothing", 404),
        ("/%2e%2e/pyproject.toml", 404),
        ("/page.css/", 404),
        ("/api/compare", 400),
        ("/api/compare?" + "&".join(["arm=r1"] * 9), 400),
        ("/api/compare?arm=r1&arm=zz", 404),
        ("/api/history/zz?item=a", 404),
        ("/api/arm/r1?mode=a&mode=b", 400),
    ],
)
async def test_what_is_not_there_is_said(site: Site, path: str, status: int) -> None:
    reply = await get(site, path)
    assert reply.status == status
    assert reply.headers["content-type"].startswith("text/plain")
    assert reply.body


async def test_a_history_that_nobody_answers_says_so(site: Site) -> None:
    reply = json.loads((await get(site, "/api/history/r1?item=gravity_vector&slot=&path=z")).body)
    assert reply["points"] == []
    assert "not connected" in reply["why"]


async def test_layers_that_nobody_tells(site: Site) -> None:
    reply = json.loads((await get(site, "/api/layers/r1?quantity=velocity&joint=joint_1&mode=")).body)
    assert reply["layers"] == []
    assert "not connected" in reply["why"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
@pytest.mark.parametrize("path", ["/", "/api/arm/r1", "/api/stream"])
async def test_only_reading_is_known(site: Site, method: str, path: str) -> None:
    reply = await get(site, path, method=method)
    assert (reply.status, reply.headers["allow"]) == (405, "get, head")


async def test_another_host_is_refused(site: Site) -> None:
    assert (await exchange(site, b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")).status == 421
    assert (await exchange(site, b"GET / HTTP/1.0\r\n\r\n")).status == 421


async def test_odd_clients_harm_nobody(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await exchange(site, b"\x00\x01\x02\r\n\r\n")).status == 400
    assert (
        await exchange(site, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * HEAD_MOST + b"\r\n\r\n")
    ).status == 431
    _, writer = await asyncio.open_connection("127.0.0.1", site.port)
    writer.close()  # goes without a word
    monkeypatch.setattr(http, "HEAD_S", 0.1)
    assert (await exchange(site, b"GET / HTTP/1.1\r\n")).status == 408
    assert (await get(site, "/")).status == 200


async def test_connections_are_bounded(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "CONNECTIONS", 1)
    _, first = await asyncio.open_connection("127.0.0.1", site.port)
    second, writer = await asyncio.open_connection("127.0.0.1", site.port)
    with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
        await asyncio.wait_for(second.readexactly(1), WAIT_S)
    first.close()
    writer.close()


@pytest.mark.parametrize("path", ["/api/history/r1?item=gravity_vector", "/api/layers/r1?quantity=velocity"])
async def test_questions_are_bounded(site: Site, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr(answers_module, "QUESTIONS", 0)
    reply = await get(site, path)
    assert (reply.status, b"try again" in reply.body) == (503, True)


async def open_stream(site: Site) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    writer.write(b"GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert b"text/event-stream" in await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), WAIT_S)
    assert (await asyncio.wait_for(reader.readuntil(b"\n\n"), WAIT_S)).startswith(b"event: all\n")
    return reader, writer


async def test_changes_come_as_they_are(site: Site) -> None:
    reader, writer = await open_stream(site)
    site.viewers.tell([RowChanged("r1")])
    told_next = b": alive\n\n"
    while told_next == b": alive\n\n":
        told_next = await asyncio.wait_for(reader.readuntil(b"\n\n"), WAIT_S)
    assert told_next.startswith(b'event: delta\ndata: {"rows":[{"id":"r1"')
    writer.close()


async def test_a_stream_that_is_quiet_shows_that_it_lives(site: Site) -> None:
    reader, writer = await open_stream(site)
    assert await asyncio.wait_for(reader.readuntil(b"\n\n"), WAIT_S) == b": alive\n\n"
    writer.close()


async def test_pages_are_bounded_and_a_place_is_free_again(site: Site) -> None:
    streams = [await open_stream(site) for _ in range(2)]
    reply = await get(site, "/api/stream")
    assert reply.status == 503
    streams[0][1].close()
    async with asyncio.timeout(WAIT_S):
        while site.viewers.full:  # noqa: ASYNC110 - what the loop of the server does next tells nobody
            await asyncio.sleep(0.01)
    (await open_stream(site))[1].close()
    streams[1][1].close()


async def test_a_page_that_reads_nothing_is_let_go_with_a_hint(site: Site) -> None:
    lazy = socket.socket()
    lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    lazy.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(lazy, ("127.0.0.1", site.port))
    await loop.sock_sendall(lazy, b"GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
    other, writer = await open_stream(site)
    async with asyncio.timeout(WAIT_S):
        while site.viewers.full:
            site.viewers.tell([RowChanged("r1")])
            await asyncio.sleep(0)
    site.viewers.tell([RowChanged("r1")])
    await asyncio.wait_for(other.readuntil(b"event: delta"), WAIT_S)
    writer.close()
    read = b""
    async with asyncio.timeout(WAIT_S):
        while part := await loop.sock_recv(lazy, 65_536):
            read = (read + part)[-200:]
    assert read.endswith(b'event: slow\ndata: {"stalled_s":0.2}\n\n')
    lazy.close()


def test_where_to_listen() -> None:
    assert parse_bind("127.0.0.1:8080") == Bind("127.0.0.1", 8080)
    assert parse_bind("[::1]:0") == Bind("::1", 0)


@pytest.mark.parametrize("text", ["8080", ":8080", "host", "host:", "host:x", "host:99999", "[]:80"])
def test_where_nobody_can_listen(text: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        parse_bind(text)
