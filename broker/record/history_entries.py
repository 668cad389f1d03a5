"""What the history tells of a change, in answers."""

from typing import Any

import msgspec

from broker.record.batch_entries import batch_entry
from broker.store.rows import PastChange, Terms
from handlers.batch.outcomes import WHOLE_KEY
from handlers.items.direction import Direction, direction_of
from schema.codecs.json_codec import unpack
from schema.codecs.plain import bare
from schema.codecs.times import format_time
from schema.items import ITEMS, ConfigItem, slot_name
from schema.messages import Message

Entry = dict[str, Any]


def history_entry(change: PastChange) -> Entry:
    """One entry of GetHistory."""
    item = ITEMS.get(change.key)
    values = batch_entry(change) if change.key == WHOLE_KEY else _values(item, change)
    entry: Entry = {
        "rev": change.rev,
        "seq": change.seq,
        "at": format_time(change.settled_at_us or change.at_us),
        "by": {"user": change.user, "connection": change.conn, "proven": change.proven},
        "request_id": change.request_id,
        "method": change.method,
        "item": change.key,
        "slot": slot_name((change.key, change.mode)),
        **values,
        "reason": change.reason,
        "outcome": change.outcome or change.state,
    }
    if direction := direction_word(change):
        entry["direction"] = direction
    if change.terms is not None:
        entry |= told_terms(change.terms)
    return entry


def told_terms(terms: Terms) -> Entry:
    """What entries of GetHistory and Blame tell of the terms of a change: what there is of them."""
    told: Entry = {"until": format_time(terms.until_us)} if terms.until_us else {}
    for name in ("recipe", "plan", "approved_by", "returned_from"):
        if value := getattr(terms, name):
            told[name] = value
    return told


def direction_word(change: PastChange) -> str:
    """Which way a change went, or was to go; empty for entries of administration."""
    item = ITEMS.get(change.key)
    if item is not None:
        return direction_of(item, _message(item, change.after), _message(item, change.before)).value
    if change.key != WHOLE_KEY:
        return ""
    return (Direction.LOOSENING if change.loosening else Direction.TIGHTENING).value


def _message(item: ConfigItem, blob: bytes | None) -> Message | None:
    return None if blob is None else unpack(blob, item.record)


def _values(item: ConfigItem | None, change: PastChange) -> Entry:
    return {"before": _value(item, change.before), "after": _value(item, change.after)}


def _value(item: ConfigItem | None, blob: bytes | None) -> Any:
    if blob is None:
        return None
    if item is None:  # of administration
        return msgspec.json.decode(blob)
    return bare(unpack(blob, item.record), item.field)
