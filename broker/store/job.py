"""The table of jobs, declared once: a row for a request, its change and the event of that, as far as there are any.

`accepted` is what was asked, `ended` how far it got, `reply` what was answered: of a change that took effect its
revision and warnings alone. Each blob repeats the columns that it belongs to, and ends with a hash of all of it.
`ended` is missing while a change is as it was accepted. A new field is appended to RequestRow or ChangeRow and to its
list here: older rows have its default.

`rev_era` and `seq_era` tell in which era (`era_of`) the revision and the seq were given, 0 of none: the indexes by
which an arm's changes and events are found begin with them, so that all that is new lies together. They are never below
those of a lower revision or seq of the arm. Where one is not that of the number of the row, its blob says so.
"""

import zlib
from functools import cache, lru_cache
from hashlib import blake2b
from typing import Any, cast

import msgspec
from msgspec.structs import astuple

from broker.life import State
from broker.store.outcome import applied
from broker.store.rows import (
    ChangeRow,
    ChangeUpdate,
    Damage,
    EventParts,
    EventRow,
    PastChange,
    RequestRow,
    RequestUpdate,
    Terms,
)
from broker.store.seals import DIFFERS, Statement, Values, insert, shown, update
from schema.events import event_topic

TABLE = "job"
COLUMNS = (
    "n", "key", "arm", "rev", "item", "at_us", "accepted", "state", "seq", "ended", "reply_open", "reply", "rev_era",
    "seq_era",
)  # fmt: skip
SELECT = ", ".join(COLUMNS)
N, KEY, ARM, REV, ITEM, AT, ACCEPTED, STATE, SEQ, ENDED, OPEN, REPLY, REV_ERA, SEQ_ERA = range(len(COLUMNS))
_ERA = 10
"""Bits of a number of a job that tell nothing of its era."""

OWED_WITH_EVENT, OWED = 85, 170
"""Values of `reply_open` beside 0: the reply is owed until the event of the row is published, or until it is marked.

No flip of one bit makes one of them of another.
"""
SETTLED = State.SETTLED.value
_SEAL = 8
"""Bytes of a hash."""
_DIGITS, _NUMBER = 7, 24
"""Digits at the end of an id that are a number in its key, and the bits of that."""

ADD = insert(TABLE, COLUMNS)
END = update(TABLE, ("state", "seq", "seq_era", "ended", "reply_open", "reply"), ("n",))
PROGRESSED = update(TABLE, ("state", "seq", "seq_era", "ended"), ("n",))
ANSWERED = update(TABLE, ("reply_open", "reply"), ("n",))
REOPEN = update(TABLE, ("rev", "rev_era", "accepted"), ("n",))
REWRITE = update(TABLE, COLUMNS[1:], ("n",))
REPLY_TAKEN = Statement("UPDATE job SET reply_open = 0 WHERE n IN (", "?", ")")

_REQUEST = ("id", "fingerprint", "address", "correlation", "codec")
_CHANGE = ("verb", "key", "mode", "before", "after", "expires_us", "loosening", "proven", "reason", "warnings", "terms")
_AS_ACCEPTED = True
"""Stands for a value that is the one that was accepted."""
_OWN_ERA, _TOLD, _TOLD_ERA = 14, 9, 7
"""Where an era may stand in `accepted`; where the event stands in `ended`, and an era in that."""
_PARTS, _BEFORE, _SLOTTED = 6, 5, 7
"""Where the parts of an event stand in it; in these, what was there before, and whether they tell of values."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode


def sealed(values: Values) -> bytearray:
    """Values as one blob, with its hash.

    Python's sqlite3 binds a `bytearray` directly; `bytes` go through its adapters, at a cost above that of the row.
    """
    body = _encode(values)
    return bytearray(body + blake2b(body, digest_size=_SEAL).digest())


def opened(blob: Any) -> Any:
    """The values of a blob of `sealed`; None if it is not what was written."""
    if not isinstance(blob, bytes) or blake2b(blob[:-_SEAL], digest_size=_SEAL).digest() != blob[-_SEAL:]:
        return None
    try:
        return _decode(blob[:-_SEAL])
    except msgspec.MsgspecError:
        return None


def era_of(n: int) -> int:
    """The era of what is given while this is the highest number of a job."""
    return n >> _ERA


def key_of(user: str, conn: str, request_id: str) -> int:
    """What a request is found by, above 0; those of two requests may be the same.

    A hash of all but the last digits of its name, then the number that these are: ids that count have keys that lie
    together in the index, and the requests of a moment are in few pages of it.
    """
    stem = request_id.rstrip("0123456789")
    return _stem_of(user, conn, stem) | int(request_id[len(stem) :][-_DIGITS:] or "0")


@lru_cache(maxsize=4096)
def _stem_of(user: str, conn: str, stem: str) -> int:
    name = f"{user}/{conn}/{stem}".encode("utf-8", "backslashreplace")
    return (int.from_bytes(blake2b(name, digest_size=_SEAL).digest(), "big") >> _NUMBER + 1 | 1) << _NUMBER


@cache
def code_of(item: str) -> int:
    """What changes of an item are looked for by, 0 for no item; those of two items may be the same."""
    return (zlib.crc32(item.encode()) & 0x7FFE) + 1 if item else 0


# ------------------------------------------------------------------ making rows


def _ended(update: ChangeUpdate, event: EventRow | None, era: int) -> tuple[str, int, int, bytearray]:
    """The state, seq and era of the event, and all of it as a blob: as `sealed`, for one is made of every change."""
    state, seq, seq_era, told = str(update.state), 0, 0, None
    if event is not None:
        seq, seq_era = event.seq, era
        topic = None if event.parts is not None else event.topic
        own_era = () if era == update.n >> _ERA else (era,)
        told = (event.epoch, event.prev, event.rev, event.at_us, topic, event.body, event.parts, *own_era)
    ended: Values = (
        update.n, state, seq, update.epoch, update.cmd_seq, update.after, update.outcome, update.seq,
        update.settled_at_us, told,
    )  # fmt: skip
    if update.before is not None:
        ended += (update.ground, update.before)
    elif update.ground is not None:
        ended += (update.ground,)
    body = _encode(ended)
    return state, seq, seq_era, bytearray(body + blake2b(body, digest_size=_SEAL).digest())


def added(
    request: RequestRow | None, change: ChangeRow | None, update: ChangeUpdate | None, event: EventRow | None, era: int
) -> Values:
    """A new row of an era, as it stands at the end of its batch; an `update` of its request is in `request` already."""
    first = request or change or event
    if first is None:
        raise ValueError("nothing")
    n, rev, item, state, begun = first.n, 0, 0, SETTLED, (0, 0)
    user, conn, method, key = "", "", "", 0
    asked: Values | None = None
    wanted: Values | None = None
    if request is not None:
        user, conn, method = request.user, request.conn, request.method
        key = request.key or key_of(user, conn, request.id)
        asked = (request.id, request.fingerprint, request.address, request.correlation, request.codec)
    if change is not None:
        if request is None:
            user, conn, method = change.user, change.conn, change.method
        elif change.user != user or change.conn != conn or change.method != method:
            raise ValueError(f"change {n} is not of request {n}")
        rev, item, state, begun = change.rev, code_of(change.key), str(change.state), (change.epoch, change.cmd_seq)
        own_id = request is not None and change.request_id == f"{user}/{conn}/{request.id}"
        wanted = (
            None if own_id else change.request_id, change.verb, change.key, change.mode, change.before, change.after,
            change.expires_us, change.loosening, change.proven, change.reason, change.warnings, change.terms,
        )  # fmt: skip
    own_era = (era,) if rev and era != n >> _ERA else ()
    body = _encode(
        (n, key, first.arm, rev, item, first.at_us, user, conn, method, asked, wanted, state, *begun, *own_era)
    )
    accepted = bytearray(body + blake2b(body, digest_size=_SEAL).digest())
    seq, seq_era, ended = 0, 0, None
    if update is not None or event is not None:
        as_accepted = _AS_ACCEPTED if change is not None else None
        last = update or ChangeUpdate(n=n, state=state, epoch=begun[0], cmd_seq=begun[1], after=as_accepted)
        state, seq, seq_era, ended = _ended(last, event, era)
    reply = _replied(n, request, seq) if request is not None and (request.outcome or change is None) else (0, None)
    rev_era = era if rev else 0
    return (n, key, first.arm, rev, item, first.at_us, accepted, state, seq, ended, *reply, rev_era, seq_era)


def _replied(n: int, request: RequestRow | RequestUpdate, seq: int) -> Values:
    owed = 0 if not request.reply_open else OWED_WITH_EVENT if seq else OWED
    return (owed, sealed((n, request.rev, request.outcome)))


def progressed(update: ChangeUpdate, event: EventRow | None, era: int) -> Values:
    """The values of PROGRESSED."""
    return (*_ended(update, event, era), update.n)


def answered(update: RequestUpdate) -> Values:
    """The values of ANSWERED."""
    return (*_replied(update.n, update, 0), update.n)


def at_its_end(update: ChangeUpdate, event: EventRow | None, reply: RequestUpdate, era: int) -> Values:
    """The values of END."""
    state, seq, seq_era, ended = _ended(update, event, era)
    said: Any = reply.applied_rev or reply.outcome
    if reply.applied_rev and reply.warnings:
        said = (reply.applied_rev, *map(astuple, reply.warnings))
    body = _encode((update.n, reply.rev, said))
    owed = 0 if not reply.reply_open else OWED_WITH_EVENT if seq else OWED
    return (state, seq, seq_era, ended, owed, bytearray(body + blake2b(body, digest_size=_SEAL).digest()), update.n)


# ------------------------------------------------------------------ reading rows


def _told_era(told: Any, era: int) -> int:
    """The era of an event as the blob has it, where that of its number is this; 0 of none."""
    if told is None:
        return 0
    return int(told[_TOLD_ERA]) if len(told) > _TOLD_ERA else era


class Job:
    """A row, read: `accepted`, `ended` and `reply` are None where they are not what was written, or not there."""

    __slots__ = ("_values", "accepted", "ended", "reply")

    def __init__(self, values: Values) -> None:
        self._values = values
        accepted, era = opened(values[ACCEPTED]), era_of(values[N] or 0)
        same = accepted is not None and tuple(accepted[:6]) == values[:6]
        if same and values[REV_ERA] != (accepted[_OWN_ERA] if len(accepted) > _OWN_ERA else era if values[REV] else 0):
            same = False
        self.accepted: Any = accepted if same else None
        if values[ENDED] is None:
            begun = None if accepted is None else accepted[11:14]
            as_accepted = begun is not None and (values[STATE], values[SEQ], values[SEQ_ERA]) == (begun[0], 0, 0)
            self.ended: Any = (*begun[1:], _AS_ACCEPTED, "", 0, 0, None) if begun and as_accepted else None
        else:
            ended = opened(values[ENDED])
            same = ended is not None and tuple(ended[:3]) == (values[N], values[STATE], values[SEQ])
            if same and values[SEQ_ERA] != _told_era(ended[_TOLD], era):
                same = False
            self.ended = ended[3:] if same else None
        self.reply: Any = self._reply()

    def _reply(self) -> Any:
        values = self._values
        if values[REPLY] is None:
            owes = self.accepted is not None and self.accepted[9] is not None and values[STATE] == SETTLED
            return (0, b"") if values[OPEN] == 0 and not (owes and values[KEY] and values[ITEM] == 0) else None
        reply = opened(values[REPLY])
        known = values[OPEN] in (0, OWED, OWED_WITH_EVENT)
        if not known or reply is None or reply[0] != values[N]:
            return None
        _, rev, outcome = reply
        if isinstance(outcome, bytes):
            return rev, outcome
        if not self.tells or self.accepted[9] is None:
            return None
        bare_id, method, at_us = self.accepted[9][0], self.accepted[8], self.ended[5]
        applied_rev, *warnings = outcome if isinstance(outcome, list) else (outcome,)
        return rev, applied(bare_id, values[ARM], method, applied_rev, values[SEQ], at_us, warnings)

    @property
    def n(self) -> int:
        """Its number."""
        return int(self._values[N])

    @property
    def tells(self) -> bool:
        """Whether what was asked and how far it got are what was written."""
        return self.accepted is not None and self.ended is not None

    @property
    def whole(self) -> bool:
        """Whether all of it is what was written."""
        return self.tells and self.reply is not None

    @property
    def told_arm(self) -> str:
        """The arm that the row is of, as far as it can be told."""
        return shown((opened(self._values[ACCEPTED]) or self._values)[ARM])

    @property
    def damage(self) -> Damage:
        """What to call it where it is not what was written."""
        return Damage(TABLE, self.told_arm, f"{shown(self._values[N])}/{shown(self._values[REV])}", DIFFERS)

    def request(self) -> RequestRow | None:
        """Its request, if it has one."""
        values = self._values
        user, conn, method, asked = self.accepted[6:10]
        if asked is None:
            return None
        rev, outcome = self.reply
        return RequestRow(
            n=values[N], user=user, conn=conn, method=method, arm=values[ARM], at_us=values[AT], outcome=outcome,
            rev=rev, settled=values[STATE] == SETTLED, reply_open=values[OPEN] != 0, key=values[KEY],
            **dict(zip(_REQUEST, asked, strict=False)),
        )  # fmt: skip

    def change(self) -> ChangeRow | None:
        """Its change, if it has one, as far as it got."""
        values = self._values
        user, conn, method, asked, wanted = self.accepted[6:11]
        if wanted is None:
            return None
        full_id, *rest = wanted
        fields = dict(zip(_CHANGE, rest, strict=False))
        if fields.get("terms") is not None:
            fields["terms"] = Terms(*fields["terms"])
        epoch, cmd_seq, after = self.ended[:3]
        if after is not _AS_ACCEPTED:
            fields["after"] = after
        if full_id is None:
            full_id = f"{user}/{conn}/{asked[0]}"
        return ChangeRow(
            n=values[N], arm=values[ARM], rev=values[REV], at_us=values[AT], state=values[STATE], user=user, conn=conn,
            method=method, epoch=epoch, cmd_seq=cmd_seq, request_id=full_id, **fields,
        )  # fmt: skip

    def past(self) -> PastChange | None:
        """What the history tells of its change, if it has one."""
        change = self.change()
        if change is None:
            return None
        outcome, seq, settled_at_us, _, *ground = self.ended[3:]
        found = self._found()
        return PastChange(
            arm=change.arm, rev=change.rev, seq=seq, at_us=change.at_us, settled_at_us=settled_at_us, user=change.user,
            conn=change.conn, proven=change.proven, request_id=change.request_id, method=change.method, key=change.key,
            mode=change.mode, before=change.before if found is None else found, after=change.after,
            reason=change.reason, state=change.state, outcome=outcome, loosening=change.loosening, terms=change.terms,
            ground=ground[0] if ground else None,
        )  # fmt: skip

    def _found(self) -> bytes | None:
        """What its change found, where its end tells that it is not what was there when it was accepted."""
        told, *more = self.ended[6:]
        if len(more) > 1:
            return cast("bytes", more[1])
        parts = None if told is None else told[_PARTS]
        if parts is None or not parts[_SLOTTED] or parts[_BEFORE] is _AS_ACCEPTED:
            return None
        return cast("bytes | None", parts[_BEFORE])

    def event(self) -> EventRow | None:
        """Its event, if it has one."""
        told = self.ended[6]
        if told is None:
            return None
        epoch, prev, rev, at_us, topic, body, parts = told[:7]
        made: EventParts | None = None
        if parts is not None:
            made = EventParts(*parts)
            change = self.change()
            if change is not None:
                made = made.resolved(change)
            topic = event_topic(made.event)
        return EventRow(
            n=self._values[N], arm=self._values[ARM], seq=self._values[SEQ], epoch=epoch, prev=prev, rev=rev,
            at_us=at_us, topic=topic, body=body, parts=made,
        )  # fmt: skip

    # -------------------------------------------------------------- rows made of rows

    def reopened(self, rev: int, before: bytes | None, era: int) -> Values:
        """The values of REOPEN for a change that takes a revision after all, and what was there before it."""
        values = [*self.accepted[:_OWN_ERA]]
        values[REV], values[10] = rev, (*values[10][:4], before, *values[10][5:])
        if era != era_of(self.n):
            values.append(era)
        return (rev, era, sealed(tuple(values)), self.n)

    def renamed(self, arm: str) -> Values:
        """The values of REWRITE under another name of its arm; a damaged row agrees with nothing under either name."""
        values = [*self._values]
        values[ARM] = arm
        values[ACCEPTED] = sealed((*self.accepted[:ARM], arm, *self.accepted[ARM + 1 :])) if self.accepted else b""
        return (*values[1:], self.n)

    def shortened(self) -> Values:
        """The values of REWRITE for a row of which only the history is left."""
        n, _, arm, rev, item, at_us, user, conn, method, asked, wanted, *begun = self.accepted
        full_id = f"{user}/{conn}/{asked[0]}" if wanted[0] is None else wanted[0]
        accepted = sealed((n, 0, arm, rev, item, at_us, user, conn, method, None, (full_id, *wanted[1:]), *begun))
        found, more = self._found(), self.ended[7:]
        if found is not None:
            more = (more[0] if more else None, found)
        ended = sealed((n, self._values[STATE], 0, *self.ended[:6], None, *more))
        return (0, arm, rev, item, at_us, accepted, self._values[STATE], 0, ended, 0, None, self._values[REV_ERA], 0, n)
