"""Whether an arm is idle, and what somebody is told whose change waits for it."""

from typing import Any

import pytest

from handlers.state.arm_state import ArmState
from handlers.state.rest import idle_warning, mode_name, unrest
from schema.arms import Activity
from schema.enums import ControlMode
from schema.messages import ControlModeInformation

NOW_US = 1_800_000_000_000_000
HOUR_US = 3_600_000_000


def arm(mode: int | None = ControlMode.IDLE, **given: Any) -> ArmState:
    """An arm that is idle, but for what is given."""
    values = {"online": True, "ready": True, "arm_items": frozenset({"control_mode"}), **given}
    state = ArmState(arm="r1", adapter="a", methods=frozenset(), resolution_rad=0.0, **values)
    if mode is not None:
        state.reported["control_mode", 0] = ControlModeInformation(mode)
    return state


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (arm(), ""),
        (arm(activity=Activity.IDLE), ""),
        (arm(activity=Activity.MOVING), "its activity is moving"),
        (arm(activity=Activity.FAULT, ready=False), "its activity is fault"),
        (arm(ready=False), "r1 takes no change now"),
        (arm(online=False), "r1 is not connected"),
        (arm(distrust="another arm"), "r1 is held"),
        (arm(None), "its mode was never read"),
        (arm(None, arm_items=frozenset()), ""),
        (arm(ControlMode.ANGULAR_JOYSTICK), "mode is ANGULAR_JOYSTICK"),
        (arm(ControlMode.ANGULAR_JOYSTICK, idle_modes=frozenset({1, 13})), ""),
        (arm(99), "mode is 99"),
    ],
)
def test_what_keeps_an_arm_from_being_idle(state: ArmState, expected: str) -> None:
    assert unrest(state) == expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (arm(), "r1 is in IDLE; the change waits for IDLE for 2 s, until 09:00:00"),
        (arm(4), "r1 is in ANGULAR_TRAJECTORY; the change waits for IDLE for 2 s, until 09:00:00"),
        (
            arm(4, idle_modes=frozenset({13, 1})),
            "r1 is in ANGULAR_TRAJECTORY; the change waits for ANGULAR_JOYSTICK or IDLE for 2 s, until 09:00:00",
        ),
        (arm(online=False), "r1 is not connected; the change waits for IDLE for 2 s, until 09:00:00"),
        (
            arm(None, arm_items=frozenset()),
            "r1 may be idle; the change waits for r1 to be idle for 2 s, until 09:00:00",
        ),
    ],
)
def test_what_is_told_of_a_change_that_waits(state: ArmState, expected: str) -> None:
    warned = idle_warning(state, 2.0, NOW_US, NOW_US + HOUR_US)
    assert (warned.name, warned.message) == ("WAITS_FOR_IDLE", expected)


def test_an_end_that_is_a_day_away_has_its_date() -> None:
    told = idle_warning(arm(), 2.0, NOW_US, NOW_US + 24 * HOUR_US).message
    assert told.endswith("until 2027-01-16T08:00:00.000000Z")


def test_a_mode_without_a_name_has_its_number() -> None:
    assert [mode_name(13), mode_name(99)] == ["IDLE", "99"]
