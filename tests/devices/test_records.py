import msgspec
import pytest

from devices.records import FAULTY, record_of
from schema.enums import CartesianReferenceFrame, ControlMode
from schema.intrinsic import JointLimits, RepeatedDouble
from schema.items import ITEMS
from schema.joint_items import JointParameterMap, JointSafetyGains, JointSafetyMap
from schema.messages import (
    CartesianReferenceFrameInfo,
    CartesianTransform,
    JointSpeedSoftLimits,
    Message,
    PayloadInformation,
    Position,
    ToolConfiguration,
)

EXAMPLES: dict[str, Message] = {
    "payload_information": PayloadInformation(1.25, Position(0.0, 0.01, -0.02)),
    "tool_configuration": ToolConfiguration(CartesianTransform(z=0.12), 0.9, None),
    "cartesian_reference_frame": CartesianReferenceFrameInfo(CartesianReferenceFrame.CARTESIAN_REFERENCE_FRAME_BASE),
    "joint_speed_soft_limits": JointSpeedSoftLimits(ControlMode.ANGULAR_TRAJECTORY, (1.0, 2.5)),
    "joint_limits": JointLimits(max_velocity=RepeatedDouble((1.0, 2.0))),
    "joint_safety": JointSafetyMap({"joint_1": JointSafetyGains(1.0, -1.0, 20.0, 5.0)}),
    "joint_parameters": JointParameterMap({"joint_limits.a.max_velocity": 1.5, "joint_limits.a.has_jerk_limits": True}),
}


@pytest.mark.parametrize("key", EXAMPLES)
def test_a_record_is_read_again_as_it_was(key: str) -> None:
    plain = msgspec.json.decode(msgspec.json.encode(EXAMPLES[key]))
    assert record_of(ITEMS[key].record, plain) == EXAMPLES[key]


@pytest.mark.parametrize(
    ("key", "plain"),
    [
        ("payload_information", {"payload_mass": 1.0}),
        ("payload_information", 3),
        ("control_mode", {"control_mode": 99}),
        ("joint_parameters", {"parameters": 3}),
        ("joint_speed_soft_limits", {"control_mode": 1, "joint_speed_soft_limits": None}),
    ],
)
def test_what_is_none_of_a_record_is_an_error(key: str, plain: object) -> None:
    with pytest.raises(FAULTY):
        record_of(ITEMS[key].record, plain)  # type: ignore[arg-type]  # what a damaged file holds
