"""The whole stack behind one effective number."""

import math
from typing import NamedTuple

from limits.stack.fold import NOBODY, Effective, fold, row_of
from limits.stack.layer import LayerKind, Origin, Stack
from limits.tesseract.joint_safety import JointSafety
from schema.enums import ControlMode


class Said(NamedTuple):
    """What one layer says about a number."""

    kind: LayerKind
    mode: ControlMode | None
    """The one mode in which it counts; None: in all."""
    value: float
    origin: Origin
    binds: bool
    law: JointSafety | None
    """The record by which the layer also bounds this quantity by the state of the joint."""


class Explanation(NamedTuple):
    """An effective number with its unit, and what each layer says that says something, outermost first."""

    quantity: str
    joint: str | None
    mode: ControlMode | None
    value: float
    """Infinite where no layer says anything."""
    unit: str
    said: tuple[Said, ...]


class EffectiveNumber(NamedTuple):
    """One effective number with what binds it."""

    quantity: str
    joint: str | None
    value: float
    unit: str
    kind: LayerKind
    origin: Origin


def effective_numbers(effective: Effective, mode: int | None = None) -> tuple[EffectiveNumber, ...]:
    """Every number that is limited in a mode, quantity by quantity, joint by joint; None: while no mode is known."""
    joints, row = effective.joints, row_of(mode)
    found = []
    for cell, index in enumerate(effective.binding[row].tolist()):
        if index == NOBODY:
            continue
        quantity, joint = joints.named(cell)
        layer, ceiling = effective.layers[index], float(effective.ceilings[row, cell])
        value = 0.0 - ceiling if quantity == "position_lower" else ceiling
        unit, origin = joints.unit(quantity, joint), layer.origin_of(quantity, joint)
        found.append(EffectiveNumber(quantity, joint, value, unit, layer.kind, origin))
    return tuple(found)


_BY_LAW = frozenset({"velocity", "effort"})


def explain(
    stack: Stack,
    quantity: str,
    joint: str | None = None,
    mode: ControlMode | None = None,
    *,
    effective: Effective | None = None,
) -> Explanation:
    """Explain one number in a mode; None: while the mode is not known, where the layers of all modes count.

    `effective` is the fold of the stack, if there is one already.

    Raises:
        LimitsError: there is no such quantity or joint.
    """
    cell = stack.joints.cell(quantity, joint)
    folded = fold(stack) if effective is None else effective
    winner = folded.layer(quantity, joint, mode)
    sign = -1.0 if quantity == "position_lower" else 1.0
    said = []
    for layer in stack.layers:
        ceiling = float(layer.ceilings[cell])
        law = None
        if layer.safeties and joint is not None and quantity in _BY_LAW:
            law = layer.safeties[stack.joints.places[joint]]
        silent = math.isinf(ceiling) and law is None
        if silent or (None not in (layer.mode, mode) and layer.mode != mode):
            continue
        origin = layer.origin_of(quantity, joint)
        said.append(Said(layer.kind, layer.mode, sign * ceiling + 0.0, origin, layer is winner, law))
    value, unit = folded.value(quantity, joint, mode), stack.joints.unit(quantity, joint)
    return Explanation(quantity, joint, mode, value, unit, tuple(said))
