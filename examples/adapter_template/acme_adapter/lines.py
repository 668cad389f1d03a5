"""The link to an Acme arm: lines over TCP, one question at a time."""

import asyncio
from collections.abc import Callable

from armbroker.adapters import ArmAwayError, ArmTimeoutError, ArmUnreadableError


class LineLink:
    """One connection; `told` hears the words that the arm says unasked, `lost` why the connection ended."""

    def __init__(self, host: str, port: int, told: Callable[[list[str]], None], lost: Callable[[str], None]) -> None:
        self._host, self._port = host, port
        self._told, self._lost = told, lost
        self._number = 0
        self._open: tuple[str, asyncio.Future[list[str]]] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None

    async def open(self, within_s: float) -> None:
        """Connect, unless connected.

        Raises:
            ArmAwayError: there is no connection.
        """
        if self._writer is not None:
            return
        try:
            async with asyncio.timeout(within_s):
                reader, self._writer = await asyncio.open_connection(self._host, self._port)
        except (OSError, TimeoutError) as error:
            raise ArmAwayError(f"{self._host}:{self._port}: {error or 'no answer'}") from error
        self._reading = asyncio.create_task(self._read(reader))

    async def ask(self, *words: str, within_s: float) -> list[str]:
        """Ask, and return the words of the answer.

        Raises:
            ArmAwayError: there is no connection; nothing was sent.
            ArmTimeoutError: sent, no answer.
            ArmUnreadableError: the answer cannot be read.
        """
        if self._writer is None:
            raise ArmAwayError(f"no connection to {self._host}:{self._port}")
        self._number += 1
        answer: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        self._open = (str(self._number), answer)
        self._writer.write(f"{self._number} {' '.join(words)}\n".encode())
        try:
            async with asyncio.timeout(within_s):
                return await answer
        except TimeoutError as error:
            raise ArmTimeoutError(f"no answer to {words[0]} within {within_s:g} s") from error
        finally:
            self._open = None

    async def close(self) -> None:
        """End the connection; nobody is told."""
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.cancel()
            await asyncio.wait([reading])
        self._end("closed")

    async def _read(self, reader: asyncio.StreamReader) -> None:
        why = "the arm closed the connection"
        try:
            while line := await reader.readline():
                self._take(line)
        except OSError as error:
            why = str(error)
        self._end(why)
        self._lost(why)

    def _take(self, line: bytes) -> None:
        words = line.decode("ascii", "replace").split()
        if words[:1] == ["*"]:
            self._told(words[1:])
        elif self._open is not None and not self._open[1].done():
            number, answer = self._open
            if words[:1] == [number] and len(words) > 1:
                answer.set_result(words[1:])
            elif not words or not words[0].isdecimal():  # a number is that of a question given up before
                answer.set_exception(ArmUnreadableError(f"{line[:40]!r} is no answer"))

    def _end(self, why: str) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self._open is not None and not self._open[1].done():
            self._open[1].set_exception(ArmTimeoutError(f"no answer: {why}"))
