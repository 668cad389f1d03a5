from typing import Any

import pytest

from schema.codecs.envelope import read_envelope, valid_id
from schema.envelope import Away, GroupOptions, RequestEnvelope, View, Wait, When
from schema.errors import BrokerError

FULL = {
    "id": "7-000123",
    "params": {"x": 1},
    "if_rev": 2**64 - 1,
    "dry_run": True,
    "wait": "stored",
    "issued_at": "2026-11-30T09:12:04.512345Z",
    "ttl_ms": 300_000,
    "valid_for_ms": 1_000,
    "reason": "new tool für Zelle 4",
    "unit": "deg",
    "view": "desired",
    "until": "2026-11-30T09:12:04.512345Z",
    "when": "idle",
    "group": {"all_or_nothing": True, "away": "skip", "only": ["r1", "r2"], "parallel": 256},
}


def refusal(document: object) -> BrokerError:
    with pytest.raises(BrokerError) as caught:
        read_envelope(document)
    return caught.value


def test_every_field() -> None:
    assert read_envelope(FULL, padded=True) == RequestEnvelope(
        id="7-000123",
        params={"x": 1},
        if_rev=2**64 - 1,
        dry_run=True,
        wait=Wait.STORED,
        issued_at_us=1_796_029_924_512_345,
        ttl_ms=300_000,
        valid_for_ms=1_000,
        reason="new tool für Zelle 4",
        unit="deg",
        view=View.DESIRED,
        padded=True,
        until_us=1_796_029_924_512_345,
        when=When.IDLE,
        group=GroupOptions(all_or_nothing=True, away=Away.SKIP, only=("r1", "r2"), parallel=256, away_named=True),
    )


def test_absent_fields_have_defaults() -> None:
    assert read_envelope({}) == RequestEnvelope()
    assert read_envelope({"wait": "applied", "view": "reported", "unit": "rad", "ttl_ms": 1}) == RequestEnvelope(
        unit="rad", ttl_ms=1
    )


@pytest.mark.parametrize("document", [None, [], "x", 1])
def test_only_an_object_is_a_request(document: object) -> None:
    assert (refusal(document).kind, refusal(document).bare_id) == ("malformed", "")


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        ("params", [], "malformed"),
        ("params", None, "malformed"),
        ("params", "x", "malformed"),
        ("if_rev", -1, "malformed"),
        ("if_rev", 2**64, "malformed"),
        ("if_rev", 3.0, "malformed"),
        ("if_rev", True, "malformed"),
        ("if_rev", "3", "malformed"),
        ("dry_run", 1, "malformed"),
        ("dry_run", "true", "malformed"),
        ("wait", 0, "malformed"),
        ("wait", "", "bad_request_field"),
        ("wait", "STORED", "bad_request_field"),
        ("view", 1, "malformed"),
        ("view", "both", "bad_request_field"),
        ("issued_at", 1_796_029_924, "malformed"),
        ("issued_at", "2026-11-30T09:12:04", "bad_request_field"),
        ("ttl_ms", 0, "bad_request_field"),
        ("ttl_ms", -1, "bad_request_field"),
        ("ttl_ms", 604_800_001, "bad_request_field"),
        ("ttl_ms", 10**30, "bad_request_field"),
        ("ttl_ms", 2000.0, "malformed"),
        ("ttl_ms", True, "malformed"),
        ("valid_for_ms", -1, "malformed"),
        ("valid_for_ms", 2**32, "malformed"),
        ("valid_for_ms", 0, "bad_request_field"),
        ("valid_for_ms", 999, "bad_request_field"),
        ("valid_for_ms", 2_592_000_001, "bad_request_field"),
        ("valid_for_ms", 1e3, "malformed"),
        ("until", "tomorrow", "bad_request_field"),
        ("until", 1_796_029_924, "malformed"),
        ("when", "later", "bad_request_field"),
        ("when", 1, "malformed"),
        ("group", [], "malformed"),
        ("group", {"all": True}, "unknown_field"),
        ("group", {"all_or_nothing": 1}, "malformed"),
        ("group", {"away": "run"}, "bad_request_field"),
        ("group", {"only": "r1"}, "malformed"),
        ("group", {"only": [1]}, "malformed"),
        ("group", {"only": []}, "bad_request_field"),
        ("group", {"only": ["r"] * 1_001}, "bad_request_field"),
        ("group", {"only": ["r1", "r2", "r1"]}, "malformed"),
        ("group", {"parallel": 0}, "bad_request_field"),
        ("group", {"parallel": 257}, "bad_request_field"),
        ("reason", 5, "malformed"),
        ("reason", "x" * 201, "bad_request_field"),
        ("reason", "a\x00", "bad_request_field"),
        ("reason", "a\nb", "bad_request_field"),
        ("reason", "a\x7f", "bad_request_field"),
        ("reason", "a\x9b2J", "bad_request_field"),
        ("reason", "a\u202eb", "bad_request_field"),
        ("reason", "a\u2066b", "bad_request_field"),
        ("unit", "", "bad_request_field"),
        ("unit", "degrees", "bad_request_field"),
        ("unit", 1, "malformed"),
        ("arm", "r12", "unknown_field"),
        ("__class__", "x", "unknown_field"),
    ],
)
def test_refusals_name_the_field_and_keep_the_id(field: str, value: Any, kind: str) -> None:
    for document in ({field: value, "id": "7-1"}, {"id": "7-1", field: value}):
        found = refusal(document)
        assert (found.kind, found.bare_id) == (kind, "7-1")
        assert found.message.startswith((f"{field}: ", f"{field}."))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("", "bad_request_field"),
        ("x" * 65, "bad_request_field"),
        ("a b", "bad_request_field"),
        ("a/b", "bad_request_field"),
        ("ä", "bad_request_field"),
        ("a\n", "bad_request_field"),
        (-1, "bad_request_field"),
        (1 << 63, "bad_request_field"),
        (7.5, "malformed"),
        (True, "malformed"),
        (["a"], "malformed"),
        (None, "malformed"),
    ],
)
def test_a_bad_id_is_refused_and_not_repeated(value: Any, kind: str) -> None:
    found = refusal({"id": value})
    assert (found.kind, found.bare_id) == (kind, "")
    assert found.message.startswith("id: ")


def test_the_bounds_of_the_id_are_checked_last() -> None:
    assert refusal({"id": "", "typo": 1}).kind == "unknown_field"
    assert refusal({"id": "", "ttl_ms": 0}).message.startswith("ttl_ms: ")


def test_messages_name_value_and_bound() -> None:
    message = refusal({"ttl_ms": 604_800_001}).message
    assert message == "ttl_ms: 604800001 ms is not between 1 and 300000, with when: idle 604800000"
    assert refusal({"wait": "soon"}).message == 'wait: "soon" is not applied or stored'
    assert refusal({"reason": "x" * 201}).message == "reason: 201 characters are given, at most 200 are taken"


@pytest.mark.parametrize("value", ["a", "Z" * 64, "0-9_a", "-"])
def test_ids(value: str) -> None:
    assert valid_id(value) == value
    assert read_envelope({"id": value}).id == value


@pytest.mark.parametrize("value", [0, 7, (1 << 63) - 1])
def test_an_integer_is_an_id_by_its_decimal_text(value: int) -> None:
    assert valid_id(value) == str(value)
    assert read_envelope({"id": value}).id == str(value)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("7 1", "7 1"),
        ("x" * 65, "x" * 64),
        ("ä/b", "ä/b"),
        (-1, "-1"),
        (1 << 63, "9223372036854775808"),
        (1.5, "1.5"),
        (True, ""),
        (None, ""),
        ([1], ""),
        ({"id": 1}, ""),
    ],
)
def test_what_is_no_id_is_told_as_far_as_it_is_text_or_a_number(value: Any, told: str) -> None:
    for document in ({"id": value}, {"id": value, "typo": 1}):
        found = refusal(document)
        assert (found.bare_id, found.told_id) == ("", told)


@pytest.mark.parametrize("value", ["", "x" * 65, "é", None, -5, 1 << 63, 5.0, True, b"a"])
def test_what_is_no_id(value: object) -> None:
    assert valid_id(value) == ""


@pytest.mark.parametrize("reason", ["", "x" * 200, "'); DROP TABLE arm;-- ", "日本語 \u200f"])
def test_reasons(reason: str) -> None:
    assert read_envelope({"reason": reason}).reason == reason
