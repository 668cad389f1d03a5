import json
from typing import Any

import msgspec
import pytest

from schema.codecs.protobuf import decode_message, encode_message
from schema.codecs.protobuf_codec import ProtobufCodec
from schema.envelope import (
    PARALLEL,
    Away,
    Denied,
    EventChange,
    GroupOptions,
    Reply,
    RequestEnvelope,
    Stage,
    View,
    Wait,
    When,
)
from schema.errors import BrokerError
from schema.joint_items import JointSafetyGains, JointSafetyMap
from schema.messages import (
    ControlConfigurationNotification,
    ControlModeInformation,
    GravityVector,
    JointSpeedSoftLimits,
    TwistLinearSoftLimit,
)
from schema.proto.armbroker.v1 import armbroker_pb2 as wire
from schema.proto.kinova import errors_pb2
from tests.schema.codecs import cases

CODEC = ProtobufCodec()
LIMIT = TwistLinearSoftLimit(2, 0.2)


def request(**fields: Any) -> bytes:
    return wire.Request(**fields).SerializeToString()


def refusal(payload: bytes) -> BrokerError:
    with pytest.raises(BrokerError) as caught:
        CODEC.decode_request(payload)
    return caught.value


def test_every_field_of_a_request() -> None:
    payload = request(
        id="7-1",
        params=encode_message(LIMIT),
        if_rev=0,
        dry_run=True,
        wait=wire.STORED,
        issued_at_ms=1_796_029_924_512,
        ttl_ms=300_000,
        valid_for_ms=1_000,
        reason="new tool",
        unit="deg",
        view=wire.GROUND,
        until_ms=1_796_029_924_512,
        when=wire.IDLE,
        group=wire.Group(all_or_nothing=True, away=wire.SKIP, only=["r1", "r2"], parallel=256),
    )
    assert CODEC.decode_request(payload) == RequestEnvelope(
        id="7-1",
        params=encode_message(LIMIT),
        if_rev=0,
        dry_run=True,
        wait=Wait.STORED,
        issued_at_us=1_796_029_924_512_000,
        ttl_ms=300_000,
        valid_for_ms=1_000,
        reason="new tool",
        unit="deg",
        view=View.GROUND,
        until_us=1_796_029_924_512_000,
        when=When.IDLE,
        group=GroupOptions(all_or_nothing=True, away=Away.SKIP, only=("r1", "r2"), parallel=256, away_named=True),
    )


def test_zero_and_empty_mean_absent() -> None:
    assert CODEC.decode_request(b"\x28\x00") == RequestEnvelope()
    assert CODEC.decode_request(request(id="7-1")) == RequestEnvelope(id="7-1")
    group = CODEC.decode_request(request(id="7-1", group=wire.Group())).group
    assert group == GroupOptions(parallel=PARALLEL)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\x0a\xff\xff\xff\xff\x0f",
        b"\x30" + b"\xff" * 10 + b"\x01",
        request(id="7-1") + b"\x7b" * 5000,
        b'{"id":"7-1"}',
        b"\x0a\x02\xc3\x28",
    ],
)
def test_what_is_no_request_is_malformed(payload: bytes) -> None:
    assert (refusal(payload).kind, refusal(payload).bare_id) == ("malformed", "")


def test_an_arm_that_is_named_twice_is_malformed() -> None:
    found = refusal(request(id="7-1", group=wire.Group(only=["r1", "r2", "r1"])))
    assert (found.kind, found.bare_id) == ("malformed", "7-1")
    assert found.message == 'group.only: "r1" stands twice'


@pytest.mark.parametrize("more", [b"\x78\x01", b"\x7b" * 50 + b"\x7c" * 50, b"\xf8\x7f\x01" * 1000, b"\x10\x01"])
def test_an_unknown_field_keeps_the_id(more: bytes) -> None:
    found = refusal(request(id="7-1") + more)
    assert (found.kind, found.bare_id) == ("unknown_field", "7-1")
    assert found.message.startswith("the payload: Request has no field ")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"wait": 2}, "wait: 2 is not 0 (applied) or 1 (stored)"),
        ({"view": -1}, "view: -1 is not 0 (reported) or 1 (desired) or 2 (ground)"),
        ({"issued_at_ms": -1}, "issued_at_ms: -1 ms is not between 1 and 253402300799999"),
        ({"issued_at_ms": 2**62}, f"issued_at_ms: {2**62} ms is not between 1 and 253402300799999"),
        ({"ttl_ms": 604_800_001}, "ttl_ms: 604800001 ms is not between 1 and 300000, with when: idle 604800000"),
        ({"valid_for_ms": 999}, "valid_for_ms: 999 ms is not between 1000 and 2592000000"),
        ({"until_ms": -1}, "until_ms: -1 ms is not between 1 and 253402300799999"),
        ({"when": 2}, "when: 2 is not 0 (now) or 1 (idle)"),
        ({"group": wire.Group(away=3)}, "group.away: 3 is not 0 (wait) or 1 (refuse) or 2 (skip)"),  # type: ignore[arg-type]
        ({"group": wire.Group(only=["r1"] * 1001)}, "group.only: 1001 arms are named, 1 to 1000 are taken"),
        ({"group": wire.Group(parallel=257)}, "group.parallel: 257 is not between 1 and 256"),
        ({"reason": "a\nb"}, 'reason: "a\\nb" holds a control or direction-override character at 1'),
        ({"unit": "m"}, 'unit: "m" is not deg or rad'),
    ],
)
def test_a_field_out_of_bounds_keeps_the_id(fields: dict[str, Any], message: str) -> None:
    found = refusal(request(id="7-1", **fields))
    assert (found.kind, found.message, found.bare_id) == ("bad_request_field", message, "7-1")


def test_a_bad_id_is_refused_and_not_repeated() -> None:
    found = refusal(request(id="a/b"))
    assert (found.kind, found.message.partition(":")[0], found.bare_id) == ("bad_request_field", "id", "")


def test_params_of_a_message() -> None:
    assert CODEC.decode_params(encode_message(LIMIT), TwistLinearSoftLimit) == LIMIT
    assert CODEC.decode_params(None, GravityVector) == GravityVector()
    assert CODEC.decode_params(b"", GravityVector) == GravityVector()
    with pytest.raises(BrokerError, match=r"^params\.z: nan is not finite$"):
        CODEC.decode_params(bytes.fromhex("1d0000c07f"), GravityVector)


def test_params_of_a_method_without_a_message_are_json() -> None:
    assert CODEC.decode_plain_params(None) == {}
    assert CODEC.decode_plain_params(b"") == {}
    assert CODEC.decode_plain_params(b'{"limit":5}') == {"limit": 5}


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"\x08\x01", "malformed"),
        (b"[]", "malformed"),
        (b"null", "malformed"),
        (b'{"a":1,"a":2}', "malformed"),
        (b'{"a":NaN}', "malformed"),
        (b'{"a":1e999}', "not_finite"),
    ],
)
def test_params_without_a_message_are_strict_too(raw: bytes, kind: str) -> None:
    with pytest.raises(BrokerError, match=r"^params") as caught:
        CODEC.decode_plain_params(raw)
    assert caught.value.kind == kind


def test_a_reply_with_everything() -> None:
    reply = wire.Reply.FromString(CODEC.encode_reply(cases.READ))
    assert (reply.id, reply.arm, reply.method, reply.ok, reply.stage) == ("", "r12", "GetGravityVector", True, "read")
    assert (reply.final, reply.rev, reply.seq, reply.at_us, reply.pending_rev) == (True, 3, 9, cases.AT, 4)
    assert (reply.duplicate, reply.HasField("in_force"), reply.in_force) == (True, True, False)
    assert (reply.reported_at_us, reply.mode_seen_at_us) == (cases.AT, cases.AT)
    assert decode_message(reply.result, GravityVector, strict=True) == cases.READ.result
    assert decode_message(reply.desired, GravityVector, strict=True) == cases.READ.desired
    assert [(warning.name, warning.path, warning.message) for warning in reply.warnings] == [
        ("DEVICE_DISCONNECTED", "", "gone"),
        ("UNIT_SUSPECT", "z", "small"),
    ]
    assert not reply.HasField("error")


def test_a_plain_reply() -> None:
    reply = wire.Reply.FromString(CODEC.encode_reply(cases.PLAIN))
    assert json.loads(reply.result) == cases.PLAIN.result
    assert not reply.HasField("in_force")
    assert (reply.desired, len(reply.warnings)) == (b"", 0)


def test_a_refusal() -> None:
    reply = wire.Reply.FromString(CODEC.encode_reply(cases.REFUSED))
    error = reply.error
    assert (reply.ok, reply.stage, reply.result) == (False, "refused", b"")
    assert (error.code, error.sub_code, error.name, error.kind) == (3, 48, "VALUE_IS_ABOVE_MAXIMUM", "out_of_limits")
    assert (error.message, error.retry, error.retry_after_ms) == ("too fast", "new_id", 250)
    kinova = errors_pb2.Error.FromString(error.kinova)
    assert (kinova.error_code, kinova.error_sub_code, kinova.error_sub_string) == (3, 48, "too fast")
    first, second, third = error.violations
    assert (first.path, first.joint, first.joint_name, first.got, first.bound) == ("v[4]", 5, "joint_5", 80.0, 70.0)
    assert (first.unit, first.relation, first.source) == ("deg/s", "<=", "hard:device")
    assert (json.loads(first.suggest), json.loads(second.suggest), third.suggest) == ([80.0, 70.0], 0.5, b"")


def test_an_arms_own_numbers_may_be_newer_than_the_enum() -> None:
    error = cases.REFUSED.error
    assert error is not None
    newer = msgspec.structs.replace(cases.REFUSED, error=msgspec.structs.replace(error, code=9, sub_code=4000))
    kinova = errors_pb2.Error.FromString(wire.Reply.FromString(CODEC.encode_reply(newer)).error.kinova)
    assert (kinova.error_code, kinova.error_sub_code) == (9, 4000)


def test_an_event() -> None:
    event = wire.Event.FromString(CODEC.encode_event(cases.CHANGED))
    assert (event.arm, event.epoch, event.seq, event.prev, event.rev, event.at_us) == ("r12", 3, 17, 16, 42, cases.AT)
    assert (event.cause, event.stage, event.request_id) == ("applied", "applied", "alice/plc-3/7-1")
    assert (event.by.user, event.by.connection, event.by.proven) == ("alice", "plc-3", True)
    assert (event.event, event.reason) == ("JOINT_SPEED_SOFT_LIMITS_CHANGED", "new tool")
    notification = decode_message(event.notification, ControlConfigurationNotification, strict=True)
    assert notification == cases.NOTIFICATION
    assert (event.change.item, event.change.slot) == (cases.SLOT, "ANGULAR_JOYSTICK")
    assert decode_message(event.change.before, JointSpeedSoftLimits, strict=True) == cases.BEFORE
    assert decode_message(event.change.after, JointSpeedSoftLimits, strict=True) == cases.AFTER


def test_events_without_notification_or_change() -> None:
    mode = wire.Event.FromString(CODEC.encode_event(cases.MODE))
    assert (mode.notification, mode.change.before) == (b"", b"")
    assert decode_message(mode.change.after, ControlModeInformation, strict=False) == ControlModeInformation(3)
    expired = wire.Event.FromString(CODEC.encode_event(cases.EXPIRED))
    assert not expired.HasField("change")


def test_an_event_of_administration_has_plain_values_and_a_refusal_its_kind_and_count() -> None:
    lock = EventChange("lock", before=None, after={"reason": "work"})
    held = wire.Event.FromString(CODEC.encode_event(msgspec.structs.replace(cases.EXPIRED, change=lock)))
    assert (held.change.item, held.change.before, held.change.after) == ("lock", b"", b'{"reason":"work"}')
    denied = msgspec.structs.replace(cases.EXPIRED, denied=Denied("not_permitted", 3))
    event = wire.Event.FromString(CODEC.encode_event(denied))
    assert (event.kind, event.count) == ("not_permitted", 3)


def test_what_is_of_a_fleet() -> None:
    told = msgspec.structs.replace(cases.EXPIRED, plan=7, until_us=1_000_000, details={"rev": 3})
    event = wire.Event.FromString(CODEC.encode_event(told))
    assert (event.plan, event.until_us, event.details) == (7, 1_000_000, b'{"rev":3}')
    answer = msgspec.structs.replace(cases.APPLIED, plan=7, until_us=1_000_000)
    reply = wire.Reply.FromString(CODEC.encode_reply(answer))
    assert (reply.plan, reply.until_us) == (7, 1_000_000)


def test_documents_are_json() -> None:
    assert CODEC.encode_document({"a": 1}) == b'{"a":1}'
    assert (CODEC.name, CODEC.content_type) == ("protobuf", "application/x-protobuf")


def test_records_without_a_proto_are_json() -> None:
    record = JointSafetyMap({"joint_1": JointSafetyGains(2.0, -2.0, 20.0, 5.0)})
    answer = Reply("1", "r12", "GetJointSafety", True, Stage.READ, True, 1, 0, 0, record)
    reply = wire.Reply.FromString(CODEC.encode_reply(answer))
    assert json.loads(reply.result)["joints"]["joint_1"]["k_position"] == 20.0
    assert CODEC.decode_params(reply.result, JointSafetyMap) == record
    assert CODEC.decode_params(None, JointSafetyMap) == JointSafetyMap()


def test_records_without_a_proto_name_what_is_wrong() -> None:
    with pytest.raises(BrokerError, match=r"params\.joints: 1\.5 is a fraction"):
        CODEC.decode_params(b'{"joints": 1.5}', JointSafetyMap)
