"""The events the service publishes: names, numbers and topics."""

import enum
from typing import NamedTuple

from schema.enums import ControlConfigurationEvent


class EventClass(enum.StrEnum):
    """The part of the topic after `evt/<arm>/`."""

    CONFIG = "config"
    MODE = "mode"
    OUTCOME = "outcome"
    NOTICE = "notice"
    """Sent to one handle only."""


class EventRow(NamedTuple):
    """One event name."""

    name: str
    event_class: EventClass
    number: int | None
    """Kinova's number; None for our own events, which never use one."""


CONTROL_MODE_CHANGED = "CONTROL_MODE_CHANGED"
CHANGE_NOT_APPLIED = "CHANGE_NOT_APPLIED"
HANDLE_EXPIRED = "HANDLE_EXPIRED"

_OWN = (
    EventRow("JOINT_LIMITS_CHANGED", EventClass.CONFIG, None),
    EventRow("JOINT_SAFETY_CHANGED", EventClass.CONFIG, None),
    EventRow("JOINT_PARAMETERS_CHANGED", EventClass.CONFIG, None),
    EventRow(CONTROL_MODE_CHANGED, EventClass.MODE, None),
    EventRow(CHANGE_NOT_APPLIED, EventClass.OUTCOME, None),
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


def event_topic(name: str) -> str:
    """The topic levels below `evt/<arm>/` of an event name."""
    row = EVENTS.get(name)
    if row is None or row.event_class is EventClass.CONFIG:
        return f"config/{name}"
    return row.event_class.value
