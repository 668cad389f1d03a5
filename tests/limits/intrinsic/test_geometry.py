import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limits.errors import LimitsError
from limits.intrinsic import geometry
from schema.intrinsic import Affine3d, Matrixd, Point, Pose, Quaternion

HALF = Quaternion(z=math.sqrt(0.5), w=math.sqrt(0.5))
QUARTER_TURN = Pose(position=Point(x=1.0, y=2.0, z=3.0), orientation=HALF)


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (math.inf, math.inf, True),
        (math.inf, -math.inf, False),
        (math.nan, math.nan, False),
        (1e-9, -1e-9, True),
        (1e9, 1e9 + 2, False),
        (1e9, 1e9 + 0.5, True),
        (2.0, 2.0, True),
        (1.0, 1.0 + 2e-9, False),
    ],
)
def test_almost_equals(a: float, b: float, equal: bool) -> None:
    assert geometry.almost_equals(a, b, 1e-9) is equal


def test_matrix_is_column_major() -> None:
    message = Matrixd(rows=2, cols=3, values=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    matrix = geometry.matrix_from_message(message)
    assert matrix.tolist() == [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]
    assert geometry.matrix_to_message(matrix) == message


@pytest.mark.parametrize(
    ("message", "key"),
    [
        (Matrixd(), "matrix.rows"),
        (Matrixd(rows=1, cols=2049), "matrix.cols"),
        (Matrixd(rows=-1, cols=1), "matrix.rows"),
        (Matrixd(rows=1, cols=2, values=(1.0,)), "matrix.values"),
    ],
)
def test_matrix_of_wrong_size_is_refused(message: Matrixd, key: str) -> None:
    with pytest.raises(LimitsError) as caught:
        geometry.matrix_from_message(message)
    assert caught.value.key == key


def test_pose_keeps_the_sign_and_the_bits_of_a_unit() -> None:
    negative = Quaternion(x=-HALF.x, y=-HALF.y, z=-HALF.z, w=-HALF.w)
    pose = geometry.pose_from_message(Pose(orientation=negative), normalize=True)
    assert pose.orientation.tolist() == [-0.0, -0.0, -HALF.z, -HALF.w]
    assert pose.position.tolist() == [0.0, 0.0, 0.0]


def test_pose_normalizes_when_told() -> None:
    message = Pose(orientation=Quaternion(w=1.0004))
    with pytest.raises(LimitsError, match=r"pose\.orientation: not a unit quaternion"):
        geometry.pose_from_message(message)
    assert geometry.pose_from_message(message, normalize=True).orientation.tolist() == [0.0, 0.0, 0.0, 1.0]
    with pytest.raises(LimitsError):
        geometry.pose_from_message(Pose(orientation=Quaternion(w=1.001)), normalize=True)


@pytest.mark.parametrize(
    ("norm", "compat", "accepted"),
    [
        (1.000999, False, True),
        (1.0010008, False, False),
        (1.0010008, True, True),
        (1.001002, True, False),
        (0.9990002, True, True),
        (0.998999, True, False),
        (math.inf, True, False),
    ],
)
def test_how_far_from_a_unit_is_scaled(norm: float, compat: bool, accepted: bool) -> None:
    message = Pose(orientation=Quaternion(w=math.sqrt(norm)))
    if accepted:
        pose = geometry.pose_from_message(message, normalize=True, compat=compat)
        assert pose.orientation.tolist() == pytest.approx([0.0, 0.0, 0.0, 1.0], abs=1e-15)
    else:
        with pytest.raises(LimitsError, match="squared norm off 1"):
            geometry.pose_from_message(message, normalize=True, compat=compat)


@pytest.mark.parametrize("orientation", [None, Quaternion(), Quaternion(w=math.nan), Quaternion(w=math.inf)])
def test_pose_without_a_rotation_is_an_error(orientation: Quaternion | None) -> None:
    for normalize in (False, True):
        with pytest.raises(LimitsError):
            geometry.pose_from_message(Pose(position=Point(), orientation=orientation), normalize=normalize)


@pytest.mark.parametrize(
    ("x", "normalize", "compat", "accepted"),
    [
        (math.nan, False, False, False),
        (math.inf, False, False, False),
        (math.nan, True, False, False),
        (math.inf, False, True, True),
        (math.nan, False, True, False),
        (math.nan, True, True, True),
    ],
)
def test_position_that_is_not_finite(x: float, normalize: bool, compat: bool, accepted: bool) -> None:
    message = Pose(position=Point(x=x), orientation=Quaternion(w=1.0))
    if accepted:
        assert geometry.pose_from_message(message, normalize=normalize, compat=compat)
    else:
        with pytest.raises(LimitsError, match=r"pose\.position: not a finite position"):
            geometry.pose_from_message(message, normalize=normalize, compat=compat)


def test_composition_rotates_then_translates() -> None:
    turn = geometry.pose_from_message(QUARTER_TURN, normalize=True)
    twice = geometry.compose(turn, turn)
    assert np.allclose(twice.position, [-1.0, 3.0, 6.0])
    assert np.allclose(twice.orientation, [0.0, 0.0, 1.0, 0.0])
    assert geometry.pose_to_message(geometry.IDENTITY) == Pose(position=Point(), orientation=Quaternion(w=1.0))


@given(st.lists(st.floats(-1, 1), min_size=4, max_size=4).filter(lambda q: sum(x * x for x in q) > 0.01))
def test_inverse_undoes(quaternion: list[float]) -> None:
    orientation = np.array(quaternion) / math.sqrt(sum(x * x for x in quaternion))
    pose = geometry.RigidTransform(np.array([1.0, -2.0, 3.0]), orientation)
    undone = geometry.compose(geometry.invert(pose), pose)
    assert np.allclose(undone.position, 0.0)
    assert np.allclose(np.abs(undone.orientation), [0.0, 0.0, 0.0, 1.0])


def test_affine() -> None:
    linear = Matrixd(rows=3, cols=3, values=(0.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0))
    message = Affine3d(linear=linear, translation=Point(x=1.0))
    affine = geometry.affine_from_message(message)
    assert affine.tolist() == [[0.0, 1.0, 0.0, 1.0], [2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    assert geometry.affine_to_message(affine) == message
    assert geometry.compose_affine(affine, affine)[:, 3].tolist() == [1.0, 2.0, 0.0]
    assert geometry.affine_from_message(Affine3d(linear=linear))[:, 3].tolist() == [0.0, 0.0, 0.0]


def test_affine_without_a_3x3_part_is_refused() -> None:
    with pytest.raises(LimitsError, match=r"linear\.rows"):
        geometry.affine_from_message(Affine3d(translation=Point()))
    with pytest.raises(LimitsError, match="linear: not 3x3"):
        geometry.affine_from_message(Affine3d(linear=Matrixd(rows=1, cols=1, values=(1.0,))))


def test_affine_that_is_not_finite() -> None:
    message = Affine3d(linear=geometry.matrix_to_message(np.eye(3)), translation=Point(y=math.inf))
    with pytest.raises(LimitsError, match="affine: not finite"):
        geometry.affine_from_message(message)
    assert geometry.affine_from_message(message, compat=True)[1, 3] == math.inf
