"""What the states of an arm's base mean."""

import pytest

from devices.kortex.adapter import KortexArm
from devices.kortex.arm_state import ARM_STATES, link_state
from schema.arms import Activity


@pytest.mark.parametrize(
    ("state", "activity"),
    [
        (0, "unknown"),
        (2, "idle"),
        (4, "fault"),
        (5, "unknown"),
        (6, "moving"),
        (8, "moving"),
        (9, "local"),
        (77, "unknown"),
    ],
)
def test_a_state_in_which_an_arm_takes_no_change_says_what_it_does(state: int, activity: str) -> None:
    link = link_state(state)
    assert (link.online, link.ready, link.activity) == (True, False, activity)
    assert link.why


def test_an_arm_that_is_ready_may_be_in_the_middle_of_a_motion() -> None:
    assert link_state(7).activity is Activity.UNKNOWN


def test_the_adapter_says_what_it_can_tell() -> None:
    told = {link_state(state).activity for state in ARM_STATES} - {Activity.UNKNOWN}
    assert KortexArm.about.activities == told
