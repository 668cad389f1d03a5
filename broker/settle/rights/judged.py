"""Decisions about several things at once, as far as the policy lets them pass."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import msgspec

from handlers.batch.decide import refusal_of
from handlers.batch.places import placed
from handlers.policy.needs import Need, needs_of
from handlers.policy.override_needs import ending, extending
from handlers.rpc.outcome import BatchProposal, EndOrder, ExtendOrder, Outcome
from handlers.state.arm_state import ArmState
from schema.arms import Slot
from schema.envelope import Warned
from schema.errors import BrokerError
from schema.items import slot_path

PLACE = "items"
"""Where the values of a batch stand in what is told of it."""
Refuse = Callable[[Iterable[Need]], BrokerError | None]
"""Refuses what no rule lets pass (BrokerError); the refusal of what only a second person can let pass is given back."""


class Judged(NamedTuple):
    """What of a decision may be, what that needs, and its refusal without a second person, if it needs one."""

    outcome: Outcome
    needs: tuple[Need, ...]
    second: BrokerError | None


def judged_batch(refuse: Refuse, state: ArmState, outcome: BatchProposal, *, partial: bool) -> Judged:
    """A change of several slots; with `partial` those that may not be are left out.

    Raises:
        BrokerError: not_permitted, out_of_limits; all violations of all slots.
    """
    steps, needs, second = [], list[Need](), None
    refused: dict[Slot, BrokerError] = {}
    for step, need in zip(outcome.steps, needs_of(state, outcome), strict=True):
        try:
            second = refuse((need,)) or second
        except BrokerError as error:
            refused[step.slot] = placed(PLACE, step.slot, error)
            refused[step.slot].rule = error.rule
            continue
        steps.append(step)
        needs.append(need)
    if not refused:
        return Judged(outcome, tuple(needs), second)
    if not (partial and steps):
        whole = refusal_of([step.slot for step in outcome.steps], refused)
        whole.rule = next(iter(refused.values())).rule
        raise whole
    left_out = {slot_path(slot): {"kind": why.kind, "message": why.message} for slot, why in refused.items()}
    told = Warned("LEFT_OUT", f"left out: {', '.join(left_out)}", PLACE)
    kept = msgspec.structs.replace(
        outcome, steps=tuple(steps), left_out=outcome.left_out | left_out, warnings=(*outcome.warnings, told)
    )
    return Judged(kept, tuple(needs), second)


def judged_overrides(refuse: Refuse, state: ArmState, order: ExtendOrder | EndOrder) -> Judged:
    """What the sender may of an order about several overrides, what that needs, and whether of a second person.

    Raises:
        BrokerError: not_permitted, out_of_limits: it may nothing of it.
    """
    allowed: list[int] = []
    needs: list[Need] = []
    first: BrokerError | None = None
    seconds: BrokerError | None = None
    for rev in order.revs:
        of_one = tuple(_needs_of_override(state, order, rev))
        try:
            second = refuse(of_one)
        except BrokerError as error:
            first = first or error
            continue
        if second is not None and len(order.revs) > 1:
            first = first or second
            continue
        allowed.append(rev)
        needs += of_one
        seconds = second
    try:
        if first is not None and not allowed:
            raise first
    finally:
        del first  # the frame that it holds would hold it
    revs = tuple(allowed)
    if isinstance(order, EndOrder):
        left = tuple(rev for rev in order.revs if rev not in allowed)
        order = msgspec.structs.replace(order, left=order.left + left)
    return Judged(msgspec.structs.replace(order, revs=revs), tuple(needs), seconds)


def _needs_of_override(state: ArmState, order: ExtendOrder | EndOrder, rev: int) -> Iterator[Need]:
    overrides = state.overrides
    override = None if overrides is None else overrides.find(rev)
    if overrides is None or override is None:
        return
    if isinstance(order, EndOrder):
        yield from ending(state, overrides, override, keep=order.keep)
    else:
        yield from extending(state, overrides, override, order.until_us)
