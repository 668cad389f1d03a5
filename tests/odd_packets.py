"""Every property of MQTT 5 with every illegal value, and packets of every malformed kind."""

from typing import NamedTuple

from tests.fake_server import publish
from tests.raw_publish import frame, text, with_length

TEXTS = {
    "empty": b"",
    "no UTF-8": b"\xff\xfe",
    "overlong": b"\xc0\x80",
    "surrogate": b"\xed\xa0\x80",
    "NUL": b"a\x00b",
    "no character": b"\xef\xbf\xbe",
    "control": b"\x01\x1b[31m",
    "longest": b"x" * 65_535,
}
TEXT_PROPERTIES = {0x03: "content type", 0x08: "response topic", 0x09: "correlation data"}
STRANGE_TEXTS = (0x12, 0x15, 0x16, 0x1A, 0x1C, 0x1F)
STRANGE_NUMBERS = {0x11: 4, 0x13: 2, 0x17: 1, 0x18: 4, 0x19: 1, 0x21: 2, 0x22: 2, 0x24: 1, 0x25: 1, 0x27: 4, 0x28: 1}
UNKNOWN = (0x00, 0x04, 0x0A, 0x10, 0x2B, 0x7F, 0x80, 0xFF)


class Odd(NamedTuple):
    """The properties of a PUBLISH, without their length; `told` is whether its reader is given the message."""

    name: str
    properties: bytes
    told: bool = True


def pair(key: bytes, value: bytes) -> bytes:
    """A User Property."""
    return b"\x26" + text(key) + text(value)


def odd_properties() -> list[Odd]:
    """Every property with every illegal value that keeps its length, twice, and where it does not belong."""
    odd = [Odd(f"payload format {number}", bytes([0x01, number])) for number in (0, 1, 2, 255)]
    odd += [Odd(f"expiry {number}", b"\x02" + number.to_bytes(4)) for number in (0, 1, 2**32 - 1)]
    for number, name in TEXT_PROPERTIES.items():
        odd += [Odd(f"{name} {kind}", bytes([number]) + text(value)) for kind, value in TEXTS.items()]
    wildcards = (b"a/+/b", b"#", b"+", b"armbroker/v1/res/alice/+/+", b"$share/g/#", b"$SYS/x", b"/", b"a//b")
    odd += [Odd(f"response topic {value.decode()}", b"\x08" + text(value)) for value in wildcards]
    odd += [Odd(f"subscription {number.hex()}", b"\x0b" + number) for number in (b"\x00", b"\x01", b"\xff\xff\xff\x7f")]
    odd += [Odd(f"topic alias {number}", b"\x23" + number.to_bytes(2)) for number in (0, 1, 65_535)]
    odd += [Odd(f"{count} user properties", pair(b"k", b"v") * count) for count in (1, 1_100, 8_000)]
    odd += [Odd(f"user property {kind}", pair(value[:60_000], value[:100])) for kind, value in TEXTS.items()]
    odd += [Odd(f"strange text 0x{number:02x}", bytes([number]) + text(b"\xff")) for number in STRANGE_TEXTS]
    odd += [
        Odd(f"strange number 0x{number:02x}", bytes([number]) + b"\xff" * size)
        for number, size in STRANGE_NUMBERS.items()
    ]
    twice = [(f"{one.name} twice", one.properties * 2) for one in odd if len(one.properties) < 1_000]
    return odd + [Odd(*one) for one in twice]


def broken_properties() -> list[Odd]:
    """Properties that cannot be read to their end: the message is for nobody."""
    broken = [Odd(f"unknown 0x{number:02x}", bytes([number]) + b"\x00\x01a", told=False) for number in UNKNOWN]
    for number in (*TEXT_PROPERTIES, *STRANGE_TEXTS):
        broken.append(Odd(f"0x{number:02x} too long", bytes([number]) + b"\x00\x09abc", told=False))
        broken.append(Odd(f"0x{number:02x} without length", bytes([number]) + b"\x00", told=False))
    for number, size in {**STRANGE_NUMBERS, 0x01: 1, 0x02: 4, 0x23: 2}.items():
        broken.append(Odd(f"0x{number:02x} cut", bytes([number]) + b"\x00" * (size - 1), told=False))
    broken.append(Odd("subscription of five bytes", b"\x0b\xff\xff\xff\xff\x01", told=False))
    broken.append(Odd("user property cut in its key", b"\x26\x00\x05ab", told=False))
    broken.append(Odd("user property without value", b"\x26\x00\x01a", told=False))
    return broken


ODD = {one.name: one for one in (*odd_properties(), *broken_properties())}
PASSED_ON = (
    "response topic empty",
    "response topic a/+/b",
    "response topic #",
    "payload format 2",
    "payload format 255",
    "1100 user properties",
    "8000 user properties",
    "user property empty",
)
"""What Mosquitto 2.0.11 is known to pass on."""


def malformed_publishes(packet_id: int) -> dict[str, bytes]:
    """PUBLISH packets, each whole as a frame, that cannot be read; where they have a packet id, it is this."""
    mid = packet_id.to_bytes(2)
    return {
        "topic no UTF-8": publish(b"\xff", mid=packet_id),
        "no topic": publish(b"", mid=packet_id),
        "topic alias alone": publish(b"", mid=packet_id, properties=b"\x23\x00\x01"),
        "topic surrogate": publish(b"\xed\xa0\x80", mid=packet_id),
        "properties beyond the packet": frame(0x32, text(b"a") + mid + b"\x7f" + b"x"),
        "length of properties of five bytes": frame(0x32, text(b"a") + mid + b"\xff\xff\xff\xff\x01x"),
        "length of properties cut": frame(0x32, text(b"a") + mid + b"\x80"),
        "no properties": frame(0x32, text(b"a") + mid),
    }


def lost_publishes() -> dict[str, bytes]:
    """PUBLISH packets, each whole as a frame, of which not even a packet id can be told."""
    return {
        "empty": frame(0x32, b""),
        "one byte": frame(0x32, b"\x00"),
        "topic beyond the packet": frame(0x32, b"\xff\xffab"),
        "no packet id": frame(0x32, text(b"a")),
        "half a packet id": frame(0x32, text(b"a") + b"\x00"),
        "packet id 0": frame(0x32, text(b"a") + b"\x00\x00\x00"),
        "empty of QoS 0": frame(0x30, b""),
        "QoS 0, topic beyond the packet": frame(0x30, b"\x00\x09a"),
    }


def packets_out_of_place() -> dict[str, bytes]:
    """Whole packets that no MQTT server sends to a client that has connected, and answers to nothing."""
    bodies = (b"", b"\x00", b"\x00\x01", b"\x00\x01\x00", b"\xff" * 40)
    kinds = [head for head in range(256) if head >> 4 not in {0x3, 0xE}]
    return {f"0x{head:02x} {body[:3].hex()}": bytes([head]) + with_length(body) for head in kinds for body in bodies}
