"""Overrides in memory and their rows move together."""

import msgspec

from broker.arms.arm_session import ArmSession
from broker.life import State
from broker.record.administration import Asked
from broker.record.ledger import Ledger
from broker.store.batch import Batch
from broker.store.rows import ChangeRow, ChangeUpdate, GroundRow, OverrideRow
from handlers.items.settling import Ending
from handlers.overrides.stack import NONE
from handlers.state.overrides import Override, Overrides
from handlers.state.places import OF_PART, OF_SLOT, Given, Part, Place, as_part, by_slot, slot_of
from handlers.state.provenance import PARTED
from schema.arms import Slot
from schema.codecs.json_codec import pack, unpack
from schema.envelope import Author
from schema.items import ITEMS
from schema.messages import Message

_PartOf = tuple[str, int, str, Part]
"""Item, mode, name and value of a part."""


class _Body(msgspec.Struct, frozen=True, array_like=True):
    """The body of a row; slots as item and mode, their parts with names. A new field is appended."""

    values: list[tuple[str, int, bytes]]
    since_us: int
    until_us: int
    user: str
    conn: str
    proven: bool
    request_id: str = ""
    reason: str = ""
    plan: int = 0
    told: bool = False
    owed: list[tuple[str, int]] = []
    tries: int = 0
    parts: list[_PartOf] = []
    owed_parts: list[tuple[str, int, str]] = []


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Body).decode
_decode_parts = msgspec.msgpack.Decoder(dict[str, Part]).decode


def body_of(override: Override) -> bytes:
    """The body of the row of an override."""
    by, values, owed = override.by, override.values.items(), override.owed
    wholes = [
        (*slot_of(place), pack(value)) for place, value in values if isinstance(value, Message) and _is_slot(place)
    ]
    parts = [(*place, as_part(value)) for place, value in values if len(place) == OF_PART]
    return _encode(
        _Body(
            wholes, override.since_us, override.until_us, by.user, by.connection, by.proven, override.request_id,
            override.reason, override.plan, override.told, [slot_of(place) for place in owed if _is_slot(place)],
            override.tries, parts, [place for place in owed if len(place) == OF_PART],
        )
    )  # fmt: skip


def _is_slot(place: Place) -> bool:
    return len(place) == OF_SLOT


def restore_ground(session: ArmSession, row: GroundRow) -> None:
    """What a start finds of a ground."""
    known, slot, item = session.state.overrides or NONE, (row.key, row.mode), ITEMS[row.key]
    grounds: dict[Place, Given] = {}
    if item.record in PARTED:
        grounds |= {(*slot, name): part for name, part in _decode_parts(row.value).items()}
    else:
        grounds[slot] = unpack(row.value, item.record)
    session.state.overrides = Overrides({**known.grounds, **grounds}, known.live, known.returning)


def restore_override(session: ArmSession, row: OverrideRow) -> None:
    """What a start finds of an override; rows come in the order of their revisions."""
    override, known = _override_of(row), session.state.overrides or NONE
    if override.owed:
        session.state.overrides = Overrides(known.grounds, known.live, (*known.returning, override))
    else:
        session.state.overrides = Overrides(known.grounds, (*known.live, override), known.returning)


def _override_of(row: OverrideRow) -> Override:
    body = _decode(row.body)
    values: dict[Place, Given] = {(key, mode): unpack(value, ITEMS[key].record) for key, mode, value in body.values}
    values |= {(key, mode, name): part for key, mode, name, part in body.parts}
    return Override(
        rev=row.rev, values=values,
        since_us=body.since_us, until_us=body.until_us, by=Author(body.user, body.conn, body.proven),
        request_id=body.request_id, reason=body.reason, plan=body.plan, told=body.told,
        owed=(*body.owed, *body.owed_parts), tries=body.tries,
    )  # fmt: skip


def keep(ledger: Ledger, session: ArmSession, after: Overrides | None) -> None:
    """Let these be the overrides of an arm, in memory and with the present commit in the store."""
    batch, arm = ledger.store.batch, session.arm
    before, now = session.state.overrides or NONE, after or NONE
    known, kept = ({one.rev: one for one in (*all_.live, *all_.returning)} for all_ in (before, now))
    for rev, override in kept.items():
        if known.get(rev) is not override:
            batch.put_override(arm, rev, body_of(override))
    for rev in known.keys() - kept.keys():
        batch.put_override(arm, rev, None)
    _keep_grounds(batch, arm, before, now)
    session.state.overrides = after
    ledger.documents.mark(session, "config")
    ledger.store.flush_soon()


def _keep_grounds(batch: Batch, arm: str, before: Overrides, now: Overrides) -> None:
    """One row a slot, for all parts of it that have a ground."""
    for slot in by_slot((*now.grounds, *before.grounds)):
        places = now.places(slot)
        if not places:
            batch.put_ground((arm, *slot), None)
        elif places != before.places(slot) or any(now.grounds[one] is not before.grounds[one] for one in places):
            whole = now.grounds.get(slot)
            parts = {place[-1]: now.grounds[place] for place in places}
            batch.put_ground((arm, *slot), pack(whole) if isinstance(whole, Message) else _encode(parts))


def log_kept(
    ledger: Ledger, session: ArmSession, slot: Slot, values: tuple[Message, Message], author: Author, asked: Asked
) -> None:
    """Store that the ground of a slot moved, from which value to which, though nothing was written.

    The entry stands at the revision that it found.
    """
    now_us, number, (before, after) = ledger.clock.now_us(), ledger.new_change(), map(pack, values)
    ledger.store.batch.add_change(
        ChangeRow(
            n=number, arm=session.arm, rev=session.state.rev, verb="set", key=slot[0], mode=slot[1], before=before,
            after=after, state=State.SETTLED, at_us=now_us, user=author.user, conn=author.connection,
            proven=author.proven, request_id=asked.request_id, method=asked.method, reason=asked.reason,
        )
    )  # fmt: skip
    ledger.store.batch.update_change(
        ChangeUpdate(n=number, state=State.SETTLED, after=after, outcome=Ending.APPLIED.value, settled_at_us=now_us)
    )
