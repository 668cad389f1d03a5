import math
from collections.abc import Callable

import pytest

from limits.errors import LimitsError
from limits.formats.diagnostics import Diagnostic, Weight
from limits.formats.urdf_elements import Place, UrdfDialect, read_axis, read_limit, read_mimic, read_safety
from limits.formats.urdf_records import UrdfLimit, UrdfMimic, UrdfSafety
from limits.formats.xml import parse_xml


def test_presence_is_kept() -> None:
    limit = read_limit(parse_xml('<limit effort="3" velocity="0.1" deceleration="2"/>', None))
    assert limit == UrdfLimit(effort=3.0, velocity=0.1, deceleration=2.0)
    safety = read_safety(parse_xml('<safety_controller k_velocity="4"/>', None))
    assert safety == UrdfSafety(k_velocity=4.0)


@pytest.mark.parametrize(
    ("attributes", "key", "value"),
    [
        ('velocity="1"', "effort", None),
        ('effort="1"', "velocity", None),
        ('effort="1" velocity="fast"', "velocity", "fast"),
        ('effort="1" velocity="nan"', "velocity", "nan"),
        ('effort="inf" velocity="1"', "effort", "inf"),
        ('effort="1" velocity="-1"', "velocity", -1.0),
        ('effort="1" velocity="1" jerk="-1"', "jerk", -1.0),
        ('effort="1" velocity="1" lower="1" upper="-1"', "lower", 1.0),
        ('effort="1" velocity="1" lower="1"', "lower", 1.0),
    ],
)
def test_a_strict_limit_is_refused_by_place_key_and_value(attributes: str, key: str, value: object) -> None:
    with pytest.raises(LimitsError) as caught:
        read_limit(parse_xml(f"<limit {attributes}/>", None), place=Place("arm.urdf", "elbow"))
    error = caught.value
    assert (error.file, error.joint, error.key, error.value) == ("arm.urdf", "elbow", key, value)


@pytest.mark.parametrize(
    ("attributes", "key"),
    [
        ('soft_lower_limit="-1"', "k_velocity"),
        ('k_velocity="1" k_position="a"', "k_position"),
        ('k_velocity="1" k_position="2" soft_upper_limit="1"', "soft_lower_limit"),
        ('k_velocity="1" k_position="2" soft_lower_limit="1"', "soft_upper_limit"),
        ('k_velocity="1" soft_lower_limit="2" soft_upper_limit="1"', "soft_lower_limit"),
        ('k_velocity="-1"', "k_velocity"),
    ],
)
def test_a_strict_safety_controller_is_refused(attributes: str, key: str) -> None:
    with pytest.raises(LimitsError) as caught:
        read_safety(parse_xml(f"<safety_controller {attributes}/>", None))
    assert caught.value.key == key


def told(read: Callable[..., object], text: str, dialect: UrdfDialect = UrdfDialect.STRICT) -> list[Diagnostic]:
    """What a reader tells of an element."""
    notes: list[Diagnostic] = []
    read(parse_xml(text, None), dialect, Place("arm.urdf", "elbow", notes))
    return notes


@pytest.mark.parametrize(
    ("read", "text", "key", "value"),
    [
        (read_limit, '<limit effort="1" velocity="1" vendor:stall_torque="2.5"/>', "vendor:stall_torque", "2.5"),
        (read_limit, '<limit effort="1" velocity="1" max_current="7"/>', "max_current", "7"),
        (read_safety, '<safety_controller k_velocity="1" zone="0.2"/>', "zone", "0.2"),
        (read_mimic, '<mimic joint="a" gear="3"/>', "gear", "3"),
    ],
)
def test_attributes_that_are_not_read_are_told(read: Callable[..., object], text: str, key: str, value: str) -> None:
    tag = text[1 : text.index(" ")]
    expected = Diagnostic("elbow", key, value, f"{tag} has an attribute that is not read", Weight.NOTE)
    assert told(read, text) == [expected]
    assert told(read, text, UrdfDialect.URDFDOM) == []
    assert read(parse_xml(text, None))


def test_a_name_with_a_mistake_is_told_with_the_right_one() -> None:
    (note,) = told(read_limit, '<limit effort="1" velocity="1" uper="2"/>')
    assert note.reason.endswith("is not read; did you mean upper?")


def test_the_acceleration_of_drake_is_read_where_there_is_no_other() -> None:
    text = '<limit effort="1" velocity="1" drake:acceleration="7.5"/>'
    assert read_limit(parse_xml(text, None)).acceleration == 7.5
    (note,) = told(read_limit, text)
    assert (note.key, note.value, note.weight) == ("drake:acceleration", 7.5, Weight.NOTE)
    both = text.replace("/>", ' acceleration="6"/>')
    assert read_limit(parse_xml(both, None)).acceleration == 6.0
    assert told(read_limit, both)[0].reason == "limit has an attribute that is not read"
    assert read_limit(parse_xml(text, None), UrdfDialect.TESSERACT).acceleration is None
    with pytest.raises(LimitsError, match="no such number"):
        read_limit(parse_xml(text.replace("7.5", "fast"), None))


def test_an_axis_without_direction_is_told() -> None:
    (note,) = told(read_axis, '<axis xyz="0 -0 0"/>')
    assert (note.key, note.value, note.weight) == ("xyz", "0 -0 0", Weight.DOUBT)
    assert told(read_axis, '<axis xyz="0 0 0"/>', UrdfDialect.URDFDOM) == []


def test_urdfdom_reads_any_order_and_sign_but_no_malformed_number() -> None:
    text = '<limit lower="2" upper="-1" effort="-3" velocity=" 1" jerk="no"/>'
    limit = read_limit(parse_xml(text, None), UrdfDialect.URDFDOM)
    assert limit == UrdfLimit(lower=2.0, upper=-1.0, effort=-3.0, velocity=1.0)
    with pytest.raises(LimitsError):
        read_safety(parse_xml('<safety_controller k_velocity="1" k_position="x"/>', None), UrdfDialect.URDFDOM)


def test_tesseract_takes_a_malformed_optional_attribute_for_absent() -> None:
    text = '<safety_controller k_velocity="4abc" k_position="x" soft_upper_limit="1e400" extra="1"/>'
    safety = read_safety(parse_xml(text, None), UrdfDialect.TESSERACT)
    assert safety == UrdfSafety(k_velocity=4.0, soft_upper_limit=math.inf)


def test_mimic() -> None:
    mimic = read_mimic(parse_xml('<mimic joint="a" multiplier="-2"/>', None))
    assert mimic == UrdfMimic(joint="a", multiplier=-2.0)
    with pytest.raises(LimitsError, match="names no joint"):
        read_mimic(parse_xml('<mimic offset="1"/>', None))


def test_axis() -> None:
    assert read_axis(parse_xml('<axis xyz=" 0 -1\n.5"/>', None)) == (0.0, -1.0, 0.5)
    assert read_axis(parse_xml('<axis xyz="0 0 0"/>', None), UrdfDialect.URDFDOM) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("xyz", ["", "0 0", "0 0 1 0", "0 0 z", "0 0 z 1"])
def test_a_bad_axis_is_refused(xyz: str) -> None:
    with pytest.raises(LimitsError) as caught:
        read_axis(parse_xml(f'<axis xyz="{xyz}"/>', None), place=Place(joint="elbow"))
    assert (caught.value.joint, caught.value.key, caught.value.value) == ("elbow", "xyz", xyz)
