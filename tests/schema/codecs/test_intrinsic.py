import math

import pytest

from schema.codecs.intrinsic import decode_intrinsic
from schema.codecs.protobuf import encode_message
from schema.codecs.registry import MESSAGES
from schema.errors import BrokerError
from schema.intrinsic import (
    Joint,
    JointLimits,
    JointLimitUpdate,
    JointParameters,
    JointType,
    LinearDependency,
    Point,
    Quaternion,
    RepeatedDouble,
    RotationalLimits,
    Vector3,
)


def test_numbers_are_kept_as_they_are() -> None:
    record = Point(x=-0.0, y=math.inf, z=-math.inf)
    assert repr(decode_intrinsic(encode_message(record), Point)) == repr(record)
    assert math.isnan(decode_intrinsic(encode_message(Point(x=math.nan)), Point).x)


def test_presence_is_kept() -> None:
    payload = bytes.fromhex("190000000000000000")
    assert decode_intrinsic(payload, JointLimitUpdate) == JointLimitUpdate(max_velocity=0.0)
    assert encode_message(JointLimitUpdate(max_velocity=0.0)) == payload


def test_an_empty_list_is_present() -> None:
    present = JointLimits(max_velocity=RepeatedDouble())
    assert encode_message(present).hex() == "1a00"
    assert decode_intrinsic(b"\x1a\x00", JointLimits) == present
    assert decode_intrinsic(b"", JointLimits).max_velocity is None


def test_rotational_limits_are_kept() -> None:
    record = RotationalLimits(min_rotation_angle=Vector3(), reference_quaternion_for_min_max=Quaternion(w=1.0))
    assert decode_intrinsic(encode_message(record), RotationalLimits) == record


def test_map_entries_without_key_or_value_are_zero() -> None:
    payload = bytes.fromhex("1209110000 00000000e03f 12020805".replace(" ", ""))
    assert decode_intrinsic(payload, LinearDependency).alpha_leading == {0: 0.5, 5: 0.0}


def test_unknown_enum_numbers_are_kept() -> None:
    assert decode_intrinsic(b"\x08\x07", JointParameters).type == 7
    assert decode_intrinsic(b"\x08\x02", JointParameters).type is JointType.FIXED


def test_retired_fields_of_a_joint_are_refused_or_dropped() -> None:
    payload = bytes.fromhex("1a03616263200912020801")
    with pytest.raises(BrokerError) as caught:
        decode_intrinsic(payload, Joint)
    assert caught.value.kind == "unknown_field"
    dropped = decode_intrinsic(payload, Joint, drop_unknown=True)
    assert dropped == Joint(parameters=JointParameters(type=JointType.PRISMATIC))


@pytest.mark.parametrize("drop_unknown", [False, True])
def test_bytes_that_are_no_message(drop_unknown: bool) -> None:
    with pytest.raises(BrokerError) as caught:
        decode_intrinsic(b"\x09\x00", Point, drop_unknown=drop_unknown)
    assert caught.value.kind == "malformed"


def test_every_message_has_a_record() -> None:
    names = {message.DESCRIPTOR.full_name for message in MESSAGES.values()}
    assert len([name for name in names if name.startswith("intrinsic_proto.")]) == 22
