"""Which calls of `Kinova.Api.ControlConfig` read and write each config item."""

from schema.arms import Slot
from schema.items import CONFIG_ITEMS, DESIRED_SPEEDS, ITEMS, methods_by_verb
from schema.messages import DesiredSpeeds, KinematicLimits, KinematicLimitsList, Message, NotificationHandle

MODE_SLOT: Slot = ("control_mode", 0)
DESIRED = tuple(item.key for item in DESIRED_SPEEDS)
"""The items that GetDesiredSpeeds reads."""

GETTERS: dict[str, str] = {**methods_by_verb("Get"), MODE_SLOT[0]: "GetControlMode"}
"""The items that a call of their own reads."""
SETTERS: dict[str, str] = methods_by_verb("Set")
RESETTERS: dict[str, str] = methods_by_verb("Reset")

ANSWERS: dict[str, type[Message]] = {
    **{method: ITEMS[key].record for table in (GETTERS, RESETTERS) for key, method in table.items()},
    "GetKinematicHardLimits": KinematicLimits,
    "GetKinematicSoftLimits": KinematicLimits,
    "GetAllKinematicSoftLimits": KinematicLimitsList,
    "GetDesiredSpeeds": DesiredSpeeds,
    "ControlConfigurationTopic": NotificationHandle,
    "ControlModeTopic": NotificationHandle,
}
"""What a call answers; the others answer nothing."""

EVENT_ITEMS: dict[int, str] = {item.event_number: item.key for item in CONFIG_ITEMS if item.event_number}
"""The item that an event tells of; the others have no value here."""


def methods_of(item: str) -> frozenset[str]:
    """The calls that only make sense where the item can be read."""
    found = (GETTERS.get(item), SETTERS.get(item), RESETTERS.get(item))
    return frozenset(name for name in found if name is not None)
