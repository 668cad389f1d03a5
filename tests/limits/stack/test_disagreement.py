from limits.stack.disagreement import disagreements
from limits.stack.layer import LayerKind, Origin, Stack
from limits.stack.sources import safety_layer
from limits.tesseract.joint_safety import JointSafety
from tests.limits.stack.arms import ALICE, MAKER, SITE, TWO, layer

URDF = Origin("urdf:gen3.urdf", "config", 0)


def test_sources_of_one_machine_that_differ_are_told_with_the_one_that_counts() -> None:
    stack = Stack.of(
        TWO,
        [
            layer(velocity=[1.0, 2.0], position_lower=[-1.0, -1.0]),
            layer(LayerKind.URDF, URDF, velocity=[1.5, 2.001], position_lower=[-2.0, -1.0], effort=3.0),
        ],
    )
    assert [str(found) for found in disagreements(stack)] == [
        "position_lower of joint shoulder: -1 rad of hard:device counts, urdf:gen3.urdf says -2 rad",
        "velocity of joint shoulder: 1 rad/s of hard:device counts, urdf:gen3.urdf says 1.5 rad/s",
    ]


def test_degrees_for_radians_are_told() -> None:
    stack = Stack.of(
        TWO,
        [
            layer(velocity=[1.5, 2.0], position_upper=[180.0, 2.0], effort=[1.0, 57.3]),
            layer(LayerKind.URDF, URDF, velocity=[85.9, 120.0], position_upper=[3.1416, 2.0], effort=[57.3, 57.3]),
        ],
    )
    assert [(found.quantity, found.joint, found.like_degrees) for found in disagreements(stack)] == [
        ("position_upper", "shoulder", True),
        ("velocity", "shoulder", True),
        ("velocity", "elbow", False),
        ("effort", "shoulder", False),
    ]
    assert str(disagreements(stack)[0]).endswith("hard:device says 180 rad (as degrees are to radians)")


def test_the_tighter_one_counts_whoever_it_is() -> None:
    stack = Stack.of(TWO, [layer(twist_linear=2.0), layer(LayerKind.URDF, URDF, twist_linear=1.0)])
    (found,) = disagreements(stack)
    assert (found.tighter, found.joint) == ("urdf:gen3.urdf", None)
    assert str(found) == "twist_linear: 1 m/s of urdf:gen3.urdf counts, hard:device says 2 m/s"


def test_limits_that_are_meant_to_be_tighter_do_not_disagree() -> None:
    safety = JointSafety(soft_lower_limit=-0.5, soft_upper_limit=0.5, k_position=1.0, k_velocity=1.0)
    stack = Stack.of(
        TWO,
        [
            layer(velocity=2.0, position_lower=-1.0, position_upper=1.0),
            layer(LayerKind.APPLICATION, ALICE, velocity=1.0),
            layer(LayerKind.SITE, SITE, velocity=0.5),
            layer(LayerKind.SKELETON, Origin("skeleton:s.pb#soft", "config", 0), velocity=0.1),
            safety_layer(TWO, {"elbow": safety, "shoulder": safety}, URDF, kind=LayerKind.URDF),
        ],
    )
    assert disagreements(stack) == ()
    assert stack.layers[0].origin == MAKER
