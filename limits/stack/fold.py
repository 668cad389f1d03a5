"""The fold of a stack: for each control mode and number the tightest layer, and which one that is."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from limits.errors import LimitsError
from limits.stack.joints import ArmJoints, Array, Bounds, read_only
from limits.stack.layer import SLOTS, Layer, Origin, Stack
from schema.enums import ControlMode

Indices = NDArray[np.int32]

NOBODY = -1
"""Index of the layer where no layer says anything."""

_KEPT = 256
"""How many folds are remembered: 10 to 20 kB each."""
_ROWS = {int(mode): row for row, mode in enumerate(SLOTS)}
UNKNOWN_MODE_ROW = len(SLOTS)


def row_of(mode: int | None) -> int:
    """Row of a mode; None, 0 and numbers that are no mode are the row of the unknown mode."""
    return UNKNOWN_MODE_ROW if mode is None else _ROWS.get(int(mode), UNKNOWN_MODE_ROW)


@dataclass(frozen=True, slots=True, eq=False)
class Effective:
    """Effective limits: `ceilings` and `binding` (index into `layers`, or NOBODY), read-only, shape (modes + 1, cells).

    Rows are those of SLOTS; the last one is the minimum over them, for an arm whose mode is not known.
    """

    joints: ArmJoints
    layers: tuple[Layer, ...]
    ceilings: Array
    binding: Indices

    def at(self, mode: int | None) -> Bounds:
        """The numbers in a mode; None: the minimum over the modes."""
        return self.joints.bounds(self.ceilings[row_of(mode)])

    def value(self, quantity: str, joint: str | None = None, mode: int | None = None) -> float:
        """One number.

        Raises:
            LimitsError: there is no such quantity or joint.
        """
        ceiling = float(self.ceilings[row_of(mode), self.joints.cell(quantity, joint)])
        return 0.0 - ceiling if quantity == "position_lower" else ceiling

    def layer(self, quantity: str, joint: str | None = None, mode: int | None = None) -> Layer | None:
        """The layer that binds one number; None where no layer says anything.

        Raises:
            LimitsError: there is no such quantity or joint.
        """
        index = int(self.binding[row_of(mode), self.joints.cell(quantity, joint)])
        return None if index == NOBODY else self.layers[index]

    def origin(self, quantity: str, joint: str | None = None, mode: int | None = None) -> Origin | None:
        """Source, author and time of one number; None where no layer says anything.

        Raises:
            LimitsError: there is no such quantity or joint.
        """
        layer = self.layer(quantity, joint, mode)
        return None if layer is None else layer.origin_of(quantity, joint)

    def empty_ranges(self, mode: int | None = None) -> tuple[str, ...]:
        """Joints whose layers together leave no position."""
        bounds = self.at(mode)
        crossed = np.flatnonzero(bounds.position_lower > bounds.position_upper)
        return tuple(self.joints.names[at] for at in crossed)


def fold(stack: Stack) -> Effective:
    """Fold the layers: element-wise the tightest, of equal ones the outermost."""
    modes = tuple(layer.mode for layer in stack.layers)
    numbers = b"".join([layer.ceilings.tobytes() for layer in stack.layers])
    return Effective(stack.joints, stack.layers, *_folded(stack.joints.cells, modes, numbers))


@lru_cache(maxsize=_KEPT)
def _folded(cells: int, modes: tuple[ControlMode | None, ...], numbers: bytes) -> tuple[Array, Indices]:
    """Ceilings and binding of layers with these modes and numbers: arms with equal numbers share them."""
    layers = np.frombuffer(numbers).reshape(len(modes), cells)
    shape = (len(SLOTS) + 1, cells)
    ceilings = np.empty(shape)
    binding = np.empty(shape, dtype=np.int32)
    ceilings[:], binding[:] = _of_all_modes(modes, layers)
    for index, mode in enumerate(modes):
        if mode is not None:
            row, layer = row_of(mode), layers[index]
            here, binding_here = ceilings[row], binding[row]
            binds = layer < here
            binds |= (layer == here) & (index < binding_here)
            np.copyto(here, layer, where=binds)
            binding_here[binds] = index
    _fill_unknown_mode(ceilings, binding)
    return read_only(ceilings), read_only(binding)


def _of_all_modes(modes: tuple[ControlMode | None, ...], layers: Array) -> tuple[Array, Indices]:
    """The tightest of the layers that count in every mode, and its index; shape (cells,) both."""
    everywhere = [index for index, mode in enumerate(modes) if mode is None]
    if not everywhere:
        cells = layers.shape[1]
        return np.full(cells, np.inf), np.full(cells, NOBODY, dtype=np.int32)
    known = layers[everywhere]
    tightest = known.argmin(axis=0)
    ceilings = known[tightest, np.arange(known.shape[1])]
    binding = np.array(everywhere, dtype=np.int32)[tightest]
    return ceilings, np.where(np.isinf(ceilings), NOBODY, binding).astype(np.int32)


def tighter(old: Effective, new: Effective) -> Effective:
    """Element-wise the tighter of two, with the provenance of each: what counts until a loosened limit is read back.

    Of equal numbers the new one binds. `layers` of the result are those of `old`, then those of `new`.

    Raises:
        LimitsError: they are of different joints.
    """
    if old.joints != new.joints:
        raise LimitsError("effective limits of different joints", value=new.joints.names, bound=old.joints.names)
    shifted = np.where(new.binding == NOBODY, NOBODY, new.binding + len(old.layers)).astype(np.int32)
    keep = old.ceilings < new.ceilings
    ceilings = np.where(keep, old.ceilings, new.ceilings)
    binding = np.where(keep, old.binding, shifted)
    return Effective(old.joints, old.layers + new.layers, read_only(ceilings), read_only(binding))


def _fill_unknown_mode(ceilings: Array, binding: Indices) -> None:
    """Put the minimum over the modes, and its layer, into the last row."""
    known = ceilings[:UNKNOWN_MODE_ROW]
    tightest = known.argmin(axis=0)
    columns = np.arange(known.shape[1])
    ceilings[UNKNOWN_MODE_ROW] = known[tightest, columns]
    binding[UNKNOWN_MODE_ROW] = binding[tightest, columns]
