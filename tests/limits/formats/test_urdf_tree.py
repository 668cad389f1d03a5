import pytest

from limits.errors import LimitsError
from limits.formats.diagnostics import Diagnostic
from limits.formats.urdf_elements import Place
from limits.formats.urdf_records import JointType, UrdfJoint, UrdfMimic
from limits.formats.urdf_tree import check_mimics, check_tree


def chain(*leaders: str | None) -> tuple[UrdfJoint, ...]:
    """Joints j0, j1 and so on in a row, each with the joint that it follows."""
    return tuple(
        UrdfJoint(
            name=f"j{n}",
            type=JointType.CONTINUOUS,
            parent=f"l{n}",
            child=f"l{n + 1}",
            mimic=None if leader is None else UrdfMimic(joint=leader),
        )
        for n, leader in enumerate(leaders)
    )


def test_a_long_chain_of_followers_ends_somewhere() -> None:
    notes: list[Diagnostic] = []
    joints = chain(None, *(f"j{n}" for n in range(2999)))
    check_tree(tuple(f"l{n}" for n in range(3001)), joints, None)
    check_mimics(joints, Place(notes=notes))
    assert notes == []


def test_the_one_who_follows_nobody_is_told_once() -> None:
    notes: list[Diagnostic] = []
    check_mimics(chain("j1", "gone", "j0"), Place(notes=notes))
    assert [(note.joint, note.value) for note in notes] == [("j1", "gone")]


@pytest.mark.parametrize("leaders", [("j0",), ("j1", "j0"), (None, "j3", "j1", "j2")])
def test_joints_that_follow_each_other_are_refused(leaders: tuple[str | None, ...]) -> None:
    with pytest.raises(LimitsError, match="joints follow each other") as caught:
        check_mimics(chain(*leaders), Place("r.urdf"))
    assert (caught.value.file, caught.value.key) == ("r.urdf", "mimic")
