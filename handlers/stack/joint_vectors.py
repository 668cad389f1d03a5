"""JointLimits messages of an arm as six vectors, and back: a vector that is absent is unlimited for every joint."""

import numpy as np

from limits.errors import LimitsError
from limits.intrinsic.joint_limits import FIELDS, JointLimitVectors
from schema.intrinsic import JointLimits, RepeatedDouble

QUANTITY_OF = {
    "min_position": "position_lower",
    "max_position": "position_upper",
    "max_velocity": "velocity",
    "max_acceleration": "acceleration",
    "max_jerk": "jerk",
    "max_effort": "effort",
}
"""What the numbers of each vector bound."""
UNLIMITED = {name: -np.inf if name == "min_position" else np.inf for name in FIELDS}
"""What a number of each vector is where nothing is said."""


def to_vectors(message: JointLimits, joints: int) -> JointLimitVectors:
    """The vectors of a message, shape (joints,) each.

    Raises:
        LimitsError: a vector that is there has not one number a joint.
    """
    vectors = {}
    for name, unlimited in UNLIMITED.items():
        field: RepeatedDouble | None = getattr(message, name)
        vectors[name] = np.full(joints, unlimited) if field is None else np.array(field.values, dtype=np.float64)
        if vectors[name].size != joints:
            raise LimitsError("needs one number a joint", key=name, value=vectors[name].size, bound=joints)
    return JointLimitVectors(**vectors)


def to_message(vectors: JointLimitVectors) -> JointLimits:
    """The message of vectors; one that limits no joint is left out."""
    return JointLimits(
        **{
            name: None if (vector == UNLIMITED[name]).all() else RepeatedDouble(tuple(vector.tolist()))
            for name, vector in vectors._asdict().items()
        }
    )
