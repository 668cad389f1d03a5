import pytest

from handlers.stack.arm_limits import joints_of
from handlers.state.limit_sources import LimitSources, Placed, place
from limits.errors import LimitsError
from limits.formats.urdf import read_urdf
from limits.ros2.store import ParameterValue
from limits.stack.layer import LayerKind
from tests.handlers.builders import description
from tests.handlers.limit_files import GAINS, NAMES, SINCE_US, parameters, skeleton, sources, urdf

JOINTS = joints_of(description())


def placed(given: LimitSources) -> Placed:
    return place(given, JOINTS)


def ceiling(result: Placed, quantity: str, joint: str = "joint_1", layer: int = 0) -> float:
    return float(result.layers[layer].ceilings[JOINTS.cell(quantity, joint)])


def test_settings_without_files_say_nothing() -> None:
    assert placed(LimitSources()) == Placed(safety_source="urdf:", ros_source="ros:")


def test_a_urdf_limits_and_gives_the_first_safety_records() -> None:
    result = placed(sources(robot=urdf()))
    [layer] = result.layers
    assert (layer.kind, layer.origin.source, layer.origin.by) == (LayerKind.URDF, "urdf:gen3.urdf", "@settings")
    assert layer.origin.since_us == SINCE_US
    assert (ceiling(result, "velocity"), ceiling(result, "effort")) == (1.2, 39.0)
    assert result.safety.joints == {"joint_2": GAINS}
    assert result.safety_source == "urdf:gen3.urdf"
    assert result.reports == ()


def test_a_urdf_without_safety_controllers_gives_no_records() -> None:
    assert placed(sources(robot=urdf(safety=False))).safety.joints == {}


def test_joints_are_matched_by_name_and_what_does_not_fit_is_told() -> None:
    prefixed = placed(sources(robot=urdf(names=tuple(f"left_{name}" for name in NAMES))))
    assert ceiling(prefixed, "velocity") == 1.2
    assert prefixed.safety.joints == {"joint_2": GAINS}
    assert prefixed.reports[0] == "urdf:gen3.urdf: joint joint_1 is called left_joint_1"
    other = placed(sources(robot=urdf(names=("joint_1", "finger"))))
    assert "urdf:gen3.urdf: joint joint_7 is missing; it gives no limits of it" in other.reports
    assert "urdf:gen3.urdf: joint finger is no joint of the arm; its limits are not used" in other.reports


def test_ros_parameters_start_the_item_under_the_names_of_the_arm() -> None:
    theirs = {name.replace("joint_1", "left_joint_1"): value for name, value in parameters(velocity=0.5).items()}
    result = placed(sources(values=theirs))
    assert result.layers == ()
    assert result.parameters.parameters == parameters(velocity=0.5)
    assert result.ros_source == "ros:limits.yaml"
    assert "ros:limits.yaml: joint joint_1 is called left_joint_1" in result.reports


def test_what_was_read_past_in_a_urdf_and_fixed_joints_are_told() -> None:
    text = """<robot name="r"><link name="a"/><link name="b"/><link name="c"/>
      <joint name="joint_1" type="continuous"><parent link="a"/><child link="b"/>
      <limit effort="9" velocity="0.7" friction="2"/></joint>
      <joint name="stand" type="fixed"><parent link="b"/><child link="c"/></joint></robot>"""
    values: dict[str, ParameterValue] = {"joint_limits.stand.has_effort_limits": False}
    reports = placed(sources(robot=read_urdf(text), values=values)).reports
    assert "urdf:gen3.urdf: joint joint_1, friction: limit has an attribute that is not read (got '2')" in reports
    assert "ros:limits.yaml: joint stand is fixed; its limits are not used" in reports


def test_limits_of_ros2_control_count_too() -> None:
    text = """<robot name="r"><link name="a"/><link name="b"/>
      <joint name="joint_1" type="continuous"><parent link="a"/><child link="b"/>
      <limit effort="9" velocity="0.7"/></joint><ros2_control><joint name="joint_1"><command_interface name="velocity">
      <param name="max">0.6</param></command_interface></joint></ros2_control></robot>"""
    result = placed(sources(robot=read_urdf(text)))
    assert [layer.origin.source for layer in result.layers] == ["urdf:gen3.urdf", "ros2_control:gen3.urdf"]
    assert [ceiling(result, "velocity", layer=at) for at in (0, 1)] == [0.7, 0.6]


def test_doubtful_parameters_are_told() -> None:
    result = placed(sources(values=parameters(velocity=0.5) | {"joint_limits.joint_1.max_jerk": 3}))
    assert result.parameters.parameters["joint_limits.joint_1.max_jerk"] == 3.0
    [report] = [line for line in result.reports if "max_jerk" in line]
    assert report == "ros:limits.yaml: joint joint_1, max_jerk does not count, because has_jerk_limits is not given"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (parameters(velocity=-1.0), "is negative"),
        ({"joint_limits.joint_1.has_velocity_limits": 1.5}, "is of type double, not bool"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(values: dict[str, ParameterValue], reason: str) -> None:
    with pytest.raises(LimitsError, match=reason):
        placed(sources(values=values))


def test_a_skeleton_gives_system_and_soft_limits() -> None:
    result = placed(sources(tree=skeleton(1.1)))
    assert [layer.kind for layer in result.layers] == [LayerKind.SKELETON, LayerKind.SKELETON]
    assert (ceiling(result, "velocity"), ceiling(result, "velocity", layer=1)) == (1.1, 0.55)
    assert result.reports == ()


def test_odd_things_in_a_skeleton_are_told() -> None:
    reports = placed(sources(tree=skeleton(0.0))).reports
    assert reports[0].startswith("skeleton:gen3.pb: joint joint_1: system_limits velocity is absent or 0")


def test_caps_of_the_plant_are_one_number_or_one_a_joint() -> None:
    result = placed(sources(velocity=1.0, acceleration=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], twist_linear=0.25))
    [layer] = result.layers
    assert (layer.kind, layer.origin.source) == (LayerKind.SITE, "policy:site")
    assert ceiling(result, "velocity", "joint_7") == 1.0
    assert ceiling(result, "acceleration", "joint_3") == 3.0
    assert layer.ceilings[JOINTS.cell("twist_linear")] == 0.25


def test_caps_that_fit_no_joints_are_refused() -> None:
    with pytest.raises(LimitsError, match="needs one number a joint") as caught:
        placed(sources(velocity=[1.0, 2.0]))
    assert (caught.value.key, caught.value.value, caught.value.bound) == ("velocity", 2, 7)
