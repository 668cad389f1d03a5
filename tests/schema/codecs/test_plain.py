import json

import pytest
from hypothesis import HealthCheck, given, settings

from schema.codecs.plain import bare, from_plain, to_plain
from schema.codecs.registry import MESSAGES
from schema.enums import ControlMode
from schema.errors import BrokerError
from schema.messages import (
    CartesianTransform,
    ControlConfigurationNotification,
    ControlModeInformation,
    Empty,
    JointSpeedSoftLimits,
    KinematicLimits,
    KinematicLimitsList,
    Message,
    NotificationHandle,
    PayloadInformation,
    Position,
    ToolConfiguration,
)
from tests.schema.everything import Colour, Everything, Part
from tests.schema.strategies import any_record

LIMIT_FIELDS = (
    "control_mode",
    "twist_linear",
    "twist_angular",
    "joint_speed_limits",
    "joint_acceleration_limits",
)


def refusal(document: object, cls: type[Message], path: str = "") -> tuple[str, str]:
    with pytest.raises(BrokerError) as caught:
        from_plain(document, cls, path)
    return caught.value.kind, caught.value.message


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(any_record(*MESSAGES, Everything))
def test_round_trip_through_json(record: Message) -> None:
    document = to_plain(record)
    assert from_plain(document, type(record)) == record
    assert from_plain(json.loads(json.dumps(document)), type(record)) == record


def test_every_scalar_is_present_and_absent_parts_are_left_out() -> None:
    assert to_plain(Empty()) == {}
    assert to_plain(PayloadInformation()) == {"payload_mass": 0.0}
    assert to_plain(KinematicLimits()) == {
        "control_mode": "UNSPECIFIED_CONTROL_MODE",
        "twist_linear": 0.0,
        "twist_angular": 0.0,
        "joint_speed_limits": [],
        "joint_acceleration_limits": [],
    }
    assert to_plain(PayloadInformation(1.5, Position())) == {
        "payload_mass": 1.5,
        "payload_mass_center": {"x": 0.0, "y": 0.0, "z": 0.0},
    }


def test_every_kind_of_field() -> None:
    record = Everything(
        data=b"\x00\xff",
        colour=7,
        colours=(Colour.RED, 9),
        part=Part(3),
        maybe_flag=False,
        parts=(Part(1, 0.5),),
        by_name={"b": Part(2), "a": Part(1)},
        by_number={10: 1.5, -2: 0.0},
    )
    document = to_plain(record)
    assert document["data"] == "AP8="
    assert (document["colour"], document["colours"]) == (7, ["RED", 9])
    assert (document["part"], document["parts"]) == ({"number": 3}, [{"number": 1, "maybe": 0.5}])
    assert document["maybe_flag"] is False
    assert list(document["by_name"].items()) == [("a", {"number": 1}), ("b", {"number": 2})]
    assert document["by_number"] == {"-2": 0.0, "10": 1.5}
    known = Everything(data=record.data, by_name=record.by_name, by_number=record.by_number)
    assert from_plain(to_plain(known), Everything) == known


def test_unknown_numbers_from_arms_stay_numbers() -> None:
    assert to_plain(ControlConfigurationNotification(event=15)) == {"event": 15}
    assert to_plain(ControlModeInformation(1)) == {"control_mode": "ANGULAR_JOYSTICK"}


def test_bare_values() -> None:
    limits = JointSpeedSoftLimits(ControlMode.ANGULAR_JOYSTICK, (1.0, 2.0))
    assert bare(limits, "joint_speed_soft_limits") == [1.0, 2.0]
    assert bare(limits, "control_mode") == "ANGULAR_JOYSTICK"
    assert bare(NotificationHandle(3), "identifier") == 3
    assert bare(Position(1.0), "") == {"x": 1.0, "y": 0.0, "z": 0.0}
    assert bare(None, "x") is None


def test_absent_keys_take_defaults() -> None:
    assert from_plain({}, ToolConfiguration) == ToolConfiguration()
    assert from_plain({"tool_transform": {}}, ToolConfiguration) == ToolConfiguration(CartesianTransform())


@pytest.mark.parametrize(
    ("document", "cls", "kind", "message"),
    [
        ([], Position, "malformed", "the payload: a list is given, an object (Position) is needed"),
        ({"x": "1"}, Position, "malformed", 'x: "1" is a string, a number is needed'),
        ({"w": 1}, Position, "unknown_field", "w: Position has no such field, only: x, y, z"),
        ({"payload_mass_center": None}, PayloadInformation, "malformed",
         "payload_mass_center: null is given, an object (Position) is needed"),
        ({"payload_mass_center": {"z": 1e39}}, PayloadInformation, "not_finite",
         "payload_mass_center.z: 1e+39 does not fit a float32"),
        ({"control_mode": 1}, ControlModeInformation, "malformed",
         "control_mode: 1 is an integer, a name of ControlMode is needed"),
        ({"control_mode": "angular_joystick"}, ControlModeInformation, "unknown_enum",
         'control_mode: "angular_joystick" is no ControlMode; did you mean \'ANGULAR_JOYSTICK\'?'),
        ({"joint_speed_soft_limits": 1.0}, JointSpeedSoftLimits, "malformed",
         "joint_speed_soft_limits: 1.0 is a fraction, a list is needed"),
        ({"joint_speed_soft_limits": [1, "2"]}, JointSpeedSoftLimits, "malformed",
         'joint_speed_soft_limits[1]: "2" is a string, a number is needed'),
        ({"kinematic_limits_list": [{}, {"joint_speed_limits": [True]}]}, KinematicLimitsList, "malformed",
         "kinematic_limits_list[1].joint_speed_limits[0]: true is a boolean, a number is needed"),
        ({"kinematic_limits_list": [{}, {"q.q": 1}]}, KinematicLimitsList, "unknown_field",
         f'kinematic_limits_list[1]."q.q": KinematicLimits has no such field, only: {", ".join(LIMIT_FIELDS)}'),
        ({"data": 1}, Everything, "malformed", "data: 1 is an integer, base64 text is needed"),
        ({"data": "?"}, Everything, "malformed", 'data: "?" is no base64 text'),
        ({"by_name": []}, Everything, "malformed", "by_name: a list is given, an object is needed"),
        ({"by_name": {"a b": {"number": -1}}}, Everything, "malformed",
         'by_name."a b".number: -1 is not between 0 and 4294967295'),
        ({"by_number": {"x": 1}}, Everything, "malformed", 'by_number.x: "x" is no integer'),
        ({"maybe_flag": 1}, Everything, "malformed", "maybe_flag: 1 is an integer, true or false is needed"),
        ({"part": {"maybe": None}}, Everything, "malformed", "part.maybe: null is given, a number is needed"),
    ],
)  # fmt: skip
def test_refusals_name_path_value_and_need(document: object, cls: type[Message], kind: str, message: str) -> None:
    assert refusal(document, cls) == (kind, message)


def test_the_path_begins_where_the_caller_says() -> None:
    assert refusal({"x": "1"}, Position, "params")[1].startswith("params.x: ")
    assert refusal([], Position, "params")[1].startswith("params: ")


def test_integers_are_accepted_for_floats() -> None:
    record = from_plain({"x": 1, "y": -9.81}, Position)
    assert record == Position(1.0, -9.81)
    assert isinstance(record, Position)
    assert type(record.x) is float


@pytest.mark.parametrize(
    ("document", "kind", "path"),
    [
        ({"control_mode": "X", "joint_speed_soft_limits": [1.0, float("nan"), "2"]}, "malformed", "[2]"),
        ({"control_mode": "X", "joint_speed_soft_limits": [float("inf"), float("nan")]}, "not_finite", "[0]"),
        ({"control_mode": "X", "joint_speed_soft_limits": [float("nan")], "z": 1}, "unknown_field", "z"),
        ({"control_mode": "X", "joint_speed_soft_limits": [1.0]}, "unknown_enum", "control_mode"),
    ],
)
def test_of_several_faults_those_of_the_form_are_told_first(document: dict[str, object], kind: str, path: str) -> None:
    found, message = refusal(document, JointSpeedSoftLimits)
    assert found == kind
    assert path in message.partition(": ")[0]
