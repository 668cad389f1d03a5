"""Which generated message stands for which record."""

from google.protobuf.message import Message as Generated

from schema import intrinsic, messages
from schema.proto.intrinsic import kinematics_pb2, limits_pb2, math_pb2
from schema.proto.kinova import common_pb2, control_config_pb2

MESSAGES: dict[type[messages.Message], type[Generated]] = {
    messages.Empty: common_pb2.Empty,
    messages.Timestamp: common_pb2.Timestamp,
    messages.UserProfileHandle: common_pb2.UserProfileHandle,
    messages.Connection: common_pb2.Connection,
    messages.NotificationOptions: common_pb2.NotificationOptions,
    messages.NotificationHandle: common_pb2.NotificationHandle,
    messages.GravityVector: control_config_pb2.GravityVector,
    messages.Position: control_config_pb2.Position,
    messages.PayloadInformation: control_config_pb2.PayloadInformation,
    messages.CartesianTransform: control_config_pb2.CartesianTransform,
    messages.ToolConfiguration: control_config_pb2.ToolConfiguration,
    messages.ControlConfigurationNotification: control_config_pb2.ControlConfigurationNotification,
    messages.CartesianReferenceFrameInfo: control_config_pb2.CartesianReferenceFrameInfo,
    messages.TwistLinearSoftLimit: control_config_pb2.TwistLinearSoftLimit,
    messages.TwistAngularSoftLimit: control_config_pb2.TwistAngularSoftLimit,
    messages.JointSpeedSoftLimits: control_config_pb2.JointSpeedSoftLimits,
    messages.JointAccelerationSoftLimits: control_config_pb2.JointAccelerationSoftLimits,
    messages.KinematicLimits: control_config_pb2.KinematicLimits,
    messages.KinematicLimitsList: control_config_pb2.KinematicLimitsList,
    messages.DesiredSpeeds: control_config_pb2.DesiredSpeeds,
    messages.LinearTwist: control_config_pb2.LinearTwist,
    messages.AngularTwist: control_config_pb2.AngularTwist,
    messages.JointSpeeds: control_config_pb2.JointSpeeds,
    messages.ControlModeInformation: control_config_pb2.ControlModeInformation,
    messages.ControlModeNotification: control_config_pb2.ControlModeNotification,
    intrinsic.Point: math_pb2.Point,
    intrinsic.Vector3: math_pb2.Vector3,
    intrinsic.Quaternion: math_pb2.Quaternion,
    intrinsic.Pose: math_pb2.Pose,
    intrinsic.Matrixd: math_pb2.Matrixd,
    intrinsic.Affine3d: math_pb2.Affine3d,
    intrinsic.Element: kinematics_pb2.Element,
    intrinsic.CoordinateFrame: kinematics_pb2.CoordinateFrame,
    intrinsic.LimitPair: kinematics_pb2.LimitPair,
    intrinsic.Limits: kinematics_pb2.Limits,
    intrinsic.JointDynamics: kinematics_pb2.Joint.Parameters.Dynamics,
    intrinsic.JointParameters: kinematics_pb2.Joint.Parameters,
    intrinsic.LinearDependency: kinematics_pb2.Joint.LinearDependency,
    intrinsic.Joint: kinematics_pb2.Joint,
    intrinsic.LinkParameters: kinematics_pb2.Link.Parameters,
    intrinsic.Link: kinematics_pb2.Link,
    intrinsic.Skeleton: kinematics_pb2.Skeleton,
    intrinsic.RepeatedDouble: limits_pb2.RepeatedDouble,
    intrinsic.JointLimits: limits_pb2.JointLimits,
    intrinsic.JointLimitsUpdate: limits_pb2.JointLimitsUpdate,
    intrinsic.JointLimitUpdate: limits_pb2.JointLimitUpdate,
    intrinsic.RotationalLimits: limits_pb2.RotationalLimits,
}
"""Every record class that crosses a wire as protobuf."""
