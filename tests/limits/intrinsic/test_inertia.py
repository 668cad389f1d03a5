import math

import numpy as np
import pytest

from limits.errors import LimitsError
from limits.intrinsic import inertia
from limits.intrinsic.geometry import matrix_to_message
from schema.intrinsic import LinkParameters, Matrixd, Pose, Quaternion

BODY = np.diag([1.0, 2.0, 2.5])
LINK = LinkParameters(mass=1.0, inertia=matrix_to_message(BODY))


@pytest.mark.parametrize(
    ("mass", "compat", "accepted"),
    [
        (1e-300, False, True),
        (0.0, False, False),
        (-1.0, True, False),
        (math.nan, False, False),
        (math.inf, False, False),
        (math.nan, True, True),
        (math.inf, True, True),
    ],
)
def test_mass(mass: float, compat: bool, accepted: bool) -> None:
    if accepted:
        inertia.check_mass(mass, compat=compat)
    else:
        with pytest.raises(LimitsError, match="mass: not a positive mass"):
            inertia.check_mass(mass, compat=compat)


@pytest.mark.parametrize(
    ("matrix", "fault"),
    [
        (BODY, "ok"),
        (np.diag([1.0, 1.0, 2.0]), "ok"),
        (np.diag([1.0, 1.0, 2.1]), "triangle_inequality"),
        (np.diag([1.0, 1.0, 0.0]), "not_positive_definite"),
        (np.full((3, 3), np.nan), "not_symmetric"),
        (BODY + np.eye(3, k=1), "not_symmetric"),
        (np.where(np.eye(3, k=1) > 0, [[0.0, np.inf, 0.0]], BODY), "not_positive_definite"),
    ],
)
def test_inertia_fault(matrix: np.ndarray, fault: str) -> None:
    assert inertia.inertia_fault(matrix) == fault


def test_principal_moments_ascend() -> None:
    assert inertia.principal_moments(BODY[::-1, ::-1]).tolist() == [1.0, 2.0, 2.5]
    with pytest.raises(LimitsError, match="triangle_inequality"):
        inertia.principal_moments(np.diag([1.0, 1.0, 3.0]))


def test_the_lower_triangle_counts() -> None:
    matrix = BODY + 1e-7 * np.eye(3, k=1)
    assert inertia.inertia_fault(matrix) == "ok"
    assert inertia.symmetrized(matrix).tolist() == BODY.tolist()


def test_link_faults_come_in_order() -> None:
    assert inertia.link_faults(LINK) == ()
    inertia.check_link_parameters(LINK)
    bad = LinkParameters(center_of_gravity=Pose())
    assert inertia.link_faults(bad) == ("mass", "inertia_missing", "center_of_gravity")
    with pytest.raises(LimitsError, match="forearm: unusable link parameters: mass, inertia_missing, center_of_grav"):
        inertia.check_link_parameters(bad, link="forearm")


@pytest.mark.parametrize(
    ("matrix", "fault"),
    [
        (Matrixd(rows=3, cols=3), "inertia_shape"),
        (matrix_to_message(np.eye(2)), "inertia_shape"),
        (matrix_to_message(-np.eye(3)), "inertia_not_positive_definite"),
    ],
)
def test_link_inertia(matrix: Matrixd, fault: str) -> None:
    center = Pose(orientation=Quaternion(w=1.0))
    assert inertia.link_faults(LinkParameters(mass=1.0, inertia=matrix, center_of_gravity=center)) == (fault,)
