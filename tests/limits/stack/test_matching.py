import pytest

from limits.errors import LimitsError
from limits.stack.matching import match_in_order, match_joints


def test_equal_names_and_order_have_nothing_to_report() -> None:
    match = match_joints(["a", "b"], ["a", "b"])
    assert match.order == (0, 1)
    assert match.reports("x.urdf") == ()


def test_missing_extra_and_reordered_joints_are_reported() -> None:
    match = match_joints(["a", "b", "c"], ["c", "a", "gripper"])
    assert match.order == (1, None, 0)
    assert match.reports("x.urdf") == (
        "x.urdf: joint b is missing; it gives no limits of it",
        "x.urdf: joint gripper is no joint of the arm; its limits are not used",
        "x.urdf: the joints stand in another order",
    )


@pytest.mark.parametrize(
    ("arm", "given", "order"),
    [
        (["joint_1", "joint_2"], ["Joint1", "Joint2"], (0, 1)),
        (["joint_1", "joint_2"], ["r12_joint_1", "r12_joint_2"], (0, 1)),
        (["joint_1", "joint_11"], ["r12_joint_11", "r12_joint_1"], (1, 0)),
        (["joint_1", "joint_2"], ["left_joint_1", "right_joint_2"], (None, None)),
        (["joint_1"], ["left_joint_1", "right_joint_1"], (None,)),
        (["joint_1", "joint_2"], ["r12_joint_1"], (0, None)),
        (["1", "11"], ["a11"], (None, None)),
        (["_"], ["joint_1"], (None,)),
        (["r12_joint_1", "r12_joint_2"], ["joint_2", "joint_1"], (1, 0)),
        (["cell/Axis-A", "cell/axis_b", "cell/cap"], ["axis_b", "axis_a"], (1, 0, None)),
        (["left_j1", "right_j1", "left_j2", "right_j2"], ["j1", "j2"], (None, None, None, None)),
        (["b_j1", "b_tool_j1", "b_j2"], ["j1", "j2"], (0, None, 1)),
        (["a_j1", "b_j2"], ["j1", "j2"], (None, None)),
        (["joint_1", "joint_2"], ["Joint1", "x_joint_1", "joint-2", "x_joint_2"], (0, 2)),
        (["x_j1", "x_J1"], ["j1"], (None, None)),
        (["aj", "j"], ["AJ", "bj"], (0, None)),
        (["j1", "J1"], ["x_j1"], (None, None)),
    ],
)
def test_names_that_are_alike(arm: list[str], given: list[str], order: tuple[int | None, ...]) -> None:
    match = match_joints(arm, given)
    assert match.order == order
    assert list(match.renamed) == [name for name, index in zip(arm, order, strict=True) if index is not None]


def test_renames_come_first_and_are_reported() -> None:
    match = match_joints(["a", "b"], ["b", "c"], {"a": "b"})
    assert match.order == (0, None)
    assert match.reports("x.urdf")[-1] == "x.urdf: joint a is called b"


@pytest.mark.parametrize(("renames", "joint"), [({"z": "b"}, "z"), ({"a": "z"}, "z"), ({"a": "b", "c": "b"}, "b")])
def test_renames_that_do_not_fit_are_refused(renames: dict[str, str], joint: str) -> None:
    with pytest.raises(LimitsError) as caught:
        match_joints(["a", "c"], ["b"], renames, file="x.urdf")
    assert caught.value.joint == joint


def test_joints_that_are_fixed_are_reported_as_such() -> None:
    match = match_joints(["a"], ["a", "flange", "jaw"])
    assert match.reports("x.yaml", {"flange"}) == (
        "x.yaml: joint flange is fixed; its limits are not used",
        "x.yaml: joint jaw is no joint of the arm; its limits are not used",
    )


@pytest.mark.parametrize(
    ("given", "nothing"), [(["a", "x"], False), (["x", "y"], True), ([], False), (["x", "y", "z"], True)]
)
def test_whether_nothing_fits(given: list[str], nothing: bool) -> None:
    assert match_joints(["a", "b"], given).nothing_fits is nothing


def test_joints_without_names_fit_all_or_none() -> None:
    assert match_in_order(["a", "b"], ["joint_1", "joint_2"]) == ((0, 1), (), (), {}, False)
    other = match_in_order(["joint_1", "b", "c"], ["joint_1", "joint_2"])
    assert other.nothing_fits
    assert other == ((None, None, None), ("joint_1", "b", "c"), ("joint_1", "joint_2"), {}, False)


def test_a_name_that_stands_twice_is_refused() -> None:
    with pytest.raises(LimitsError, match="twice"):
        match_joints(["a"], ["a", "a"])
