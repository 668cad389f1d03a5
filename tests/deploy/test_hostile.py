"""The hostile publishes that the shipped MQTT server has to stop, sent byte for byte."""

import base64
import json
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

from broker.mqtt_link import LinkConfig
from broker.mqttium_link import MqttiumLink
from tests.links import PATIENCE_S, payloads, take
from tests.mosquitto import Mosquitto

CONNECT, PUBLISH, PINGREQ, PINGRESP = 0x10, 0x30, 0xC0, 0xD0
WITH_USER_PASSWORD_CLEAN_START = 0xC2


def frame(kind: int, body: bytes) -> bytes:
    """One MQTT packet."""
    length = bytearray()
    left = len(body)
    while True:
        left, low = divmod(left, 128)
        length.append(low | (0x80 if left else 0))
        if not left:
            return bytes([kind]) + length + body


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


def send(plant: Mosquitto, vector: dict[str, Any]) -> None:
    """Publish `vector` as its user; return once the MQTT server has dealt with it."""
    v5 = vector["mqtt"]["version"] == 5
    no_properties = b"\x00" if v5 else b""
    topic = bytes.fromhex(vector["topic_hex"]) if "topic_hex" in vector else vector["topic"].encode()
    qos, retain = vector["mqtt"]["qos"], vector["mqtt"]["retain"]
    conn, user = vector["conn"].encode(), vector["user"]
    head = text(b"MQTT") + bytes([5 if v5 else 4, WITH_USER_PASSWORD_CLEAN_START, 0, 60]) + no_properties
    connect = frame(CONNECT, head + text(conn) + text(user.encode()) + text(plant.passwords[user].encode()))
    packet_id = b"\x00\x01" if qos else b""
    publish = frame(PUBLISH | qos << 1 | int(retain), text(topic) + packet_id + no_properties + payload_of(vector))
    with socket.create_connection(("127.0.0.1", plant.port), PATIENCE_S) as connection, suppress(ConnectionError):
        connection.sendall(connect + publish + frame(PINGREQ, b""))
        answers = b""
        while frame(PINGRESP, b"") not in answers and (more := connection.recv(4096)):
            answers += more


async def test_the_server_stops_what_is_its_to_stop(plant: Mosquitto, vectors_dir: Path) -> None:
    lines = (vectors_dir / "hostile_inputs.jsonl").read_text().splitlines()
    vectors = [one for one in map(json.loads, lines) if one["layer"] == "mqtt_server"]
    assert vectors
    service = MqttiumLink(
        LinkConfig(
            url=plant.url,
            client_id="armbroker-main",
            filters=("armbroker/v1/req/#", "armbroker/v1/state/#"),
            user="svc",
            password=plant.passwords["svc"],
        )
    )
    await service.open()
    for vector in vectors:
        send(plant, vector)
    good = {
        "user": "bob",
        "conn": "bob-hmi",
        "mqtt": {"version": 4, "qos": 1, "retain": False},
        "topic": "armbroker/v1/req/bob/bob-hmi/arm-0500/WhoAmI",
        "payload_b64": base64.b64encode(b"good").decode(),
    }
    send(plant, good)
    assert payloads(await take(service.messages(), 1)) == [b"good"]
    await service.close()
