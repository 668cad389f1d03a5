"""The states of an arm's base, and what they mean for a change."""

from devices.adapter import LinkState
from schema.arms import Activity

SERVOING_READY = 7
"""The only state in which an arm takes changes."""
ARM_STATES = {
    0: "in no state that it tells",
    1: "initialising its base",
    2: "idle",
    3: "initialising",
    4: "in fault",
    5: "in maintenance",
    6: "in low-level servoing",
    8: "playing a sequence",
    9: "controlled by hand",
}

ACTIVITIES = {
    2: Activity.IDLE,
    4: Activity.FAULT,
    6: Activity.MOVING,
    8: Activity.MOVING,
    9: Activity.LOCAL,
}
"""What an arm does in a state; the others leave it open, SERVOING_READY too: it may be in the middle of a motion."""


def link_state(state: int) -> LinkState:
    """What is told of an arm in this state, by number."""
    if state == SERVOING_READY:
        return LinkState(online=True, ready=True)
    why = f"it is {ARM_STATES.get(state, f'in state {state}')}"
    return LinkState(online=True, ready=False, why=why, activity=ACTIVITIES.get(state, Activity.UNKNOWN))
