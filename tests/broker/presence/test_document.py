"""What is read of documents `svc/<instance>`, and how old one may be."""

import pytest

from broker.presence.document import HEARTBEAT_S, SILENT_S, SvcDocument, read_document, silent_for_s
from schema.codecs.times import format_time

NOW_US = 1_800_000_000_000_000


def test_a_whole_document() -> None:
    payload = (
        b'{"state":"online","since":"2026-11-30T09:12:04.000000Z","seen_at":"2026-11-30T09:12:14.000000Z",'
        b'"version":"1.0","epoch":3,"start":"0123456789abcdef","counters":{"a":1},"clock":"ok","more":[]}'
    )
    document = read_document(payload)
    assert document == SvcDocument(
        "online", "2026-11-30T09:12:04.000000Z", "2026-11-30T09:12:14.000000Z", "1.0", 3, "0123456789abcdef"
    )


@pytest.mark.parametrize(
    "payload", [b"", b"[]", b"{}", b"{", b'{"state":1}', b'{"state":"online","epoch":"1"}', b"\xff"]
)
def test_what_is_none(payload: bytes) -> None:
    assert read_document(payload) is None


@pytest.mark.parametrize(("state", "live"), [("online", True), ("starting", True), ("offline", False), ("held", False)])
def test_what_claims_to_live(state: str, *, live: bool) -> None:
    assert SvcDocument(state).live is live


def test_of_two_the_higher_epoch_stays_then_the_earlier_start() -> None:
    ranked = [
        SvcDocument("online", since="2026-11-30T10", epoch=9, start="b"),
        SvcDocument("online", since="2026-11-30T08", epoch=3, start="d"),
        SvcDocument("online", since="2026-11-30T09", epoch=3, start="a"),
        SvcDocument("online", since="2026-11-30T09", epoch=3, start="c"),
    ]
    assert [one for one in ranked if one.rank == min(other.rank for other in ranked)] == ranked[:1]
    assert [document.rank for document in ranked] == sorted(document.rank for document in ranked)


def test_how_long_a_service_was_not_seen() -> None:
    document = SvcDocument("online", seen_at=format_time(NOW_US - 31_500_000))
    assert silent_for_s(document, NOW_US) == 31.5
    assert silent_for_s(document, NOW_US - 60_000_000) == 0
    assert silent_for_s(SvcDocument("online"), NOW_US) == 0
    assert silent_for_s(SvcDocument("online", seen_at="yesterday"), NOW_US) == 0
    assert 2 * HEARTBEAT_S < SILENT_S
