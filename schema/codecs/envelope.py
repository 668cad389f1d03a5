"""The request envelope: the bounds of its fields, and its plain form that JSON and MessagePack share."""

import enum
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from schema.codecs.faults import FaultError, quote, unknown_field, wrong_type
from schema.codecs.scalars import integer_reader, read_bool, read_integer, read_string
from schema.codecs.times import parse_time
from schema.envelope import Away, GroupOptions, RequestEnvelope, View, Wait, When
from schema.errors import BrokerError
from schema.fields import RANGES, Kind

TTL_LIMIT_MS = 300_000
"""Longest time to live."""
IDLE_TTL_LIMIT_MS = 604_800_000
"""Longest time to live of what waits until its arm is idle."""
VALID_FOR_MS = (1_000, 2_592_000_000)
"""Shortest and longest time that an override lasts."""
ONLY_MOST, PARALLEL_MOST = 1_000, 256
"""Most members of a group that a request names, and most rows of it under way at once."""
REASON_LIMIT = 200
"""Most characters of a reason."""

ID_MOST = 64
"""Most characters of an id."""
ID_NUMBER_END = 1 << 63
"""Integers below this one can be ids."""

ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_UNITS = ("deg", "rad")
_read_uint32 = integer_reader(*RANGES[Kind.UINT32])


def _id_of(value: object) -> str:
    """The id that a value is, an integer by its decimal text; empty for what is none, its bounds not looked at."""
    if type(value) is int:
        return str(value) if 0 <= value < ID_NUMBER_END else ""
    return value if type(value) is str else ""


def valid_id(value: object) -> str:
    """The id that a value is, if it can be that of a request, else nothing."""
    text = _id_of(value)
    return text if ID.fullmatch(text) else ""


def with_id(refusal: BrokerError, value: object) -> BrokerError:
    """The refusal, naming the id that its request has; what is no id is told as far as it is a text or a number."""
    refusal.bare_id = valid_id(value)
    text = repr(value) if type(value) in (int, float) else value
    refusal.told_id = text[:ID_MOST] if type(text) is str else ""
    return refusal


def _read_id(value: object) -> str:
    if type(value) is int:
        text = _id_of(value)
        if not text:
            raise FaultError("bad_request_field", f"{quote(value)} is not between 0 and {ID_NUMBER_END - 1}")
        return text
    return read_string(value)


def check_id(value: str) -> str:
    """The id, if it is one.

    Raises:
        FaultError: `bad_request_field`.
    """
    if not ID.fullmatch(value):
        raise FaultError("bad_request_field", f"{quote(value)} is not 1 to 64 of A-Z a-z 0-9 _ -", "id")
    return value


def check_ttl(ttl_ms: int) -> int:
    """The time to live in ms, if it is within bounds.

    Raises:
        FaultError: `bad_request_field`.
    """
    if not 1 <= ttl_ms <= IDLE_TTL_LIMIT_MS:
        most = f"{TTL_LIMIT_MS}, with when: idle {IDLE_TTL_LIMIT_MS}"
        raise FaultError("bad_request_field", f"{quote(ttl_ms)} ms is not between 1 and {most}")
    return ttl_ms


def check_valid_for(valid_for_ms: int) -> int:
    """How long an override lasts in ms, if it is within bounds.

    Raises:
        FaultError: `bad_request_field`.
    """
    low, high = VALID_FOR_MS
    if not low <= valid_for_ms <= high:
        raise FaultError("bad_request_field", f"{quote(valid_for_ms)} ms is not between {low} and {high}")
    return valid_for_ms


def check_only(arms: Sequence[str]) -> tuple[str, ...]:
    """The members of a group that a request names, if they are few enough and none stands twice.

    Raises:
        FaultError: `bad_request_field`, `malformed`.
    """
    if not 1 <= len(arms) <= ONLY_MOST:
        raise FaultError("bad_request_field", f"{len(arms)} arms are named, 1 to {ONLY_MOST} are taken")
    (arm, times), *_ = Counter(arms).most_common(1)
    if times > 1:
        raise FaultError("malformed", f"{quote(arm)} stands twice")
    return tuple(arms)


def check_parallel(parallel: int) -> int:
    """How many rows of a group may be under way at once, if it is within bounds.

    Raises:
        FaultError: `bad_request_field`.
    """
    if not 1 <= parallel <= PARALLEL_MOST:
        raise FaultError("bad_request_field", f"{quote(parallel)} is not between 1 and {PARALLEL_MOST}")
    return parallel


def check_reason(reason: str) -> str:
    """The reason, if it is short and printable.

    Raises:
        FaultError: `bad_request_field`.
    """
    if len(reason) > REASON_LIMIT:
        raise FaultError("bad_request_field", f"{len(reason)} characters are given, at most {REASON_LIMIT} are taken")
    unprintable = _UNPRINTABLE.search(reason)
    if unprintable is not None:
        what = "a control or direction-override character"
        raise FaultError("bad_request_field", f"{quote(reason)} holds {what} at {unprintable.start()}")
    return reason


def check_unit(unit: str) -> str:
    """The asserted unit, if it is one.

    Raises:
        FaultError: `bad_request_field`.
    """
    if unit not in _UNITS:
        raise FaultError("bad_request_field", f"{quote(unit)} is not deg or rad")
    return unit


def _read_time(value: object) -> int:
    text = read_string(value)
    try:
        return parse_time(text)
    except ValueError:
        raise FaultError("bad_request_field", f"{quote(text)} is no RFC 3339 time with a zone") from None


def _read_params(value: object) -> dict[str, Any]:
    if type(value) is not dict:
        wrong_type(value, "an object")
    return value


def _word_reader(words: type[enum.IntEnum]) -> Callable[[object], enum.IntEnum]:
    members = {member.name.lower(): member for member in words}
    known = " or ".join(members)

    def read(value: object) -> enum.IntEnum:
        word = read_string(value)
        if word not in members:
            raise FaultError("bad_request_field", f"{quote(word)} is not {known}")
        return members[word]

    return read


def _read_only(value: object) -> tuple[str, ...]:
    if type(value) is not list:
        wrong_type(value, "a list of arms")
    return check_only([read_string(arm) for arm in value])


_GROUP_FIELDS: dict[str, Callable[[Any], Any]] = {
    "all_or_nothing": read_bool,
    "away": _word_reader(Away),
    "only": _read_only,
    "parallel": lambda value: check_parallel(read_integer(value)),
}
"""Field of the options of a group and its reader."""


def _read_group(value: object) -> GroupOptions:
    if type(value) is not dict:
        wrong_type(value, "an object")
    options: dict[str, Any] = {}
    for name, part in value.items():
        if name not in _GROUP_FIELDS:
            raise unknown_field(name, "the options of a group", _GROUP_FIELDS)
        try:
            options[name] = _GROUP_FIELDS[name](part)
        except FaultError as fault:
            fault.below(name)
            raise
    return GroupOptions(**options, away_named="away" in options)


FIELDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "id": ("id", _read_id),
    "params": ("params", _read_params),
    "if_rev": ("if_rev", integer_reader(*RANGES[Kind.UINT64])),
    "dry_run": ("dry_run", read_bool),
    "wait": ("wait", _word_reader(Wait)),
    "issued_at": ("issued_at_us", _read_time),
    "ttl_ms": ("ttl_ms", lambda value: check_ttl(read_integer(value))),
    "valid_for_ms": ("valid_for_ms", lambda value: check_valid_for(_read_uint32(value))),
    "reason": ("reason", lambda value: check_reason(read_string(value))),
    "unit": ("unit", lambda value: check_unit(read_string(value))),
    "view": ("view", _word_reader(View)),
    "until": ("until_us", _read_time),
    "when": ("when", _word_reader(When)),
    "group": ("group", _read_group),
}
"""Field of the document: field of the record and its reader."""


def read_envelope(document: object, *, padded: bool = False) -> RequestEnvelope:
    """The envelope of a plain document, its params as they came.

    Raises:
        BrokerError: `malformed`, `unknown_field` or `bad_request_field`, with `bare_id` if the document has an id.
    """
    if type(document) is not dict:
        raise BrokerError("malformed", "the payload: an object is needed")
    try:
        values = _read_fields(document)
    except FaultError as fault:
        raise with_id(fault.as_refusal(), document.get("id")) from None
    return RequestEnvelope(**values, padded=padded)


def _read_fields(document: dict[str, Any]) -> dict[str, Any]:
    """The fields of the record; the bounds of the id are checked last."""
    values: dict[str, Any] = {}
    for name, value in document.items():
        if name not in FIELDS:
            raise unknown_field(name, "a request", FIELDS)
        field, read = FIELDS[name]
        try:
            values[field] = read(value)
        except FaultError as fault:
            fault.below(name)
            raise
    if "id" in values:
        check_id(values["id"])
    return values
