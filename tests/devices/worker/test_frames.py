import json
import struct

import pytest

from devices.adapter import ArmUnreadableError
from devices.worker.frames import MOST_BYTES, Decoder, FrameError, encode


def test_what_was_encoded_is_decoded_however_it_is_cut() -> None:
    documents: list[dict[str, object]] = [{"id": 1, "text": "Größe"}, {}, {"list": [1.5, None]}]
    stream = b"".join(encode(document) for document in documents)
    decoder = Decoder()
    assert [one for at in range(len(stream)) for one in decoder.feed(stream[at : at + 1])] == documents
    assert Decoder().feed(stream) == documents


def test_a_frame_is_a_length_and_an_object() -> None:
    assert encode({"id": 7}) == struct.pack(">I", 8) + b'{"id":7}'


def _frame(body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + body


@pytest.mark.parametrize(
    "garbage",
    [
        struct.pack(">I", MOST_BYTES + 1),
        b"Traceback (most recent call last):\n",
        _frame(b"{"),
        _frame(b""),
        _frame(b"[1]"),
        _frame(b"\xff\xfe"),
        _frame(b"[" * 500_000),
    ],
)
def test_garbage_is_an_error_of_its_own(garbage: bytes) -> None:
    with pytest.raises(FrameError):
        Decoder().feed(garbage)
    assert issubclass(FrameError, ArmUnreadableError)


@pytest.mark.parametrize("document", [{"x": float("nan")}, {"x": b""}, {"x": "y" * MOST_BYTES}])
def test_what_makes_no_frame_is_not_sent(document: dict[str, object]) -> None:
    with pytest.raises(FrameError):
        encode(document)


def test_the_longest_frame_passes() -> None:
    document = {"x": "y" * (MOST_BYTES - len(json.dumps({"x": ""}, separators=(",", ":"))))}
    assert Decoder().feed(encode(document)) == [document]
