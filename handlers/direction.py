"""Tighter or looser: the direction of a change, found component by component against what was reported."""

import math

from handlers.config_items import ConfigItem, Order, Zero
from schema.messages import Message


def upper_values(item: ConfigItem, message: Message) -> tuple[float, ...]:
    """The bounds that a message of an `upper` item sets, in the item's unit; an unset one is infinite.

    They stand in the item's `field`; an upper item without slots has a message of one field.
    """
    value = getattr(message, item.field or message.__struct_fields__[0])
    values: tuple[float, ...] = value if isinstance(value, tuple) else (value,)
    return tuple(bound or math.inf for bound in values) if item.zero is Zero.REFUSE else values


def at_or_tighter(item: ConfigItem, message: Message, reference: Message) -> bool:
    """Whether every component of `message` is at or below that of `reference`; never for unordered items."""
    if item.order is not Order.UPPER:
        return False
    values, bounds = upper_values(item, message), upper_values(item, reference)
    return len(values) == len(bounds) and all(value <= bound for value, bound in zip(values, bounds, strict=True))


def is_loosening(item: ConfigItem, value: Message | None, reported: Message | None) -> bool:
    """Whether a change loosens: a Reset, an unordered item, an unknown reported value, or one looser component."""
    if value is None or reported is None:
        return True
    return not at_or_tighter(item, value, reported)
