"""The values of an arm, laid flat: what is desired, what is reported, and what differs between arms. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from armbroker.board.facts import ArmFacts, listed, text
from schema.enums import ControlMode
from schema.items import ANGLE_FIELDS, ITEMS

_MODES = frozenset(ControlMode.__members__)
_UNITS = {
    "gravity_vector": "m/s²",
    "payload_mass": "kg",
    "tool_mass": "kg",
    "min_position": "rad",
    "max_position": "rad",
    "max_velocity": "rad/s",
    "max_acceleration": "rad/s²",
    "max_jerk": "rad/s³",
    "soft_upper_limit": "rad",
    "soft_lower_limit": "rad",
}
"""Units by item or by field, of revolute joints, where the table of items has none."""
_METRES = frozenset({"x", "y", "z"})


class Value(msgspec.Struct, frozen=True):
    """One value of a config item: `slot` is a control mode or empty, `path` what is below, `unit` empty for none."""

    item: str
    slot: str
    path: str
    desired: Any
    reported: Any
    unit: str
    differs: bool


class Compared(msgspec.Struct, frozen=True):
    """One fact of several arms: a value for each, None where an arm has none."""

    what: str
    unit: str
    values: list[Any]
    differs: bool


Key = tuple[str, str, str]
"""Item, slot, path."""


def values_of(facts: ArmFacts) -> list[Value]:
    """Every value of an arm, desired beside reported, in the order of the table of items."""
    config, reported = facts.document("config"), facts.document("reported")
    desired, told = flat(config.get("items")), flat(reported.get("items"))
    marked = {text(each) for each in listed(config.get("differs"))}
    return [
        Value(
            *key,
            desired=desired.get(key),
            reported=told.get(key),
            unit=unit_of(*key),
            differs=_mark(key) in marked or key[0] in marked,
        )
        for key in _ordered({**desired, **told})
    ]


def compare(arms: Sequence[ArmFacts]) -> list[Compared]:
    """The facts of several arms side by side: how they are, then every value that they report."""
    rows = [arm.row for arm in arms]
    found = [_compared(name, "", [getattr(row, field) for row in rows]) for name, field in _OF_ROW]
    found.append(_compared("firmware", "", [text(arm.document("reported").get("firmware")) for arm in arms]))
    values = [flat(arm.document("reported").get("items")) for arm in arms]
    for key in _ordered({key: None for each in values for key in each}):
        what = " ".join(filter(None, (key[0], key[1], key[2])))
        found.append(_compared(what, unit_of(*key), [each.get(key) for each in values]))
    return found


_OF_ROW = (
    ("model", "model"),
    ("presence", "presence"),
    ("control mode", "mode"),
    ("authority", "authority"),
    ("pending", "pending"),
    ("differs", "drift"),
)


def flat(items: object) -> dict[Key, Any]:
    """The values of a document's `items` by item, slot and path; a list of numbers is one value."""
    found: dict[Key, Any] = {}
    for item, value in (items if isinstance(items, dict) else {}).items():
        if isinstance(value, dict) and value and _MODES.issuperset(value):
            found.update({(item, slot, path): leaf for slot, each in value.items() for path, leaf in _leaves(each, "")})
        else:
            found.update({(item, "", path): leaf for path, leaf in _leaves(value, "")})
    return found


def unit_of(item: str, _slot: str, path: str) -> str:
    """The unit of a value; empty for none."""
    row = ITEMS.get(item)
    if row is not None and row.quantity is not None:
        return row.quantity.unit
    if item in _UNITS:
        return _UNITS[item]
    leaf = path.rpartition(".")[2]
    if leaf in ANGLE_FIELDS:
        return "deg"
    return "m" if leaf in _METRES else _UNITS.get(leaf, "")


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        if [*value] == ["values"]:
            yield path, value["values"]
            return
        for name, each in value.items():
            yield from _leaves(each, f"{path}.{name}" if path else name)
    else:
        yield path, value


def _ordered(keys: dict[Key, Any]) -> list[Key]:
    """Items as their table has them, unknown ones behind; what is of one item stays as it came."""
    places = {item: place for place, item in enumerate(ITEMS)}
    return sorted(keys, key=lambda key: places.get(key[0], len(places)))


def _mark(key: Key) -> str:
    return f"{key[0]}/{key[1]}" if key[1] else key[0]


def _compared(what: str, unit: str, values: list[Any]) -> Compared:
    return Compared(what, unit, values, any(value != values[0] for value in values))
