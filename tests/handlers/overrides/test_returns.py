"""What the end of an override orders: tightenings at once, the rest only where the arm is as the override left it."""

from typing import Any

import pytest

from handlers.overrides import stack
from handlers.overrides.returns import NOTHING, Writes, goes_first, legal, writes
from handlers.state.arm_state import ArmState
from handlers.state.overrides import Override, Overrides
from schema.arms import Slot
from schema.envelope import Author
from schema.errors import BrokerError
from schema.messages import GravityVector, LinearTwist, Message, PayloadInformation
from tests.handlers.builders import arm, linear, speeds, values

LINEAR: Slot = ("twist_linear_soft_limit", 2)
SPEEDS: Slot = ("joint_speed_soft_limits", 1)
PAYLOAD: Slot = ("payload_information", 0)
LOAD = PayloadInformation(2.0)
SPEED: Slot = ("desired_linear_twist", 0)


def reporting(slot: Slot, value: Message, **changes: Any) -> ArmState:
    """An arm that reports a value."""
    return arm(reported=values() | {slot: value}, **changes)


def owing(slot: Slot, ground: Message, given: Message) -> Overrides | None:
    """An override that ended, and whose return is owed."""
    override = Override(rev=4, values={slot: given}, since_us=1, until_us=2, by=Author("alice", "hmi", proven=True))
    return stack.cut(stack.push(None, override, {slot: ground}), 4, (slot,)).left


@pytest.mark.parametrize(
    ("slot", "reported", "aim", "given", "expected"),
    [
        (LINEAR, linear(0.4), linear(0.25), linear(0.4), Writes(at_once=linear(0.25))),
        (LINEAR, linear(0.25), linear(0.25), linear(0.4), NOTHING),
        (LINEAR, linear(0.1), linear(0.25), linear(0.1), Writes(later=linear(0.25))),
        (LINEAR, linear(0.15), linear(0.25), linear(0.1), Writes(overwritten=True)),
        (LINEAR, linear(0.9), linear(0.25), linear(0.4), Writes(at_once=linear(0.25))),
        (PAYLOAD, LOAD, PayloadInformation(), LOAD, Writes(later=PayloadInformation())),
        (SPEED, LinearTwist(0.2), LinearTwist(0.1), LinearTwist(0.2), Writes(at_once=LinearTwist(0.1))),
        (SPEED, LinearTwist(0.1), LinearTwist(0.2), LinearTwist(0.1), Writes(later=LinearTwist(0.2))),
        (PAYLOAD, PayloadInformation(3.0), PayloadInformation(), LOAD, Writes(overwritten=True)),
        (
            SPEEDS, speeds(40, 10, 10, 10, 10, 10, 10), speeds(20, 20, 10, 10, 10, 10, 10),
            speeds(40, 10, 10, 10, 10, 10, 10),
            Writes(speeds(20, 10, 10, 10, 10, 10, 10), speeds(20, 20, 10, 10, 10, 10, 10)),
        ),
        (
            SPEEDS, speeds(30, 10, 10, 10, 10, 10, 10), speeds(20, 20, 10, 10, 10, 10, 10),
            speeds(40, 10, 10, 10, 10, 10, 10),
            Writes(speeds(20, 10, 10, 10, 10, 10, 10), overwritten=True),
        ),
        (
            SPEEDS, speeds(20, 10, 10, 10, 10, 10, 10), speeds(20, 20, 10, 10, 10, 10, 10),
            speeds(40, 10, 10, 10, 10, 10, 10), Writes(later=speeds(20, 20, 10, 10, 10, 10, 10)),
        ),
        (LINEAR, linear(0.0), linear(0.25), linear(0.0), Writes(at_once=linear(0.25))),
    ],
    ids=[
        "tightens", "there already", "loosens", "ruling 14: the pendant changed it", "the pendant loosened it",
        "no order", "a speed tightens", "a speed loosens", "no order and changed",
        "ruling 16: both directions", "both, and changed", "both, the first half done",
        "zero is no limit",
    ],
)  # fmt: skip
def test_what_is_written(slot: Slot, reported: Message, aim: Message, given: Message, expected: Writes) -> None:
    assert writes(reporting(slot, reported), slot, aim, given) == expected


def test_what_is_legal_is_written_as_it_is() -> None:
    assert legal(arm(), LINEAR, linear(0.25)) == linear(0.25)


def test_ruling_21_the_nearest_legal_value_is_never_looser_than_the_ground() -> None:
    assert legal(arm(), LINEAR, linear(99.0)) == linear(0.5)
    assert legal(arm(), SPEEDS, speeds(20, 999, 10, 10, 10, 10, 10)).joint_speed_soft_limits[0] == pytest.approx(20.0)  # type: ignore[attr-defined]


def test_what_could_only_be_looser_is_refused() -> None:
    with pytest.raises(BrokerError, match="the least limit"):
        legal(arm(), LINEAR, linear(1e-9))


def test_what_has_no_nearest_value_is_refused() -> None:
    with pytest.raises(BrokerError, match="2 values for 7 joints"):
        legal(arm(), SPEEDS, speeds(1, 2))


def test_no_limit_has_no_nearest_value() -> None:
    with pytest.raises(BrokerError, match="use Reset"):
        writes(reporting(LINEAR, linear(0.25)), LINEAR, linear(0.0), linear(0.25))


def test_what_tightens_of_a_return_goes_first() -> None:
    state = reporting(LINEAR, linear(0.4))
    assert not goes_first(state, LINEAR, linear(0.4))
    state.overrides = owing(LINEAR, linear(0.25), linear(0.4))
    assert goes_first(state, LINEAR, linear(0.4))
    state.reported[LINEAR] = linear(0.1)
    assert not goes_first(state, LINEAR, linear(0.4))
    state.overrides = owing(LINEAR, linear(1e-9), linear(0.4))
    assert not goes_first(state, LINEAR, linear(0.4))


def test_an_item_without_an_order_has_no_nearest_value() -> None:
    with pytest.raises(BrokerError, match="gravity"):
        legal(arm(), ("gravity_vector", 0), GravityVector(0.0, 0.0, -3.0))
