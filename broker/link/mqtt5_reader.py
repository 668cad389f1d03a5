"""MQTT 5 on the wire, as far as one client reads it: leniently, whatever tells what is wanted is taken."""

from contextlib import suppress
from typing import Protocol

import msgspec

from broker.link.mqtt5_packets import (
    CONTENT_TYPE,
    CORRELATION,
    EXPIRY,
    LONGEST_TEXT,
    MORE,
    PACKET_ID_BYTES,
    PUBACK,
    PUBREC,
    RESPONSE_TOPIC,
    USER_PROPERTY,
)
from broker.link.mqtt_link import InboundMessage
from broker.trace import NAME, traceparent

_SERVER_KEEP_ALIVE, _ASSIGNED_ID, _REASON, _RECEIVE_MAXIMUM, _MAX_QOS, _RETAIN, _MAX_PACKET = (
    0x13, 0x12, 0x1F, 0x21, 0x24, 0x25, 0x27,
)  # fmt: skip
_TRACE_NAME = len(NAME).to_bytes(2) + NAME.encode()
_CODES = 2
"""Bytes of a CONNACK before its properties."""
_BYTE, _TWO, _FOUR, _TEXT, _VARINT, _PAIR = range(6)
_KINDS: dict[int, int] = (
    dict.fromkeys((0x01, 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2A), _BYTE)
    | dict.fromkeys((0x13, 0x21, 0x22, 0x23), _TWO)
    | dict.fromkeys((0x02, 0x11, 0x18, 0x27), _FOUR)
    | dict.fromkeys((0x03, 0x08, 0x09, 0x12, 0x15, 0x16, 0x1A, 0x1C, 0x1F), _TEXT)
    | {0x0B: _VARINT, 0x26: _PAIR}
)
"""How the value of every property of MQTT 5 is written."""


class UnreadableError(Exception):
    """The inside of a frame cannot be read; the frames behind it can."""


class FramingError(Exception):
    """Where a packet ends cannot be told: nothing behind it can be read."""


class Source(Protocol):
    """The connection that a message came on."""

    read_s: float
    """When it was read, in seconds of the loop's clock."""


class Delivery(msgspec.Struct, eq=False):
    """What a message has to be acknowledged by; `answer` is the first byte of that, 0 where none is wanted."""

    connection: Source
    answer: int
    packet_id: int
    size: int
    acked: bool = False


class Connack(msgspec.Struct, frozen=True):
    """What the MQTT server said to CONNECT; sizes in bytes, times in seconds, None and 0 where it said nothing."""

    code: int
    present: bool
    why: str = ""
    receive_maximum: int = 65_535
    max_packet: int = 0
    max_qos: int = 2
    retain: bool = True
    keepalive_s: int | None = None
    client_id: str = ""


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at a position and the position behind it; raises UnreadableError if it is longer than four bytes."""
    number = 0
    for shift in (0, 7, 14, 21):
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < MORE:
            return number, at
    raise UnreadableError("a length of more than four bytes")


def frame_length(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The length of the body of the packet that begins there, and where it begins; (0, 0) if `end` cuts the length.

    Raises:
        FramingError: no packet is that long.
    """
    number = 0
    for count in range(4):
        if at + 1 + count >= end:
            return 0, 0
        byte = data[at + 1 + count]
        number |= (byte & 0x7F) << 7 * count
        if byte < MORE:
            return number, at + 2 + count
    raise FramingError("a length of more than four bytes")


def read_properties(data: bytes, at: int, stop: int, found: dict[int, bytes]) -> None:
    """Add the properties between two positions, raw, by their number; of those given twice the last, of pairs a trace.

    Raises:
        UnreadableError: they go on beyond `stop`, or one is unknown, so that its length is too.
        IndexError: likewise, at the end of `data`.
    """
    while at < stop:
        number = data[at]
        kind = _KINDS.get(number)
        begin = at = at + 1
        if kind == _TEXT:
            begin = at + 2
            at = begin + (data[at] << 8 | data[at + 1])
        elif kind == _FOUR:
            at += 4
        elif kind == _BYTE:
            at += 1
        elif kind == _TWO:
            at += 2
        elif kind == _PAIR:
            at = _read_pair(data, at, found)
            continue
        elif kind == _VARINT:
            at = read_varint(data, at)[1]
        else:
            raise UnreadableError(f"property 0x{number:02x} is unknown")
        if at > stop:
            break
        found[number] = data[begin:at]
    if at != stop:
        raise UnreadableError("the properties are longer than their length")


def _read_pair(data: bytes, at: int, found: dict[int, bytes]) -> int:
    """Add a user property if it is `traceparent`; the position behind it. IndexError at the end of `data`."""
    value = at + 2 + (data[at] << 8 | data[at + 1])
    end = value + 2 + (data[value] << 8 | data[value + 1])
    if data[at:value] == _TRACE_NAME:
        found[USER_PROPERTY] = data[value + 2 : end]
    return end


def _lenient(raw: bytes | None) -> str:
    """A text; what is no UTF-8 in it shows as U+FFFD."""
    return raw.decode(errors="replace") if raw else ""


def _number(found: dict[int, bytes], number: int, default: int) -> int:
    raw = found.get(number)
    return int.from_bytes(raw) if raw else default


def packet_id_of(body: bytes, head: int) -> int:
    """The packet id of a PUBLISH that cannot be read otherwise; 0 where it has none, or ends before it."""
    if not head & 0x06:
        return 0
    at = 2 + int.from_bytes(body[:2])
    return int.from_bytes(body[at : at + PACKET_ID_BYTES]) if at + PACKET_ID_BYTES <= len(body) else 0


def read_publish(data: bytes, head: int, at: int, stop: int, connection: Source) -> InboundMessage:
    """The message in the body between two positions, `connection` being the one it came on.

    Raises:
        UnreadableError, IndexError, UnicodeDecodeError: it cannot be read.
    """
    begin = at
    at += 2
    end = at + (data[begin] << 8 | data[begin + 1])
    topic = data[at:end].decode()
    at = end
    answer = packet_id = 0
    if head & 0x06:
        answer = PUBREC if head & 0x04 else PUBACK
        packet_id = data[at] << 8 | data[at + 1]
        at += 2
        if not packet_id:
            raise UnreadableError("packet id 0")
    size = data[at]
    at += 1
    if size >= MORE:
        size, at = read_varint(data, at - 1)
    end = at + size
    if end > stop:
        raise UnreadableError("topic or properties are longer than the packet")
    if not topic:
        raise UnreadableError("no topic")
    delivery = Delivery(connection, answer, packet_id, stop - begin)
    retain, dup = bool(head & 0x01), bool(head & 0x08)
    if not size:
        return InboundMessage(topic, data[end:stop], retain, dup, "", "", b"", None, delivery, connection.read_s)
    found: dict[int, bytes] = {}
    read_properties(data, at, end, found)
    expiry, response = found.get(EXPIRY), found.get(RESPONSE_TOPIC)
    return InboundMessage(
        topic, data[end:stop], retain, dup, found.get(CONTENT_TYPE, b"").decode(errors="replace"),
        response.decode(errors="replace") if response else "", found.get(CORRELATION, b""),
        None if expiry is None else int.from_bytes(expiry), delivery, connection.read_s,
        blank_response=response == b"", trace=traceparent(found[USER_PROPERTY]) if USER_PROPERTY in found else "",
    )  # fmt: skip


def read_connack(body: bytes) -> Connack:
    """What a CONNACK says, as far as it can be read.

    Raises:
        IndexError: it does not even say whether it is a refusal.
    """
    present, code = bool(body[0] & 0x01), body[1]
    found: dict[int, bytes] = {}
    with suppress(UnreadableError, IndexError):
        size, at = read_varint(body, _CODES)
        read_properties(body, at, at + size, found)
    keepalive = found.get(_SERVER_KEEP_ALIVE)
    return Connack(
        code=code,
        present=present,
        why=_lenient(found.get(_REASON)),
        receive_maximum=_number(found, _RECEIVE_MAXIMUM, 0) or LONGEST_TEXT,
        max_packet=_number(found, _MAX_PACKET, 0),
        max_qos=_number(found, _MAX_QOS, 2),
        retain=_number(found, _RETAIN, 1) != 0,
        keepalive_s=None if keepalive is None else int.from_bytes(keepalive),
        client_id=_lenient(found.get(_ASSIGNED_ID)),
    )


def read_suback(body: bytes) -> tuple[int, bytes]:
    """The packet id of a SUBACK and its reason codes.

    Raises:
        UnreadableError, IndexError: it cannot be read.
    """
    size, at = read_varint(body, PACKET_ID_BYTES)
    codes = body[at + size :]
    if not codes:
        raise UnreadableError("a SUBACK without reason codes")
    return body[0] << 8 | body[1], codes
