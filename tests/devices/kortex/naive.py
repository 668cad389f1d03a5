"""A client that takes the vendor's package at its word: shows each fault biting. Prints one JSON object.

`python naive.py FAULT PORT CONTROL [PORT2 CONTROL2]`, in an environment with the fake client.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from kortex_api.autogen.client_stubs.ControlConfigClientRpc import ControlConfigClient  # type: ignore[import-not-found] # only there
from kortex_api.autogen.messages import Common_pb2, Session_pb2  # type: ignore[import-not-found] # likewise
from kortex_api.RouterClient import RouterClient, RouterClientSendOptions  # type: ignore[import-not-found] # likewise
from kortex_api.SessionManager import SessionManager  # type: ignore[import-not-found] # likewise
from kortex_api.TCPTransport import TCPTransport  # type: ignore[import-not-found] # likewise

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "devices" / "kortex"))
import worker  # type: ignore[import-not-found] # found by the line above


class Plant:
    """One arm, and the vendor's objects for it."""

    def __init__(self, port: str, control: str) -> None:
        self.orders = socket.create_connection(("127.0.0.1", int(control)))
        self.transport = TCPTransport()
        self.router = RouterClient(self.transport, print)
        self.port = int(port)
        self.heard: list[int] = []

    def open(self) -> Plant:
        self.transport.connect("127.0.0.1", self.port)
        self.session = SessionManager(self.router)
        self.session.CreateSession(Session_pb2.CreateSessionInfo(username="broker", password="secret"))
        self.client = ControlConfigClient(self.router)
        return self

    def tell(self, order: str, **more: Any) -> None:
        self.orders.sendall(json.dumps({"do": order, **more}).encode() + b"\n")
        self.orders.makefile("rb").readline()

    def subscribe(self, callback: Any) -> None:
        self.client.OnNotificationControlConfigurationTopic(
            callback, Common_pb2.NotificationOptions(), options=options(1000)
        )

    def answers(self, timeout_ms: int = 500) -> bool:
        """Whether a call is answered."""
        try:
            self.client.GetGravityVector(options=options(timeout_ms))
        except concurrent.futures.TimeoutError:
            return False
        return True


def options(timeout_ms: int) -> Any:
    made = RouterClientSendOptions()
    made.timeout_ms = timeout_ms
    return made


def callback_error(arm: Plant) -> dict[str, Any]:
    arm.subscribe(lambda told: arm.heard.append(told.event))
    before = arm.answers()
    arm.tell("bad_event")
    return {"before": before, "after": arm.answers()}


SPINNING_S = 0.02
"""Processor time that one call that waits half a second cannot take, and a loop takes however busy the machine is."""


def closed_peer(arm: Plant) -> dict[str, Any]:
    before = arm.answers()
    arm.tell("close_peers")
    used = time.process_time()
    after = arm.answers()
    return {"before": before, "after": after, "spins": time.process_time() - used > SPINNING_S}


def split_header(arm: Plant) -> dict[str, Any]:
    before = arm.answers()
    arm.tell("split_headers")
    after = arm.answers()
    arm.tell("split_headers", on=False)
    return {"before": before, "after": after}


def call_in_callback(arm: Plant) -> dict[str, Any]:
    def callback(_told: Any) -> None:
        arm.heard.append(arm.answers(300))

    arm.subscribe(callback)
    arm.tell("event", event=2)
    time.sleep(0.6)
    return {"before": True, "after": arm.heard == [True]}


def early_notice(arm: Plant) -> dict[str, Any]:
    before = arm.answers()
    arm.tell("early_notice")
    try:
        arm.subscribe(lambda told: arm.heard.append(told.event))
    except concurrent.futures.TimeoutError:
        return {"before": before, "after": False}
    return {"before": before, "after": arm.answers()}


def two_routers(left: Plant, right: Plant, *, separate: bool = False) -> dict[str, Any]:
    if separate:
        worker.separate(left.router)
        worker.separate(right.router)
    for arm in (left.open(), right.open()):
        arm.subscribe(lambda told, arm=arm: arm.heard.append(told.event))
    right.tell("event", event=2)
    before = right.answers()
    left.tell("event", event=11)
    left.answers()
    time.sleep(0.2)
    return {"before": before, "after": (left.heard, right.heard) == ([11], [2])}


def dead_keep_alive(arm: Plant) -> dict[str, Any]:
    before = arm.session.m_thread.is_alive()
    arm.tell("deaf_to_keep_alive")
    time.sleep(0.6)
    after = arm.session.m_thread.is_alive()
    try:
        arm.session.CreateSession(Session_pb2.CreateSessionInfo(username="broker", password="secret"))
    except RuntimeError:
        return {"before": before, "after": after, "again": False}
    return {"before": before, "after": after, "again": True}


def mixed_sends(arm: Plant, *, locked: bool = False) -> dict[str, Any]:
    before = arm.answers()
    if locked:
        arm.transport.send = worker.one_at_a_time(arm.transport.send)
    done: list[bool] = []

    def call_often() -> None:
        done.extend(arm.answers(1000) for _ in range(10))

    threads = [threading.Thread(target=call_often, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"before": before, "after": all(done)}


def main() -> None:
    said = os.dup(1)
    os.dup2(2, 1)
    fault, *ports = sys.argv[1:]
    arms = [Plant(*ports[at : at + 2]) for at in range(0, len(ports), 2)]
    if fault.startswith("two_routers"):
        found = two_routers(*arms, separate=fault.endswith("separate"))
    elif fault.startswith("mixed_sends"):
        found = mixed_sends(arms[0].open(), locked=fault.endswith("locked"))
    else:
        found = globals()[fault](arms[0].open())
    os.write(said, json.dumps(found).encode())
    os._exit(0)


main()
