"""What a `traceparent` is."""

import pytest

from broker.trace import traceparent

GOOD = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_a_trace_is_kept_as_it_came() -> None:
    assert traceparent(GOOD) == GOOD.decode()
    assert traceparent(b"cc" + GOOD[2:]) == "cc" + GOOD[2:].decode()


@pytest.mark.parametrize(
    "raw",
    [
        None,
        b"",
        GOOD[:-1],
        GOOD + b"0",
        GOOD + b"\n",
        GOOD[:-1] + b"\n",
        GOOD.upper(),
        b"ff" + GOOD[2:],
        b"00-" + b"0" * 32 + GOOD[35:],
        GOOD[:36] + b"0" * 16 + b"-01",
        GOOD.replace(b"-", b"_"),
        b"\xff" * 55,
    ],
)
def test_what_is_none_is_ignored(raw: bytes | None) -> None:
    assert traceparent(raw) == ""
