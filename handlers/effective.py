"""The document of effective limits: per control mode, joint and quantity the number, and where it comes from."""

from functools import lru_cache
from typing import Any

from handlers.explain import came_from
from limits.stack.fold import NOBODY, UNKNOWN_MODE_ROW, Effective, row_of
from limits.stack.joints import LOWER, ArmJoints
from limits.stack.layer import SLOTS

Document = dict[str, Any]

_ARMS = 1_024
"""How many different sets of joints are remembered."""


def effective_document(effective: Effective) -> Document:
    """Numbers by mode; one entry stands for all modes without limits of their own.

    `unknown_mode` has the tightest of all modes: what counts while the mode of the arm is not known. Units are named;
    a number that nothing limits is left out.
    """
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
