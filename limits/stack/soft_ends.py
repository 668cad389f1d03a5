"""Ends of the hard range that have a soft end before them: where a joint needs a margin to stop in."""

import numpy as np

from limits.stack.joints import Bounds
from limits.stack.layer import MACHINE_KINDS, LayerKind, Stack


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
