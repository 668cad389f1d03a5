"""In which order the slots of a batch are written: no instant is looser than both the old and the new values."""

from handlers.items.config_items import kept_by_service
from handlers.items.direction import Direction
from handlers.state.arm_state import ArmState
from schema.arms import Slot
from schema.items import ConfigItem, Order, slots

_UNORDERED = ("tool_configuration", "payload_information", "gravity_vector", "cartesian_reference_frame")
"""A payload is told from its tool, both before what they do to the arm's posture is judged by gravity."""
_PLACES = {slot: place for place, slot in enumerate(slots())}
"""The places of the slots in the table of items."""


_TURNS = {
    Direction.UNCHANGED: 0,
    Direction.TIGHTENING: 1,
    Direction.UNORDERED: 2,
    Direction.LOOSENING: 3,
}
"""Unchanged slots are read first; what is looser comes last."""


def step_direction(item: ConfigItem, *, loosening: bool, unchanged: bool) -> Direction:
    """Which way a slot goes; one with a single loosened component loosens."""
    if unchanged:
        return Direction.UNCHANGED
    if item.order is Order.UNORDERED:
        return Direction.UNORDERED
    return Direction.LOOSENING if loosening else Direction.TIGHTENING


def turn_of(state: ArmState, slot: Slot, direction: Direction) -> tuple[int, bool, int]:
    """What a slot is sorted by: its class, then whether the arm has to be told, then its place in the table."""
    key = slot[0]
    place = _UNORDERED.index(key) if key in _UNORDERED else _PLACES[slot]
    return _TURNS[direction], not kept_by_service(state, key), place
