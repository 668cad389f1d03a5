import numpy as np
import pytest

from handlers.stack.joint_vectors import QUANTITY_OF, UNLIMITED, to_message, to_vectors
from limits.errors import LimitsError
from schema.intrinsic import JointLimits, RepeatedDouble

LIMITS = JointLimits(min_position=RepeatedDouble((-1.0, -np.inf)), max_velocity=RepeatedDouble((0.0, 2.0)))


def test_an_absent_vector_is_unlimited() -> None:
    vectors = to_vectors(LIMITS, 2)
    assert vectors.min_position.tolist() == [-1.0, -np.inf]
    assert vectors.max_position.tolist() == [np.inf, np.inf]
    assert vectors.max_velocity.tolist() == [0.0, 2.0]


def test_a_vector_that_limits_no_joint_is_absent() -> None:
    assert to_message(to_vectors(LIMITS, 2)) == LIMITS
    assert to_message(to_vectors(JointLimits(max_jerk=RepeatedDouble((np.inf, np.inf))), 2)) == JointLimits()


def test_each_vector_has_one_number_a_joint() -> None:
    with pytest.raises(LimitsError, match="needs one number a joint") as caught:
        to_vectors(LIMITS, 3)
    assert (caught.value.key, caught.value.value, caught.value.bound) == ("min_position", 2, 3)


def test_every_vector_bounds_a_quantity() -> None:
    assert QUANTITY_OF.keys() == UNLIMITED.keys() == set(JointLimits.__struct_fields__)
