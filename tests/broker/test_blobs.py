"""Records as bytes of the store."""

from broker.blobs import pack, pack_description, unpack, unpack_description
from limits.kinova_models import MODELS
from schema.arms import Description, JointInfo
from schema.enums import ControlMode
from schema.messages import CartesianTransform, ToolConfiguration, TwistLinearSoftLimit


def test_messages_come_back_as_they_were() -> None:
    for message in (
        TwistLinearSoftLimit(ControlMode.CARTESIAN_JOYSTICK, 0.1),
        ToolConfiguration(CartesianTransform(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), 0.5, None),
    ):
        assert unpack(pack(message), type(message)) == message


def test_descriptions_come_back_as_they_were() -> None:
    description = Description(
        model="gen3_7dof",
        serial="S1",
        firmware="1",
        joints=(JointInfo("joint_1", "continuous"), JointInfo("joint_2", "revolute")),
        hard_limits=MODELS["gen3_7dof"].hard,
        hard_source="hard:device",
        payload_max=4.0,
        modes_settable=(1, 2),
        notes=("a note",),
    )
    assert unpack_description(pack_description(description)) == description
