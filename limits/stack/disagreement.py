"""Where sources that describe the same machine give different numbers; the tighter one counts all the same."""

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np

from limits.stack.layer import MACHINE_KINDS, Layer, Stack

TOLERANCE = 1e-3
"""Relative difference up to which two sources agree: rounding of degrees, and figures with four digits."""


DEGREES_TOLERANCE = 0.01
"""Relative difference up to which a number is taken for another one in degrees."""


class Disagreement(NamedTuple):
    """One number that two sources give differently."""

    quantity: str
    joint: str | None
    tighter: str
    """Source of the number that counts."""
    tighter_value: float
    looser: str
    looser_value: float
    unit: str

    def __str__(self) -> str:
        """Return it in words."""
        what = self.quantity if self.joint is None else f"{self.quantity} of joint {self.joint}"
        counts = f"{self.tighter_value:.6g} {self.unit} of {self.tighter} counts"
        said = f"{what}: {counts}, {self.looser} says {self.looser_value:.6g} {self.unit}"
        return f"{said} (as degrees are to radians)" if self.like_degrees else said

    @property
    def like_degrees(self) -> bool:
        """Whether one number is the other one in degrees."""
        small, large = sorted((abs(self.tighter_value), abs(self.looser_value)))
        return "rad" in self.unit and math.isclose(math.degrees(small), large, rel_tol=DEGREES_TOLERANCE)


def disagreements(stack: Stack) -> tuple[Disagreement, ...]:
    """Differences between the hard limits, URDF, ROS parameters and skeleton of an arm, pair by pair.

    A number that only one of both gives is no disagreement; nor is a tighter soft range or soft limit of a source, nor
    a number of a source that is being changed.
    """
    plain = [layer for layer in stack.layers if layer.kind in MACHINE_KINDS and not layer.is_soft]
    return tuple(found for first, second in combinations(plain, 2) for found in _between(stack, first, second))


def _between(stack: Stack, first: Layer, second: Layer) -> list[Disagreement]:
    a, b = first.ceilings, second.ceilings
    both = np.isfinite(a) & np.isfinite(b)
    left, right = np.where(both, a, 0.0), np.where(both, b, 0.0)
    differ = np.abs(left - right) > TOLERANCE * np.maximum(np.abs(left), np.abs(right))
    found = []
    for cell in map(int, np.flatnonzero(differ)):
        quantity, joint = stack.joints.named(cell)
        sign = math.copysign(1.0, -1.0 if quantity == "position_lower" else 1.0)
        near, far = (first, second) if a[cell] < b[cell] else (second, first)
        tighter, looser = (layer.origin_of(quantity, joint).source for layer in (near, far))
        if tighter == looser:
            continue
        found.append(
            Disagreement(
                quantity,
                joint,
                tighter,
                sign * float(near.ceilings[cell]) + 0.0,
                looser,
                sign * float(far.ceilings[cell]) + 0.0,
                stack.joints.unit(quantity, joint),
            )
        )
    return found
