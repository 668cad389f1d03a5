"""The protobuf codec."""

import enum
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from schema.codecs.envelope import (
    check_id,
    check_only,
    check_parallel,
    check_reason,
    check_ttl,
    check_unit,
    check_valid_for,
    with_id,
)
from schema.codecs.faults import FaultError, wrong_type
from schema.codecs.json_codec import decode_json
from schema.codecs.large import Lifted, Numbers, lift_json, read_json_numbers
from schema.codecs.parts import Parts
from schema.codecs.plain import from_plain, to_plain
from schema.codecs.plain_codec import plain_params
from schema.codecs.protobuf import decode_message, encode_message, parse, refuse_unknown
from schema.codecs.quick_protobuf import decode_whole
from schema.codecs.registry import MESSAGES
from schema.envelope import (
    PARALLEL,
    Away,
    ErrorBody,
    Event,
    GroupOptions,
    Plain,
    Reply,
    RequestEnvelope,
    View,
    Violation,
    Wait,
    Warned,
    When,
)
from schema.errors import BrokerError
from schema.messages import Message
from schema.proto.armbroker.v1 import armbroker_pb2 as wire
from schema.proto.kinova import errors_pb2

_LATEST_MS = 253_402_300_799_999
"""The end of the year 9999."""

_encode_json = msgspec.json.Encoder().encode


class ProtobufCodec:
    """Requests, replies and events as protobuf; where a method has no message, as UTF-8 JSON within it."""

    name = "protobuf"
    content_type = "application/x-protobuf"

    def decode_request(self, payload: bytes) -> RequestEnvelope:
        """The envelope of a payload; zero means absent in times and periods.

        Raises:
            BrokerError: `malformed`, `unknown_field` or `bad_request_field`, with `bare_id` where it was readable.
        """
        if not payload:
            raise BrokerError("malformed", "the payload: it is empty")
        bare_id = ""
        try:
            request = parse(payload, wire.Request)
            bare_id = request.id
            refuse_unknown(request, payload)
        except FaultError as fault:
            raise with_id(fault.as_refusal(), bare_id) from None
        return _read_request(request)

    def decode_whole(self, payload: bytes, cls: type[Message]) -> tuple[RequestEnvelope, Message] | None:
        """Envelope and params in one step; None for a payload that has to be read strictly."""
        return decode_whole(payload, cls)

    def lift(self, payload: bytes, names: Mapping[str, int]) -> Lifted:
        """A request without the long lists of numbers of these names in its params, and those lists."""
        try:
            request = parse(payload, wire.Request)
        except FaultError:
            return Lifted(payload, {})
        request.params, lists = lift_json(request.params, names)
        return Lifted(request.SerializeToString(), lists)

    def decode_numbers(self, document: bytes, name: str, depth: int) -> Numbers:
        """A lifted list, of numbers (`depth` 1) or of lists of numbers (2).

        Raises:
            BrokerError: `malformed` or `not_finite`, naming the path.
        """
        return read_json_numbers(document, name, depth)

    def decode_params(self, raw: object, cls: type[Message]) -> Message:
        """The message of the params of an envelope, UTF-8 JSON where it has no proto; without bytes the empty one.

        Raises:
            BrokerError: `malformed`, `unknown_field`, `unknown_enum` or `not_finite`, naming the path.
        """
        if cls not in MESSAGES:
            return from_plain(self.decode_plain_params(raw), cls, "params")
        return decode_message(raw, cls, strict=True, path="params") if isinstance(raw, bytes) else cls()

    def decode_plain_params(self, raw: object) -> dict[str, Any]:
        """The params of a method without a message, UTF-8 JSON; None and no bytes are the empty object.

        Raises:
            BrokerError: `malformed` or `not_finite`.
        """
        if not isinstance(raw, bytes) or not raw:
            return {}
        try:
            if (document := decode_json(raw)) is None:
                wrong_type(document, "an object")
            return plain_params(document)
        except FaultError as fault:
            raise fault.as_refusal("params") from None

    def encode_reply(self, reply: Reply) -> bytes:
        """The payload of a reply."""
        message = wire.Reply(
            id=reply.id,
            arm=reply.arm,
            method=reply.method,
            ok=reply.ok,
            stage=reply.stage,
            final=reply.final,
            result=_message_bytes(reply.result),
            error=None if reply.error is None else _error(reply.error),
            warnings=[_warning(warning) for warning in reply.warnings],
            rev=reply.rev,
            seq=reply.seq,
            duplicate=reply.duplicate,
            in_force=reply.in_force,
            at_us=reply.at_us,
            reported_at_us=reply.reported_at_us,
            desired=_message_bytes(reply.desired),
            pending_rev=reply.pending_rev,
            mode_seen_at_us=reply.mode_seen_at_us,
            plan=reply.plan,
            until_us=reply.until_us,
        )
        return message.SerializeToString()

    def encode_event(self, event: Event) -> bytes:
        """The payload of an event."""
        by, change = event.by, event.change
        message = wire.Event(
            arm=event.arm,
            epoch=event.epoch,
            seq=event.seq,
            prev=event.prev,
            rev=event.rev,
            at_us=event.at_us,
            cause=event.cause,
            stage=event.stage,
            request_id=event.request_id,
            by=wire.Event.By(user=by.user, connection=by.connection, proven=by.proven),
            event=event.event,
            notification=_message_bytes(event.notification),
            reason=event.reason,
        )
        if change is not None:
            message.change.item = change.item
            message.change.slot = change.slot
            message.change.before = _message_bytes(change.before)
            message.change.after = _message_bytes(change.after)
        if event.denied is not None:
            message.kind, message.count = event.denied.kind, event.denied.count
        if event.plan or event.until_us:
            message.plan, message.until_us = event.plan, event.until_us
        if event.details is not None:
            message.details = _encode_json(event.details)
        return message.SerializeToString()

    def encode_document(self, document: dict[str, Any]) -> bytes:
        """The payload of a plain document: UTF-8 JSON."""
        return _encode_json(document)


def _read_request(request: wire.Request) -> RequestEnvelope:
    """The envelope of a request.

    Raises:
        BrokerError: `bad_request_field`.
    """
    try:
        _check_fields(request)
    except FaultError as fault:
        raise with_id(fault.as_refusal(), request.id) from None
    return RequestEnvelope(
        id=request.id,
        params=request.params or None,
        if_rev=request.if_rev if request.HasField("if_rev") else None,
        dry_run=request.dry_run,
        wait=Wait(request.wait),
        issued_at_us=request.issued_at_ms * 1000 or None,
        ttl_ms=request.ttl_ms or None,
        valid_for_ms=request.valid_for_ms or None,
        reason=request.reason,
        unit=request.unit,
        view=View(request.view),
        until_us=request.until_ms * 1000 or None,
        when=When(request.when),
        group=_group(request.group) if request.HasField("group") else None,
    )


def _group(group: wire.Group) -> GroupOptions:
    away = Away(group.away)
    return GroupOptions(
        group.all_or_nothing, away, tuple(group.only), group.parallel or PARALLEL, away_named=away is not Away.WAIT
    )


def _check_fields(request: wire.Request) -> None:
    for name, check in _CHECKS.items():
        value = getattr(request, name)
        try:
            if value:
                check(value)
        except FaultError as fault:
            fault.below(name)
            raise
    if request.HasField("group"):
        try:
            _check_group(request.group)
        except FaultError as fault:
            fault.below("group")
            raise
    if request.id:
        check_id(request.id)


def _check_group(group: wire.Group) -> None:
    for name, check in _GROUP_CHECKS.items():
        value = getattr(group, name)
        try:
            if value:
                check(value)
        except FaultError as fault:
            fault.below(name)
            raise


def _word_check(words: type[enum.IntEnum]) -> Callable[[int], None]:
    numbers = {member.value for member in words}
    known = " or ".join(f"{member.value} ({member.name.lower()})" for member in words)

    def check(number: int) -> None:
        if number not in numbers:
            raise FaultError("bad_request_field", f"{number} is not {known}")

    return check


def _check_time(time_ms: int) -> None:
    if not 0 < time_ms <= _LATEST_MS:
        raise FaultError("bad_request_field", f"{time_ms} ms is not between 1 and {_LATEST_MS}")


_CHECKS: dict[str, Callable[[Any], object]] = {
    "wait": _word_check(Wait),
    "issued_at_ms": _check_time,
    "ttl_ms": check_ttl,
    "valid_for_ms": check_valid_for,
    "reason": check_reason,
    "unit": check_unit,
    "view": _word_check(View),
    "until_ms": _check_time,
    "when": _word_check(When),
}
"""The fields with bounds narrower than their types; zero and empty mean absent."""
_GROUP_CHECKS: dict[str, Callable[[Any], object]] = {
    "away": _word_check(Away),
    "only": check_only,
    "parallel": check_parallel,
}
"""The same of the options of a group."""


def _message_bytes(value: Message | Plain) -> bytes:
    """The bytes of a message; the JSON of a plain document, or of a record without a proto; nothing of None."""
    if value is None:
        return b""
    if not isinstance(value, Message):
        return _encode_json(value)
    part: bytes = _PARTS[type(value)](value, "")
    return part


def _part(value: Message, _value_field: str) -> bytes:
    return encode_message(value) if type(value) in MESSAGES else _encode_json(to_plain(value))


_PARTS = Parts(_part)


def _warning(warning: Warned) -> wire.Warning:
    return wire.Warning(name=warning.name, path=warning.path, message=warning.message)


def _error(error: ErrorBody) -> wire.Error:
    kinova = errors_pb2.Error(error_sub_string=error.message)
    kinova.error_code = error.code  # type: ignore[assignment]  # an arm's own may be newer than the enum
    kinova.error_sub_code = error.sub_code  # type: ignore[assignment]  # likewise
    return wire.Error(
        code=error.code,
        sub_code=error.sub_code,
        name=error.name,
        kind=error.kind,
        message=error.message,
        violations=[_violation(violation) for violation in error.violations],
        retry=error.retry,
        retry_after_ms=error.retry_after_ms,
        kinova=kinova.SerializeToString(),
        rule=error.rule,
    )


def _violation(violation: Violation) -> wire.Violation:
    return wire.Violation(
        path=violation.path,
        joint=violation.joint,
        joint_name=violation.joint_name,
        got=violation.got,
        bound=violation.bound,
        unit=violation.unit,
        relation=violation.relation,
        source=violation.source,
        suggest=b"" if violation.suggest is None else _encode_json(violation.suggest),
    )
