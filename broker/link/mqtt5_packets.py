"""MQTT 5 on the wire, as far as one client with QoS 1 writes it; its numbers, for both directions."""

from functools import lru_cache

from broker.link.mqtt_link import LinkConfig, LinkConfigError, LinkRejectedError
from broker.trace import NAME

PUBLISH, PUBACK, PUBREC, PUBREL, SUBSCRIBE, SUBACK, CONNACK, PINGRESP, DISCONNECT = (
    0x30, 0x40, 0x50, 0x62, 0x82, 0x90, 0x20, 0xD0, 0xE0,
)  # fmt: skip
PING = b"\xc0\x00"
QOS_1_PUBLISH, RETAINED = 0x32, 0x01
REFUSED = 0x80
"""Reason codes from here on are failures."""
PROTOCOL_ERROR, MALFORMED, QOS_NOT_SUPPORTED, WITH_WILL = 0x82, 0x81, 0x9B, 0x04
LONGEST_TEXT = 65_535
MORE = 0x80
"""In a byte of a length: another one follows."""
PACKET_ID_BYTES = 2
_TWO_BYTES = 0x4000
"""Lengths from here on take more than two bytes."""
_SUBSCRIBE, _SUBSCRIBE_RETAINED = 0x01 | 0x08 | 0x20, 0x01
"""QoS 1; the first shows the retain flag as published and is sent nothing that was retained before."""

CONTENT_TYPE, RESPONSE_TOPIC, CORRELATION, EXPIRY, USER_PROPERTY = 0x03, 0x08, 0x09, 0x02, 0x26
_SESSION_EXPIRY = 0x11
_CORRELATION = bytes((CORRELATION,))


def varint(number: int) -> bytes:
    """A Variable Byte Integer."""
    if number < MORE:
        return bytes((number,))
    if number < _TWO_BYTES:
        return bytes((number & 0x7F | MORE, number >> 7))
    low, rest = number & 0x7F, number >> 7
    return bytes((low | MORE,)) + varint(rest)


def text(name: str, value: str | bytes) -> bytes:
    """A string or binary with its length; raises LinkRejectedError, with `name`, for one that MQTT cannot carry."""
    try:
        raw = value.encode() if isinstance(value, str) else value
    except UnicodeEncodeError:
        raise LinkRejectedError(f"{name}: holds a lone surrogate") from None
    if len(raw) > LONGEST_TEXT:
        raise LinkRejectedError(f"{name}: {len(raw)} bytes, at most {LONGEST_TEXT}")
    if isinstance(value, str) and "\0" in value:
        raise LinkRejectedError(f"{name}: holds U+0000")
    return len(raw).to_bytes(2) + raw


SMALL = tuple(varint(number) for number in range(2_048))
"""Variable Byte Integers of the lengths that most packets have."""


@lru_cache(maxsize=4_096)
def topic_name(topic: str) -> bytes:
    """A topic to publish to, with its length; raises LinkRejectedError for one that is not legal."""
    if not topic or "+" in topic or "#" in topic:
        raise LinkRejectedError(f"topic {topic!r}: empty, or with a wildcard")
    return text("topic", topic)


def packet(head: int, body: bytes) -> bytes:
    """A whole packet."""
    return bytes((head,)) + varint(len(body)) + body


def connect(config: LinkConfig, client_id: str) -> bytes:
    """CONNECT; raises LinkConfigError for a setting that MQTT cannot carry."""
    flags = 0
    try:
        payload = text("mqtt.client_id", client_id)
        if config.will is not None:
            flags |= 0x0C | (0x20 if config.will.retain else 0)
            payload += b"\x00" + text("will", config.will.topic) + text("will", config.will.payload)
        if config.user:
            flags |= 0x80
            payload += text("mqtt.user", config.user)
        if config.password:
            flags |= 0x40
            payload += text("password in mqtt.password_file", config.password.encode())
    except LinkRejectedError as error:
        raise LinkConfigError(str(error)) from None
    properties = bytes((_SESSION_EXPIRY,)) + config.session_expiry_s.to_bytes(4)
    head = b"\x00\x04MQTT\x05" + bytes((flags,)) + config.keepalive_s.to_bytes(2)
    return packet(0x10, head + varint(len(properties)) + properties + payload)


def subscribe(config: LinkConfig, packet_id: int) -> bytes:
    """SUBSCRIBE to every filter; raises LinkConfigError for one that MQTT cannot carry."""
    options = bytes((_SUBSCRIBE_RETAINED if config.retained else _SUBSCRIBE,))
    try:
        filters = b"".join(text("filter", one) + options for one in config.filters)
    except LinkRejectedError as error:
        raise LinkConfigError(str(error)) from None
    return packet(SUBSCRIBE, packet_id.to_bytes(2) + b"\x00" + filters)


def publish_properties(content_type: str, expiry_s: int) -> bytes:
    """Properties of a PUBLISH, without their length; empty ones are left out.

    Raises:
        LinkRejectedError: one that MQTT cannot carry.
    """
    found = b""
    if content_type:
        found += bytes((CONTENT_TYPE,)) + text("content type", content_type)
    if expiry_s:
        found += bytes((EXPIRY,)) + min(expiry_s, 0xFFFF_FFFF).to_bytes(4)
    return found


def trace_property(trace: str) -> bytes:
    """The `traceparent` of a PUBLISH."""
    return bytes((USER_PROPERTY,)) + text("trace", NAME) + text("trace", trace)


def correlation_property(correlation: bytes) -> bytes:
    """The Correlation Data of a PUBLISH; raises LinkRejectedError if MQTT cannot carry it."""
    size = len(correlation)
    if size > LONGEST_TEXT:
        raise LinkRejectedError(f"correlation data: {size} bytes, at most {LONGEST_TEXT}")
    return _CORRELATION + size.to_bytes(2) + correlation
