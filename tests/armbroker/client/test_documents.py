import json

import msgpack
import pytest

from armbroker.client.documents import decode, decode_reply, encode

REPLY = {
    "id": "7",
    "arm": "r12",
    "method": "GetGravityVector",
    "ok": True,
    "stage": "read",
    "final": True,
    "rev": 1,
    "seq": 0,
    "at": "2026-11-30T09:12:04.512345Z",
    "warnings": [],
}


@pytest.mark.parametrize("codec", ["json", "msgpack"])
def test_a_document_survives_its_codec(codec: str) -> None:
    document = {"id": "7", "params": {"z": -9.81, "names": ["ä"]}}
    assert decode(encode(document, codec), f"application/{codec}") == document
    assert decode(encode(document, codec), "") == document


def test_parameters_of_a_content_type_are_ignored() -> None:
    assert decode(b" {}", "application/json; charset=utf-8") == {}


@pytest.mark.parametrize(
    ("payload", "content_type", "why"),
    [
        (b"\x0a\x00", "application/x-protobuf", "application/x-protobuf"),
        (b"{", "application/json", "Expecting"),
        (b"[1]", "application/json", "a list where"),
        (b"", "", "no MessagePack"),
        (b"\x81\x01", "application/msgpack", "no MessagePack"),
        (b"\x81\x90\x01", "application/msgpack", "no MessagePack"),
        (b"[" * 100_000, "application/json", "too deep"),
    ],
)
def test_what_cannot_be_read_is_named(payload: bytes, content_type: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        decode(payload, content_type)


def test_nothing_but_numbers_is_sent_as_a_number() -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode({"z": float("inf")}, "json")
    with pytest.raises(TypeError):
        encode({"z": object()}, "json")


def test_a_reply_keeps_fields_of_later_versions() -> None:
    assert decode_reply(json.dumps(REPLY | {"new": 1}).encode(), "")["new"] == 1  # type: ignore[typeddict-item] # unknown on purpose


@pytest.mark.parametrize("damage", [{"ok": "true"}, {"ok": None}, {"error": {"kind": 1}}, {"rev": -0.5}])
def test_what_is_no_reply_is_refused(damage: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="no reply"):
        decode_reply(msgpack.packb(REPLY | damage), "application/msgpack")
