import pytest

from limits.formats.diagnostics import Diagnostic, Weight
from limits.formats.urdf_control import read_control
from limits.formats.urdf_elements import Place
from limits.formats.urdf_records import UrdfControl, UrdfLimit
from limits.formats.xml import parse_xml


def interface(name: str, **ends: str) -> str:
    parameters = "".join(f'<param name="{key}">{text}</param>' for key, text in ends.items())
    return f'<command_interface name="{name}"><param name="initial">0</param>{parameters}</command_interface>'


def read(*joints: str) -> tuple[tuple[UrdfControl, ...], list[Diagnostic]]:
    notes: list[Diagnostic] = []
    systems = "".join(f"<ros2_control>{joint}</ros2_control>" for joint in joints)
    root = parse_xml(f"<robot>{systems}</robot>", None)
    return read_control(root, {"arm", "rail"}, Place("cell.urdf", None, notes)), notes


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        (interface("position", min="-0.7", max=" 0.9\n"), UrdfLimit(lower=-0.7, upper=0.9)),
        (interface("position", max="0.9"), UrdfLimit(upper=0.9)),
        (interface("velocity", min="-1.5", max="1.25"), UrdfLimit(velocity=1.25)),
        (interface("effort", min="-22"), UrdfLimit(effort=22.0)),
        (interface("acceleration", min="-3", max="4"), UrdfLimit(acceleration=4.0, deceleration=3.0)),
        (interface("acceleration", max="4"), UrdfLimit(acceleration=4.0, deceleration=4.0)),
        (interface("acceleration", min="-3"), UrdfLimit(acceleration=3.0, deceleration=3.0)),
        (interface("jerk", min="-1", max="60"), UrdfLimit(jerk=60.0)),
    ],
)
def test_interfaces_are_read_as_ros2_control_does(text: str, limit: UrdfLimit) -> None:
    assert read(f'<joint name="arm">{text}<state_interface name="position"/></joint>') == (
        (UrdfControl(joint="arm", limit=limit),),
        [],
    )


@pytest.mark.parametrize(
    "text", ["", interface("position"), interface("jerk", min="-1"), interface("gripper", min="0", max="1")]
)
def test_a_joint_without_limits_is_left_out(text: str) -> None:
    assert read(f'<joint name="arm">{text}</joint>') == ((), [])


def test_the_tightest_of_several_systems_counts() -> None:
    first = (
        f'<joint name="rail">{interface("position", min="0.1", max="1.9")}{interface("velocity", max="0.5")}</joint>'
    )
    second = f'<joint name="rail">{interface("position", min="0.2", max="2.0")}{interface("jerk", max="8")}</joint>'
    limit = UrdfLimit(lower=0.2, upper=1.9, velocity=0.5, jerk=8.0)
    assert read(first, second) == ((UrdfControl(joint="rail", limit=limit),), [])


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ('<joint name="wheel"/>', "ros2_control", None),
        ('<joint name="arm"><limits enable="False"/></joint>', "ros2_control", None),
        (f'<joint name="arm">{interface("velocity", max="{{2*pi}}")}</joint>', "ros2_control velocity max", "{{2*pi}}"),
        (f'<joint name="arm">{interface("position", min="1", max="-1")}</joint>', "ros2_control position", (1.0, -1.0)),
    ],
)
def test_what_cannot_be_read_is_told(text: str, key: str, value: object) -> None:
    found, [note] = read(text)
    assert found == ()
    assert (note.key, note.value, note.weight) == (key, value, Weight.NOTE)


def test_an_interface_that_is_switched_off_is_left_out() -> None:
    off = interface("velocity", max="2").replace("<param", '<limits enable="false"/><param', 1)
    assert read(f'<joint name="arm">{off}{interface("effort", max="7")}</joint>')[0][0].limit == UrdfLimit(effort=7.0)
