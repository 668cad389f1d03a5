"""The limits of an arm in one control mode, each between zero and its hard limit, with the layer that binds. Pure."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from armbroker.board.facts import ArmFacts, listed, text

UNKNOWN_MODE = ""
"""Stands for the tightest over all modes."""
OF_ARM = ("twist_linear", "twist_angular")
"""Quantities of the arm as a whole; all others have a number for each joint."""
QUANTITIES = (
    "velocity",
    "acceleration",
    "deceleration",
    "jerk",
    "effort",
    "position_lower",
    "position_upper",
    *OF_ARM,
)
"""In the order of a screen."""
_HARD = {
    "velocity": "joint_speed_limits",
    "acceleration": "joint_acceleration_limits",
    "deceleration": "joint_acceleration_limits",
    "twist_linear": "twist_linear",
    "twist_angular": "twist_angular",
}
"""The field of the arm's KinematicLimits that is the hard limit of a quantity; angles there are in degrees."""


class Limit(msgspec.Struct, frozen=True):
    """One limit: `joint` is empty for one of the arm as a whole, `hard` None where the arm tells none."""

    quantity: str
    joint: str
    value: float
    hard: float | None
    unit: str
    layer: str
    source: str
    by: str
    since: str

    @property
    def share(self) -> float | None:
        """The limit as a share of the hard one, from 0 to 1; None where there is none."""
        if not self.hard:
            return None
        return min(1.0, max(0.0, self.value / self.hard))


class Layer(msgspec.Struct, frozen=True):
    """What one layer says about a limit: `value` is None where it limits nothing, `binds` where it is the tightest."""

    layer: str
    source: str
    by: str
    since: str
    value: float | None
    binds: bool


def layers_of(numbers: Sequence[dict[str, Any]]) -> list[Layer]:
    """The layers behind a limit that Explain tells, as it orders them."""
    return [
        Layer(
            layer=text(entry.get("layer")),
            source=text(entry.get("source")),
            by=text(entry.get("by")),
            since=text(entry.get("since")),
            value=_number(entry.get("value")),
            binds=entry.get("binds") is True,
        )
        for number in numbers
        for entry in listed(number.get("stack"))
        if isinstance(entry, dict)
    ]


def modes_of(facts: ArmFacts) -> list[str]:
    """The control modes with limits of their own."""
    modes = facts.document("effective").get("modes")
    return [*modes] if isinstance(modes, dict) else []


def limits_of(facts: ArmFacts, mode: str) -> list[Limit]:
    """What is limited in a control mode; in none (empty): the tightest over all."""
    effective, hard = facts.document("effective"), facts.document("reported").get("hard_limits")
    own = effective.get("unknown_mode") if mode == UNKNOWN_MODE else _table(effective.get("modes")).get(mode)
    numbers = {**_table(effective.get("other_modes")), **_table(own)}
    units, sources = _table(effective.get("units")), listed(effective.get("sources"))
    joints = [text(joint) for joint in listed(effective.get("joints"))]
    found: list[Limit] = []
    for quantity in QUANTITIES:
        if quantity in numbers:
            found += _limits(quantity, _table(numbers[quantity]), units.get(quantity), joints, sources, _table(hard))
    return found


def blocks_of(limits: Sequence[Limit]) -> list[tuple[list[str], list[Limit]]]:
    """The limits by quantity; quantities that say the same of every joint stand together."""
    by_quantity: dict[str, list[Limit]] = {}
    for limit in limits:
        by_quantity.setdefault(limit.quantity, []).append(limit)
    blocks: dict[tuple[Limit, ...], tuple[list[str], list[Limit]]] = {}
    for quantity, each in by_quantity.items():
        said = tuple(msgspec.structs.replace(limit, quantity="") for limit in each)
        blocks.setdefault(said, ([], each))[0].append(quantity)
    return [*blocks.values()]


def _limits(
    quantity: str, entry: dict[str, Any], units: object, joints: list[str], sources: list[Any], hard: dict[str, Any]
) -> list[Limit]:
    """Those of one quantity."""
    whole = quantity in OF_ARM
    values = [entry.get("value")] if whole else listed(entry.get("values"))
    places = [entry.get("from")] if whole else listed(entry.get("from"))
    names = [""] if whole else joints
    of_units = [units] if whole else listed(units)
    found: list[Limit] = []
    for place, (joint, value, source_at) in enumerate(zip(names, values, places, strict=False)):
        known = _number(value)
        if known is None:
            continue
        source = _source(sources, source_at)
        unit = text(of_units[place]) if place < len(of_units) else ""
        layer = text(source.get("layer"))
        bound = _hard(quantity, place, unit, hard)
        found.append(
            Limit(
                quantity=quantity,
                joint=joint,
                value=known,
                hard=known if bound is None and layer == "hard" else bound,
                unit=unit,
                layer=layer,
                source=text(source.get("source")),
                by=text(source.get("by")),
                since=text(source.get("since")),
            )
        )
    return found


def _hard(quantity: str, place: int, unit: str, hard: dict[str, Any]) -> float | None:
    """The hard limit in the unit of the limit; 0 stands for none there."""
    told = hard.get(_HARD.get(quantity, ""))
    if isinstance(told, list):
        told = told[place] if place < len(told) else None
    if not isinstance(told, int | float) or not told:
        return None
    return math.radians(told) if unit.startswith("rad") else float(told)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _source(sources: list[Any], place: object) -> dict[str, Any]:
    return _table(sources[place]) if isinstance(place, int) and 0 <= place < len(sources) else {}


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
