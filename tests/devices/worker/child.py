"""A worker for tests: does what it is asked to, well or badly. Standard library only."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Request = dict[str, Any]


def send(link: socket.socket, document: Request) -> None:
    body = json.dumps(document).encode()
    link.sendall(struct.pack(">I", len(body)) + body)


def receive(link: socket.socket) -> Request:
    head = link.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        sys.exit(0)
    request: Request = json.loads(link.recv(struct.unpack(">I", head)[0], socket.MSG_WAITALL))
    return request


def answer(link: socket.socket, request: Request, **more: Any) -> None:
    send(link, {"id": request["id"], "ok": True, **more})


def late(link: socket.socket, request: Request) -> None:
    time.sleep(request["s"])
    answer(link, request, result="late")


def shut(link: socket.socket, _request: Request) -> None:
    link.shutdown(socket.SHUT_WR)
    time.sleep(60)


def deaf(link: socket.socket, request: Request) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    answer(link, request)


def stderr(link: socket.socket, request: Request) -> None:
    for line in range(request["lines"]):
        sys.stderr.write(f"line {line} {'x' * request['width']}\n")
    sys.stderr.flush()
    answer(link, request)


def describe(link: socket.socket, request: Request) -> None:
    held = []
    for place in Path("/proc/self/fd").iterdir():
        try:
            held.append(str(place.readlink()))
        except FileNotFoundError:
            continue
    sockets = [name for name in held if name.startswith("socket:")]
    answer(link, request, result={"sid": os.getsid(0), "pid": os.getpid(), "sockets": sockets})


METHODS: dict[str, Callable[[socket.socket, Request], None]] = {
    "echo": lambda link, request: answer(link, request, payload=request.get("payload", ""), result=request.get("give")),
    "late": late,
    "fail": lambda link, request: send(link, {"id": request["id"], "ok": False, **request["answer"]}),
    "bytes": lambda link, request: link.sendall(bytes.fromhex(request["hex"])),
    "frame": lambda link, request: send(link, request["document"]),
    "shut": shut,
    "deaf": deaf,
    "stderr": stderr,
    "describe": describe,
}


def main() -> None:
    link = socket.socket(fileno=int(sys.argv[1]))
    while True:
        request = receive(link)
        METHODS[request["method"]](link, request)


if __name__ == "__main__":
    main()
