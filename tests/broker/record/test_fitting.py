"""Replies that a packet cannot carry: shorter pages, fewer violations, or how large they are, in every codec."""

from pathlib import Path
from typing import Any

import pytest

from broker.record.fitting import fit
from broker.record.replies import CODEC_BY_NAME, JSON, error_body
from schema.codecs.codec import Codec
from schema.envelope import Reply, Stage, Violation
from schema.errors import BrokerError
from schema.joint_items import JointSafetyGains, JointSafetyMap
from tests.journey.forms import decode_reply
from tests.virtual_plant import Plant, play

ROOM = 3_000
LIMIT = {"control_mode": "CARTESIAN_JOYSTICK"}
every_codec = pytest.mark.parametrize("codec", [*CODEC_BY_NAME.values()], ids=[*CODEC_BY_NAME])


def reply(**given: Any) -> Reply:
    """A reply of a read."""
    values: dict[str, Any] = {
        "id": "1", "arm": "r1", "method": "GetHistory", "ok": True, "stage": Stage.READ, "final": True,
        "rev": 2, "seq": 1, "at_us": 1_800_000_000_000_000, **given,
    }  # fmt: skip
    return Reply(**values)


def fitted(codec: Codec, one: Reply, room: int = ROOM) -> dict[str, Any]:
    """The reply as a client reads it; it fits."""
    payload = fit(one, codec, error_body, room)
    assert len(payload) <= room
    document: dict[str, Any] = decode_reply(codec.name, payload)
    return document


def changes(count: int, size: int = 10, together: int = 1) -> list[dict[str, Any]]:
    """Entries of GetHistory, so many of one revision."""
    return [
        {"rev": 900 - at // together, "before": 0.5, "after": ["x" * size], "reason": "", "outcome": "applied"}
        for at in range(count)
    ]


@every_codec
def test_what_fits_is_not_touched(codec: Codec) -> None:
    one = reply(result={"changes": changes(5), "more": False, "missing": []})
    assert fit(one, codec, error_body, ROOM) == codec.encode_reply(one)


@every_codec
@pytest.mark.parametrize("together", [1, 3])
def test_a_page_ends_where_the_packet_ends_and_never_inside_a_revision(codec: Codec, together: int) -> None:
    gaps = [{"first": 899, "last": 899}, {"first": 1, "last": 1}]
    one = reply(result={"changes": changes(499, together=together), "more": False, "missing": gaps})
    result = fitted(codec, one)["result"]
    found = [entry["rev"] for entry in result["changes"]]
    assert found == [900 - at // together for at in range(len(found))]
    assert result["more"] is True
    assert len(found) > 10
    assert len(found) % together == 0
    assert result["missing"] == gaps[:1]


@every_codec
def test_events_end_likewise_and_gaps_behind_them_are_left_to_the_next_page(codec: Codec) -> None:
    events = [{"seq": 10 + at, "change": {"before": None, "after": "x" * 50}, "reason": ""} for at in range(300)]
    gaps = [{"first": 8, "last": 9}, {"first": 300, "last": 305}]
    one = reply(
        method="GetEvents", result={"events": events, "first_seq": 1, "head_seq": 309, "more": False, "missing": gaps}
    )
    result = fitted(codec, one)["result"]
    assert result["events"] == events[: len(result["events"])]
    assert (len(result["events"]) > 10, result["more"], result["missing"]) == (True, True, gaps[:1])


@every_codec
@pytest.mark.parametrize(("method", "entries"), [("GetEvents", "events"), ("GetHistory", "changes")])
def test_one_entry_that_is_too_large_alone_is_told_without_its_values(codec: Codec, method: str, entries: str) -> None:
    event = {"seq": 7, "change": {"item": "i", "before": "b", "after": "x" * 9_000}, "reason": "r"}
    change = {"rev": 7, "before": "b", "after": "x" * 9_000, "reason": "r"}
    entry = event if entries == "events" else change
    for others in (0, 3):
        one = reply(method=method, result={entries: [entry] * (1 + others), "more": False, "missing": []})
        result = fitted(codec, one, 2_600)["result"]
        (found,) = result[entries]
        value = found["change"] if entries == "events" else found
        assert (value["after"], result["more"]) == (None, others > 0)
        assert found["left_out"][-1]["bytes"] == 9_002


@every_codec
def test_violations_of_a_trajectory_are_a_page_too(codec: Codec) -> None:
    found = [{"check": "position", "point": at, "got": 0.25} for at in range(1_000)]
    one = reply(method="CheckTrajectory", result={"within": False, "count": 1_000, "violations": found, "more": False})
    result = fitted(codec, one)["result"]
    assert result["violations"] == found[: len(result["violations"])]
    assert (len(result["violations"]) > 10, result["more"], result["count"]) == (True, True, 1_000)


@every_codec
def test_what_cannot_be_paged_is_refused_with_the_sizes(codec: Codec) -> None:
    one = reply(method="Explain", result={"numbers": ["x" * 90_000]}, reported_at_us=5)
    document = fitted(codec, one)
    size = len(codec.encode_reply(one))
    assert (document["ok"], document["stage"], document["error"]["kind"]) == (False, "refused", "too_large")
    assert f"{size} bytes" in document["error"]["message"]
    assert f"takes {ROOM}" in document["error"]["message"]


@every_codec
def test_a_change_that_is_applied_is_never_refused_afterwards(codec: Codec) -> None:
    gains = JointSafetyGains(1.0, -1.5, 2.0, 2.0)
    result = JointSafetyMap({f"joint_{n}": gains for n in range(200)})
    one = reply(method="ResetJointSafety", stage=Stage.APPLIED, result=result, rev=9, seq=8)
    document = fitted(codec, one, 800)
    assert (document["ok"], document["stage"], document["rev"], document["seq"]) == (True, "applied", 9, 8)
    assert [warning["name"] for warning in document["warnings"]] == ["RESULT_LEFT_OUT"]
    assert fitted(codec, one, 300)["stage"] == "applied"


@every_codec
def test_a_refusal_keeps_its_kind_and_the_first_violations(codec: Codec) -> None:
    violations = tuple(
        Violation(f"x[{n}]", 80.0, 70.0, "deg/s", "<=", "hard:device", n + 1, f"joint_{n}", (70.0,) * 7)
        for n in range(300)
    )
    error = BrokerError("out_of_limits", "too much " * 900, violations=violations)
    document = fitted(codec, reply(ok=False, stage=Stage.REFUSED, result=None, error=error_body(error)))
    found = document["error"]["violations"]
    assert [one["path"] for one in found] == [f"x[{n}]" for n in range(len(found))]
    assert 1 <= len(found) < 300
    assert document["error"]["kind"] == "out_of_limits"
    assert f"{len(found)} of 300 violations" in document["error"]["message"]
    assert fitted(codec, reply(ok=False, stage=Stage.REFUSED, result=None, error=error_body(error)), 700)["error"][
        "kind"
    ]


def test_the_whole_packet_counts(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plant.link.max_packet = most = 4_000
        for number in range(60):
            await plant.call("r1", "SetTwistLinearSoftLimit", LIMIT | {"twist_linear_soft_limit": 0.1 + number / 1000})
        seen: list[int] = []
        before: dict[str, int] = {}
        while len(seen) < 60:
            page = (await plant.call("r1", "GetHistory", {"limit": 500, **before}))["result"]
            revs = [entry["rev"] for entry in page["changes"]]
            seen += revs
            assert page["more"] is (len(seen) < 60)
            before = {"before_rev": revs[-1]}
        assert seen == list(range(61, 1, -1))
        events: list[int] = []
        while len(events) < 60:
            page = (await plant.call("r1", "GetEvents", {"after_seq": events[-1] if events else 0}))["result"]
            events += [event["seq"] for event in page["events"]]
            assert page["more"] is (len(events) < 60)
        assert events == list(range(1, 61))
        assert (await plant.call("r1", "Explain", {}))["error"]["kind"] == "too_large"
        assert max(len(JSON.encode_document(each.document)) for each in plant.link.published[-20:]) < most

    play(tmp_path, scenario)
