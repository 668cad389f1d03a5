"""The service ControlConfig."""

from kortex_api.autogen.client_stubs.stub import call
from kortex_api.autogen.messages import Common_pb2
from kortex_api.autogen.messages import ControlConfig_pb2 as config
from kortex_api.RouterClient import RouterClientSendOptions

SERVICE = 16


class ControlConfigClient:
    def __init__(self, router):
        self.router = router
        self.callbacks = {}
        router.registerNotificationCallback(SERVICE, self._on_notification)  # (6) replaces that of another client

    def _on_notification(self, frame):
        handle = frame.header.message_info & 0xFFFF
        if handle not in self.callbacks:
            raise RuntimeError("No callback list instantiated")  # (5), which is (1)
        callback, message = self.callbacks[handle]
        callback(message.FromString(frame.payload))

    def _subscribe(self, name, message, callback, request, deviceId, options):
        payload = self.router.send(SERVICE, name, request.SerializeToString(), deviceId, options)
        handle = Common_pb2.NotificationHandle.FromString(payload)
        self.callbacks[handle.identifier] = (callback, message)  # (5) later than the answer
        return handle

    def OnNotificationControlConfigurationTopic(
        self, callback, notificationoptions, deviceId=0, options=RouterClientSendOptions()
    ):
        message = config.ControlConfigurationNotification
        return self._subscribe("ControlConfigurationTopic", message, callback, notificationoptions, deviceId, options)

    def OnNotificationControlModeTopic(
        self, callback, notificationoptions, deviceId=0, options=RouterClientSendOptions()
    ):
        message = config.ControlModeNotification
        return self._subscribe("ControlModeTopic", message, callback, notificationoptions, deviceId, options)

    Unsubscribe = call(SERVICE, "Unsubscribe", Common_pb2.NotificationHandle, None)  # (5) the entry stays


_LIMITS = {
    "JointSpeedSoftLimits": config.JointSpeedSoftLimits,
    "TwistLinearSoftLimit": config.TwistLinearSoftLimit,
    "TwistAngularSoftLimit": config.TwistAngularSoftLimit,
    "JointAccelerationSoftLimits": config.JointAccelerationSoftLimits,
}
_VALUES = {
    "GravityVector": config.GravityVector,
    "PayloadInformation": config.PayloadInformation,
    "ToolConfiguration": config.ToolConfiguration,
}
_METHODS = {
    **{f"Set{name}": (message, None) for name, message in {**_LIMITS, **_VALUES}.items()},
    **{f"Get{name}": (None, message) for name, message in _VALUES.items()},
    **{f"Reset{name}": (None, message) for name, message in _VALUES.items()},
    **{f"Reset{name}": (config.ControlModeInformation, message) for name, message in _LIMITS.items()},
    "SetCartesianReferenceFrame": (config.CartesianReferenceFrameInfo, None),
    "GetCartesianReferenceFrame": (None, config.CartesianReferenceFrameInfo),
    "GetControlMode": (None, config.ControlModeInformation),
    "GetKinematicHardLimits": (None, config.KinematicLimits),
    "GetKinematicSoftLimits": (config.ControlModeInformation, config.KinematicLimits),
    "GetAllKinematicSoftLimits": (None, config.KinematicLimitsList),
    "SetDesiredLinearTwist": (config.LinearTwist, None),
    "SetDesiredAngularTwist": (config.AngularTwist, None),
    "SetDesiredJointSpeeds": (config.JointSpeeds, None),
    "GetDesiredSpeeds": (None, config.DesiredSpeeds),
}
for _name, (_request, _answer) in _METHODS.items():
    setattr(ControlConfigClient, _name, call(SERVICE, _name, _request, _answer))
