"""How a change ended, told from what was wanted, what was there before and what was read back."""

import enum
import math

from msgspec.structs import astuple

from handlers.items.direction import at_or_tighter
from handlers.state.arm_state import ArmState
from limits.bounds import READ_BACK, RELATIVE, all_close
from schema.arms import Slot
from schema.items import ANGLE_FIELDS, CONFIG_ITEMS, ConfigItem
from schema.messages import Message

_EXACT = frozenset(item.key for item in CONFIG_ITEMS if item.kept_by_service)
"""Items that are kept as they were given."""
_ANGULAR = frozenset(item.key for item in CONFIG_ITEMS if item.quantity is not None and item.quantity.angular)
"""Items whose numbers are all angles."""


class Ending(enum.StrEnum):
    """How a change settles."""

    APPLIED = "applied"
    ROUNDED = "rounded"
    CLAMPED = "clamped"
    REFUSED = "refused"
    OVERWRITTEN = "overwritten"

    @property
    def took_effect(self) -> bool:
        """Whether the arm holds the wanted value, rounded or clamped at most."""
        return self in TOOK_EFFECT


_APPLIED, _ROUNDED = Ending.APPLIED, Ending.ROUNDED
TOOK_EFFECT = (_APPLIED, _ROUNDED, Ending.CLAMPED)
"""How a change ends whose arm holds the wanted value, rounded or clamped at most."""


def _same_message(left: object, right: object, degrees: float, relative: float, *, angular: bool) -> bool:
    """Field by field; an absent sub-message equals one of zeros, as an arm cannot tell them apart.

    Angles may differ by so many degrees, every number by a relative share; `angular`: all numbers are angles.
    """
    if left is None:
        left = type(right)()
    elif right is None:
        right = type(left)()
    if not isinstance(left, Message) or type(left) is not type(right):
        return False
    for name, mine, its in zip(left.__struct_fields__, astuple(left), astuple(right), strict=True):
        if mine == its:
            continue
        one, other = ((mine,), (its,)) if type(mine) is float and type(its) is float else (mine, its)
        if type(one) is tuple and type(other) is tuple:
            resolution = degrees if angular or name in ANGLE_FIELDS else 0.0
            if not all_close(one, other, resolution, relative):
                return False
        elif not _same_message(one, other, degrees, relative, angular=angular):
            return False
    return True


def same(key: str, left: Message, right: Message, resolution_rad: float) -> bool:
    """Whether a value of an item counts as read back: within the arm's resolution, then within 0.1 %."""
    if left == right or key in _EXACT:
        return left == right
    return _same_message(left, right, math.degrees(resolution_rad), READ_BACK, angular=key in _ANGULAR)


def equal(key: str, left: Message, right: Message, resolution_rad: float) -> bool:
    """Whether an arm would hold two values of an item as one: within its resolution."""
    if left == right or key in _EXACT:
        return left == right
    return _same_message(left, right, math.degrees(resolution_rad), RELATIVE, angular=key in _ANGULAR)


def agrees(state: ArmState, slot: Slot) -> bool:
    """Whether the desired value of a slot is the reported one."""
    desired, reported = state.desired.get(slot), state.reported.get(slot)
    return desired is not None and reported is not None and same(slot[0], desired, reported, state.resolution_rad)


def classify(
    item: ConfigItem, wanted: Message, before: Message, read: Message, resolution_rad: float, *, foreign: bool
) -> Ending:
    """How the change ended.

    Args:
        item: the row of the item.
        wanted: what was asked; for a Reset what the arm returned.
        before: what was reported when the command was sent.
        read: what was read back.
        resolution_rad: what the arm keeps of an angle, in radians.
        foreign: whether another writer's event came between the mark and the read-back.
    """
    if same(item.key, read, wanted, resolution_rad):
        return _APPLIED if read == wanted else _ROUNDED
    if foreign:
        return Ending.OVERWRITTEN
    if same(item.key, read, before, resolution_rad):
        return Ending.REFUSED
    return Ending.CLAMPED if at_or_tighter(item, read, wanted) else Ending.OVERWRITTEN
