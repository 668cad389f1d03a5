"""A worker that tells and answers what it is told by its one argument of words; standard library only.

Usage: odd_worker.py JSON OPTIONS FD, where JSON has the notice that it begins with and answers by method.
"""

import json
import socket
import struct
import sys
from typing import Any


def send(link: socket.socket, frame: dict[str, Any]) -> None:
    body = json.dumps(frame).encode()
    link.sendall(struct.pack(">I", len(body)) + body)


def main() -> None:
    told, link = json.loads(sys.argv[1]), socket.socket(fileno=int(sys.argv[3]))
    if "notice" in told:
        send(link, told["notice"])
    while head := link.recv(4, socket.MSG_WAITALL):
        request = json.loads(link.recv(struct.unpack(">I", head)[0], socket.MSG_WAITALL))
        send(link, {"id": request["id"], "ok": True, "result": told.get(request["method"])})


if __name__ == "__main__":
    main()
