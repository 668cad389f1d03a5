"""What an event says of a slot."""

from schema.arms import Slot
from schema.enums import ControlMode
from schema.envelope import EventChange
from schema.items import ITEMS, MODE_NAMES
from schema.messages import ControlModeInformation, Message


def known_mode(number: int) -> ControlMode | int:
    """The control mode of a number, or the number where no revision has it."""
    try:
        return ControlMode(number)
    except ValueError:
        return number


def event_change(slot: Slot, before: Message | None, after: Message | None) -> EventChange:
    """What an event says of a slot."""
    item = ITEMS[slot[0]]
    return EventChange(slot[0], MODE_NAMES[slot[1]], item.field, before, after)


def mode_of(value: Message | None) -> int | None:
    """The control mode in a value of the control mode item."""
    return int(value.control_mode) if isinstance(value, ControlModeInformation) else None
