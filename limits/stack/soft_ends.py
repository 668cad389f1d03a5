"""Ends of the hard range that have a soft end before them: where a joint needs a margin to stop in."""

from typing import NamedTuple

import numpy as np

from limits.stack.fold import fold
from limits.stack.joints import Bounds
from limits.stack.layer import MACHINE_KINDS, LayerKind, Stack
from limits.stopping import check_stopping


class Margin(NamedTuple):
    """The way between soft and hard end of a joint, rad or m, and what all modes allow it, per s and s²."""

    joint: int
    """From 0."""
    way: float
    velocity: float
    deceleration: float


class Guard(NamedTuple):
    """The hard range where a soft end stands before it, see `guarded_ends`, and the smaller margin of each joint."""

    hard: Bounds
    margins: tuple[Margin, ...]


def guard_of(stack: Stack) -> Guard | None:
    """The guard of layers that count in all modes; None where no joint has a soft end."""
    hard = guarded_ends(stack)
    if hard is None:
        return None
    bounds = fold(stack).at(None)
    found = check_stopping(hard, bounds)
    ways = np.minimum(found.lower_margin, found.upper_margin)
    return Guard(
        hard,
        tuple(
            Margin(at, float(ways[at]), float(bounds.velocity[at]), float(bounds.deceleration[at]))
            for at in map(int, np.flatnonzero(np.isfinite(ways)))
        ),
    )


def guarded_ends(stack: Stack) -> Bounds | None:
    """The hard range at each end that somebody set a soft end for; infinite elsewhere, as all other quantities.

    A JointSafety range counts as it is; application limits and caps count where they are inside the hard range. None
    where no joint has such an end.
    """
    ends = 2 * len(stack.joints.names)
    hard, given = np.full(ends, np.inf), np.zeros(ends, dtype=bool)
    for layer in stack.layers:
        here = layer.ceilings[:ends]
        if layer.kind in MACHINE_KINDS and not layer.is_soft:
            hard = np.minimum(hard, here)
        elif layer.is_soft or layer.kind is LayerKind.JOINT_SAFETY:
            given |= np.isfinite(here)
        else:
            given |= here < hard
    given &= np.isfinite(hard)
    if not given.any():
        return None
    ceilings = np.full(stack.joints.cells, np.inf)
    ceilings[:ends] = np.where(given, hard, np.inf)
    return stack.joints.bounds(ceilings)
