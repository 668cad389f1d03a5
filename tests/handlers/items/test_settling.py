import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.items.settling import Ending, agrees, classify, equal, same
from schema.enums import CartesianReferenceFrame, ControlMode
from schema.items import ITEMS, ConfigItem
from schema.messages import (
    AngularTwist,
    CartesianReferenceFrameInfo,
    CartesianTransform,
    ControlModeInformation,
    GravityVector,
    JointSpeeds,
    LinearTwist,
    Message,
    PayloadInformation,
    Position,
    ToolConfiguration,
)
from tests.handlers.builders import RESOLUTION_RAD, arm, linear, speeds

STEP = math.degrees(RESOLUTION_RAD)
SPEEDS, TWIST = ITEMS["joint_speed_soft_limits"], ITEMS["twist_linear_soft_limit"]
TOOL, FRAME = ITEMS["tool_configuration"], ITEMS["cartesian_reference_frame"]
BASE = CartesianReferenceFrameInfo(CartesianReferenceFrame.CARTESIAN_REFERENCE_FRAME_BASE)
HAND = CartesianReferenceFrameInfo(CartesianReferenceFrame.CARTESIAN_REFERENCE_FRAME_TOOL)
APPLIED, ROUNDED, CLAMPED = Ending.APPLIED, Ending.ROUNDED, Ending.CLAMPED
REFUSED, OVERWRITTEN = Ending.REFUSED, Ending.OVERWRITTEN


def one_lower(reference: float) -> Message:
    return speeds(50.0, 50.0, 50.0, 50.0, 50.0, 50.0, reference)


# fmt: off
ENDINGS = [
    # item  wanted         before         read               alone        with a foreign event
    (SPEEDS, speeds(40.0), speeds(50.0), speeds(40.0),       APPLIED,     APPLIED),
    (SPEEDS, speeds(40.0), speeds(50.0), speeds(40.005),     ROUNDED,     ROUNDED),
    (SPEEDS, speeds(40.0), speeds(50.0), speeds(39.97),      ROUNDED,     ROUNDED),
    (SPEEDS, speeds(40.0), speeds(50.0), speeds(50.0),       REFUSED,     OVERWRITTEN),
    (SPEEDS, speeds(40.0), speeds(50.0), speeds(49.998),     REFUSED,     OVERWRITTEN),
    (SPEEDS, speeds(40.0), speeds(50.0), speeds(30.0),       CLAMPED,     OVERWRITTEN),
    (SPEEDS, speeds(50.0), speeds(60.0), one_lower(45.0),    CLAMPED,     OVERWRITTEN),
    (SPEEDS, speeds(40.0), speeds(50.0), speeds(45.0),       OVERWRITTEN, OVERWRITTEN),
    (SPEEDS, speeds(40.0), speeds(50.0), one_lower(1.0),     OVERWRITTEN, OVERWRITTEN),
    (SPEEDS, speeds(40.0), speeds(40.0), speeds(40.0),       APPLIED,     APPLIED),
    (SPEEDS, speeds(40.0), speeds(50.0), speeds(40.0, 40.0), OVERWRITTEN, OVERWRITTEN),
    (TWIST,  linear(0.2),  linear(0.5),  linear(0.2),        APPLIED,     APPLIED),
    (TWIST,  linear(0.2),  linear(0.5),  linear(0.20019),    ROUNDED,     ROUNDED),
    (TWIST,  linear(0.2),  linear(0.5),  linear(0.1),        CLAMPED,     OVERWRITTEN),
    (TWIST,  linear(0.2),  linear(0.5),  linear(0.0),        OVERWRITTEN, OVERWRITTEN),
    (TWIST,  linear(0.2),  linear(0.0),  linear(0.0),        REFUSED,     OVERWRITTEN),
    (TWIST,  linear(0.2),  linear(0.5),  linear(math.inf),   OVERWRITTEN, OVERWRITTEN),
    (FRAME,  HAND,         BASE,         HAND,               APPLIED,     APPLIED),
    (FRAME,  HAND,         BASE,         BASE,               REFUSED,     OVERWRITTEN),
    (FRAME,  HAND,         BASE,         CartesianReferenceFrameInfo(9), OVERWRITTEN, OVERWRITTEN),
]
# fmt: on


@pytest.mark.parametrize(("item", "wanted", "before", "read", "ending", "among_others"), ENDINGS)
def test_how_a_change_ended(
    item: ConfigItem, wanted: Message, before: Message, read: Message, ending: Ending, among_others: Ending
) -> None:
    assert classify(item, wanted, before, read, RESOLUTION_RAD, foreign=False) is ending
    assert classify(item, wanted, before, read, RESOLUTION_RAD, foreign=True) is among_others


def test_applied_rounded_and_clamped_took_effect() -> None:
    assert {ending for ending in Ending if ending.took_effect} == {APPLIED, ROUNDED, CLAMPED}


def test_a_number_is_read_back_within_the_resolution_then_within_a_thousandth() -> None:
    key = "desired_angular_twist"
    assert same(key, AngularTwist(0.01), AngularTwist(0.015), RESOLUTION_RAD)
    assert not same(key, AngularTwist(0.01), AngularTwist(0.016), RESOLUTION_RAD)
    assert not same(key, AngularTwist(0.01), AngularTwist(0.015), 0.0)
    assert same(key, AngularTwist(100.0), AngularTwist(99.9), RESOLUTION_RAD)
    assert not same(key, AngularTwist(100.0), AngularTwist(99.89), RESOLUTION_RAD)


def test_a_value_is_equal_within_the_resolution_alone() -> None:
    key = "desired_angular_twist"
    assert equal(key, AngularTwist(100.0), AngularTwist(99.9983), RESOLUTION_RAD)
    assert not equal(key, AngularTwist(100.0), AngularTwist(99.99), RESOLUTION_RAD)
    assert not equal("desired_linear_twist", LinearTwist(0.2), LinearTwist(0.2001), RESOLUTION_RAD)
    assert equal("desired_linear_twist", LinearTwist(0.2), LinearTwist(0.2), 0.0)


def test_only_the_angles_of_a_tool_have_the_resolution_of_angles() -> None:
    key = "tool_configuration"
    there = ToolConfiguration(CartesianTransform(x=0.001, theta_z=0.01), 0.9)
    assert same(key, there, ToolConfiguration(CartesianTransform(x=0.001, theta_z=0.014), 0.9), RESOLUTION_RAD)
    assert not same(key, there, ToolConfiguration(CartesianTransform(x=0.002, theta_z=0.01), 0.9), RESOLUTION_RAD)
    assert not same(key, there, ToolConfiguration(CartesianTransform(x=0.001, theta_z=0.01), 0.8), RESOLUTION_RAD)


def test_an_absent_message_inside_is_one_of_zeros() -> None:
    key, bare = "payload_information", PayloadInformation(1.0)
    zeros, moved = PayloadInformation(1.0, Position()), PayloadInformation(1.0, Position(z=0.1))
    for left, right in ((bare, zeros), (zeros, bare)):
        assert same(key, left, right, RESOLUTION_RAD)
    for left, right in ((bare, moved), (moved, bare), (zeros, moved)):
        assert not same(key, left, right, RESOLUTION_RAD)
    assert same("tool_configuration", ToolConfiguration(None, 1.0), ToolConfiguration(None, 1.0005), RESOLUTION_RAD)


def test_lists_of_other_lengths_and_other_messages_differ() -> None:
    assert not same("desired_joint_speeds", JointSpeeds((1.0,)), JointSpeeds((1.0, 1.0)), RESOLUTION_RAD)
    assert not same("gravity_vector", GravityVector(), Position(), RESOLUTION_RAD)


def test_another_mode_differs() -> None:
    left, right = ControlModeInformation(ControlMode.IDLE), ControlModeInformation(ControlMode.ANGULAR_JOYSTICK)
    assert not same("control_mode", left, right, RESOLUTION_RAD)
    assert not same("joint_speed_soft_limits", speeds(1.0), speeds(1.0, mode=ControlMode.IDLE), RESOLUTION_RAD)


def test_desired_and_reported_agree_only_where_both_are_known() -> None:
    slot = ("twist_linear_soft_limit", 2)
    state = arm()
    assert agrees(state, slot)
    state.reported[slot] = linear(0.49)
    assert not agrees(state, slot)
    del state.reported[slot]
    assert not agrees(state, slot)
    assert not agrees(arm(desired={}), slot)


numbers = st.floats(0.0, 300.0, width=32)
joint_speeds = st.lists(numbers, max_size=3).map(lambda degrees: speeds(*degrees, 1.0))
twists = numbers.map(linear)
tools = st.builds(
    ToolConfiguration,
    st.none() | st.builds(CartesianTransform, x=numbers, theta_x=numbers),
    numbers,
    st.none() | st.builds(Position, z=numbers),
)
MESSAGES: dict[str, st.SearchStrategy[Message]] = {SPEEDS.key: joint_speeds, TWIST.key: twists, TOOL.key: tools}
pairs = st.sampled_from([SPEEDS, TWIST, TOOL]).flatmap(
    lambda item: st.tuples(st.just(item), MESSAGES[item.key], MESSAGES[item.key])
)
resolutions = st.sampled_from([0.0, RESOLUTION_RAD])


@given(pairs, resolutions)
def test_same_and_equal_are_symmetric_and_equal_is_narrower(
    pair: tuple[ConfigItem, Message, Message], resolution_rad: float
) -> None:
    item, left, right = pair
    assert same(item.key, left, left, resolution_rad)
    assert equal(item.key, left, left, resolution_rad)
    for compare in (same, equal):
        assert compare(item.key, left, right, resolution_rad) is compare(item.key, right, left, resolution_rad)
    if equal(item.key, left, right, resolution_rad):
        assert same(item.key, left, right, resolution_rad)


@given(pairs, st.data(), resolutions, st.booleans())
def test_a_change_that_took_effect_is_the_wanted_value_or_tighter(
    pair: tuple[ConfigItem, Message, Message], data: st.DataObject, resolution_rad: float, foreign: bool
) -> None:
    item, wanted, before = pair
    read = data.draw(st.sampled_from([wanted, before]) | MESSAGES[item.key])
    ending = classify(item, wanted, before, read, resolution_rad, foreign=foreign)
    assert (ending is Ending.APPLIED) is (read == wanted)
    assert (ending in (Ending.APPLIED, Ending.ROUNDED)) is same(item.key, read, wanted, resolution_rad)
    if ending is Ending.REFUSED:
        assert same(item.key, read, before, resolution_rad)
    if ending is Ending.CLAMPED:
        assert item.order == "upper"
    if foreign:
        assert ending not in (Ending.REFUSED, Ending.CLAMPED)
