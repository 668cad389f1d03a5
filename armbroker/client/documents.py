"""Shapes of the documents that a client reads, and their bytes."""

import json
from typing import Any, NotRequired, TypedDict, cast

import msgpack
import msgspec

CONTENT_TYPES = {"json": "application/json", "msgpack": "application/msgpack"}
"""The codecs the client speaks, and the Content Type of each."""


class ViolationDocument(TypedDict):
    """One component out of bounds; numbers in the request's unit, `joint` from 1."""

    path: str
    got: float
    bound: float
    unit: str
    relation: str
    source: str
    joint: NotRequired[int]
    joint_name: NotRequired[str]
    suggest: NotRequired[float | list[float]]


class ErrorDocument(TypedDict):
    """The error of a reply."""

    code: int
    sub_code: int
    name: str
    kind: str
    message: str
    retry: str
    violations: NotRequired[list[ViolationDocument]]
    retry_after_ms: NotRequired[int]
    rule: NotRequired[str]


class WarningDocument(TypedDict):
    """A warning of a reply."""

    name: str
    message: str
    path: NotRequired[str]


class RequestOptions(TypedDict, total=False):
    """The fields of a request beside id and params; None counts as absent.

    `if_rev`: only if the value has not changed after this revision. `dry_run`: check, change nothing. `wait`:
    `applied` or `stored`. `issued_at`: RFC 3339. `ttl_ms`: 1 to 300,000, with `when` idle to 604,800,000. `reason`:
    at most 200 characters, for the history. `unit`: `deg` or `rad`, what the values are meant in. `view`:
    `reported`, `desired` or `ground`, for a Get. `valid_for_ms`, `until`: an end of the change. `when`: `now` or
    `idle`. `group`: how a group takes it.
    """

    if_rev: int | None
    dry_run: bool | None
    wait: str | None
    issued_at: str | None
    ttl_ms: int | None
    valid_for_ms: int | None
    reason: str | None
    unit: str | None
    view: str | None
    until: str | None
    when: str | None
    group: dict[str, Any] | None


class ReplyDocument(TypedDict):
    """One reply; times are RFC 3339, `result` is there when `ok`, `error` when not."""

    id: str
    arm: str
    method: str
    ok: bool
    stage: str
    final: bool
    rev: int
    seq: int
    at: str
    warnings: list[WarningDocument]
    result: NotRequired[dict[str, Any]]
    error: NotRequired[ErrorDocument]
    duplicate: NotRequired[bool]
    in_force: NotRequired[bool]
    reported_at: NotRequired[str]
    desired: NotRequired[dict[str, Any]]
    pending_rev: NotRequired[int]
    mode_seen_at: NotRequired[str]
    plan: NotRequired[int]
    until: NotRequired[str]


def encode(document: dict[str, Any], codec: str) -> bytes:
    """The bytes of a document in `json` or `msgpack`.

    Raises:
        ValueError: NaN or infinity in a JSON document.
        TypeError: a value that has no place in the codec.
    """
    if codec == "msgpack":
        packed: bytes = msgpack.packb(document)
        return packed
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def decode(payload: bytes, content_type: str) -> dict[str, Any]:
    """The document in `payload`; without a Content Type, `{` begins JSON and anything else is MessagePack.

    Raises:
        ValueError: not a document of a codec the client speaks.
    """
    base = content_type.partition(";")[0].strip()
    if base not in {"", *CONTENT_TYPES.values()}:
        raise ValueError(f"content type {base!r}: this client reads {' and '.join(CONTENT_TYPES.values())}")
    as_json = base == CONTENT_TYPES["json"] or (not base and payload.lstrip()[:1] == b"{")
    try:
        document: object = json.loads(payload) if as_json else _unpack(payload)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    if isinstance(document, dict):
        return document
    raise ValueError(f"a {type(document).__name__} where a document should be")


def decode_reply(payload: bytes, content_type: str) -> ReplyDocument:
    """The reply in `payload`, fields unknown to this version included.

    Raises:
        ValueError: not a reply.
    """
    document = decode(payload, content_type)
    try:
        msgspec.convert(document, ReplyDocument)
    except msgspec.ValidationError as error:
        raise ValueError(f"no reply: {error}") from error
    return cast("ReplyDocument", document)


def _unpack(payload: bytes) -> object:
    try:
        document: object = msgpack.unpackb(payload)
    except (msgpack.UnpackException, ValueError, TypeError) as error:
        raise ValueError(f"no MessagePack document: {error!r}") from error
    return document
