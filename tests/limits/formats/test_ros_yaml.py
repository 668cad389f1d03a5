import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limits.errors import LimitsError
from limits.formats.ros_yaml import Value, matches, read_parameters, read_sections, write_parameters

TWO_NODES = """
arm:
  driver:
    ros__parameters:
      a.b: 1.5
      c: [1, 2]
  planner:
    ros__parameters: {d: x}
"""


def test_the_parameters_of_a_node_by_its_name() -> None:
    section = read_parameters(TWO_NODES, "/arm/driver")
    assert section.node == "/arm/driver"
    assert section.values == {"a.b": 1.5, "c": (1, 2)}
    assert read_parameters(TWO_NODES, "arm/planner").values == {"d": "x"}


def test_without_a_name_there_must_be_one_section() -> None:
    assert read_parameters("n: {ros__parameters: {a: true}}").values == {"a": True}
    with pytest.raises(LimitsError, match=r"several sections .* for node of any name \(got \['/arm/driver', '/arm/pl"):
        read_parameters(TWO_NODES)


def test_a_file_without_nodes_holds_the_parameters() -> None:
    section = read_parameters("joint_limits: {j1: {max_effort: 3.0}}", "any/node")
    assert section == ("", {"joint_limits.j1.max_effort": 3.0}, (), {})


def test_of_several_sections_the_one_counts_that_alone_is_wanted() -> None:
    wanted = read_parameters(TWO_NODES, wanted=lambda section: "d" in section.values)
    assert wanted.node == "/arm/planner"
    with pytest.raises(LimitsError, match="several sections"):
        read_parameters(TWO_NODES, wanted=lambda _: False)


def test_angles_are_radians_and_keep_what_was_written() -> None:
    section = read_parameters("n: {ros__parameters: {a: !degrees -135, b: !radians pi / 4, c: [!degrees 180, 1.5]}}")
    assert section.values == {"a": -2.356194490192345, "b": 0.7853981633974483, "c": (3.141592653589793, 1.5)}
    assert section.angles == {"a": "!degrees -135", "b": "!radians pi / 4"}


@pytest.mark.parametrize("text", ["!degrees fast", "!radians 1/0", "!degrees 1e400", "!radians [1]"])
def test_what_is_no_angle_is_refused(text: str) -> None:
    with pytest.raises(LimitsError, match=r"f.yaml, (a: is no angle.*\(line 1\)|line 1: this tag is not read)"):
        read_parameters(f"n: {{ros__parameters: {{a: {text}}}}}", file="f.yaml")


def test_in_compat_angles_are_refused() -> None:
    with pytest.raises(LimitsError, match=r"a: the tag !degrees is not read \(line 1\)"):
        read_parameters("n: {ros__parameters: {a: !degrees 5}}", compat=True)


def test_several_matching_sections_are_listed() -> None:
    text = "/**: {ros__parameters: {a: 1}}\narm: {ros__parameters: {a: 2}}\nother: {ros__parameters: {a: 3}}"
    with pytest.raises(LimitsError, match=r"f.yaml, .*several sections .* node arm \(got \['/\*\*', '/arm'\]\)"):
        read_parameters(text, "arm", file="f.yaml")


def test_no_matching_section_lists_what_there_is() -> None:
    with pytest.raises(LimitsError, match=r"no parameters for node /arm/else \(got \['/arm/driver', '/arm/planner'\]"):
        read_parameters(TWO_NODES, "/arm/else")


@pytest.mark.parametrize(
    ("pattern", "node", "expected"),
    [
        ("/arm", "arm", True),
        ("/arm", "/ns/arm", False),
        ("/**", "/ns/arm", True),
        ("/**/arm", "arm", True),
        ("/**/arm", "/a/b/arm", True),
        ("/*/arm", "/ns/arm", True),
        ("/*/arm", "/a/b/arm", False),
        ("/ns/*", "/ns/arm", True),
        ("/a+b", "/aab", False),
        ("", "anything", True),
    ],
)
def test_patterns_of_nodes(pattern: str, node: str, expected: bool) -> None:
    assert matches(pattern, node) is expected


def test_null_is_not_given_by_default_and_a_string_in_compat() -> None:
    text = "n: {ros__parameters: {a: null, b: ~, c: 'null'}}"
    assert read_parameters(text) == ("/n", {"c": "null"}, ("a", "b"), {})
    assert read_parameters(text, compat=True).values == {"a": "null", "b": "~", "c": "null"}
    assert read_parameters("n: {ros__parameters: {a: }}").not_given == ("a",)
    with pytest.raises(LimitsError, match=r"a: has no value \(line 1\)"):
        read_parameters("n: {ros__parameters: {a: }}", compat=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- 1", "holds no parameters"),
        ("n: {ros__parameters: 1}", r"ros__parameters: is no mapping \(line 1\)"),
        ("ros__parameters: {a: 1}", "ros__parameters: stands below no node"),
        ("n: {ros__parameters: {a: [1, x]}}", "a: is a list of several types"),
        ("n: {ros__parameters: {a: {b: 1}, a.b: 2}}", "a.b: is there twice"),
        ("n: {ros__parameters: {a: 1}}\nn: {ros__parameters: {b: 1}}", r"n: is there twice \(line 2\)"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(LimitsError, match=message):
        read_sections(text)


def test_in_compat_the_later_of_two_wins() -> None:
    assert read_parameters("n: {ros__parameters: {a: {b: 1}, a.b: 2}}", compat=True).values == {"a.b": 2}


def test_doubles_are_written_with_a_point() -> None:
    values: dict[str, Value] = {
        "joint_limits.j1.max_effort": 87.0,
        "joint_limits.j1.max_jerk": 1e16,
        "joint_limits.j1.max_velocity": -math.inf,
        "joint_limits.on.has_jerk_limits": True,
        "joint_limits.a b.list": (1, 2),
    }
    assert write_parameters(values, "/arm/driver") == (
        "/arm/driver:\n"
        "  ros__parameters:\n"
        "    joint_limits:\n"
        "      j1:\n"
        "        max_effort: 87.0\n"
        "        max_jerk: 1.0e+16\n"
        "        max_velocity: -.inf\n"
        '      "on":\n'
        "        has_jerk_limits: true\n"
        '      "a b":\n'
        "        list: [1, 2]\n"
    )


def test_text_is_quoted_and_what_is_not_printable_is_escaped() -> None:
    values: dict[str, Value] = {"frame": 'tool "0"\\\x85', "names": ("yes", "a b")}
    written = write_parameters(values, "/n")
    assert written.endswith('    frame: "tool \\"0\\"\\\\\\U00000085"\n    names: ["yes", "a b"]\n')
    assert read_parameters(written).values == values


scalars = st.one_of(st.booleans(), st.integers(-(1 << 63), (1 << 63) - 1), st.floats(), st.text(max_size=20))
keys = st.text(st.characters(blacklist_characters=".", blacklist_categories=("Cs", "Cc")), min_size=1, max_size=10)


def normal(value: object) -> bool:
    return not isinstance(value, float) or value == 0.0 or abs(value) >= 2.3e-308 or math.isnan(value)


@given(st.dictionaries(keys, scalars.filter(normal), min_size=1))
def test_what_is_written_is_read_back_with_its_type(values: dict[str, Value]) -> None:
    found = read_parameters(write_parameters(values, "/n")).values
    assert [(key, type(value), repr(value)) for key, value in found.items()] == [
        (key, type(value), repr(value)) for key, value in values.items()
    ]
