"""Get, Set and Reset of the items of the table."""

from handlers.arm_state import ArmState
from handlers.config_items import ConfigItem
from handlers.direction import is_loosening
from handlers.outcome import Answer, Proposal
from handlers.request import Request
from handlers.settling import same
from schema.arms import Slot, Verb
from schema.enums import ControlMode
from schema.envelope import View, Warned
from schema.errors import BrokerError
from schema.messages import Message


def not_read(state: ArmState) -> BrokerError:
    """The refusal of anything that needs an arm that was never read."""
    return BrokerError("arm_not_read", f"{state.arm} was never read since it was registered. Nothing was changed.")


def offline_warnings(state: ArmState) -> tuple[Warned, ...]:
    """The warning of a Get of an arm that is not online."""
    if state.online:
        return ()
    return (Warned("DEVICE_DISCONNECTED", f"{state.arm} is not connected; the values are the last that were read"),)


def read_slot(state: ArmState, request: Request, slot: Slot) -> Answer:
    """Answer a Get of one slot: reported (or desired, as `view` asks), and what differs."""
    reported = state.reported.get(slot)
    if not state.adopted or reported is None:
        raise not_read(state)
    desired = state.desired[slot]
    differs = desired != reported and not same(slot[0], desired, reported, state.resolution_rad)
    return Answer(
        desired if request.envelope.view is View.DESIRED else reported,
        warnings=offline_warnings(state),
        reported_at_us=state.read_at_us,
        desired=desired if differs else None,
        pending_rev=state.pending_rev.get(slot, 0) if state.pending.get(slot) else 0,
    )


def slot_of(item: ConfigItem, message: Message) -> Slot:
    """The slot a message is for.

    Raises:
        BrokerError: unknown_enum or mode_without_limit for a mode that has no slot of this item.
    """
    if not item.modes:
        return (item.key, 0)
    mode = int(getattr(message, "control_mode"))  # noqa: B009 - every message of a per-mode item has the field
    if mode == 0:
        raise BrokerError("unknown_enum", "control_mode: the unspecified mode takes no limit. Nothing was changed.")
    if mode not in item.modes:
        names = ", ".join(ControlMode(known).name for known in item.modes)
        text = f"control_mode: {ControlMode(mode).name} takes no {item.key}; these do: {names}. Nothing was changed."
        raise BrokerError("mode_without_limit", text)
    return (item.key, mode)


def admit(state: ArmState, request: Request, slot: Slot) -> None:
    """Refuse a write that this arm cannot take now, whatever its value.

    Raises:
        BrokerError: busy, arm_not_read, held, arm_away, arm_not_ready, revision_conflict.
    """
    if state.unsettled >= state.queue_limit:
        raise BrokerError("busy", f"{state.arm} has {state.unsettled} unsettled changes, {state.queue_limit} at most.")
    if not state.adopted or state.description is None:
        raise not_read(state)
    if state.held:
        raise BrokerError("held", f"{state.arm} is held: {state.held}. Nothing was changed.")
    if not state.online:
        raise BrokerError("arm_away", f"{state.arm} is not connected. Nothing was changed.")
    if not state.ready:
        raise BrokerError("arm_not_ready", f"{state.arm} takes no change now. Nothing was changed.")
    if_rev = request.envelope.if_rev
    if if_rev is not None and not state.last_rev.get(slot, 0) <= if_rev <= state.rev:
        text = (
            f"if_rev {if_rev}: {slot[0]} last changed in rev {state.last_rev.get(slot, 0)}, the arm is at {state.rev}"
        )
        raise BrokerError("revision_conflict", f"{text}. Nothing was changed.")


def get_item(item: ConfigItem, state: ArmState, request: Request) -> Answer:
    """Get of an item without modes."""
    return read_slot(state, request, (item.key, 0))


def set_item(item: ConfigItem, state: ArmState, request: Request) -> Proposal:
    """Set of an item: the checks, the direction, and whether anything would change."""
    value = request.params
    if not isinstance(value, Message):  # the table binds each method to its message
        raise TypeError(type(value).__name__)
    admit(state, request, (item.key, int(getattr(value, "control_mode", 0)) if item.modes else 0))
    slot = slot_of(item, value)
    warnings = item.check(state, value)
    desired, reported = state.desired.get(slot), state.reported.get(slot)
    unchanged = (
        not state.pending.get(slot)
        and desired is not None
        and reported is not None
        and same(item.key, value, desired, state.resolution_rad)
        and same(item.key, value, reported, state.resolution_rad)
    )
    return Proposal(slot, Verb.SET, value, is_loosening(item, value, reported), unchanged, warnings)


def reset_item(item: ConfigItem, state: ArmState, request: Request) -> Proposal:
    """Reset of an item to the arm's default, whatever that is."""
    message = request.params
    if not isinstance(message, Message):  # the table binds each method to its message
        raise TypeError(type(message).__name__)
    admit(state, request, (item.key, int(getattr(message, "control_mode", 0)) if item.modes else 0))
    return Proposal(slot_of(item, message), Verb.RESET, None, loosening=True)
