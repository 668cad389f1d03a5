"""Publishes sent byte for byte, for what no client library sends."""

import base64
import socket
from contextlib import suppress
from typing import Any

from tests.links import PATIENCE_S
from tests.mosquitto import Mosquitto

CONNECT, PUBLISH, PINGREQ, PINGRESP = 0x10, 0x30, 0xC0, 0xD0
WITH_USER_PASSWORD_CLEAN_START, WITH_WILL = 0xC2, 0x04
CONTENT_TYPE, RESPONSE_TOPIC, CORRELATION_DATA = 0x03, 0x08, 0x09
CONTENT_TYPES = {"json": "application/json", "msgpack": "application/msgpack", "protobuf": "application/x-protobuf"}


def with_length(body: bytes) -> bytes:
    """A body after its length as MQTT's variable byte integer."""
    length = bytearray()
    left = len(body)
    while True:
        left, low = divmod(left, 128)
        length.append(low | (0x80 if left else 0))
        if not left:
            return bytes(length) + body


def frame(kind: int, body: bytes) -> bytes:
    """One MQTT packet."""
    return bytes([kind]) + with_length(body)


def text(value: bytes) -> bytes:
    """A length-prefixed string of MQTT."""
    return len(value).to_bytes(2) + value


def payload_of(vector: dict[str, Any]) -> bytes:
    """The bytes a vector publishes."""
    if "payload_b64" in vector:
        return base64.b64decode(vector["payload_b64"])
    parts = vector["payload_repeat"]
    prefix, unit, suffix = (base64.b64decode(parts[f"{part}_b64"]) for part in ("prefix", "unit", "suffix"))
    return bytes(prefix + unit * int(parts["count"]) + suffix)


def response_topic(vector: dict[str, Any]) -> str:
    """Where a vector wants its reply."""
    return f"armbroker/v1/res/{vector['user']}/{vector['conn']}/{vector['id'].lower()}"


def properties_of(vector: dict[str, Any]) -> bytes:
    """The properties a vector is published with: Content Type, Response Topic, Correlation Data; none before MQTT 5."""
    if vector["mqtt"]["version"] != 5:
        return b""
    found = {RESPONSE_TOPIC: response_topic(vector).encode(), CORRELATION_DATA: vector["id"].lower().encode()}
    if vector["encoding"] in CONTENT_TYPES:
        found[CONTENT_TYPE] = CONTENT_TYPES[vector["encoding"]].encode()
    if "correlation_data" in vector["mqtt"]:
        del found[CORRELATION_DATA]
    return with_length(b"".join(bytes([number]) + text(value) for number, value in found.items()))


def topic_of(vector: dict[str, Any]) -> bytes:
    """The topic a vector is published on."""
    return bytes.fromhex(vector["topic_hex"]) if "topic_hex" in vector else vector["topic"].encode()


def packets_of(vector: dict[str, Any], password: str, conn: str = "") -> bytes:
    """CONNECT as `conn` (unless given, the vector's), then the vector as its PUBLISH, or as the will of the CONNECT."""
    mqtt = vector["mqtt"]
    v5 = mqtt["version"] == 5
    nothing = b"\x00" if v5 else b""
    will, qos, retain = mqtt.get("will", False), mqtt["qos"], int(mqtt["retain"])
    message = text(topic_of(vector))
    flags = WITH_USER_PASSWORD_CLEAN_START | (WITH_WILL | qos << 3 | retain << 5 if will else 0)
    last_will = properties_of(vector) + message + text(payload_of(vector)) if will else b""
    names = text((conn or vector["conn"]).encode()) + last_will + text(vector["user"].encode())
    head = text(b"MQTT") + bytes([5 if v5 else 4, flags, 0, 60]) + nothing
    connect = frame(CONNECT, head + names + text(password.encode()))
    if will:
        return connect
    packet_id = b"\x00\x01" if qos else b""
    kind = PUBLISH | int(mqtt.get("dup", False)) << 3 | qos << 1 | retain
    return connect + frame(kind, message + packet_id + properties_of(vector) + payload_of(vector))


def send(server: Mosquitto, vector: dict[str, Any], conn: str = "") -> None:
    """Publish `vector` as its user; return once the MQTT server has dealt with it. A will is left by hanging up."""
    packets = packets_of(vector, server.passwords.get(vector["user"], ""), conn)
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as connection, suppress(ConnectionError):
        connection.sendall(packets + frame(PINGREQ, b""))
        answers = b""
        while frame(PINGRESP, b"") not in answers and (more := connection.recv(4096)):
            answers += more
