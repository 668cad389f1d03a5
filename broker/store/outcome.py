"""Puts together what was answered, where the row of the job says all of it."""

from collections.abc import Iterable, Sequence

from schema.codecs.json_codec import JsonCodec
from schema.envelope import Reply, Stage, Warned
from schema.messages import Empty

_encode = JsonCodec().encode_reply


def applied(
    bare_id: str, arm: str, method: str, rev: int, seq: int, at_us: int, warnings: Iterable[Sequence[str]] = ()
) -> bytes:
    """The outcome of a change that took effect; of each warning its name, words and path."""
    warned = tuple(Warned(*one) for one in warnings)
    reply = Reply(
        bare_id, arm, method, ok=True, stage=Stage.APPLIED, final=True, rev=rev, seq=seq, at_us=at_us, result=Empty(),
        warnings=warned,
    )  # fmt: skip
    return _encode(reply)
