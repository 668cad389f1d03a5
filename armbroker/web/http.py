"""As much of HTTP/1.1 as one read-only page needs: GET and HEAD, one request a connection."""

import asyncio
import ipaddress
from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

HEAD_MOST = 16_384
"""Bytes of a request up to the empty line."""
HEAD_S = 10.0
"""How long a client may take to send it."""
QUERY_FIELDS = 64
SECURITY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Of every answer: nothing from elsewhere, nothing inline, no frame."""


class HttpError(Exception):
    """A request that is refused: `status`, and words for people."""

    def __init__(self, status: HTTPStatus, words: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(words)
        self.status = status
        self.headers = dict(headers or {})


class Request(NamedTuple):
    """What was asked; names of headers are in small letters."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]

    def one(self, name: str, default: str = "") -> str:
        """A field of the query that stands there once at most.

        Raises:
            HttpError: it stands there again.
        """
        values = self.query.get(name, [default])
        if len(values) > 1:
            raise HttpError(HTTPStatus.BAD_REQUEST, f"{name} stands more than once in the query")
        return values[0]


class Answer(NamedTuple):
    """A whole answer."""

    body: bytes
    kind: str
    status: HTTPStatus = HTTPStatus.OK
    headers: Mapping[str, str] = {}


async def read_request(reader: asyncio.StreamReader) -> Request:
    """The head of a request.

    Raises:
        HttpError: too long, too slow, no HTTP, a method that is no reading, or a body.
        asyncio.IncompleteReadError: the client is gone.
    """
    try:
        async with asyncio.timeout(HEAD_S):
            head = await reader.readuntil(b"\r\n\r\n")
    except TimeoutError:
        raise HttpError(HTTPStatus.REQUEST_TIMEOUT, f"the request did not come within {HEAD_S:g} s") from None
    except asyncio.LimitOverrunError:
        why = f"the request has more than {HEAD_MOST} bytes"
        raise HttpError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, why) from None
    return parse_request(head)


def parse_request(head: bytes) -> Request:
    """The request in the bytes up to the empty line.

    Raises:
        HttpError: it is none that is answered.
    """
    first, *lines = head.decode("latin-1").split("\r\n")
    match first.split(" "):
        case [method, target, "HTTP/1.1" | "HTTP/1.0"] if target.startswith("/"):
            headers = _headers(lines)
        case _:
            raise HttpError(HTTPStatus.BAD_REQUEST, "no request of HTTP/1.1")
    if method not in {"GET", "HEAD"}:
        why = f"{method[:20]}: this page only reads, GET and HEAD are all it knows"
        raise HttpError(HTTPStatus.METHOD_NOT_ALLOWED, why, {"Allow": "GET, HEAD"})
    if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
        raise HttpError(HTTPStatus.BAD_REQUEST, "a request with a body is not taken")
    try:
        parts = urlsplit(target)
        query = parse_qs(parts.query, keep_blank_values=True, max_num_fields=QUERY_FIELDS)
    except ValueError as error:
        raise HttpError(HTTPStatus.BAD_REQUEST, f"the address cannot be read: {error}") from None
    return Request(method, unquote(parts.path), query, headers)


def _headers(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in filter(None, lines):
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip() or name.lower() in found:
            if name.lower() in found and name.lower() not in {"host", "content-length", "transfer-encoding"}:
                continue
            raise HttpError(HTTPStatus.BAD_REQUEST, f"the header {name[:40]!r} cannot be read, or stands twice")
        found[name.lower()] = value.strip()
    return found


class Hosts:
    """By which names the page may be called: `localhost`, every address in numbers, and `names`.

    A page of somebody else whose name was pointed here (DNS rebinding) calls it by that name, and is refused.
    """

    def __init__(self, names: list[str]) -> None:
        self._names = {name.lower() for name in ("localhost", *names)}

    def check(self, request: Request) -> None:
        """Let a request pass.

        Raises:
            HttpError: it is for another host, or a page of another origin sent it.
        """
        host = _host(request.headers.get("host", ""))
        if host not in self._names and not _is_address(host):
            why = f"this page is not called {host[:100]!r}; `--name {host[:100]}` lets it be"
            raise HttpError(HTTPStatus.MISDIRECTED_REQUEST, why)
        site = request.headers.get("sec-fetch-site", "none")
        if site not in {"none", "same-origin"} and request.headers.get("sec-fetch-mode") != "navigate":
            raise HttpError(HTTPStatus.FORBIDDEN, "pages of another origin may not read this one")


def _host(text: str) -> str:
    """The host without its port, in small letters."""
    name = text.lower().partition("]")[0] + "]" if text.startswith("[") else text.lower().partition(":")[0]
    return name.strip("[]").rstrip(".")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def head_of(status: HTTPStatus, headers: Mapping[str, str]) -> bytes:
    """The head of an answer; the connection ends behind every one."""
    lines = [f"HTTP/1.1 {status.value} {status.phrase}"]
    lines += [f"{name}: {value}" for name, value in {**SECURITY, **headers, "Connection": "close"}.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


def refusal(error: HttpError) -> Answer:
    """The answer to a request that is refused."""
    return Answer(f"{error}\n".encode(), "text/plain; charset=utf-8", error.status, error.headers)


def bytes_of(answer: Answer, *, with_body: bool) -> bytes:
    """A whole answer as it is sent; of a HEAD without its body."""
    headers = {
        "Content-Type": answer.kind,
        "Content-Length": str(len(answer.body)),
        "Cache-Control": "no-store",
        **answer.headers,
    }
    return head_of(answer.status, headers) + (answer.body if with_body else b"")
