"""What documents and events tell of overrides."""

from collections.abc import Mapping
from typing import Any

from handlers.overrides.returns import goes_first
from handlers.overrides.stack import direction
from handlers.state.arm_state import ArmState
from handlers.state.overrides import Override, Overrides
from handlers.state.places import OF_PART, Given, Place, by_slot, slot_of, told_part
from schema.arms import Authority
from schema.codecs.plain import bare
from schema.codecs.times import format_time
from schema.items import ITEMS, slot_path
from schema.messages import Message

Document = dict[str, Any]
OVERDUE = "overdue"


def override_details(overrides: Overrides, override: Override) -> Document:
    """What an event tells of one."""
    return {
        "rev": override.rev,
        "paths": [slot_path(slot) for slot in by_slot(override.values)],
        "since": format_time(override.since_us),
        "until": format_time(override.until_us),
        "direction": direction(overrides, override).value,
        "ground": _by_path({place: overrides.grounds[place] for place in override.values}),
    }


def override_documents(state: ArmState, now_us: int) -> list[Document]:
    """All of an arm, as its config document shows them: live ones, and those whose return is owed."""
    overrides = state.overrides
    if overrides is None:
        return []
    live = [_document(overrides, one, _state_of(overrides, one), now_us) for one in overrides.live]
    owing = [_document(overrides, one, _owing(state, one), now_us, one.owed) for one in overrides.returning]
    return sorted(live + owing, key=lambda document: int(document["rev"]))


def overdue(state: ArmState) -> int:
    """How many overrides of an arm are over, and what they gave is still there although it was to be tightened."""
    overrides = state.overrides
    return 0 if overrides is None else sum(_owing(state, one) == OVERDUE for one in overrides.returning)


def _state_of(overrides: Overrides, override: Override) -> str:
    covered = all(overrides.newest(place) is not override for place in override.values)
    return "covered" if covered else "live"


def _owing(state: ArmState, override: Override) -> str:
    """`overdue` where a write failed, or nothing may be written."""
    observed = state.authority is not Authority.CONTROL
    barred = observed and any(goes_first(state, slot) for slot in by_slot(override.owed))
    return OVERDUE if override.tries or barred else "returning"


def _document(
    overrides: Overrides, override: Override, word: str, now_us: int, places: tuple[Place, ...] = ()
) -> Document:
    of = places or tuple(override.values)
    by = override.by
    document: Document = {
        "rev": override.rev,
        "paths": [slot_path(slot) for slot in by_slot(of)],
        "since": format_time(override.since_us),
        "until": format_time(override.until_us),
        "left_ms": max(0, override.until_us - now_us) // 1_000,
        "by": {"user": by.user, "connection": by.connection, "proven": by.proven},
        "request_id": override.request_id,
    }
    if override.plan:
        document["plan"] = override.plan
    document["direction"] = direction(overrides, override, of).value
    document["state"] = word
    document["ground"] = _by_path({place: overrides.grounds[place] for place in of})
    return document


def _by_path(values: Mapping[Place, Given]) -> Document:
    """The value of each slot; of an item with parts those of them that there are, null where one was not there."""
    found: Document = {}
    for place, value in values.items():
        path = slot_path(slot_of(place))
        if len(place) == OF_PART:
            found.setdefault(path, {})[place[2]] = told_part(value)
        else:
            found[path] = bare(value if isinstance(value, Message) else None, ITEMS[place[0]].field)
    return found
