"""What ending, extending and keeping of overrides needs."""

import math

import pytest

from handlers.policy.needs import Need
from handlers.policy.override_needs import ending, extending
from handlers.state.overrides import Override, Overrides
from handlers.state.places import Given, Place
from schema.arms import Slot
from schema.enums import ControlMode
from schema.envelope import Author
from schema.messages import PayloadInformation, TwistLinearSoftLimit
from tests.handlers.builders import arm

MODE = ControlMode.CARTESIAN_JOYSTICK
TWIST: Slot = ("twist_linear_soft_limit", int(MODE))
PAYLOAD: Slot = ("payload_information", 0)
BY = Author("u", "c", proven=True)
SINCE, UNTIL, SOONER, LATER = 1_000, 5_000, 3_000, 9_000


def twist(limit: float) -> TwistLinearSoftLimit:
    """A soft limit of the joystick, m/s."""
    return TwistLinearSoftLimit(MODE, limit)


def override(rev: int, *values: tuple[Place, Given]) -> Override:
    """An override from 1 to 5 ms."""
    return Override(rev=rev, values=dict(values), since_us=SINCE, until_us=UNTIL, by=BY)


GROUNDS: dict[Place, Given] = {TWIST: twist(0.2), PAYLOAD: PayloadInformation(1.0)}
TIGHT, LOOSE = override(5, (TWIST, twist(0.1))), override(5, (TWIST, twist(0.3)))
LOAD, BELOW = override(5, (PAYLOAD, PayloadInformation(2.0))), override(4, (TWIST, twist(0.25)))


def told(need: Need) -> tuple[str, float | None, int | None]:
    """The right, the number that would be in force, and for how long."""
    return need.right.value, need.numbers[0].value if need.numbers else None, need.lasts_us


def needed(
    one: Override, below: tuple[Override, ...] = (), **asked: int | bool
) -> tuple[str, float | None, int | None]:
    """What something asked of an override needs."""
    overrides = Overrides(GROUNDS, (*below, one))
    if "until_us" in asked:
        (need,) = extending(arm(), overrides, one, asked["until_us"])
    else:
        (need,) = ending(arm(), overrides, one, keep=bool(asked["keep"]))
    assert (need.arm, need.item) == ("r12", next(iter(one.values))[0])
    return told(need)


@pytest.mark.parametrize(
    ("one", "until_us", "expected"),
    [
        (TIGHT, LATER, ("tighten", None, None)),
        (TIGHT, SOONER, ("loosen", 0.2, 0)),
        (LOOSE, SOONER, ("tighten", None, None)),
        (LOOSE, UNTIL, ("tighten", None, None)),
        (LOOSE, LATER, ("loosen", 0.3, LATER - SINCE)),
        (LOAD, LATER, ("loosen", 2.0, LATER - SINCE)),
        (LOAD, SOONER, ("loosen", 1.0, 0)),
    ],
)
def test_another_end(one: Override, until_us: int, expected: tuple[str, float | None, int | None]) -> None:
    assert needed(one, until_us=until_us) == expected


@pytest.mark.parametrize(
    ("one", "keep", "expected"),
    [
        (LOOSE, False, ("tighten", None, None)),
        (TIGHT, False, ("loosen", 0.2, 0)),
        (LOAD, False, ("loosen", 1.0, 0)),
        (LOOSE, True, ("loosen", 0.3, 0)),
        (TIGHT, True, ("tighten", None, None)),
        (LOAD, True, ("loosen", 2.0, 0)),
    ],
)
def test_the_end_now(one: Override, keep: bool, expected: tuple[str, float | None, int | None]) -> None:
    assert needed(one, keep=keep) == expected


def test_below_an_override_is_the_one_that_is_newest_without_it() -> None:
    assert needed(TIGHT, (BELOW,), keep=False) == ("loosen", 0.25, 0)


def test_every_slot_is_needed() -> None:
    both = override(5, (TWIST, twist(0.1)), (PAYLOAD, PayloadInformation(2.0)))
    overrides = Overrides(GROUNDS, (both,))
    assert [told(need) for need in ending(arm(), overrides, both, keep=False)] == [
        ("loosen", 0.2, 0),
        ("loosen", 1.0, 0),
    ]
    loose = override(6, (TWIST, twist(0.1)))
    assert [told(need)[0] for need in ending(arm(), Overrides(GROUNDS, (loose,)), loose, keep=True)] == ["tighten"]


@pytest.mark.parametrize(
    ("given", "keep", "expected"),
    [
        (0.3, True, [("joint_limits", "max_velocity.values[1]", 0.3)]),
        (0.9, False, []),
        (0.3, False, [("joint_limits", "max_velocity.values[1]", 0.5)]),
        (None, True, [("joint_limits", "max_velocity.values[1]", math.inf)]),
    ],
    ids=["kept", "its end tightens", "its end loosens", "a limit that was taken away"],
)
def test_of_parts_only_those_of_the_override_are_bounded(
    given: Given, keep: bool, expected: list[tuple[str, str, float]]
) -> None:
    place = ("joint_limits", 0, "max_velocity[1]")
    one = override(5, (place, given))
    ground = 0.5 if not keep else 0.2
    (need,) = ending(arm(), Overrides({place: ground}, (one,)), one, keep=keep)
    assert (need.item, need.path) == ("joint_limits", "joint_limits")
    assert [(need.item, number.path, number.value) for number in need.numbers] == expected
    assert need.right.value == ("loosen" if expected else "tighten")
