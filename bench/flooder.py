#!/usr/bin/env python3
"""Floods an MQTT server with requests of one: `flooder.py PORT RATE SECONDS KIND TAG ARMS [USER]`; prints how many."""

import contextlib
import random
import socket
import sys
import time

FLOODER = "flooder"
ROOT = "armbroker/v1"
ITEM = "twist_linear_soft_limit"
BURST_BYTES = 65_536
"""Sent at once, at most: who fell behind catches up bit by bit."""
KINDS = {
    "write": (
        "sim-{arm:04d}",
        "SetTwistLinearSoftLimit",
        '{{"control_mode":"CARTESIAN_JOYSTICK","' + ITEM + '":{value}}}',
    ),
    "read": ("sim-{arm:04d}", "GetGravityVector", "{{}}"),
    "history": ("sim-{arm:04d}", "GetHistory", '{{"limit":500}}'),
    "bad": (
        "sim-{arm:04d}",
        "SetTwistLinearSoftLimit",
        '{{"control_mode":"CARTESIAN_JOYSTICK","' + ITEM + '":-{value}}}',
    ),
    "unknown": ("nobody-{arm}", "GetGravityVector", "{{}}"),
}
"""What is flooded with: arm, method, params."""


def _text(value: str) -> bytes:
    raw = value.encode()
    return len(raw).to_bytes(2, "big") + raw


def _packet(kind: int, body: bytes) -> bytes:
    length, left = bytearray(), len(body)
    while True:
        left, low = divmod(left, 128)
        length.append(low | (0x80 if left else 0))
        if not left:
            return bytes([kind]) + bytes(length) + body


def flood(port: int, rate: float, seconds: float, kind: str, tag: str, arms: int, user: str = FLOODER) -> int:
    """Publish requests at QoS 1 as MQTT 3.1.1, however they are answered; how many."""
    arm, method, params = KINDS[kind]
    connection = socket.create_connection(("127.0.0.1", port))
    head = _text("MQTT") + bytes([4, 0x82, 0, 0]) + _text(f"flood-{tag}") + _text(user)
    connection.sendall(_packet(0x10, head))
    connection.recv(4)
    connection.settimeout(0)
    sent, begun_s = 0, time.perf_counter()
    while (now_s := time.perf_counter() - begun_s) < seconds:
        burst = b""
        while sent < now_s * rate and len(burst) < BURST_BYTES:
            sent += 1
            value = f"{0.02 + random.random() * 0.4:.4f}"
            topic = f"{ROOT}/req/{user}/flood-{tag}/{arm.format(arm=sent % arms)}/{method}"
            payload = f'{{"id":"{tag}-{sent}","params":{params.format(value=value)}}}'
            burst += _packet(0x32, _text(topic) + (sent % 65535 + 1).to_bytes(2, "big") + payload.encode())
        if burst:
            connection.settimeout(None)
            connection.sendall(burst)
            connection.settimeout(0)
        with contextlib.suppress(BlockingIOError):
            connection.recv(1 << 16)
        time.sleep(0.002)
    return sent


def main() -> int:
    """Read the command line and flood."""
    port, rate, seconds, kind, tag, arms, *user = sys.argv[1:]
    print(flood(int(port), float(rate), float(seconds), kind, tag, int(arms), *user))
    return 0


if __name__ == "__main__":
    sys.exit(main())
