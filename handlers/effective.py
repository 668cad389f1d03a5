"""What documents say about the limits of an arm: the effective ones, and the sources they come from."""

from functools import lru_cache
from typing import Any

import numpy as np

from handlers.arm_limits import ArmLimits, limits_of
from handlers.arm_state import ArmState
from handlers.explain import came_from
from limits.errors import LimitsError
from limits.stack.disagreement import disagreements
from limits.stack.fold import NOBODY, UNKNOWN_MODE_ROW, Effective, row_of
from limits.stack.joints import LOWER, ArmJoints
from limits.stack.layer import MACHINE_KINDS, SLOTS, LayerKind

Document = dict[str, Any]

_ARMS = 1_024
"""How many different sets of joints are remembered."""


def effective_document(state: ArmState) -> Document:
    """Per control mode, joint and quantity the effective number, its unit, and where it comes from.

    `other_modes` stands for all modes without limits of their own; `unknown_mode` has the tightest of all modes: what
    counts while the mode of the arm is not known. A number that nothing limits is left out. Where the limits of the
    arm cannot be used, there is only `why`.
    """
    try:
        return numbers_by_mode(limits_of(state).folded)
    except LimitsError as error:
        return {"why": str(error)}


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
    """The numbers of `effective_document`."""
    own = sorted({layer.mode for layer in effective.layers if layer.mode is not None})
    rows = {mode: row_of(mode) for mode in own}
    other = next(row_of(mode) for mode in SLOTS if mode not in rows)
    sources: dict[tuple[int, int], Document] = {}
    return {
        "modes": {mode.name: _numbers(effective, row, sources) for mode, row in rows.items()},
        "other_modes": _numbers(effective, other, sources),
        "unknown_mode": _numbers(effective, UNKNOWN_MODE_ROW, sources),
    }


def _numbers(effective: Effective, row: int, sources: dict[tuple[int, int], Document]) -> Document:
    """The numbers of one row: `joints` by name and quantity, the twists beside them."""
    of_joints: dict[str, Document] = {name: {} for name in effective.joints.names}
    document: Document = {"joints": of_joints}
    ceilings, binding = effective.ceilings[row].tolist(), effective.binding[row].tolist()
    for (quantity, joint, unit), ceiling, index in zip(_places(effective.joints), ceilings, binding, strict=True):
        if index == NOBODY:
            continue
        layer = effective.layers[index]
        origin = layer.origins.get((quantity, joint), layer.origin)
        key = (index, id(origin))
        if key not in sources:
            sources[key] = came_from(layer.kind, origin)
        number = {"value": 0.0 - ceiling if quantity == LOWER else ceiling, "unit": unit}
        (document if joint is None else of_joints[joint])[quantity] = number | sources[key]
    return document


@lru_cache(maxsize=_ARMS)
def _places(joints: ArmJoints) -> tuple[tuple[str, str | None, str], ...]:
    """Quantity, joint and unit of each ceiling."""
    named = (joints.named(cell) for cell in range(joints.cells))
    return tuple((quantity, joint, joints.unit(quantity, joint)) for quantity, joint in named)
