"""What a plan asks of each of its arms, as a request."""

from functools import partial
from typing import Any

import msgspec

from handlers.methods.apply_recipe import apply_recipe
from handlers.plans.plan import Asked
from handlers.rpc.request import Request
from handlers.rpc.row import Rpc
from handlers.rpc_table import RPC_TABLE
from schema.codecs.json_codec import unpack
from schema.codecs.plain import to_plain
from schema.envelope import RequestEnvelope, When
from schema.messages import Message

APPLY = "ApplyRecipe"
PROVEN = "server-acl"
_encode = msgspec.json.Encoder().encode


def rpc_of(asked: Asked) -> Rpc:
    """The method of the rows; a recipe that they were given stays theirs when it is taken off the list."""
    rpc = RPC_TABLE[asked.method]
    return msgspec.structs.replace(rpc, decide=partial(apply_recipe, listed=False)) if rpc.name == APPLY else rpc


def params_bytes(params: Message | dict[str, Any] | None) -> bytes:
    """Params as a plan keeps them."""
    return _encode(to_plain(params) if isinstance(params, Message) else params or {})


def params_of(rpc: Rpc, asked: Asked) -> Message | dict[str, Any]:
    """Params in bytes of `params_bytes`."""
    if rpc.request is not None:
        return unpack(asked.params, rpc.request)
    plain: dict[str, Any] = msgspec.json.decode(asked.params)
    return plain


def envelope_of(asked: Asked) -> RequestEnvelope:
    """The envelope of each row."""
    return RequestEnvelope(
        id=asked.id, reason=asked.reason, unit=asked.unit, until_us=asked.until_us or None,
        when=When.IDLE if asked.when_idle else When.NOW, ttl_ms=asked.ttl_ms or None, if_rev=asked.if_rev,
    )  # fmt: skip


def request_for(
    arm: str,
    asked: Asked,
    envelope: RequestEnvelope,
    params: Message | dict[str, Any],
    at_us: int,
    approved_by: str = "",
) -> Request:
    """What is asked of one arm; a second person may have approved it."""
    return Request(
        user=asked.user, conn=asked.conn, arm=arm, method=asked.method, envelope=envelope, params=params, id=asked.id,
        at_us=at_us, codec="json", size=0, identity=PROVEN if asked.proven else "", trace=asked.trace,
        approved_by=approved_by,
    )  # fmt: skip
