from http import HTTPStatus

import pytest

from armbroker.web.http import Answer, Hosts, HttpError, bytes_of, parse_request


def request(first: str = "GET / HTTP/1.1", *headers: str) -> bytes:
    return "\r\n".join([first, *(headers or ("Host: localhost",)), "", ""]).encode("latin-1")


def test_a_request() -> None:
    read = parse_request(request("GET /api/arm/r%201?mode=IDLE&mode=X&empty= HTTP/1.1", "Host: a", "Accept: b"))
    assert (read.method, read.path, read.headers) == ("GET", "/api/arm/r 1", {"host": "a", "accept": "b"})
    assert read.query == {"mode": ["IDLE", "X"], "empty": [""]}
    assert (read.one("empty"), read.one("none", "-")) == ("", "-")
    with pytest.raises(HttpError, match="more than once"):
        read.one("mode")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (request(f"{method} / HTTP/1.1"), HTTPStatus.METHOD_NOT_ALLOWED)
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get")
    ]
    + [
        (head, HTTPStatus.BAD_REQUEST)
        for head in (
            b"\r\n\r\n",
            b"\x16\x03\x01\r\n\r\n",
            request("GET /"),
            request("GET / HTTP/2"),
            request("GET http://elsewhere/ HTTP/1.1"),
            request("GET / HTTP/1.1", "Host: a", "Content-Length: 3"),
            request("GET / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked"),
            request("GET / HTTP/1.1", "Host: a", "Host: b"),
            request("GET / HTTP/1.1", "no header"),
            request("GET / HTTP/1.1", "Host : a"),
            request("GET /?" + "&".join("a=b" for _ in range(100)) + " HTTP/1.1"),
            request("GET //[ HTTP/1.1"),
        )
    ],
)
def test_whatever_is_no_reading_is_refused(head: bytes, status: HTTPStatus) -> None:
    with pytest.raises(HttpError) as refused:
        parse_request(head)
    assert refused.value.status == status


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:9000", "127.0.0.1:8080", "10.1.2.3", "[::1]:8080", "arms.plant.example", "localhost."],
)
def test_names_that_are_ours(host: str) -> None:
    Hosts(["arms.plant.example"]).check(parse_request(request("GET / HTTP/1.1", f"Host: {host}")))


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "127.0.0.1.evil.example", "1.2.3"])
def test_a_name_that_was_pointed_here_is_refused(host: str) -> None:
    with pytest.raises(HttpError) as refused:
        Hosts([]).check(parse_request(request("GET / HTTP/1.1", f"Host: {host}")))
    assert refused.value.status == HTTPStatus.MISDIRECTED_REQUEST


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_another_origin_may_not_read(site: str) -> None:
    head = request("GET /api/stream HTTP/1.1", "Host: localhost", f"Sec-Fetch-Site: {site}", "Sec-Fetch-Mode: no-cors")
    with pytest.raises(HttpError) as refused:
        Hosts([]).check(parse_request(head))
    assert refused.value.status == HTTPStatus.FORBIDDEN


def test_a_link_to_the_page_may_be_followed() -> None:
    head = request("GET / HTTP/1.1", "Host: localhost", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate")
    Hosts([]).check(parse_request(head))


def test_an_answer_ends_the_connection_and_trusts_nobody() -> None:
    sent = bytes_of(Answer(b"hello", "text/plain"), with_body=True)
    head, _, body = sent.partition(b"\r\n\r\n")
    assert body == b"hello"
    for line in (
        b"Content-Length: 5",
        b"Connection: close",
        b"default-src 'none'",
        b"nosniff",
        b"frame-ancestors 'none'",
    ):
        assert line in head
    assert bytes_of(Answer(b"hello", "text/plain"), with_body=False) == head + b"\r\n\r\n"
