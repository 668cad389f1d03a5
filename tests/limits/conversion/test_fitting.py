from limits.conversion.fitting import fit
from limits.conversion.limit_set import LimitedJoint, LimitSet
from limits.formats.urdf_records import UrdfMimic
from tests.limits.conversion import sets


def named(*joints: str, **fields: object) -> LimitSet:
    return LimitSet(joints=tuple(LimitedJoint(name=name, **fields) for name in joints))  # type: ignore[arg-type]


def test_joints_are_called_as_the_base_does_wherever_they_are_named() -> None:
    follower = LimitedJoint(name="tip", mimic=UrdfMimic(joint="root"), depends=(("root", 0.5), ("other", 2.0)))
    limits = LimitSet(joints=(LimitedJoint(name="root"), follower))
    fitted = fit(named("r_tip", "r_root"), limits)
    assert fitted.match.renamed == {"r_tip": "tip", "r_root": "root"}
    root, tip = fitted.limits.joints
    assert (root.name, tip.name, tip.depends) == ("r_root", "r_tip", (("r_root", 0.5), ("other", 2.0)))
    assert tip.mimic == UrdfMimic(joint="r_root")


def test_equal_names_leave_the_set_as_it_is() -> None:
    limits = named("a", "b")
    assert fit(named("b", "a", "c"), limits).limits is limits


def test_joints_without_names_take_those_of_as_many() -> None:
    fitted = fit(named("a", "b"), sets.KINOVA)
    assert [joint.name for joint in fitted.limits.joints] == ["a", "b"]
    other = fit(named("joint_1", "joint_2", "c"), sets.KINOVA)
    assert other.match.nothing_fits
    assert other.limits is sets.KINOVA
