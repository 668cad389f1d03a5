"""What documents say about the limits of an arm: the effective ones, and the sources they come from."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from handlers.stack.arm_limits import ArmLimits, limits_of
from handlers.state.arm_state import ArmState
from limits.errors import LimitsError
from limits.stack.disagreement import disagreements
from limits.stack.fold import NOBODY, UNKNOWN_MODE_ROW, Effective, Indices, row_of
from limits.stack.joints import JOINT_QUANTITIES, TWIST_QUANTITIES, ArmJoints, Array
from limits.stack.layer import MACHINE_KINDS, SLOTS, Layer, LayerKind, Origin
from schema.codecs.times import format_time

Document = dict[str, Any]
Sourced = tuple[int, tuple[tuple[tuple[str, str | None], int], ...]]

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
    found: dict[tuple[LayerKind, Origin], int] = {}
    sourced = tuple(_sourced(layer, found) for layer in effective.layers)
    modes = tuple(layer.mode for layer in effective.layers)
    shared = _shared(effective.joints, effective.ceilings.tobytes(), effective.binding.tobytes(), modes, sourced)
    if not shared:
        shared.append(_numbers(effective, sourced))
    numbers, told = shared[0]
    sources = list(found)
    return numbers | {"sources": [came_from(*sources[index]) for index in told]}


@lru_cache(maxsize=_NUMBERS)
def _shared(*what: object) -> list[tuple[Document, list[int]]]:
    """A place for the numbers of all arms that have these, and for the sources of them in the order of the document."""
    del what
    return []


def _sourced(layer: Layer, found: dict[tuple[LayerKind, Origin], int]) -> Sourced:
    """The place in `found` of the source of a layer, and by quantity and joint of those of its numbers that differ."""
    own = found.setdefault((layer.kind, layer.origin), len(found))
    others: list[tuple[tuple[str, str | None], int]] = []
    last, place = layer.origin, own
    for number, origin in layer.origins.items():
        if origin is not last:
            last, place = origin, found.setdefault((layer.kind, origin), len(found))
        others.append((number, place))
    return own, tuple(others)


def _numbers(effective: Effective, sourced: tuple[Sourced, ...]) -> tuple[Document, list[int]]:
    """The numbers of a fold, and the sources of them in the order in which they are told."""
    own = sorted({layer.mode for layer in effective.layers if layer.mode is not None})
    names = [*(mode.name for mode in own), UNKNOWN_MODE]
    other = next(row_of(mode) for mode in SLOTS if mode not in own)
    rows = [other, *map(row_of, own), UNKNOWN_MODE_ROW]
    ceilings, binding = effective.ceilings[rows], effective.binding[rows]
    places = _places(effective.joints)
    starts = [place.cells.start for place in places]
    differing = (ceilings != ceilings[0]) | (binding != binding[0])
    differs = np.logical_or.reduceat(differing, starts, axis=1).tolist()
    said = np.logical_or.reduceat(binding != NOBODY, starts, axis=1).tolist()
    told = _Told(effective.joints, ceilings, binding, sourced)
    of_others = {place.quantity: told.numbers(0, place) for at, place in enumerate(places) if said[0][at]}
    of_modes = {
        name: {place.quantity: told.numbers(row, place) for at, place in enumerate(places) if differs[row][at]}
        for row, name in enumerate(names, start=1)
    }
    document = {
        "joints": list(effective.joints.names),
        "units": {place.quantity: place.unit for at, place in enumerate(places) if said[-1][at]},
        "sources": [],
        "other_modes": of_others,
        "modes": {mode.name: of_modes[mode.name] for mode in own},
        UNKNOWN_MODE: of_modes[UNKNOWN_MODE],
    }
    return document, list(told.order)


class _Place(NamedTuple):
    """A quantity, where its ceilings are, and the unit of each."""

    quantity: str
    cells: slice
    unit: str | list[str]


class _Told:
    """Numbers of some modes with their sources; `order` has the sources that were told of, the first one first."""

    def __init__(self, joints: ArmJoints, ceilings: Array, binding: Indices, sourced: tuple[Sourced, ...]) -> None:
        by_layer = np.full((len(sourced) + 1, joints.cells), NOBODY)
        for index, (own, others) in enumerate(sourced):
            by_layer[index] = own
            for number, place in others:
                by_layer[index, joints.cell(*number)] = place
        signs = np.ones(joints.cells)
        signs[: len(joints.names)] = -1.0
        self._values = (0.0 + signs * ceilings).tolist()
        self._sources = by_layer[binding, np.arange(joints.cells)].tolist()
        self.order: dict[int, int] = {}

    def numbers(self, row: int, place: _Place) -> Document:
        """The numbers of a quantity in a row, and the places of their sources."""
        cells, order = place.cells, self.order
        sources = self._sources[row][cells]
        come = [None if one == NOBODY else order.setdefault(one, len(order)) for one in sources]
        values = [None if one is None else value for one, value in zip(come, self._values[row][cells], strict=True)]
        return {"values": values, "from": come} if type(place.unit) is list else {"value": values[0], "from": come[0]}


@lru_cache(maxsize=_ARMS)
def _places(joints: ArmJoints) -> tuple[_Place, ...]:
    """The quantities of an arm with these joints."""
    n, of_joints = len(joints.names), len(JOINT_QUANTITIES)
    rows = [
        _Place(quantity, slice(row * n, (row + 1) * n), [joints.unit(quantity, one) for one in joints.names])
        for row, quantity in enumerate(JOINT_QUANTITIES)
        if n
    ]
    twists = [
        _Place(quantity, slice(of_joints * n + at, of_joints * n + at + 1), joints.unit(quantity))
        for at, quantity in enumerate(TWIST_QUANTITIES)
    ]
    return (*rows, *twists)
