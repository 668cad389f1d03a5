"""The TCP connection and its receive thread."""

import json
import socket
import struct
import threading

MARK = bytes.fromhex("07784574526F4B07")
HEADER = len(MARK) + 4


class TCPTransport:
    def __init__(self):
        self.sock = None
        self.thread = None
        self.on_frame = None
        self.header = bytearray(HEADER)

    def connect(self, ip, port):
        self.sock = socket.create_connection((ip, port), timeout=5)
        self.sock.settimeout(None)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.thread = threading.Thread(target=self._receive, daemon=True)
        self.thread.start()

    def disconnect(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join()  # (2) hangs while the thread spins

    def send(self, body):
        """(8) Not locked, and header and body go out one after the other, from one header for all."""
        self.header[: len(MARK)] = MARK
        self.header[len(MARK) :] = struct.pack(">I", len(body))
        self.sock.sendall(self.header)
        threading.Event().wait(0.0005)  # another thread gets its turn
        self.sock.sendall(body)

    def _receive(self):
        in_body = False
        body, missing = b"", 0
        while True:
            if not in_body:
                head = self.sock.recv(HEADER)
                if len(head) < HEADER or head[: len(MARK)] != MARK:
                    continue  # (2) an empty read spins; (3) a part of a header is dropped
                (missing,) = struct.unpack(">I", head[len(MARK) :])
                in_body, body = True, b""
            while missing:
                part = self.sock.recv(missing)
                body += part  # (2) an empty read spins here without end
                missing -= len(part)
            try:
                self.on_frame(json.loads(body))
                in_body = False
            except Exception as error:
                # (1) stays in the state "in body" with nothing missing: spins, and nothing is received ever again
                print("receive loop:", repr(error))
                while True:
                    pass
