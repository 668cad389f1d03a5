"""A TCP proxy for tests: cuts connections, refuses or holds them, and keeps what clients sent."""

import asyncio
import contextlib
from typing import Self

PUBACK = 0x40


class TcpProxy:
    """Forwards connections from `port` (0: any that is free) to port `target` of 127.0.0.1.

    `sent` holds what each connection's client sent; while `refusing`, connections are aborted and counted in
    `refused`; while `forwarding` is not set, what clients send is kept back; while `answering` is not, what they get.
    """

    def __init__(self, target: int, port: int = 0) -> None:
        self.port = port
        self.sent: list[bytearray] = []
        self.refusing = False
        self.refused = 0
        self.forwarding = asyncio.Event()
        self.forwarding.set()
        self.answering = asyncio.Event()
        self.answering.set()
        self._target = target
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """Where a link connects to."""
        return f"mqtt://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        self.cut()
        await asyncio.gather(*self._tasks)

    def cut(self) -> None:
        """Abort every connection."""
        self.forwarding.set()
        self.answering.set()
        for writer in self._open:
            writer.transport.abort()

    def pubacks(self) -> list[list[int]]:
        """The packet ids that clients acknowledged, by connection."""
        return [_puback_ids(bytes(sent)) for sent in self.sent]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if self.refusing or task is None:
            self.refused += 1
            writer.transport.abort()
            return
        self._tasks.add(task)
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        self.sent.append(bytearray())
        ends = {writer, server_writer}
        self._open |= ends
        await asyncio.gather(
            self._pump(reader, server_writer, ends, self.sent[-1]), self._pump(server_reader, writer, ends, None)
        )
        self._open -= ends

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        ends: set[asyncio.StreamWriter],
        record: bytearray | None,
    ) -> None:
        """Copy until either end is gone, then abort both."""
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65_536):
                if record is not None:
                    await self.forwarding.wait()
                    record += data
                else:
                    await self.answering.wait()
                writer.write(data)
                await writer.drain()
        for end in ends:
            end.transport.abort()


def _puback_ids(sent: bytes) -> list[int]:
    """The packet ids of the PUBACKs in what an MQTT client sent."""
    ids = []
    at = 0
    while at < len(sent):
        kind, at = sent[at], at + 1
        length = shift = 0
        more = True
        while more:
            length |= (sent[at] & 0x7F) << shift
            more, shift, at = sent[at] >= 0x80, shift + 7, at + 1
        if kind == PUBACK:
            ids.append(int.from_bytes(sent[at : at + 2]))
        at += length
    return ids
