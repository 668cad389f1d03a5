import pytest

from limits.errors import LimitsError
from limits.stack.matching import match_joints


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


def test_a_name_that_stands_twice_is_refused() -> None:
    with pytest.raises(LimitsError, match="twice"):
        match_joints(["a"], ["a", "a"])
