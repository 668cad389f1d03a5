"""Which limit acted on a value."""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray


class Reason(IntEnum):
    """The limit that acted on one quantity of one joint."""

    NONE = 0
    HARD_POSITION = 1
    """The hard range, or the distance that is left to its end."""
    MAX_VELOCITY = 2
    """`max_velocity`, or the position that it allows to reach."""
    MAX_ACCELERATION = 3
    MAX_DECELERATION = 4
    MAX_JERK = 5
    MAX_EFFORT = 6
    SOFT_POSITION = 7
    """The soft range, with or without `k_position`."""
    SOFT_VELOCITY = 8
    """`k_velocity`: the effort that keeps the velocity inside its soft bounds."""
    UNKNOWN_STATE = 9
    """A limit cannot be checked, because the state it needs is not known."""
    GROUP_BRAKE = 10
    """A joint of the set must brake before its limit, so all of them do."""


ReasonCodes = NDArray[np.uint8]
"""Reason values, one a joint."""

Reasons = dict[str, ReasonCodes]
"""For each interface that was limited: the codes of all joints."""
