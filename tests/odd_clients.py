"""Clients that publish what no library sends."""

import socket
from contextlib import suppress

from tests.fake_server import publish
from tests.links import PATIENCE_S
from tests.mosquitto import Mosquitto
from tests.raw_publish import CONNECT, PINGREQ, PINGRESP, frame, text


def send(server: Mosquitto, topic: bytes, payload: bytes, properties: bytes, *, retain: bool = False) -> None:
    """Publish with properties that no library sends; whatever Mosquitto says to it."""
    connect = frame(CONNECT, text(b"MQTT") + b"\x05\x02\x00\x3c\x00" + text(b""))
    head = 0x31 if retain else 0x30
    packets = connect + publish(topic, payload, properties=properties, head=head) + frame(PINGREQ, b"")
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as connection, suppress(ConnectionError):
        connection.sendall(packets)
        answers = b""
        while frame(PINGRESP, b"") not in answers and (more := connection.recv(4096)):
            answers += more
