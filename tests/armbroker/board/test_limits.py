import math

import msgspec
import pytest

from armbroker.board.detail import detail_of, present_mode
from armbroker.board.facts import ArmFacts
from armbroker.board.limits import UNKNOWN_MODE, Layer, Limit, blocks_of, layers_of, limits_of, modes_of
from tests.armbroker.board.documents import effective, mode, presence, reported


@pytest.fixture
def facts() -> ArmFacts:
    one = ArmFacts("r1")
    for name, make in (("effective", effective), ("reported", reported), ("presence", presence), ("mode", mode)):
        one.take(name, make())
    return one


def of(limits: list[Limit], quantity: str) -> list[Limit]:
    return [limit for limit in limits if limit.quantity == quantity]


def test_a_mode_has_its_own_numbers_and_those_of_all(facts: ArmFacts) -> None:
    limits = limits_of(facts, "ANGULAR_JOYSTICK")
    first, second = of(limits, "velocity")
    assert (first.joint, first.layer, first.by, first.unit) == ("joint_1", "soft", "alice/hmi", "rad/s")
    assert first.hard == pytest.approx(math.radians(80))
    assert first.share == pytest.approx(0.5)
    assert second.hard == pytest.approx(math.radians(70))
    [twist] = of(limits, "twist_linear")
    assert (twist.joint, twist.value, twist.hard, twist.layer) == ("", 0.5, 0.5, "hard")


def test_a_mode_without_numbers_of_its_own(facts: ArmFacts) -> None:
    assert [limit.layer for limit in of(limits_of(facts, "IDLE"), "velocity")] == ["hard", "hard"]


def test_no_mode_is_the_tightest(facts: ArmFacts) -> None:
    assert [limit.value for limit in of(limits_of(facts, UNKNOWN_MODE), "velocity")] == [0.5, 0.5]


def test_what_nothing_limits_is_left_out(facts: ArmFacts) -> None:
    [effort] = of(limits_of(facts, "IDLE"), "effort")
    assert (effort.joint, effort.hard, effort.share) == ("joint_1", 39.0, 1.0), (
        "a number of the hard layer is the hard one"
    )


def test_without_a_hard_limit_there_is_no_share(facts: ArmFacts) -> None:
    [position] = of(limits_of(facts, "IDLE"), "position_upper")
    assert (position.joint, position.unit, position.hard, position.share) == ("joint_2", "m", None, None)


def test_a_limit_beyond_the_hard_one_fills_the_bar() -> None:
    assert Limit("velocity", "j", 3.0, 2.0, "rad/s", "soft", "s", "b", "").share == 1.0
    assert Limit("position_lower", "j", 0.5, -2.0, "rad", "soft", "s", "b", "").share == 0.0


def test_no_document_no_limit() -> None:
    assert limits_of(ArmFacts("r1"), "IDLE") == []
    assert modes_of(ArmFacts("r1")) == []


def test_the_detail_shows_the_present_mode(facts: ArmFacts) -> None:
    detail = detail_of(facts)
    assert (detail.mode, detail.modes, detail.firmware) == ("ANGULAR_JOYSTICK", ["ANGULAR_JOYSTICK"], "2.5")
    assert detail_of(facts, "IDLE").mode == "IDLE"


@pytest.mark.parametrize(
    ("name", "document"),
    [("presence", presence(state="offline")), ("mode", mode(name=None)), ("mode", mode(desired="IDLE"))],
)
def test_while_the_mode_is_not_known_the_tightest_counts(
    facts: ArmFacts, name: str, document: dict[str, object]
) -> None:
    facts.take(name, document)
    assert present_mode(facts) == UNKNOWN_MODE


def test_the_detail_shows_what_waits_and_who_holds(facts: ArmFacts) -> None:
    pending = {"rev": 4, "item": "gravity_vector", "since": "t", "state": "held", "why": "too old"}
    hold = {"by": {"user": "bob", "connection": "c", "proven": False}, "reason": "gripper", "until": "later"}
    facts.take("config", {"pending": [pending, None], "epoch": 1})
    facts.take("presence", presence(hold=hold))
    detail = detail_of(facts)
    assert [(entry.rev, entry.item, entry.slot, entry.state, entry.why) for entry in detail.pending] == [
        (4, "gravity_vector", "", "held", "too old")
    ]
    assert (detail.row.lock, detail.lock_why, detail.lock_until) == ("bob/c?", "gripper", "later")


def test_quantities_that_say_the_same_stand_together() -> None:
    one = Limit("acceleration", "j", 1.0, 2.0, "rad/s²", "soft", "s", "b", "")
    same = msgspec.structs.replace(one, quantity="deceleration")
    other = msgspec.structs.replace(one, quantity="velocity", since="later")
    assert blocks_of([one, same, other]) == [(["acceleration", "deceleration"], [one]), (["velocity"], [other])]


def test_the_layers_that_are_explained() -> None:
    entry = {"layer": "site", "source": "policy:site", "by": "@settings", "since": "t", "value": 1.2, "binds": True}
    told = layers_of([{"stack": [entry, "rubbish", {"layer": "urdf", "value": None}]}, {"stack": 3}])
    assert told == [
        Layer("site", "policy:site", "@settings", "t", 1.2, binds=True),
        Layer("urdf", "", "", "", None, binds=False),
    ]
