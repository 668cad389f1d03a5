"""The methods of `Kinova.Api.ControlConfig`."""

from schema.items import methods_by_verb

CONTROL_CONFIG_METHODS = frozenset(
    {
        *methods_by_verb("Get").values(),
        *methods_by_verb("Set").values(),
        *methods_by_verb("Reset").values(),
        "ControlConfigurationTopic",
        "Unsubscribe",
        "GetControlMode",
        "GetKinematicHardLimits",
        "GetKinematicSoftLimits",
        "GetAllKinematicSoftLimits",
        "GetDesiredSpeeds",
        "ControlModeTopic",
    }
)
"""The 30 RPCs of the service; it has no SetControlMode."""
