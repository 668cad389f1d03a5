"""RestoreRevision: what was there after a revision, as one change."""

from collections.abc import Mapping

from handlers.batch.decide import Asked, decide_batch
from handlers.items.verbs import check_known
from handlers.methods.apply_config import reverses
from handlers.rpc.outcome import BatchProposal, BatchQuery
from handlers.rpc.plain_params import flag, integer, known_only, plain_params
from handlers.rpc.request import Request
from handlers.rpc.source import RevisionSource
from handlers.state.arm_state import ArmState
from schema.arms import Slot
from schema.codecs.items_form import VALUE_SLOTS, read_paths
from schema.errors import BrokerError
from schema.items import ITEMS
from schema.messages import Message

_HIGHEST = (1 << 63) - 1


def restore_revision(state: ArmState, request: Request) -> BatchQuery:
    """RestoreRevision: `rev`, `items`, `partial`, `on_failure`; the values are looked up by the shell.

    Raises:
        BrokerError: unknown_field, malformed, unknown_enum, out_of_limits; busy, arm_not_read, held.
    """
    params = plain_params(request)
    known_only(params, ("rev", "items", "partial", "on_failure"))
    if "rev" not in params:
        raise BrokerError("malformed", "params.rev: a revision is needed")
    rev = integer(params, "rev", 0, _HIGHEST, 1)
    named = read_paths(params["items"], "params.items") if "items" in params else _settable(state)
    asked = BatchQuery(
        RevisionSource("", rev), _changed_since(state, rev, named), partial=flag(params, "partial"),
        reverse=reverses(params),
    )  # fmt: skip
    check_known(state, request.user)
    return asked


def _settable(state: ArmState) -> tuple[Slot, ...]:
    """The slots of an arm that can be set."""
    return tuple(
        slot for slot in VALUE_SLOTS if slot in state.reported and f"Set{ITEMS[slot[0]].noun}" in state.methods
    )


def _changed_since(state: ArmState, rev: int, named: tuple[Slot, ...]) -> tuple[Slot, ...]:
    """The slots among some that changed after a revision: the others are as they were; all, if none of them did."""
    return tuple(slot for slot in named if state.last_rev.get(slot, 0) > rev) or named


def decide_found(state: ArmState, request: Request, asked: BatchQuery, values: Mapping[Slot, Message]) -> BatchProposal:
    """The change to the values that were looked up, whole as they were.

    Raises:
        BrokerError: not_applicable without any value; as `decide_batch`.
    """
    if not values:
        raise BrokerError("not_applicable", f"nothing that {state.arm} has was known then. Nothing was changed.")
    wanted = Asked(values, asked.partial, asked.reverse, whole=True)
    return decide_batch(state, request.user, wanted, request.envelope.if_rev)
