"""How many overrides there may be."""

import pytest

from handlers.overrides import stack
from handlers.overrides.room import MOST, check_room
from handlers.state.arm_state import ArmState
from handlers.state.overrides import Override
from schema.arms import Slot
from schema.envelope import Author
from schema.errors import BrokerError
from tests.handlers.builders import arm, linear

LINEAR: Slot = ("twist_linear_soft_limit", 2)
OTHER: Slot = ("twist_linear_soft_limit", 4)


def having(live: int) -> ArmState:
    """An arm with so many overrides of one slot."""
    state = arm()
    for rev in range(1, live + 1):
        by = Author("alice", "hmi", proven=True)
        override = Override(rev=rev, values={LINEAR: linear(0.1)}, since_us=1, until_us=2, by=by)
        state.overrides = stack.push(state.overrides, override, {LINEAR: linear(0.25)})
    return state


@pytest.mark.parametrize(
    ("live", "waiting", "in_all", "text"),
    [
        (0, [], MOST, "10000 overrides are live, 10000 at most. Nothing was changed."),
        (
            8,
            [],
            8,
            "twist_linear_soft_limit/CARTESIAN_JOYSTICK of r12 has 8 overrides, 8 at most. Nothing was changed.",
        ),
        (7, [(LINEAR, OTHER)], 8, "twist_linear_soft_limit/CARTESIAN_JOYSTICK of r12 has 8 overrides, 8 at most."),
        (4, [(OTHER,)] * 60, 64, "r12 has 64 overrides, 64 at most. Nothing was changed."),
    ],
)
def test_one_more_than_there_may_be_is_refused(
    live: int, waiting: list[tuple[Slot, ...]], in_all: int, text: str
) -> None:
    with pytest.raises(BrokerError) as refused:
        check_room(having(live), (LINEAR,), waiting, in_all)
    assert (refused.value.kind, refused.value.message[: len(text)]) == ("no_room", text)


def test_as_many_as_there_may_be_are_taken() -> None:
    check_room(having(7), (LINEAR,), [(OTHER,)] * 7, MOST - 1)
    check_room(having(8), (OTHER,), [], 8)
