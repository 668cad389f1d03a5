"""The events the service publishes: names, numbers and topics."""

import enum
from typing import NamedTuple

from schema.enums import ControlConfigurationEvent


class EventClass(enum.StrEnum):
    """The part of the topic after `evt/<arm>/`."""

    CONFIG = "config"
    MODE = "mode"
    OUTCOME = "outcome"
    ADMIN = "admin"
    """Who may change the arm, which arm it is, and whom the rights refused."""
    OVERRIDE = "override"
    """Ends of changes that have one."""
    PLAN = "plan"
    """Of the fleet: changes of many arms."""
    RECIPE = "recipe"
    """Of the fleet: values under a name."""
    SETTINGS = "settings"
    """Of the fleet: what the settings say of it."""
    NOTICE = "notice"
    """Sent to one handle only."""


class EventRow(NamedTuple):
    """One event name."""

    name: str
    event_class: EventClass
    number: int | None
    """Kinova's number; None for our own events, which never use one."""


class OwnEvent(enum.Enum):
    """Events of the items that the service itself holds; Kinova has none for them."""

    JOINT_LIMITS_CHANGED = "JOINT_LIMITS_CHANGED"
    JOINT_SAFETY_CHANGED = "JOINT_SAFETY_CHANGED"
    JOINT_PARAMETERS_CHANGED = "JOINT_PARAMETERS_CHANGED"


CONTROL_MODE_CHANGED = "CONTROL_MODE_CHANGED"
CHANGE_NOT_APPLIED = "CHANGE_NOT_APPLIED"
CONFIG_APPLIED = "CONFIG_APPLIED"
"""Tells of a change of several items, behind the events of these."""
HANDLE_EXPIRED = "HANDLE_EXPIRED"


class AdminEvent(enum.StrEnum):
    """Events of administration."""

    AUTHORITY_CHANGED = "AUTHORITY_CHANGED"
    ARM_HELD = "ARM_HELD"
    ARM_RELEASED = "ARM_RELEASED"
    ARM_CONFIRMED = "ARM_CONFIRMED"
    ARM_RENAMED = "ARM_RENAMED"
    REQUEST_DENIED = "REQUEST_DENIED"


class OverrideEvent(enum.StrEnum):
    """Events of changes with an end."""

    OVERRIDE_EXTENDED = "OVERRIDE_EXTENDED"
    OVERRIDE_ENDING = "OVERRIDE_ENDING"
    OVERRIDE_ENDED = "OVERRIDE_ENDED"


class FleetEvent(enum.StrEnum):
    """Events of the fleet itself."""

    PLAN_PROPOSED = "PLAN_PROPOSED"
    PLAN_STARTED = "PLAN_STARTED"
    PLAN_WAVE_ENDED = "PLAN_WAVE_ENDED"
    PLAN_PAUSED = "PLAN_PAUSED"
    PLAN_RESUMED = "PLAN_RESUMED"
    PLAN_REVERSING = "PLAN_REVERSING"
    PLAN_ENDED = "PLAN_ENDED"
    RECIPE_CHANGED = "RECIPE_CHANGED"
    GROUPS_CHANGED = "GROUPS_CHANGED"
    POLICY_CHANGED = "POLICY_CHANGED"


FLEET_TOPICS = {
    FleetEvent.RECIPE_CHANGED: EventClass.RECIPE,
    FleetEvent.GROUPS_CHANGED: EventClass.SETTINGS,
    FleetEvent.POLICY_CHANGED: EventClass.SETTINGS,
}
"""Where events of the fleet go that are not of a plan."""
FLEET_CLASSES = frozenset({EventClass.PLAN, EventClass.RECIPE, EventClass.SETTINGS})
"""What is told of the fleet, and of no arm."""

_OWN = (
    *(EventRow(event.name, EventClass.CONFIG, None) for event in OwnEvent),
    EventRow(CONFIG_APPLIED, EventClass.CONFIG, None),
    EventRow(CONTROL_MODE_CHANGED, EventClass.MODE, None),
    EventRow(CHANGE_NOT_APPLIED, EventClass.OUTCOME, None),
    *(EventRow(event.value, EventClass.ADMIN, None) for event in AdminEvent),
    *(EventRow(event.value, EventClass.OVERRIDE, None) for event in OverrideEvent),
    *(EventRow(event.value, FLEET_TOPICS.get(event, EventClass.PLAN), None) for event in FleetEvent),
    EventRow(HANDLE_EXPIRED, EventClass.NOTICE, None),
)

EVENTS: dict[str, EventRow] = {
    row.name: row
    for row in (*(EventRow(event.name, EventClass.CONFIG, event.value) for event in ControlConfigurationEvent), *_OWN)
}


def config_event_name(number: int) -> str:
    """Name of a Kinova event; the number in words where it is in no public revision."""
    try:
        return ControlConfigurationEvent(number).name
    except ValueError:
        return str(number)


class _EventTopics(dict[str, str]):
    """The topic levels below `evt/<arm>/` by the name of an event, which may be in no public revision."""

    def __missing__(self, name: str) -> str:
        """The levels of an event of a name that nobody knows."""
        return f"config/{name}"


EVENT_TOPICS = _EventTopics(
    {row.name: row.event_class.value for row in EVENTS.values() if row.event_class is not EventClass.CONFIG}
    | {row.name: f"config/{row.name}" for row in EVENTS.values() if row.event_class is EventClass.CONFIG}
)


def event_topic(name: str) -> str:
    """The topic levels below `evt/<arm>/` of an event name."""
    return EVENT_TOPICS[name]
