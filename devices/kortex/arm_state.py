"""The states of an arm's base, and what they mean for a change."""

from devices.adapter import LinkState

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


def link_state(state: int) -> LinkState:
    """What is told of an arm in this state, by number."""
    if state == SERVOING_READY:
        return LinkState(online=True, ready=True)
    return LinkState(online=True, ready=False, why=f"it is {ARM_STATES.get(state, f'in state {state}')}")
