"""What an override may give: only what can be taken back at its end."""

from handlers.items.config_items import kept_by_service
from handlers.rpc.outcome import Proposal
from handlers.state.arm_state import ArmState
from handlers.state.places import given_in
from handlers.state.provenance import PARTED, numbers_of
from handlers.state.refusals import NOTHING_CHANGED
from schema.errors import BrokerError
from schema.items import slot_path


def check_returnable(state: ArmState, change: Proposal) -> None:
    """Refuse an end of parts that the arm itself holds and does not have: it can only be given them.

    Raises:
        BrokerError: not_applicable.
    """
    slot, value = change.slot, change.value
    if value is None or type(value) not in PARTED or kept_by_service(state, slot[0]):
        return
    known = numbers_of(state.reported[slot])
    added = [place[-1] for place in given_in(slot, value, change.named, None) if place[-1] not in known]
    if added:
        text = f"valid_for_ms, until: {state.arm} has no {slot_path(slot)} {added[0]}, and cannot lose it again"
        raise BrokerError("not_applicable", f"{text}. {NOTHING_CHANGED}")
