"""What arms that speak MQTT tell by themselves."""

from typing import Any, NamedTuple

import msgspec

from devices.adapter import ArmChange, LinkState
from devices.mqtt_agent.documents import (
    Name,
    Number,
    UnreadableError,
    Words,
    activity_of,
    cut,
    read_document,
    write_document,
)
from devices.mqtt_agent.values import slot_of
from schema.arms import Activity, Slot
from schema.enums import ControlConfigurationEvent
from schema.events import CONTROL_MODE_CHANGED
from schema.items import ITEMS, KINOVA_ITEMS, slot_name

_NUMBERS = {CONTROL_MODE_CHANGED: 0, **{event.name: event.value for event in ControlConfigurationEvent if event}}
"""The number of each event that an arm may tell, by name; 0 tells of a control mode."""
_NAMES = {number: name for name, number in _NUMBERS.items()}
_ITEM_EVENTS = frozenset(ITEMS[key].event_name for key in KINOVA_ITEMS)


class Report(NamedTuple):
    """One report: a change, a new readiness, or both; `activity` goes with the readiness."""

    session: int
    n: int
    change: ArmChange | None
    ready: bool | None
    why: str
    activity: Activity = Activity.UNKNOWN


class _Report(msgspec.Struct):
    session: Number
    n: Number
    event: Name | None = None
    item: Name | None = None
    slot: Name = ""
    ours: bool = False
    connection: Words = ""
    ready: bool | None = None
    why: Words = ""
    activity: Name = Activity.UNKNOWN.value


def read_report(payload: bytes) -> Report:
    """The report in a message.

    Raises:
        UnreadableError: it breaks the protocol.
    """
    given = read_document(payload, _Report)
    if given.event is None and given.ready is None:
        raise UnreadableError("neither event nor ready")
    change = None if given.event is None else _change(given.event, given)
    return Report(given.session, given.n, change, given.ready, cut(given.why), activity_of(given.activity))


def _change(event: str, given: _Report) -> ArmChange:
    if event not in _NUMBERS:
        raise UnreadableError(f"event {event!r} is not known")
    slot: Slot | None = None
    if event in _ITEM_EVENTS:
        slot = slot_of(given.item or "", given.slot)
        if ITEMS[slot[0]].event_name != event:
            raise UnreadableError(f"event {event} is none of item {slot[0]}")
    elif given.item is not None:
        raise UnreadableError(f"event {event} is about no item")
    return ArmChange(_NUMBERS[event], slot, given.ours, cut(given.connection))


def write_change(session: int, n: int, change: ArmChange) -> bytes:
    """The report of a change."""
    document: dict[str, Any] = {"session": session, "n": n, "event": _NAMES[change.event]}
    if change.slot is not None:
        document |= {"item": change.slot[0], "slot": slot_name(change.slot) or None}
    return write_document({**document, "ours": change.ours, "connection": change.connection or None})


def write_readiness(session: int, n: int, link: LinkState) -> bytes:
    """The report that the arm takes changes from now on, or does not, and what it does."""
    activity = link.activity if link.activity is not Activity.UNKNOWN else None
    return write_document(
        {"session": session, "n": n, "ready": link.ready, "why": link.why or None, "activity": activity}
    )
