"""Values of several slots as one change: each checked as by its Set, in the order in which they are written."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from handlers.batch.order import step_direction, turn_of
from handlers.batch.places import below, placed
from handlers.batch.projection import Projection
from handlers.batch.wishes import Wish, wish_of
from handlers.items.direction import is_loosening
from handlers.items.sanity import stopping_doubts, told
from handlers.items.verbs import check_known, is_unchanged
from handlers.rpc.outcome import BatchProposal, Proposal
from handlers.state.arm_state import ArmState
from handlers.state.refusals import NOTHING_CHANGED
from schema.arms import Slot, Verb
from schema.codecs.plain import bare
from schema.envelope import Warned
from schema.errors import BrokerError
from schema.items import ITEMS, slot_path
from schema.messages import Message


class Asked(NamedTuple):
    """What is asked of an arm as one change.

    `whole`: values of joint items take the place of what is there, else they are laid over it; of those in `named` only
    these parts are asked for. `place` is where the values stand in the request.
    """

    values: Mapping[Slot, Message]
    partial: bool = False
    reverse: bool = False
    whole: bool = False
    place: str = "items"
    named: Mapping[Slot, frozenset[str]] = {}


def decide_batch(state: ArmState, user: str, asked: Asked, if_rev: int | None = None) -> BatchProposal:
    """The change of several slots, as far as it is legal.

    Raises:
        BrokerError: busy, arm_not_read, held, revision_conflict; what is wrong with a value, all violations of them.
    """
    check_known(state, user)
    _check_rev(state, asked.values, if_rev)
    wishes, refused = _wishes(state, asked)
    steps, warnings = _proposals(state, asked, wishes, refused)
    if refused and (not asked.partial or not steps):
        raise refusal_of(asked.values, refused)
    left_out = {slot_path(slot): {"kind": error.kind, "message": error.message} for slot, error in refused.items()}
    if left_out:
        warnings += (Warned("LEFT_OUT", f"left out: {', '.join(left_out)}", asked.place),)
    steps.sort(key=lambda step: _turn(state, step))
    return BatchProposal(tuple(steps), asked.reverse, left_out, warnings)


def _check_rev(state: ArmState, values: Mapping[Slot, Message], if_rev: int | None) -> None:
    if if_rev is None:
        return
    slot, last_rev = max(((slot, state.last_rev.get(slot, 0)) for slot in values), key=lambda one: one[1])
    if not last_rev <= if_rev <= state.rev:
        text = f"if_rev {if_rev}: {slot_path(slot)} last changed in rev {last_rev}, the arm is at {state.rev}"
        raise BrokerError("revision_conflict", f"{text}. {NOTHING_CHANGED}")


def _wishes(state: ArmState, asked: Asked) -> tuple[dict[Slot, Wish], dict[Slot, BrokerError]]:
    """What each slot is to have, and what cannot be said of some."""
    wishes: dict[Slot, Wish] = {}
    refused: dict[Slot, BrokerError] = {}
    for slot, value in asked.values.items():
        try:
            wish = wish_of(state, slot, value, whole=asked.whole)
            wishes[slot] = wish._replace(named=asked.named[slot]) if slot in asked.named else wish
        except BrokerError as error:
            refused[slot] = placed(asked.place, slot, error)
    return wishes, refused


def _proposals(
    state: ArmState, asked: Asked, wishes: Mapping[Slot, Wish], refused: dict[Slot, BrokerError]
) -> tuple[list[Proposal], tuple[Warned, ...]]:
    """The changes of single slots that are legal beside each other; those that are not are added to `refused`.

    A value that is left out is in nobody's way: the others are judged again without it.
    """
    left = dict(wishes)
    while True:
        steps, warnings, found = _judge(state, asked, left)
        refused |= found
        if not found or not asked.partial:
            return steps, warnings
        left = {slot: wish for slot, wish in left.items() if slot not in found}


def _judge(
    state: ArmState, asked: Asked, wishes: Mapping[Slot, Wish]
) -> tuple[list[Proposal], tuple[Warned, ...], dict[Slot, BrokerError]]:
    steps: list[Proposal] = []
    warnings: tuple[Warned, ...] = ()
    refused: dict[Slot, BrokerError] = {}
    projection = Projection(state, {slot: wish.value for slot, wish in wishes.items()})
    for slot, wish in wishes.items():
        then = projection.without(slot)
        try:
            found = wish.check(then, wish.value)
            if doubts := stopping_doubts(then, slot, wish.value):
                found += told(then, doubts)
        except BrokerError as error:
            refused[slot] = placed(asked.place, slot, error)
            continue
        finally:
            projection.put_back(slot)
        if found:
            warnings += tuple(
                msgspec.structs.replace(warned, path=below(asked.place, slot, warned.path)) for warned in found
            )
        loosening = is_loosening(ITEMS[slot[0]], wish.value, state.reported.get(slot))
        unchanged = is_unchanged(state, slot, wish.value)
        steps.append(Proposal(slot, Verb.SET, wish.value, loosening, unchanged, named=wish.named))
    return steps, warnings, refused


def _turn(state: ArmState, step: Proposal) -> tuple[int, bool, int]:
    item = ITEMS[step.slot[0]]
    direction = step_direction(item, loosening=step.loosening, unchanged=step.unchanged)
    return turn_of(state, step.slot, direction)


def refusal_of(asked: Iterable[Slot], refused: Mapping[Slot, BrokerError]) -> BrokerError:
    """The refusal of a whole change: that of the first slot that it names, and all violations there are."""
    errors = {slot: refused[slot] for slot in asked if slot in refused}
    first, *others = errors.values()
    message = first.message
    if others:
        also = ", ".join(f"{slot_path(slot)} {error.kind}" for slot, error in errors.items() if error in others)
        message = f"{message.removesuffix(NOTHING_CHANGED).rstrip()} Also: {also}. {NOTHING_CHANGED}"
    violations = tuple(violation for error in errors.values() for violation in error.violations)
    return BrokerError(first.kind, message, violations, name=first.name)


def preview(state: ArmState, outcome: BatchProposal) -> dict[str, object]:
    """What a dry run tells of a batch: `step` counts the slots in the order in which they would be written."""
    items: dict[str, object] = {}
    number = 0
    for step in outcome.steps:
        item = ITEMS[step.slot[0]]
        number += not step.unchanged
        items[slot_path(step.slot)] = {
            "direction": step_direction(item, loosening=step.loosening, unchanged=step.unchanged).value,
            "step": 0 if step.unchanged else number,
            "before": bare(state.reported.get(step.slot), item.field),
            "after": bare(step.value, item.field),
        }
    document: dict[str, object] = {"items": items}
    if outcome.left_out:
        document["left_out"] = outcome.left_out
    if outcome.recipe is not None:
        document["recipe"] = outcome.recipe.told
    return document
