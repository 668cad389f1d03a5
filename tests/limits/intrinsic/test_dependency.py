import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limits.errors import LimitsError
from limits.intrinsic.dependency import (
    coupling_of,
    derive,
    input_efforts,
    reachable_magnitudes,
    reachable_positions,
)
from schema.intrinsic import Element, Joint, JointParameters, JointType, LinearDependency


def joint(element: int, dependency: LinearDependency | None = None, kind: JointType = JointType.REVOLUTE) -> Joint:
    return Joint(
        element=Element(id=element, name=f"j{element}"),
        parameters=JointParameters(type=kind),
        linear_dependency=dependency,
    )


def depends(alpha_self: float = 0.0, **leading: float) -> LinearDependency:
    return LinearDependency(
        alpha_self=alpha_self, alpha_leading={int(key[1:]): alpha for key, alpha in leading.items()}
    )


INDEX = {7: 0, 0: 1, 9: 2}
COUPLED = [joint(7), joint(5, kind=JointType.FIXED), joint(0), joint(9, depends(-1.0, j7=0.5, j0=0.0))]


def test_rows_are_weights_of_the_inputs() -> None:
    coupling = coupling_of(COUPLED, INDEX)
    assert coupling.matrix.tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.0, -1.0]]
    assert coupling.warnings == ()


def test_values_and_efforts() -> None:
    matrix = coupling_of(COUPLED, INDEX).matrix
    inputs = np.array([[2.0, 1.0, 3.0], [0.0, 0.0, 1.0]])
    assert derive(matrix, inputs).tolist() == [[2.0, 1.0, -2.0], [0.0, 0.0, -1.0]]
    assert input_efforts(matrix, np.array([1.0, 1.0, 4.0])).tolist() == [3.0, 1.0, -4.0]


def test_reachable_ranges_swap_ends_and_ignore_zero_weights() -> None:
    matrix = coupling_of(COUPLED, INDEX).matrix
    low, high = reachable_positions(matrix, np.array([-1.0, -math.inf, 0.0]), np.array([2.0, math.inf, 3.0]))
    assert low.tolist() == [-1.0, -math.inf, -3.5]
    assert high.tolist() == [2.0, math.inf, 1.0]
    assert reachable_magnitudes(matrix, np.array([2.0, math.inf, 1.0])).tolist() == [2.0, math.inf, 2.0]


def test_an_empty_dependency_is_warned() -> None:
    coupling = coupling_of([joint(0, depends())], {0: 0})
    assert coupling.matrix.tolist() == [[0.0]]
    assert coupling.warnings == ("joint j0: the dependency is empty, so its coordinate is always 0",)


@pytest.mark.parametrize(
    ("joints", "fault"),
    [
        ([joint(7), joint(5, depends(1.0, j7=1.0), JointType.FIXED)], "dependent_joint_is_fixed"),
        ([joint(7, depends(math.inf))], "alpha_not_finite"),
        ([joint(7), joint(0, depends(1.0, j7=math.nan))], "alpha_not_finite"),
        ([joint(7, depends(1.0, j7=1.0))], "leading_is_self"),
        ([joint(7), joint(0, depends(1.0, j8=1.0))], "leading_unknown"),
        ([joint(5, kind=JointType.FIXED), joint(7, depends(1.0, j5=1.0))], "leading_is_fixed"),
        ([joint(7, depends(1.0)), joint(0, depends(1.0, j7=1.0))], "leading_is_dependent"),
        ([joint(7, depends(1.0, j0=1.0)), joint(0)], "leading_not_preceding"),
    ],
)
def test_faults(joints: list[Joint], fault: str) -> None:
    with pytest.raises(LimitsError, match=f"linear_dependency: {fault}") as caught:
        coupling_of(joints, INDEX)
    assert caught.value.joint is not None


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=3), st.lists(st.floats(-5, 5), min_size=3, max_size=3))
def test_what_is_derived_lies_in_the_reachable_range(share: list[float], middle: list[float]) -> None:
    matrix = coupling_of(COUPLED, INDEX).matrix
    lower, upper = np.array(middle) - 1.0, np.array(middle) + 1.0
    low, high = reachable_positions(matrix, lower, upper)
    found = derive(matrix, np.array(middle) + np.array(share))
    assert (found >= low - 1e-9).all()
    assert (found <= high + 1e-9).all()


@given(*(st.lists(st.floats(-9, 9), min_size=3, max_size=3) for _ in range(2)))
def test_inputs_and_derived_coordinates_do_the_same_work(speeds: list[float], efforts: list[float]) -> None:
    matrix = coupling_of(COUPLED, INDEX).matrix
    derived = float(derive(matrix, np.array(speeds)) @ np.array(efforts))
    assert math.isclose(derived, float(np.array(speeds) @ input_efforts(matrix, np.array(efforts))), abs_tol=1e-9)
