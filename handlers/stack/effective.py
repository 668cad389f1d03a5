"""What documents say about the limits of an arm: the effective ones, and the sources they come from."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from handlers.stack.arm_limits import ArmLimits, limits_of
from handlers.state.arm_state import ArmState
from limits.errors import LimitsError
from limits.stack.disagreement import disagreements
from limits.stack.fold import NOBODY, UNKNOWN_MODE_ROW, Effective, row_of
from limits.stack.joints import JOINT_QUANTITIES, LOWER, TWIST_QUANTITIES, ArmJoints
from limits.stack.layer import MACHINE_KINDS, SLOTS, LayerKind, Origin
from schema.codecs.times import format_time

Document = dict[str, Any]

UNKNOWN_MODE = "unknown_mode"
_ARMS = 1_024
"""How many different sets of joints are remembered."""
_NUMBERS = 128
"""Of how many different folds the numbers are remembered: about 30 kB each."""


def came_from(kind: LayerKind, origin: Origin) -> dict[str, Any]:
    """Layer, source, author and time of a number."""
    return {"layer": kind.value, "source": origin.source, "by": origin.by, "since": format_time(origin.since_us)}


def effective_document(state: ArmState) -> Document:
    """The effective number of each control mode, joint and quantity, its unit, and where it comes from.

    Numbers stand by quantity in the order of `joints`; `from` is the place of their layer in `sources`. `other_modes`
    has all numbers of the modes without limits of their own; under a mode, and under `unknown_mode` (the tightest of
    all modes: what counts while the mode of the arm is not known), stand only quantities that differ from it. What
    nothing limits is null, or left out where that holds for every joint. Where the limits of the arm cannot be used,
    there is only `why`.
    """
    try:
        document = numbers_by_mode(limits_of(state).folded)
    except LimitsError as error:
        return {"why": str(error)}
    if state.overrides is not None:
        document["sources"] = [with_end(state, row) for row in document["sources"]]
    return document


def with_end(state: ArmState, row: Document) -> Document:
    """What `came_from` tells, with `rev` and `until` of the live override that it is of, if it is of one."""
    for one in () if state.overrides is None else state.overrides.live:
        author = f"{one.by.user}/{one.by.connection}"
        if row["by"] == author and row["since"] == format_time(one.since_us):
            return row | {"rev": one.rev, "until": format_time(one.until_us)}
    return row


def limit_sources(state: ArmState) -> Document:
    """The layers that describe the machine or cap it, how their joints fit, and where they disagree."""
    try:
        return _sources(limits_of(state))
    except LimitsError as error:
        return {"limit_sources": [], "joint_reports": [str(error)], "disagreements": []}


def _sources(limits: ArmLimits) -> Document:
    outer = (layer for layer in limits.stack.layers if layer.kind in MACHINE_KINDS or layer.kind is LayerKind.SITE)
    origins = {
        (layer.kind, layer.origin_of(*limits.joints.named(cell))): None
        for layer in outer
        for cell in map(int, np.flatnonzero(np.isfinite(layer.ceilings)))
    }
    return {
        "limit_sources": [came_from(*one) for one in origins],
        "joint_reports": list(limits.placed.reports),
        "disagreements": [
            {
                "quantity": found.quantity,
                **({"joint_name": found.joint} if found.joint is not None else {}),
                "unit": found.unit,
                "value": found.tighter_value,
                "source": found.tighter,
                "other_value": found.looser_value,
                "other_source": found.looser,
            }
            for found in disagreements(limits.stack)
        ],
    }


def numbers_by_mode(effective: Effective) -> Document:
    """The numbers of `effective_document`; what is below its keys may be shared with other arms, `sources` apart."""
    layers = effective.layers
    if any(layer.origins for layer in layers):
        sources = _Sources(effective)
        return _numbers(effective, sources) | {"sources": sources.rows}
    found: dict[tuple[LayerKind, Origin], int] = {}
    alike = tuple(found.setdefault((layer.kind, layer.origin), index) for index, layer in enumerate(layers))
    modes = tuple(layer.mode for layer in layers)
    shared = _shared(effective.joints, effective.ceilings.tobytes(), effective.binding.tobytes(), modes, alike)
    if not shared:
        sources = _Sources(effective)
        shared.append((_numbers(effective, sources), sources.firsts))
    numbers, firsts = shared[0]
    return numbers | {"sources": [came_from(layers[index].kind, layers[index].origin) for index in firsts]}


@lru_cache(maxsize=_NUMBERS)
def _shared(*what: object) -> list[tuple[Document, list[int]]]:
    """A place for the numbers of all arms that have these, and the first layer of each source."""
    del what
    return []


def _numbers(effective: Effective, sources: "_Sources") -> Document:
    """The numbers of a fold, with the places of their sources."""
    own = sorted({layer.mode for layer in effective.layers if layer.mode is not None})
    rows = {mode.name: row_of(mode) for mode in own}
    other = next(row_of(mode) for mode in SLOTS if mode.name not in rows)
    of_others = {place.quantity: sources.numbers(other, place) for place in _places(effective.joints)}
    differing = {
        name: {
            place.quantity: sources.numbers(row, place)
            for place in _places(effective.joints)
            if _differ(effective, row, other, place.cells)
        }
        for name, row in (*rows.items(), (UNKNOWN_MODE, UNKNOWN_MODE_ROW))
    }
    known = {
        place.quantity: place.unit
        for place in _places(effective.joints)
        if bool((effective.binding[UNKNOWN_MODE_ROW][place.cells] != NOBODY).any())
    }
    return {
        "joints": list(effective.joints.names),
        "units": known,
        "sources": [],
        "other_modes": {quantity: numbers for quantity, numbers in of_others.items() if _said(numbers)},
        "modes": {name: differing[name] for name in rows},
        UNKNOWN_MODE: differing[UNKNOWN_MODE],
    }


class _Place(NamedTuple):
    """A quantity, where its ceilings are, and the unit of each."""

    quantity: str
    cells: slice
    joints: tuple[str | None, ...]
    unit: str | list[str]


class _Sources:
    """The numbers of an arm, and what they come from, each source once."""

    def __init__(self, effective: Effective) -> None:
        self._effective = effective
        self._places: dict[tuple[LayerKind, Origin], int] = {}
        self.rows: list[Document] = []
        self.firsts: list[int] = []
        """The first layer found of each source."""

    def numbers(self, row: int, place: _Place) -> Document:
        """The numbers of a quantity in a row, and the places of their sources."""
        ceilings = self._effective.ceilings[row][place.cells].tolist()
        binding = self._effective.binding[row][place.cells].tolist()
        sign = -1.0 if place.quantity == LOWER else 1.0
        values = [
            None if index == NOBODY else 0.0 + sign * value for value, index in zip(ceilings, binding, strict=True)
        ]
        come = [self._place(index, place.quantity, joint) for index, joint in zip(binding, place.joints, strict=True)]
        return {"value": values[0], "from": come[0]} if place.joints == (None,) else {"values": values, "from": come}

    def _place(self, index: int, quantity: str, joint: str | None) -> int | None:
        if index == NOBODY:
            return None
        layer = self._effective.layers[index]
        key = (layer.kind, layer.origins.get((quantity, joint), layer.origin))
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = len(self.rows)
            self.rows.append(came_from(*key))
            self.firsts.append(index)
        return place


def _said(numbers: Document) -> bool:
    """Whether anything limits a quantity."""
    come = numbers["from"]
    return any(one is not None for one in come) if isinstance(come, list) else come is not None


def _differ(effective: Effective, row: int, other: int, cells: slice) -> bool:
    """Whether any number of a quantity, or what it comes from, is another one in a row than in the other."""
    ceilings, binding = effective.ceilings, effective.binding
    return not (
        np.array_equal(ceilings[row][cells], ceilings[other][cells])
        and np.array_equal(binding[row][cells], binding[other][cells])
    )


@lru_cache(maxsize=_ARMS)
def _places(joints: ArmJoints) -> tuple[_Place, ...]:
    """The quantities of an arm with these joints."""
    n, of_joints = len(joints.names), len(JOINT_QUANTITIES)
    rows = [
        _Place(
            quantity, slice(row * n, (row + 1) * n), joints.names, [joints.unit(quantity, one) for one in joints.names]
        )
        for row, quantity in enumerate(JOINT_QUANTITIES)
    ]
    twists = [
        _Place(quantity, slice(of_joints * n + at, of_joints * n + at + 1), (None,), joints.unit(quantity))
        for at, quantity in enumerate(TWIST_QUANTITIES)
    ]
    return (*rows, *twists)
