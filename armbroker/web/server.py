"""The HTTP server of the page: who may ask, and who answers."""

import asyncio
import contextlib
import logging
from http import HTTPStatus
from typing import NamedTuple

from armbroker.web.answers import Answers
from armbroker.web.files import page_files
from armbroker.web.http import HEAD_MOST, Answer, Hosts, HttpError, Request, bytes_of, head_of, read_request, refusal
from armbroker.web.stream import Viewers

LOG = logging.getLogger(__name__)

CONNECTIONS = 256
"""Connections at once; further ones are closed unread."""
HIGHEST_PORT = 65_535
WRITE_S = 20.0
"""How long a client may take to read an answer."""
_STREAM = {"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class Bind(NamedTuple):
    """Where to listen."""

    host: str
    port: int


def parse_bind(text: str) -> Bind:
    """Host and port of `127.0.0.1:8080` or `[::1]:8080`.

    Raises:
        ValueError: it is neither.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not host.strip("[]") or not port.isascii() or not port.isdigit() or int(port) > HIGHEST_PORT:
        raise ValueError(f"--bind {text!r}: HOST:PORT is wanted, for example 127.0.0.1:8080")
    return Bind(host.removeprefix("[").removesuffix("]"), int(port))


class PageServer:
    """Serves the page, what it asks for, and its stream."""

    def __init__(self, answers: Answers, viewers: Viewers, hosts: Hosts) -> None:
        self._answers = answers
        self._viewers = viewers
        self._hosts = hosts
        self._files = page_files()
        self._connections = 0

    async def listen(self, bind: Bind) -> asyncio.Server:
        """Begin to serve.

        Raises:
            OSError: the address cannot be had.
        """
        return await asyncio.start_server(self._connected, bind.host, bind.port, limit=HEAD_MOST)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._connections >= CONNECTIONS:
            writer.transport.abort()
            return
        self._connections += 1
        try:
            await self._serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            writer.transport.abort()  # it went away, or reads nothing
        except asyncio.CancelledError:  # the end of the program; asyncio's streams take a cancelled task for a fault
            writer.transport.abort()
        except Exception:
            LOG.exception("a request could not be answered")
            writer.transport.abort()
        finally:
            self._connections -= 1
            await _end(writer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with_body = True
        try:
            request = await read_request(reader)
            with_body = request.method != "HEAD"
            self._hosts.check(request)
            if request.path == "/api/stream":
                await self._stream(request, reader, writer)
                return
            answer = await self._answer(request)
        except HttpError as error:
            answer = refusal(error)
        writer.write(bytes_of(answer, with_body=with_body))
        async with asyncio.timeout(WRITE_S):
            await writer.drain()

    async def _answer(self, request: Request) -> Answer:
        if request.path.startswith("/api/"):
            return await self._answers.answer(request)
        file = self._files.get(request.path)
        if file is None:
            raise HttpError(HTTPStatus.NOT_FOUND, "there is nothing here")
        headers = {"ETag": file.tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == file.tag:
            return Answer(b"", file.kind, HTTPStatus.NOT_MODIFIED, headers)
        return Answer(file.body, file.kind, HTTPStatus.OK, headers)

    async def _stream(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._viewers.full:
            raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, "as many pages as may be are open already")
        writer.write(head_of(HTTPStatus.OK, _STREAM))
        if request.method == "GET":
            await self._viewers.serve(reader, writer)


async def _end(writer: asyncio.StreamWriter) -> None:
    """Close; what is not read within a while is thrown away."""
    writer.close()
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(WRITE_S):
            await writer.wait_closed()
            return
    writer.transport.abort()
