"""The fields of a request beside its params."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.journey.conftest import ClientMaker

SET, GET = "SetTwistLinearSoftLimit", "GetKinematicSoftLimits"
MODE = {"control_mode": "CARTESIAN_JOYSTICK"}
VALUE = {**MODE, "twist_linear_soft_limit": 0.25}
OTHER = {**MODE, "twist_linear_soft_limit": 0.3}
GRAVITY = {"x": 0.0, "y": 0.0, "z": -9.8}


def kind(reply: dict[str, Any]) -> str:
    """The kind of a refusal; a reply of success has none."""
    return str(reply["error"]["kind"]) if "error" in reply else ""


def now(**later: float) -> str:
    """The time now, or later, with microseconds."""
    return (datetime.now(UTC) + timedelta(**later)).isoformat().replace("+00:00", "Z")


async def test_if_rev_is_compared_with_the_item_and_slot(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    assert (await client.change(arm, "SetGravityVector", GRAVITY))["rev"] == 2
    assert (await client.change(arm, SET, VALUE, if_rev=1))["rev"] == 3
    conflict = await client.call(arm, SET, OTHER, if_rev=2)
    assert (kind(conflict), conflict["rev"], conflict["final"]) == ("revision_conflict", 3, True)
    assert kind(await client.call(arm, SET, OTHER, if_rev=4)) == "revision_conflict"
    slot = {"control_mode": "CARTESIAN_TRAJECTORY", "twist_linear_soft_limit": 0.2}
    assert (await client.change(arm, SET, slot, if_rev=1))["rev"] == 4
    assert (await client.change(arm, SET, OTHER, if_rev=4))["rev"] == 5


async def test_pending_changes_count_for_if_rev(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    await client.change(arm, "SimFault", {"fault": "hang"})
    assert (await client.change(arm, SET, VALUE, wait="stored"))["rev"] == 2
    assert kind(await client.call(arm, SET, OTHER, if_rev=1)) == "revision_conflict"
    await client.change(arm, "SimFault", {"fault": "none"})


async def test_foreign_changes_count_for_if_rev(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    monitor = await connect(f"evt/{arm}/#", user="monitor")
    await client.change(arm, "SimFault", {"fault": "foreign_change", "item": "gravity_vector", "value": {"x": 9.81}})
    event = await monitor.take(lambda message: message.document["cause"] == "foreign")
    assert event.document["rev"] == 2
    assert kind(await client.call(arm, "SetGravityVector", GRAVITY, if_rev=1)) == "revision_conflict"
    assert (await client.change(arm, "SetGravityVector", GRAVITY, if_rev=2))["rev"] == 3


async def test_a_dry_run_checks_and_changes_nothing(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#")
    reply = await client.call(arm, SET, VALUE, dry_run=True)
    shown = (reply["ok"], reply["stage"], reply["final"], reply["result"], reply["rev"], reply["seq"])
    assert shown == (True, "checked", True, {}, 1, 0)
    suspect = {"control_mode": "ANGULAR_JOYSTICK", "joint_speed_soft_limits": [1.0] * 7}
    warned = await client.call(arm, "SetJointSpeedSoftLimits", suspect, dry_run=True)
    assert [warning["name"] for warning in warned["warnings"]] == ["UNIT_SUSPECT"]
    assert kind(await client.call(arm, SET, {**MODE, "twist_linear_soft_limit": 9.0}, dry_run=True)) == "out_of_limits"
    assert kind(await client.call(arm, SET, VALUE, dry_run=True, if_rev=9)) == "revision_conflict"
    assert (await client.call(arm, "ControlModeTopic", {}, dry_run=True))["stage"] == "checked"
    await client.send(arm, SET, {"params": VALUE, "dry_run": True})
    assert (await client.reply("_"))["stage"] == "checked"
    assert (await client.change(arm, SET, VALUE))["rev"] == 2
    assert (await client.call(arm, GET, MODE, dry_run=True))["stage"] == "read"
    assert len(client.events(arm)) <= 1


async def test_stored_is_answered_at_once_and_an_event_follows(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#")
    await client.change(arm, "SimFault", {"fault": "hang"})
    reply = await client.call(arm, SET, VALUE, id="s", wait="stored")
    shown = (reply["ok"], reply["stage"], reply["final"], reply["rev"], reply["seq"], reply["result"])
    assert shown == (True, "stored", False, 2, 0, {})
    await client.change(arm, "SimFault", {"fault": "none"})
    event = (await client.take_topic(f"evt/{arm}/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED")).document
    assert (event["request_id"], event["stage"]) == (f"{client.user}/{client.conn}/s", "applied")
    assert (await client.call(arm, "GetGravityVector"))["ok"]
    assert client.inbox == []


async def test_the_time_to_live_ends_by_itself_in_the_queue(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#")
    await client.change(arm, "SimFault", {"fault": "hang"})
    await client.change(arm, "SetGravityVector", GRAVITY, wait="stored")
    reply = await client.call(arm, SET, VALUE, id="late", ttl_ms=50)
    shown = (reply["ok"], reply["stage"], reply["final"], kind(reply), reply["error"]["retry"])
    assert shown == (False, "refused", True, "expired", "new_id")
    event = (await client.take_topic(f"evt/{arm}/outcome")).document
    assert (event["event"], event["cause"], event["stage"]) == ("CHANGE_NOT_APPLIED", "expired", "refused")
    assert event["request_id"] == f"{client.user}/{client.conn}/late"
    assert event["seq"] == reply["seq"]
    await client.change(arm, "SimFault", {"fault": "none"})
    await client.take_topic(f"evt/{arm}/config/GRAVITY_VECTOR_CHANGED")
    read = await client.call(arm, GET, MODE)
    assert read["result"]["twist_linear"] != 0.25
    assert "desired" not in read


async def test_a_mode_request_lives_for_two_seconds(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    mode = {"control_mode": "ANGULAR_JOYSTICK"}
    assert kind(await client.call(arm, "SetControlMode", mode, issued_at=now(seconds=-2.5))) == "expired"
    assert (await client.change(arm, "SetControlMode", mode, issued_at=now(seconds=-1)))["stage"] == "applied"
    assert (await client.change(arm, "SetGravityVector", GRAVITY, issued_at=now(days=-1)))["stage"] == "applied"


async def test_issued_at_counts_for_the_time_to_live(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    late = await client.call(arm, SET, VALUE, issued_at=now(seconds=-60), ttl_ms=30_000)
    assert (kind(late), late["error"]["retry"]) == ("expired", "new_id")
    assert (await client.change(arm, SET, VALUE, issued_at=now(seconds=-60), ttl_ms=300_000))["stage"] == "applied"


async def test_issued_at_may_be_five_seconds_ahead(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    ahead = await client.call(arm, SET, VALUE, id="ahead", issued_at=now(seconds=30))
    assert (kind(ahead), ahead["error"]["retry"], ahead["final"]) == ("issued_in_future", "same_id", False)
    assert (await client.change(arm, SET, VALUE, id="ahead"))["stage"] == "applied"
    assert (await client.change(arm, SET, OTHER, issued_at=now(seconds=4)))["stage"] == "applied"


async def test_a_client_without_a_clock_is_not_asked_for_the_time(connect: ClientMaker, arm: str) -> None:
    client = await connect(user="dora")
    for issued_at in ("1970-01-01T00:00:00Z", "2100-01-01T00:00:00+02:00"):
        reply = await client.call(arm, SET, VALUE, issued_at=issued_at, ttl_ms=60_000)
        assert reply["stage"] == "applied"


@pytest.mark.parametrize("fields", [{}, {"ttl_ms": 60_000}])
async def test_the_message_expiry_is_the_time_to_live_unless_one_is_given(
    connect: ClientMaker, arm: str, fields: dict[str, int]
) -> None:
    client = await connect()
    await client.change(arm, "SimFault", {"fault": "hang"})
    await client.change(arm, "SetGravityVector", GRAVITY, wait="stored")
    await client.send(arm, SET, {"id": "e", "params": VALUE, **fields}, expiry_s=1)
    if fields:
        await client.change(arm, "SimFault", {"fault": "none"})
    assert kind(await client.reply("e")) == ("" if fields else "expired")
    await client.change(arm, "SimFault", {"fault": "none"})


@pytest.mark.parametrize(
    ("method", "unit", "expected"),
    [
        ("SetJointSpeedSoftLimits", "deg", ""),
        ("SetJointSpeedSoftLimits", "rad", "unit_mismatch"),
        ("SetTwistLinearSoftLimit", "deg", "unit_mismatch"),
        ("SetTwistLinearSoftLimit", "m/s", "bad_request_field"),
        ("GetKinematicHardLimits", "deg", ""),
        ("GetKinematicHardLimits", "rad", "unit_mismatch"),
        ("SetGravityVector", "rad", "unit_mismatch"),
    ],
)
async def test_the_unit_is_an_assertion(connect: ClientMaker, arm: str, method: str, unit: str, expected: str) -> None:
    client = await connect()
    params: dict[str, dict[str, Any]] = {
        "SetJointSpeedSoftLimits": {"control_mode": "ANGULAR_JOYSTICK", "joint_speed_soft_limits": [20.0] * 7},
        "SetTwistLinearSoftLimit": VALUE,
        "SetGravityVector": GRAVITY,
    }
    assert kind(await client.call(arm, method, params.get(method), unit=unit)) == expected


async def test_what_is_desired_can_be_read(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    await client.change(arm, "SetGravityVector", GRAVITY)
    monitor = await connect(f"evt/{arm}/#", user="monitor")
    await client.change(arm, "SimFault", {"fault": "foreign_change", "item": "gravity_vector", "value": {"x": 9.81}})
    await monitor.take(lambda message: message.document["cause"] == "foreign")
    reported = await client.call(arm, "GetGravityVector")
    assert reported["result"] == {"x": 9.81, "y": 0.0, "z": 0.0}
    assert reported["desired"] == GRAVITY
    assert "pending_rev" not in reported
    desired = await client.call(arm, "GetGravityVector", view="desired")
    assert desired["result"] == GRAVITY
    assert (await client.call(arm, "GetGravityVector", view="reported"))["result"] == reported["result"]
    limits = await client.call(arm, GET, MODE, view="desired")
    assert limits["result"]["control_mode"] == "CARTESIAN_JOYSTICK"


async def test_a_pending_change_shows_in_a_get(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    await client.change(arm, "SimFault", {"fault": "hang"})
    stored = await client.change(arm, "SetGravityVector", GRAVITY, wait="stored")
    read = await client.call(arm, "GetGravityVector")
    assert (read["pending_rev"], read["desired"]) == (stored["rev"], GRAVITY)
    assert read["result"] != GRAVITY
    await client.change(arm, "SimFault", {"fault": "none"})


async def test_the_reason_stands_in_event_and_history(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#")
    reason = "wall mount, cell 7; ü € 😀 '); DROP TABLE arm;--"
    await client.change(arm, "SetGravityVector", GRAVITY, reason=reason)
    assert (await client.take_topic(f"evt/{arm}/config/GRAVITY_VECTOR_CHANGED")).document["reason"] == reason
    assert (await client.call(arm, "GetHistory"))["result"]["changes"][0]["reason"] == reason
    assert (await client.change(arm, SET, VALUE, reason="x" * 200))["ok"]


@pytest.mark.parametrize(
    "fields",
    [
        {"reason": "x" * 201},
        {"reason": "a\nb"},
        {"reason": "a\x7fb"},
        {"reason": "a\u0085b"},
        {"reason": "a\u202eb"},
        {"reason": "a\u2066b"},
        {"ttl_ms": 0},
        {"ttl_ms": 300_001},
        {"wait": "soon"},
        {"view": "wanted"},
        {"issued_at": "2026-12-01T08:00:00"},
        {"issued_at": "yesterday"},
        {"unit": "grad"},
        {"id": "a.b"},
        {"id": "x" * 65},
    ],
)
async def test_fields_out_of_their_bounds_are_refused(connect: ClientMaker, arm: str, fields: dict[str, Any]) -> None:
    client = await connect()
    request = {"id": "f", "params": VALUE, **fields}
    await client.send(arm, SET, request)
    reply = await client.reply("_" if "id" in fields else "f")
    assert (kind(reply), reply["error"]["retry"], reply["rev"]) == ("bad_request_field", "new_id", 1)
    assert next(iter(fields)) in reply["error"]["message"]


@pytest.mark.parametrize(
    "fields",
    [
        {"ttl_ms": "5"},
        {"ttl_ms": 5.0},
        {"ttl_ms": True},
        {"if_rev": 1.0},
        {"if_rev": -1},
        {"if_rev": 2**64},
        {"dry_run": 1},
        {"wait": 1},
        {"reason": 5},
        {"params": []},
        {"view": True},
    ],
)
async def test_fields_of_another_type_are_malformed(connect: ClientMaker, arm: str, fields: dict[str, Any]) -> None:
    client = await connect()
    await client.send(arm, SET, {"id": "f", "params": VALUE, **fields})
    reply = await client.reply("f")
    assert (kind(reply), reply["rev"]) == ("malformed", 1)


async def test_an_end_at_the_beginning_of_time_is_no_absent_end(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    reply = await client.call(arm, SET, VALUE, until="1970-01-01T00:00:00Z")
    assert kind(reply) == "bad_request_field"


async def test_options_of_other_methods_are_refused_by_name(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    for name, value in (("valid_for_ms", 1000), ("when", "idle"), ("group", {})):
        reply = await client.call(arm, "GetGravityVector", {}, **{name: value})
        assert (kind(reply), reply["error"]["retry"]) == ("unsupported_option", "never")
        assert reply["error"]["message"].startswith(f"{name}: ")
