"""Makes replies fit into a packet: pages end earlier, what cannot be paged says how large it is."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import msgspec

from broker.publish.shortening import short_event, short_past
from schema.envelope import ErrorBody, Reply, Stage, Warned
from schema.errors import BrokerError
from schema.messages import Empty

Document = dict[str, Any]
_CHANGED = frozenset({Stage.STORED, Stage.APPLIED})
_SHORT_TEXT = 200
_AROUND = 2_000
"""Bytes left for the rest of a reply beside the one entry of a page."""


class Encoder(Protocol):
    """What makes the payload of a reply."""

    def encode_reply(self, reply: Reply) -> bytes:
        """The payload."""
        ...


ErrorOf = Callable[[BrokerError], ErrorBody]
"""Makes the error of a reply."""


class Page(NamedTuple):
    """A result that is a page of a list: its name, what numbers its entries, how one of them is shortened."""

    entries: str
    number: str = ""
    shorten: Callable[[Document, int], Document] | None = None


PAGES: Mapping[str, Page] = MappingProxyType(
    {
        "GetHistory": Page("changes", "rev", short_past),
        "GetEvents": Page("events", "seq", short_event),
        "CheckTrajectory": Page("violations"),
    }
)
"""The methods whose results are pages, with `more`."""


def fit(reply: Reply, codec: Encoder, error_of: ErrorOf, room: int) -> bytes:
    """The payload of a reply in at most so many bytes, if that can be; `error_of` makes the error of a reply."""
    size = len(payload := codec.encode_reply(reply))
    if size <= room:
        return payload
    page = PAGES.get(reply.method)
    if reply.ok and page is not None and isinstance(reply.result, dict):
        payload = _shorter_page(reply, page, reply.result, codec, room)
    elif reply.ok and reply.stage in _CHANGED:
        text = f"the result takes {size} bytes, the MQTT server takes {room}; it was left out"
        warnings = (*reply.warnings, Warned("RESULT_LEFT_OUT", text))
        payload = codec.encode_reply(msgspec.structs.replace(reply, result=Empty(), desired=None, warnings=warnings))
    elif reply.error is not None:
        payload = _fewer_violations(reply, reply.error, codec, room)
    if len(payload) <= room:
        return payload
    return codec.encode_reply(_too_large(reply, error_of, size, room))


def _too_large(reply: Reply, error_of: ErrorOf, size: int, room: int) -> Reply:
    """The refusal in the place of a reply that does not fit; what became of a change stands in it all the same."""
    text = f"{reply.method}: the reply takes {size} bytes, the MQTT server takes {room}. Ask for less at once."
    if reply.ok and reply.stage in _CHANGED:
        return msgspec.structs.replace(reply, result=Empty(), desired=None, warnings=())
    if reply.error is not None:
        error = msgspec.structs.replace(reply.error, message=reply.error.message[:_SHORT_TEXT], violations=())
        return msgspec.structs.replace(reply, error=error, warnings=())
    return msgspec.structs.replace(
        reply, ok=False, stage=Stage.REFUSED, final=True, result=None, error=error_of(BrokerError("too_large", text)),
        desired=None, pending_rev=0, reported_at_us=0, mode_seen_at_us=0, warnings=(),
    )  # fmt: skip


def _shorter_page(reply: Reply, page: Page, result: Document, codec: Encoder, room: int) -> bytes:
    """The page with as many entries as fit, at least one; the only one without its values if need be."""
    entries: list[Document] = result[page.entries]
    count, payload = len(entries), codec.encode_reply(reply)
    while len(payload) > room and count > 1:
        fewer = min(count - 1, max(1, int(count * 0.95 * room / len(payload))))
        count = _whole_number(entries, page.number, fewer)
        payload = _encode_page(reply, page, entries[:count], codec)
    if len(payload) > room and count == 1 and page.shorten is not None:
        entry = page.shorten(entries[0], max(0, room - _AROUND))
        payload = _encode_page(reply, page, [entry], codec, more=len(entries) > 1 or bool(result["more"]))
    return payload


def _whole_number(entries: list[Document], number: str, count: int) -> int:
    """At most so many entries, not some of those with one number: the next page begins behind that number."""
    if not number:
        return count
    fewer = count
    while fewer and entries[fewer - 1][number] == entries[fewer][number]:
        fewer -= 1
    return fewer or count


def _encode_page(reply: Reply, page: Page, entries: list[Document], codec: Encoder, *, more: bool = True) -> bytes:
    """The reply with these entries; gaps beyond the last of them are for the next page."""
    result: Document = {**(reply.result if isinstance(reply.result, dict) else {}), page.entries: entries, "more": more}
    if more and "missing" in result:
        result["missing"] = [gap for gap in result["missing"] if _is_before(gap, entries[-1][page.number], page)]
    return codec.encode_reply(msgspec.structs.replace(reply, result=result))


def _is_before(gap: Document, last: int, page: Page) -> bool:
    """Whether a gap lies before the last entry: GetHistory gives the newest first, GetEvents the oldest."""
    return bool(gap["first"] > last if page.entries == "changes" else gap["last"] < last)


def _fewer_violations(reply: Reply, error: ErrorBody, codec: Encoder, room: int) -> bytes:
    """The refusal with as many violations as fit, and words that say how many there are."""
    payload, count, message = codec.encode_reply(reply), len(error.violations), error.message
    while len(payload) > room and (count or len(message) > _SHORT_TEXT):
        share = 0.9 * room / len(payload)
        count = min(count - 1, int(count * share)) if count > 1 else 0
        message = message[: max(_SHORT_TEXT, int(len(message) * share))]
        text = f"{message}... {count} of {len(error.violations)} violations fit into the reply."
        shorter = msgspec.structs.replace(error, violations=error.violations[:count], message=text)
        payload = codec.encode_reply(msgspec.structs.replace(reply, error=shorter))
    return payload
