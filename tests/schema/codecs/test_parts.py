import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schema.codecs import CODECS, Codec
from schema.codecs.documents import event_document, reply_document
from schema.codecs.parts import PLAIN, Parts, encoded_parts, is_exact
from schema.codecs.plain import bare
from schema.codecs.protobuf import encode_message
from schema.codecs.registry import MESSAGES
from schema.enums import ControlConfigurationEvent, ControlMode
from schema.envelope import Author, Event, EventChange, Reply, Stage
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.items import CONFIG_ITEMS, ConfigItem
from schema.joint_items import JointParameterMap, JointSafetyMap
from schema.messages import (
    Connection,
    ControlConfigurationNotification,
    ControlModeNotification,
    GravityVector,
    JointSpeedSoftLimits,
    Message,
    Timestamp,
    UserProfileHandle,
)
from schema.proto.armbroker.v1 import armbroker_pb2 as wire
from tests.schema.strategies import records

JSON, MSGPACK, PROTOBUF = CODECS.values()
PLAIN_CODECS: list[tuple[Codec, Callable[[Any], bytes]]] = [
    (JSON, msgspec.json.encode),
    (MSGPACK, msgspec.msgpack.encode),
]
AT = 1_796_029_924_512_345
USER = UserProfileHandle(3, 3)
NOTES = st.sampled_from([
    None,
    ControlConfigurationNotification(
        ControlConfigurationEvent.GRAVITY_VECTOR_CHANGED, Timestamp(1_796_029_924, 512_345), USER,
        Connection(USER, "u/c", 4),
    ),
    ControlConfigurationNotification(99),
    ControlModeNotification(ControlMode.IDLE, Timestamp(1, 2), USER),
    ControlModeNotification(99, None, None, Connection(None, "arm", 0)),
    GravityVector(z=-9.81),
])  # fmt: skip


def event_of(item: ConfigItem, before: Message | None, after: Message | None, note: Message | None) -> Event:
    change = EventChange(item.key, "IDLE" if item.modes else "", item.field, before, after)
    by = Author("u", "c", proven=True)
    return Event("r1", 1, 17, 16, 42, AT, "applied", "applied", by, "NAME", "u/c/1", note, change)


def reply_of(result: Message | None, desired: Message | None) -> Reply:
    return Reply("1", "r1", "Get", True, Stage.READ, True, 42, 17, AT, result, desired=desired)


def values_of(item: ConfigItem) -> st.SearchStrategy[Message | None]:
    return st.none() | records(item.record)


@pytest.mark.parametrize("item", CONFIG_ITEMS, ids=lambda item: item.key)
@given(data=st.data())
def test_values_of_every_item_are_told_as_in_a_document_that_is_encoded_whole(
    item: ConfigItem, data: st.DataObject
) -> None:
    before, after, note = data.draw(values_of(item)), data.draw(values_of(item)), data.draw(NOTES)
    event, reply = event_of(item, before, after, note), reply_of(after, before)
    for codec, encode in PLAIN_CODECS:
        for _ in range(2):
            assert codec.encode_event(event) == encode(event_document(event))
            assert codec.encode_reply(reply) == encode(reply_document(reply))
    told = wire.Event.FromString(PROTOBUF.encode_event(event))
    answered = wire.Reply.FromString(PROTOBUF.encode_reply(reply))
    for value, given_bytes in ((before, told.change.before), (after, told.change.after), (after, answered.result)):
        plain = b"" if value is None else msgspec.json.encode(bare(value, ""))
        assert given_bytes == (encode_message(value) if value is not None and item.record in MESSAGES else plain)


def test_what_was_told_before_is_not_made_again() -> None:
    made = []

    def make(value: Message, value_field: str) -> Any:
        made.append((value, value_field))
        return bare(value, value_field)

    parts, field = Parts(make), "joint_speed_soft_limits"
    limits = JointSpeedSoftLimits(ControlMode.IDLE, (1.0, 2.0))
    for _ in range(3):
        assert parts[JointSpeedSoftLimits](limits, field) == [1.0, 2.0]
        assert parts[JointSpeedSoftLimits](limits, "") == {"control_mode": "IDLE", field: [1.0, 2.0]}
    assert made == [(limits, field), (limits, "")]
    assert parts[type(None)](None, field) is None


def test_equal_records_that_are_written_otherwise_are_told_as_they_are() -> None:
    pairs: list[tuple[Message, Message]] = [
        (JointParameterMap({"a": True}), JointParameterMap({"a": 1.0})),
        (JointLimits(max_velocity=RepeatedDouble((0.0,))), JointLimits(max_velocity=RepeatedDouble((-0.0,)))),
    ]
    for pair in pairs:
        assert pair[0] == pair[1]
        for value in pair:
            reply = reply_of(value, None)
            for codec, encode in PLAIN_CODECS:
                assert codec.encode_reply(reply) == encode(reply_document(reply))
    assert math.copysign(1.0, PLAIN[JointLimits](pairs[1][1], "")["max_velocity"]["values"][0]) == -1.0


def test_which_records_are_remembered() -> None:
    remembered = {item.key for item in CONFIG_ITEMS if is_exact(item.record)}
    assert remembered == {item.key for item in CONFIG_ITEMS if not item.kept_by_service}
    assert not is_exact(JointSafetyMap)


def test_encoded_parts_stand_in_documents_as_their_values() -> None:
    parts = encoded_parts(msgspec.json.encode)
    assert msgspec.json.encode({"a": parts[GravityVector](GravityVector(1.0), "x")}) == b'{"a":1.0}'
