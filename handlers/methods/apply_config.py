"""ApplyConfig: values of several items as one change."""

from collections.abc import Mapping

from handlers.batch.decide import Asked, decide_batch
from handlers.rpc.outcome import BatchProposal
from handlers.rpc.plain_params import flag, known_only, plain_params, text
from handlers.rpc.request import Request
from handlers.state.arm_state import ArmState
from schema.codecs.items_form import read_items
from schema.errors import BrokerError

_LEAVE, _REVERSE = "leave", "reverse"


def apply_config(state: ArmState, request: Request) -> BatchProposal:
    """ApplyConfig: `items` in the form of `config.items`, `partial`, `on_failure`.

    Raises:
        BrokerError: unknown_field, malformed, unknown_enum, not_finite, mode_without_limit, unsupported_option; as
            `decide_batch`.
    """
    params = plain_params(request)
    known_only(params, ("items", "partial", "on_failure"))
    asked = Asked(
        read_items(params.get("items"), "params.items"), partial=flag(params, "partial"), reverse=reverses(params)
    )
    return decide_batch(state, request.user, asked, request.envelope.if_rev)


def reverses(params: Mapping[str, object]) -> bool:
    """Whether what took effect is written back where a slot fails.

    Raises:
        BrokerError: malformed, unknown_enum.
    """
    wish = text(params, "on_failure", _LEAVE)
    if wish not in (_LEAVE, _REVERSE):
        raise BrokerError("unknown_enum", f"params.on_failure: {wish[:60]!r} is none of {_LEAVE}, {_REVERSE}")
    return wish == _REVERSE
