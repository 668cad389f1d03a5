"""The end of sd_notify that systemd has: a datagram socket, and what came on it."""

import asyncio
import socket
from pathlib import Path
from typing import Self

PATIENCE_S = 60.0


class NotifySocket:
    """A real socket at `address`; use as `with`. `messages` are those that came so far, as name to value."""

    def __init__(self, folder: Path) -> None:
        self.address = str(folder / "notify")
        self.messages: list[dict[str, str]] = []
        self._looked = 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)

    def __enter__(self) -> Self:
        self._socket.bind(self.address)
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def take(self) -> list[dict[str, str]]:
        """What came and was not looked at yet."""
        self._receive()
        fresh, self._looked = self.messages[self._looked :], len(self.messages)
        return fresh

    async def wait_for(self, name: str, value: str = "1") -> dict[str, str]:
        """The next message that has this, of those not looked at yet."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                self._receive()
                while self._looked < len(self.messages):
                    message = self.messages[self._looked]
                    self._looked += 1
                    if message.get(name) == value:
                        return message
                await asyncio.sleep(0.01)

    def _receive(self) -> None:
        while True:
            try:
                data = self._socket.recv(65536)
            except BlockingIOError:
                return
            self.messages.append(dict(line.split("=", 1) for line in data.decode().split("\n")))
