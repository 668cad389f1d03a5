import pytest
from hypothesis import HealthCheck, given, settings

from schema.codecs.protobuf import decode_message, encode_message
from schema.codecs.registry import MESSAGES
from schema.enums import ControlMode
from schema.errors import BrokerError
from schema.messages import (
    Connection,
    ControlConfigurationNotification,
    ControlModeInformation,
    GravityVector,
    JointSpeedSoftLimits,
    KinematicLimits,
    KinematicLimitsList,
    Message,
    NotificationHandle,
    PayloadInformation,
    Position,
    UserProfileHandle,
)
from schema.proto.kinova import control_config_pb2
from tests.schema.everything import GENERATED, Colour, Everything, Part
from tests.schema.strategies import any_record


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for record, generated in GENERATED.items():
        monkeypatch.setitem(MESSAGES, record, generated)


def refusal(payload: bytes, cls: type[Message], *, strict: bool = True, path: str = "") -> tuple[str, str]:
    with pytest.raises(BrokerError) as caught:
        decode_message(payload, cls, strict=strict, path=path)
    return caught.value.kind, caught.value.message


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(any_record(*MESSAGES, Everything))
def test_round_trip(record: Message) -> None:
    payload = encode_message(record)
    assert decode_message(payload, type(record), strict=True) == record
    assert decode_message(payload, type(record), strict=False) == record


def test_bytes_are_those_of_the_generated_message() -> None:
    record = JointSpeedSoftLimits(ControlMode.ANGULAR_JOYSTICK, (49.9, 0.1))
    generated = control_config_pb2.JointSpeedSoftLimits(
        control_mode=control_config_pb2.ANGULAR_JOYSTICK, joint_speed_soft_limits=[49.9, 0.1]
    )
    assert encode_message(record) == generated.SerializeToString()


def test_every_kind_of_field() -> None:
    record = Everything(
        double=0.1,
        data=b"\x00\xff",
        colour=Colour.BLUE,
        part=Part(3, 0.0),
        maybe_flag=False,
        doubles=(0.1, 1e300),
        parts=(Part(1), Part()),
        by_name={"b": Part(2), "a": Part()},
        by_number={10: 1.5, -2: 0.0},
    )
    decoded = decode_message(encode_message(record), Everything, strict=True)
    assert decoded == record
    assert isinstance(decoded, Everything)
    assert list(decoded.by_name) == ["a", "b"]


def test_presence() -> None:
    assert decode_message(b"", PayloadInformation, strict=True) == PayloadInformation()
    assert decode_message(b"\x12\x00", PayloadInformation, strict=True) == PayloadInformation(0.0, Position())
    assert decode_message(b"", Part, strict=True) == Part(0, None)
    assert decode_message(encode_message(Part(0, 0.0)), Part, strict=True) == Part(0, 0.0)


def test_protobuf_keeps_its_own_rule_for_fields_given_twice() -> None:
    twice = bytes.fromhex("0d0000803f0d00000040") + bytes.fromhex("12050d0000803f") + bytes.fromhex("12051500000040")
    assert decode_message(twice, PayloadInformation, strict=True) == PayloadInformation(2.0, Position(1.0, 2.0))


@pytest.mark.parametrize(
    ("payload", "cls"),
    [
        ("0d0000", GravityVector),
        ("08ffffffffffffffffffff", ControlModeInformation),
        ("1202c328", Connection),
        ("0aff01", KinematicLimitsList),
        ("7b" * 5000, GravityVector),
        ("7c", GravityVector),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_malformed(payload: str, cls: type[Message], *, strict: bool) -> None:
    name = MESSAGES[cls].DESCRIPTOR.full_name
    expected = ("malformed", f"params: the bytes are no {name}")
    assert refusal(bytes.fromhex(payload), cls, strict=strict, path="params") == expected


@pytest.mark.parametrize(
    ("payload", "cls", "message"),
    [
        ("2007", GravityVector, "GravityVector has no field 4"),
        ("0d0000803f" + "7b" * 50 + "7c" * 50, GravityVector, "GravityVector has no field 15"),
        ("20072807200830073807", GravityVector, "GravityVector has no field 4, 5, 6, 7"),
        ("12022007", PayloadInformation, "an unknown field within PayloadInformation"),
        ("08011007", UserProfileHandle, "UserProfileHandle has no field 2"),
    ],
)
def test_unknown_fields_are_refused_in_a_request_and_ignored_from_an_arm(
    payload: str, cls: type[Message], message: str
) -> None:
    data = bytes.fromhex(payload)
    assert refusal(data, cls) == ("unknown_field", f"the payload: {message}")
    assert isinstance(decode_message(data, cls, strict=False), cls)


def test_an_unknown_field_of_a_map_entry_is_found() -> None:
    entry = bytes.fromhex("0a016112003801")
    payload = encode_message(Everything(by_name={"a": Part()}))
    start = payload.index(b"\x0a\x01a") - 1
    assert decode_message(payload, Everything, strict=True) == Everything(by_name={"a": Part()})
    broken = payload[:start] + bytes([len(entry)]) + entry
    assert refusal(broken, Everything)[0] == "unknown_field"


def test_a_message_names_no_endless_list_of_fields() -> None:
    payload = b"".join(bytes([number << 3, 1]) for number in range(4, 15))
    assert refusal(payload, GravityVector)[1] == "the payload: GravityVector has no field 4, 5, 6, 7, 8, 9, 10, 11"


@pytest.mark.parametrize("number", [3, 9, -1, 9999])
def test_unknown_enum_numbers_are_refused_in_a_request_and_kept_from_an_arm(number: int) -> None:
    payload = control_config_pb2.ControlModeInformation(control_mode=number).SerializeToString()  # type: ignore[arg-type]  # an open enum
    assert refusal(payload, ControlModeInformation) == ("unknown_enum", f"control_mode: {number} is no ControlMode")
    assert decode_message(payload, ControlModeInformation, strict=False) == ControlModeInformation(number)


def test_enum_zero_is_left_to_the_rules_of_the_method() -> None:
    record = decode_message(b"", ControlModeInformation, strict=True)
    assert record == ControlModeInformation(ControlMode.UNSPECIFIED_CONTROL_MODE)


@pytest.mark.parametrize(("bits", "text"), [("0000c07f", "nan"), ("0000807f", "inf"), ("000080ff", "-inf")])
def test_numbers_that_are_not_finite(bits: str, text: str) -> None:
    assert refusal(bytes.fromhex("1d" + bits), GravityVector) == ("not_finite", f"z: {text} is not finite")
    lenient = decode_message(bytes.fromhex("1d" + bits), GravityVector, strict=False)
    assert repr(lenient) == f"GravityVector(x=0.0, y=0.0, z={text})"


def test_faults_within_lists_and_maps_name_their_place() -> None:
    inf = float("inf")
    limits = KinematicLimitsList((KinematicLimits(), KinematicLimits(joint_speed_limits=(1.0, inf))))
    message = "kinematic_limits_list[1].joint_speed_limits[1]: inf is not finite"
    assert refusal(encode_message(limits), KinematicLimitsList) == ("not_finite", message)
    by_number = encode_message(Everything(by_number={1: 0.0, 2: inf}))
    assert refusal(by_number, Everything) == ("not_finite", 'by_number."2": inf is not finite')
    double = encode_message(Everything(double=inf))
    assert refusal(double, Everything, path="params") == ("not_finite", "params.double: inf is not finite")
    assert decode_message(double, Everything, strict=False) == Everything(double=inf)


def test_float32_values_read_as_the_shortest_decimal_without_negative_zero() -> None:
    record = decode_message(bytes.fromhex("0dcdcccc3d1500000080"), GravityVector, strict=True)
    assert repr(record) == "GravityVector(x=0.1, y=0.0, z=0.0)"


def test_names_of_an_arm_event_stay_numbers() -> None:
    event = decode_message(bytes.fromhex("08e707"), ControlConfigurationNotification, strict=False)
    assert event == ControlConfigurationNotification(event=999)
    assert decode_message(b"\x08\x80\x80\x80\x80\x10", NotificationHandle, strict=True) == NotificationHandle(0)
