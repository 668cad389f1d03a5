"""GetControlMode and SetControlMode."""

import msgspec

from handlers.items.verbs import read_slot, set_item
from handlers.rpc.outcome import Answer, Proposal
from handlers.rpc.request import Request
from handlers.state.arm_state import ArmState
from schema.items import ITEMS

MODE_TTL_MS = 2_000
"""Time to live of a mode request that names none, ms."""


def get_control_mode(state: ArmState, request: Request) -> Answer:
    """The mode last seen, and when."""
    answer = read_slot(state, request, ("control_mode", 0))
    return msgspec.structs.replace(answer, mode_seen_at_us=state.mode_seen_at_us)


def set_control_mode(state: ArmState, request: Request) -> Proposal:
    """Ask the arm to change its mode; never pending."""
    return set_item(ITEMS["control_mode"], state, request, at_once=True)
