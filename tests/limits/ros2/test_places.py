import pytest

from limits.errors import LimitsError
from limits.formats.diagnostics import Weight
from limits.ros2.parameters import joint_names, load_joint_limits
from limits.ros2.store import ParameterStore

LIMITS = "joint_limits: {hip: {has_velocity_limits: true, max_velocity: 1.15}}"


def names(text: str, node: str | None = None) -> tuple[tuple[str, ...], list[str]]:
    """Joints of a file, and the keys of its notes."""
    store = ParameterStore.read(text, node, file="l.yaml")
    assert all(note.weight is Weight.NOTE for note in store.diagnostics)
    return joint_names(store), [note.key for note in store.diagnostics]


@pytest.mark.parametrize(
    "space", ["robot_description_planning", "left_robot_description_planning", "moveit.planning", "drives"]
)
@pytest.mark.parametrize("head", ["{}", "move_group: {{ros__parameters: {}}}"])
def test_limits_in_a_namespace_are_read_and_told(space: str, head: str) -> None:
    text = head.format("{" + f"{space}: {{{LIMITS}}}, rate: 50" + "}")
    assert names(text) == (("hip",), [f"{space}.joint_limits"])


def test_limits_at_the_root_go_before_those_of_namespaces() -> None:
    other = "planning: {joint_limits: {knee: {max_jerk: 1.0}}}"
    assert names(f"n: {{ros__parameters: {{{LIMITS}, {other}}}}}") == (("hip",), ["planning.joint_limits"])


def test_of_several_namespaces_the_one_counts_that_is_named() -> None:
    text = f"left: {{{LIMITS}}}\nright/arm: {{joint_limits: {{knee: {{max_jerk: 1.0}}}}}}\n"
    assert names(text, "left") == (("hip",), ["left.joint_limits", "right/arm.joint_limits"])
    for node in (None, "middle"):
        with pytest.raises(LimitsError, match=r"l.yaml, joint_limits: stand in several places.*'left.joint_limits'"):
            names(text, node)


def test_of_several_nodes_the_one_counts_that_has_joint_limits() -> None:
    text = f"a: {{ros__parameters: {{rate: 50}}}}\nb: {{ros__parameters: {{{LIMITS}}}}}\n"
    assert names(text) == (("hip",), [])
    assert names(text, "/a") == ((), [])
    with pytest.raises(LimitsError, match="several sections"):
        names(text.replace("{rate: 50}", f"{{{LIMITS}}}"))


def test_what_only_looks_like_a_place_is_none() -> None:
    assert names("my_joint_limits: {hip: {max_jerk: 1.0}}\nplan: {joint_limits: {hip: {note: 1.0}}}") == ((), [])


def test_limits_of_the_tool_are_told() -> None:
    text = f"robot_description_planning: {{{LIMITS}, cartesian_limits: {{max_trans_vel: 0.5}}}}"
    assert names(text)[1] == ["robot_description_planning.joint_limits", "cartesian_limits"]


def test_angles_are_told_with_their_radians() -> None:
    text = "joint_limits: {hip: {has_velocity_limits: true, max_velocity: !degrees 60}}"
    store = ParameterStore.read(text)
    [note] = store.diagnostics
    assert (note.joint, note.key, note.value) == ("hip", "max_velocity", "!degrees 60 = 1.0471975511965976")
    assert load_joint_limits(["hip"], store)[0].limits.max_velocity == 1.0471975511965976


@pytest.mark.parametrize(("written", "read"), [("-2.25", 2.25), ("-3", 3.0), ("2.5", 2.5)])
def test_a_deceleration_is_a_magnitude(written: str, read: float) -> None:
    text = f"x: {{joint_limits: {{hip: {{has_deceleration_limits: true, max_deceleration: {written}}}}}}}"
    store = ParameterStore.read(text)
    assert load_joint_limits(["hip"], store)[0].limits.max_deceleration == read
    told = [note.reason for note in store.diagnostics if note.key == "max_deceleration"]
    assert told == ([] if read == float(written) else [told[0]])
    assert all(reason.endswith(f"it is a magnitude: {read!r}") for reason in told)


@pytest.mark.parametrize("text", ["-.inf", "-fast", "true"])
def test_a_deceleration_that_is_no_finite_number_is_refused(text: str) -> None:
    store = ParameterStore.read(f"joint_limits: {{hip: {{has_deceleration_limits: true, max_deceleration: {text}}}}}")
    with pytest.raises(LimitsError, match="max_deceleration"):
        load_joint_limits(["hip"], store)


def test_other_negative_numbers_stay_refused() -> None:
    store = ParameterStore.read("joint_limits: {hip: {has_acceleration_limits: true, max_acceleration: -1.0}}")
    with pytest.raises(LimitsError, match="is negative"):
        load_joint_limits(["hip"], store)


@pytest.mark.parametrize(
    ("keys", "key", "hint"),
    [
        ("has_velocity_limits: true, max_veloctiy: 1.5", "max_velocity", "; max_veloctiy is, and is not known"),
        ("has_jerk_limits: true, speed: 1.5", "max_jerk", ""),
        ("has_soft_limits: true, k_positon: 1.5", "k_position", "; k_positon is, and is not known"),
    ],
)
def test_a_flag_without_its_number_is_refused_with_what_was_meant(keys: str, key: str, hint: str) -> None:
    store = ParameterStore.read(f"joint_limits: {{hip: {{{keys}}}}}")
    with pytest.raises(LimitsError) as caught:
        load_joint_limits(["hip"], store)
    assert (caught.value.key, caught.value.reason.partition("is not given")[2]) == (key, hint)


def test_a_key_with_a_mistake_is_told_with_the_right_one() -> None:
    store = ParameterStore.read("joint_limits: {hip: {has_position_limit: true, max_effort: 2.5, colour: red}}")
    load_joint_limits(["hip"], store)
    assert [(note.key, note.reason.partition("; ")[2], note.weight) for note in store.diagnostics] == [
        ("max_effort", "", Weight.LOSS),
        ("has_position_limit", "did you mean has_position_limits?", Weight.NOTE),
        ("colour", "", Weight.NOTE),
    ]
