"""The three pages for those who watch the service, over HTTP: `/metrics`, `/healthz`, `/readyz`."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import NamedTuple

import structlog

from broker.metrics.figures import Reading
from broker.settings import MetricsSettings, SettingsError

log = structlog.get_logger()

HEAD_MOST = 8_192
"""Bytes of a request's head."""
CONNECTIONS_MOST = 16
"""Connections at once; more are told so and closed."""
PATIENCE_S = 5.0
"""How long a client may take to send its request, and to take the answer."""
STILL_S = 5.0
"""How long a request may need to pass what serves requests."""
TEXT = "text/plain; charset=utf-8"


class Page(NamedTuple):
    """An answer."""

    status: HTTPStatus
    body: bytes
    content_type: str = TEXT


class Watch:
    """Answers for the run of the service that goes on now, and for the time between two of them."""

    def __init__(self) -> None:
        self.reading: Reading | None = None
        """The present run; None between runs, and before the first."""

    async def metrics(self) -> Page:
        """What Prometheus scrapes."""
        from broker.metrics.exposition import CONTENT_TYPE, text_of  # noqa: PLC0415 - only where metrics are wanted

        reading = self.reading
        if reading is None:
            return _unavailable("the service does not run yet")
        await reading.count_arms()
        body = await asyncio.to_thread(text_of, reading.figures())
        return Page(HTTPStatus.OK, body, CONTENT_TYPE)

    async def health(self) -> Page:
        """Whether the process is any good: what serves requests goes round. One that waits or starts is well."""
        reading = self.reading
        if reading is None or not reading.serving:
            return Page(HTTPStatus.OK, b"ok: starting\n")
        if await reading.passes(STILL_S):
            return Page(HTTPStatus.OK, b"ok\n")
        return _unavailable(f"nothing passed what serves requests within {STILL_S:g} s")

    async def readiness(self) -> Page:
        """Whether it can be asked something now."""
        reading = self.reading
        why = ["it waits for the MQTT server, or opens its store"] if reading is None else reading.obstacles
        return _unavailable(*why) if why else Page(HTTPStatus.OK, b"ready\n")


PAGES: Mapping[str, Callable[[Watch], Awaitable[Page]]] = MappingProxyType(
    {"/metrics": Watch.metrics, "/healthz": Watch.health, "/readyz": Watch.readiness}
)
"""Every page by its path."""


class Endpoint:
    """Answers GET and HEAD, one request a connection."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._connections = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self._connections += 1
        try:
            async with asyncio.timeout(PATIENCE_S):
                method, page = await self._page(reader)
            async with asyncio.timeout(PATIENCE_S):
                writer.write(_response(page, with_body=method != "HEAD"))
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (TimeoutError, OSError, asyncio.IncompleteReadError):
            pass
        except Exception:
            log.exception("metrics_failed")
        finally:
            self._connections -= 1
            writer.transport.abort()

    async def _page(self, reader: asyncio.StreamReader) -> tuple[str, Page]:
        """The method that was asked for, and the answer."""
        if self._connections > CONNECTIONS_MOST:
            return "GET", _unavailable(f"more than {CONNECTIONS_MOST} connections")
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return "GET", Page(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"more than {HEAD_MOST} bytes\n".encode())
        words = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
        if len(words) != len(("method", "target", "version")) or not words[2].startswith("HTTP/1."):
            return "GET", Page(HTTPStatus.BAD_REQUEST, b"no request of HTTP/1\n")
        method, target = words[0], words[1].partition("?")[0]
        if method not in ("GET", "HEAD"):
            return method, Page(HTTPStatus.METHOD_NOT_ALLOWED, b"GET and HEAD are answered\n")
        make = PAGES.get(target)
        if make is None:
            return method, Page(HTTPStatus.NOT_FOUND, f"there are {', '.join(PAGES)}\n".encode())
        return method, await make(self._watch)


@contextlib.asynccontextmanager
async def listening(settings: MetricsSettings, watch: Watch) -> AsyncIterator[int]:
    """Answer while the context lasts; the port, 0 where nothing is to be answered.

    Raises:
        SettingsError: the address cannot be listened on.
    """
    if not settings.listen:
        yield 0
        return
    host, port = settings.address
    endpoint = Endpoint(watch)
    try:
        server = await asyncio.start_server(endpoint.answer, host, port, limit=HEAD_MOST)
    except OSError as error:
        raise SettingsError(f"metrics.listen: {settings.listen}: {error.strerror or error}") from error
    port = server.sockets[0].getsockname()[1]
    log.info("metrics_listen", host=host, port=port, pages=list(PAGES))
    try:
        yield port
    finally:
        server.close()


def _unavailable(*why: str) -> Page:
    return Page(HTTPStatus.SERVICE_UNAVAILABLE, "".join(f"{line}\n" for line in why).encode())


def _response(page: Page, *, with_body: bool) -> bytes:
    allow = "Allow: GET, HEAD\r\n" if page.status is HTTPStatus.METHOD_NOT_ALLOWED else ""
    head = (
        f"HTTP/1.1 {page.status.value} {page.status.phrase}\r\n{allow}Content-Type: {page.content_type}\r\n"
        f"Content-Length: {len(page.body)}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (page.body if with_body else b"")
