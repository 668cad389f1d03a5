"""RestoreFactory: which slots go back to what, and what became of them."""

from collections.abc import Mapping
from typing import NamedTuple

from handlers.batch.outcomes import failed, kind_of, worst
from handlers.items.config_items import kept_by_service
from handlers.items.own_items import INITIAL_ORDER, initial_value
from handlers.items.verbs import check_known, check_presence
from handlers.rpc.outcome import Restoration
from handlers.rpc.plain_params import known_only, plain_params
from handlers.rpc.request import Request
from handlers.state.arm_state import ArmState
from handlers.state.refusals import NOTHING_CHANGED, distrusted_arm
from schema.arms import Slot, Verb
from schema.errors import BrokerError
from schema.items import CONFIG_ITEMS, ConfigItem, slot_path
from schema.messages import Message

RESTORE_FACTORY = "RestoreFactory"


class Step(NamedTuple):
    """What is done to one slot: `value` is None where the arm itself knows it."""

    verb: Verb
    value: Message | None


def _resettable(state: ArmState, item: ConfigItem) -> bool:
    return "R" in item.verbs and f"Reset{item.noun}" in state.methods


def has_no_reset(item: ConfigItem) -> bool:
    """Whether an item of an arm goes back to what was adopted first, as no arm can reset it."""
    return item.key != "control_mode" and "R" not in item.verbs


def factory_slots(state: ArmState) -> tuple[Slot, ...]:
    """The slots of RestoreFactory: those that the service holds, as they bound the others, then those of the arm."""
    own = [
        (item.key, int(mode))
        for item in CONFIG_ITEMS
        if not kept_by_service(state, item.key)
        for mode in item.modes or (0,)
        if (item.key, int(mode)) in state.reported
        and (_resettable(state, item) or ((item.key, int(mode)) in state.first and f"Set{item.noun}" in state.methods))
    ]
    held = [slot for slot in INITIAL_ORDER if slot in state.reported and kept_by_service(state, slot[0])]
    return (*held, *own)


def step_of(state: ArmState, item: ConfigItem, slot: Slot) -> Step:
    """What is done to a slot of `factory_slots`."""
    if kept_by_service(state, slot[0]):
        return Step(Verb.SET, initial_value(state, slot))
    if _resettable(state, item):
        return Step(Verb.RESET, None)
    return Step(Verb.SET, state.first[slot])


def restore_factory(state: ArmState, request: Request) -> Restoration:
    """RestoreFactory: a loosening of the whole arm; never pending.

    Raises:
        BrokerError: unknown_field, busy, arm_not_read, held, arm_away, arm_not_ready, revision_conflict.
    """
    known_only(plain_params(request), ())
    check_known(state, request.user)
    if state.distrust:
        raise distrusted_arm(state)
    check_presence(state)
    slots = factory_slots(state)
    if_rev, last_rev = request.envelope.if_rev, max((state.last_rev.get(slot, 0) for slot in slots), default=0)
    if if_rev is not None and not last_rev <= if_rev <= state.rev:
        text = f"if_rev {if_rev}: {state.arm} last changed in rev {last_rev}, it is at {state.rev}. {NOTHING_CHANGED}"
        raise BrokerError("revision_conflict", text)
    return Restoration(slots)


def shortfall(state: ArmState, outcomes: Mapping[Slot, str]) -> BrokerError | None:
    """The error of a RestoreFactory that missed slots: the kind of the worst, and all of them in words."""
    missed = failed(outcomes)
    if not missed:
        return None
    listed = ", ".join(f"{slot_path(slot)} {outcome}" for slot, outcome in missed.items())
    text = f"{state.arm}: {len(outcomes) - len(missed)} of {len(outcomes)} slots were restored; not restored: {listed}"
    return BrokerError(kind_of(worst(missed.values())), text)
