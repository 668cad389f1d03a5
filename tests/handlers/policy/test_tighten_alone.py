"""Nobody who may tighten alone ever raises any value to come, whatever overrides there are."""

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from handlers.overrides.stack import changed, cut, keep, push, settle
from handlers.policy.needs import need_of, references_of
from handlers.policy.override_needs import ending, extending
from handlers.policy.rights import PolicyRight
from handlers.state.overrides import Override, Overrides
from handlers.state.places import Given
from schema.arms import Slot
from schema.enums import ControlMode
from schema.envelope import Author
from schema.messages import TwistLinearSoftLimit
from tests.handlers.builders import arm

MODE = ControlMode.CARTESIAN_JOYSTICK
SLOT: Slot = ("twist_linear_soft_limit", int(MODE))
BY = Author("u", "c", proven=True)
NEW, LAST_US = 99, 100
LIMITS = st.integers(1, 9).map(lambda tenth: tenth / 10)
ENDS = st.integers(1, LAST_US - 1)


def twist(limit: float) -> TwistLinearSoftLimit:
    """A soft limit of the joystick, m/s."""
    return TwistLinearSoftLimit(MODE, limit)


def limit_of(value: Given) -> float:
    """The number of such a limit."""
    assert isinstance(value, TwistLinearSoftLimit)
    return value.twist_linear_soft_limit


def override(rev: int, limit: float, until_us: int) -> Override:
    """An override that began at 0."""
    return Override(rev=rev, values={SLOT: twist(limit)}, since_us=0, until_us=until_us, by=BY)


def to_come(ground: float, live: tuple[Override, ...]) -> Iterator[float]:
    """What is in force at every moment to come."""
    for at_us in range(LAST_US):
        left = [one for one in live if one.until_us > at_us]
        yield limit_of(left[-1].values[SLOT]) if left else ground


Stack = tuple[float, list[tuple[float, int]]]
STACKS: st.SearchStrategy[Stack] = st.tuples(LIMITS, st.lists(st.tuples(LIMITS, ENDS), max_size=4))


def made(stack: Stack) -> tuple[float, Overrides]:
    """The ground, and overrides above it."""
    ground, above = stack
    overrides = Overrides()
    for rev, (limit, until_us) in enumerate(above, 1):
        overrides = push(overrides, override(rev, limit, until_us), {SLOT: twist(ground)})
    return ground, overrides


def after(ground: float, overrides: Overrides | None) -> list[float]:
    """What comes with these overrides."""
    if overrides is None:
        return [ground] * LAST_US
    return list(to_come(limit_of(overrides.grounds.get(SLOT, twist(ground))), overrides.live))


@settings(max_examples=200)
@given(STACKS, LIMITS, st.none() | ENDS)
def test_by_a_set(stack: Stack, limit: float, until_us: int | None) -> None:
    ground, overrides = made(stack)
    before = after(ground, overrides)
    state = arm()
    state.overrides = overrides if overrides.live else None
    state.reported[SLOT] = state.desired[SLOT] = twist(before[0])
    need = need_of("r12", SLOT, twist(limit), references_of(state, SLOT))
    if until_us is not None:
        then = after(ground, push(overrides, override(NEW, limit, until_us), {SLOT: twist(ground)}))
    else:
        then = after(limit, settle(overrides, (SLOT,)).left)
    if need.right is PolicyRight.TIGHTEN:
        assert all(now <= was for now, was in zip(then, before, strict=True))
    else:
        assert limit > min([ground, *(limit_of(one.values[SLOT]) for one in overrides.live)])


@settings(max_examples=200)
@given(STACKS, st.data())
def test_by_an_end_another_end_or_keeping(stack: Stack, data: st.DataObject) -> None:
    ground, overrides = made(stack)
    if not overrides.live:
        return
    before, one = after(ground, overrides), data.draw(st.sampled_from(overrides.live))
    how = data.draw(st.sampled_from(("end", "keep", "extend")))
    state = arm()
    state.overrides = overrides
    if how == "extend":
        until_us = data.draw(ENDS)
        needs = list(extending(state, overrides, one, until_us))
        then = after(ground, changed(overrides, override(one.rev, limit_of(one.values[SLOT]), until_us)))
    elif how == "end":
        needs = list(ending(state, overrides, one, keep=False))
        then = after(ground, cut(overrides, one.rev).left)
    else:
        needs = list(ending(state, overrides, one, keep=True))
        then = after(limit_of(one.values[SLOT]), keep(overrides, one.rev).left)
    if all(need.right is PolicyRight.TIGHTEN for need in needs):
        assert all(now <= was for now, was in zip(then, before, strict=True))
