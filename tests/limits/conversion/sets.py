"""Sets of limits, one for what each format can hold."""

from limits.conversion.limit_set import JointNumbers, LimitedJoint, LimitSet
from limits.formats.urdf_records import JointType, UrdfMimic
from limits.tesseract.joint_safety import JointSafety
from schema.enums import ControlMode

SAFETY = JointSafety(soft_lower_limit=-0.5, soft_upper_limit=0.5, k_position=10.0, k_velocity=5.0)
FULL = JointNumbers(
    position_lower=-1.0,
    position_upper=1.0,
    velocity=2.0,
    acceleration=3.0,
    deceleration=4.0,
    jerk=5.0,
    effort=6.0,
)
SYMMETRIC = JointNumbers(position_lower=-1.0, position_upper=1.0, velocity=2.0, acceleration=3.0, jerk=5.0, effort=6.0)
HALF = JointNumbers(position_upper=1.0, velocity=2.0)

URDF = LimitSet(
    joints=(
        LimitedJoint(name="shoulder", limits=FULL, safety=SAFETY),
        LimitedJoint(name="slide", type=JointType.PRISMATIC, limits=HALF),
        LimitedJoint(name="wrist", type=JointType.CONTINUOUS, limits=JointNumbers(velocity=1.5)),
        LimitedJoint(name="free", type=JointType.CONTINUOUS),
        LimitedJoint(name="finger", limits=SYMMETRIC, mimic=UrdfMimic(joint="shoulder", multiplier=2.0, offset=None)),
    )
)
ROS = LimitSet(
    joints=(
        LimitedJoint(name="shoulder", limits=FULL, safety=SAFETY),
        LimitedJoint(name="elbow", limits=HALF),
        LimitedJoint(name="wrist", type=JointType.CONTINUOUS, limits=JointNumbers(velocity=1.5)),
    )
)
SKELETON = LimitSet(
    joints=(
        LimitedJoint(
            name="shoulder",
            limits=SYMMETRIC,
            soft=JointNumbers(
                position_lower=-0.5, position_upper=0.5, velocity=1.0, acceleration=3.0, jerk=5.0, effort=6.0
            ),
        ),
        LimitedJoint(name="slide", type=JointType.PRISMATIC, limits=HALF),
        LimitedJoint(name="free"),
    )
)
JOINT_LIMITS = LimitSet(
    joints=(LimitedJoint(name="joint_1", limits=SYMMETRIC), LimitedJoint(name="joint_2", limits=HALF)), named=False
)
KINOVA = LimitSet(
    joints=(
        LimitedJoint(name="joint_1", limits=JointNumbers(velocity=0.5, acceleration=1.0)),
        LimitedJoint(name="joint_2", limits=JointNumbers(velocity=0.0, acceleration=2.0)),
    ),
    named=False,
    mode=ControlMode.ANGULAR_JOYSTICK,
)
CARTESIAN = LimitSet(joints=(), named=False, mode=ControlMode.CARTESIAN_JOYSTICK, twist_linear=0.5, twist_angular=1.25)
