"""Get, Set and Reset of the items of the table."""

from collections.abc import Iterable, Mapping

from handlers.items.config_items import CHECKS, kept_by_service
from handlers.items.direction import is_loosening
from handlers.items.parts import put
from handlers.items.room import check_room
from handlers.items.sanity import MOVING, stopping_doubts, told
from handlers.items.settling import agrees, equal
from handlers.rpc.outcome import Answer, Proposal
from handlers.rpc.request import Request
from handlers.state.arm_state import ArmState, as_message
from handlers.state.places import Given, Place, by_slot
from handlers.state.provenance import PARTED
from handlers.state.refusals import NOTHING_CHANGED, distrusted_arm, not_read
from schema.arms import Slot, Verb
from schema.enums import ControlMode
from schema.envelope import View, Warned
from schema.errors import BrokerError
from schema.items import ConfigItem
from schema.messages import Message

_SET = Verb.SET


def offline_warnings(state: ArmState) -> tuple[Warned, ...]:
    """The warning of a Get of an arm that is not online."""
    if state.online:
        return ()
    return (Warned("DEVICE_DISCONNECTED", f"{state.arm} is not connected; the values are the last that were read"),)


def read_slot(state: ArmState, request: Request, slot: Slot) -> Answer:
    """Answer a Get of one slot: reported (or desired, as `view` asks), and what differs.

    Raises:
        BrokerError: arm_not_read.
    """
    reported = state.reported.get(slot)
    if not state.adopted or reported is None:
        raise not_read(state)
    desired = state.desired[slot]
    differs = not agrees(state, slot)
    return Answer(
        reported if request.envelope.view is View.REPORTED else viewed(state, request.envelope.view)[slot],
        warnings=offline_warnings(state),
        reported_at_us=state.read_at_us,
        desired=desired if differs else None,
        pending_rev=state.open_rev.get(slot, 0) if state.open.get(slot) else 0,
        until_us=0 if state.overrides is None else until_of(state, (slot,)),
    )


def viewed(state: ArmState, view: View) -> Mapping[Slot, Message]:
    """The values of an arm by slot, as a view asks for them."""
    if view is View.REPORTED:
        return state.reported
    if view is View.DESIRED or state.overrides is None:
        return state.desired
    return grounded(state, state.desired)


def grounded(state: ArmState, values: Mapping[Slot, Message]) -> dict[Slot, Message]:
    """Values of an arm, with the ground where something of a slot is overridden."""
    grounds: Mapping[Place, Given] = {} if state.overrides is None else state.overrides.grounds
    slots = [slot for slot in by_slot(grounds) if slot in values]
    return {**values, **{slot: put(state, slot, values[slot], grounds) for slot in slots}}


def until_of(state: ArmState, slots: Iterable[Slot]) -> int:
    """When the first of the overrides that are in force in these slots is over, µs since 1970; 0 where none is."""
    overrides = state.overrides
    if overrides is None:
        return 0
    newest = [overrides.newest(place) for slot in slots for place in overrides.places(slot)]
    return min((one.until_us for one in newest if one is not None), default=0)


def slot_of(item: ConfigItem, mode: int) -> Slot:
    """The slot of a control mode.

    Raises:
        BrokerError: unknown_enum or mode_without_limit for a mode that has no slot of this item.
    """
    if not item.modes:
        return (item.key, mode)
    if mode == 0:
        raise BrokerError("unknown_enum", f"control_mode: the unspecified mode takes no limit. {NOTHING_CHANGED}")
    if mode not in item.modes:
        names = ", ".join(ControlMode(known).name for known in item.modes)
        text = f"control_mode: {ControlMode(mode).name} takes no {item.key}; these do: {names}. {NOTHING_CHANGED}"
        raise BrokerError("mode_without_limit", text)
    return (item.key, mode)


def admit(state: ArmState, request: Request, slot: Slot, *, at_once: bool = False) -> None:
    """Refuse a write that this arm cannot take, whatever its value; one that must begin `at_once` is never pending.

    Raises:
        BrokerError: busy, arm_not_read, held, arm_away, arm_not_ready, revision_conflict.
    """
    if not (state.adopted and state.description) or state.unfit or state.unsettled >= state.queue_limit:
        check_known(state, request.user)
    if at_once and state.distrust:
        raise distrusted_arm(state)
    if at_once and not kept_by_service(state, slot[0]):
        check_presence(state)
    if_rev = request.envelope.if_rev
    if if_rev is not None and not (last_rev := state.last_rev.get(slot, 0)) <= if_rev <= state.rev:
        text = f"if_rev {if_rev}: {slot[0]} last changed in rev {last_rev}, the arm is at {state.rev}"
        raise BrokerError("revision_conflict", f"{text}. {NOTHING_CHANGED}")


def check_known(state: ArmState, user: str) -> None:
    """Refuse a write of an arm that has no room for it, or of which too little is known to check a value.

    Raises:
        BrokerError: busy, arm_not_read, held.
    """
    check_room(state, user)
    if not state.adopted or state.description is None:
        raise not_read(state)
    if state.unfit:
        raise distrusted_arm(state)


def absence(state: ArmState) -> BrokerError | None:
    """The refusal of a change of an arm that is not there, or takes none now: arm_away, arm_not_ready."""
    if not state.online:
        return BrokerError("arm_away", f"{state.arm} is not connected. {NOTHING_CHANGED}")
    if not state.ready:
        return BrokerError("arm_not_ready", f"{state.arm} takes no change now. {NOTHING_CHANGED}")
    return None


def check_presence(state: ArmState) -> None:
    """Refuse what needs an arm that is there and takes changes.

    Raises:
        BrokerError: arm_away, arm_not_ready.
    """
    if (error := absence(state)) is not None:
        raise error


def get_item(item: ConfigItem, state: ArmState, request: Request) -> Answer:
    """Get of an item without modes."""
    return read_slot(state, request, (item.key, 0))


def _placed(item: ConfigItem, state: ArmState, request: Request, *, at_once: bool) -> tuple[Slot, Message]:
    """The slot and message of a write that the arm takes.

    Raises:
        BrokerError: as `admit`, then as `slot_of`.
    """
    params = request.params
    message = params if type(params) is item.record else as_message(params, Message)
    mode = int(message.control_mode) if item.modes else 0  # type: ignore[attr-defined]  # an item with modes has it
    slot = (item.key, mode)
    admit(state, request, slot, at_once=at_once)
    return slot if not item.modes or mode in item.modes else slot_of(item, mode), message


def is_unchanged(state: ArmState, slot: Slot, value: Message) -> bool:
    """Whether a value equals both desired and reported, with nothing pending and no override above another ground."""
    if state.open.get(slot) or (state.overrides is not None and state.overrides.places(slot)):
        return False
    for there in (state.desired.get(slot), state.reported.get(slot)):
        if there is None or not equal(slot[0], value, there, state.resolution_rad):
            return False
    return True


def set_item(item: ConfigItem, state: ArmState, request: Request, *, at_once: bool = False) -> Proposal:
    """Set of an item: the checks, the direction, and whether anything would change."""
    slot, value = _placed(item, state, request, at_once=at_once)
    return propose(item, state, slot, value)


def propose(
    item: ConfigItem, state: ArmState, slot: Slot, value: Message, named: frozenset[str] | None = None
) -> Proposal:
    """The change of a slot, or of the parts `named`, to a value that is checked now, once it was admitted."""
    warnings = CHECKS[item.key](state, value)
    if item.key in MOVING and (doubts := stopping_doubts(state, slot, value)):
        warnings += told(state, doubts)
    loosening = is_loosening(item, value, state.reported.get(slot))
    return Proposal(slot, _SET, value, loosening, is_unchanged(state, slot, value), warnings, named)


def surely_loosens(state: ArmState, item: ConfigItem, value: Message) -> bool:
    """Whether a Set of an item loosens if it is not refused; found without its checks.

    Of an item that is set by parts it is not known: they are put into what is there.
    """
    if item.record in PARTED:
        return False
    mode = int(value.control_mode) if item.modes else 0  # type: ignore[attr-defined]  # an item with modes has it
    return is_loosening(item, value, state.reported.get((item.key, mode)))


def reset_item(item: ConfigItem, state: ArmState, request: Request) -> Proposal:
    """Reset of an item to the arm's default, whatever that is; never pending."""
    slot, _ = _placed(item, state, request, at_once=True)
    return Proposal(slot, Verb.RESET, None, loosening=True)
