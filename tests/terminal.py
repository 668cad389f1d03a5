"""A program in a real pseudo-terminal, and what stands on its screen."""

import asyncio
import fcntl
import os
import pty
import signal
import struct
import termios
from collections.abc import Callable, Mapping, Sequence
from typing import Self

import pyte

PATIENCE_S = 30.0
UP, DOWN, END, ESCAPE = "\x1b[A", "\x1b[B", "\x1b[F", "\x1b"


class Terminal:
    """One program; an async context manager. `sent` are all bytes that it wrote."""

    def __init__(
        self,
        command: Sequence[str],
        columns: int = 140,
        lines: int = 40,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._command = command
        inherited = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES", "NO_COLOR"}}
        self._environment = {**inherited, "TERM": "xterm-256color", **(environment or {})}
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self._news = asyncio.Event()
        self.sent = b""

    async def __aenter__(self) -> Self:
        self._ours, theirs = pty.openpty()
        self._size(theirs)
        self.process = await asyncio.create_subprocess_exec(
            *self._command, stdin=theirs, stdout=theirs, stderr=theirs, env=self._environment, start_new_session=True
        )
        os.close(theirs)
        asyncio.get_running_loop().add_reader(self._ours, self._read)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        asyncio.get_running_loop().remove_reader(self._ours)
        os.close(self._ours)

    @property
    def text(self) -> str:
        """What stands on the screen."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    def type(self, keys: str) -> None:
        """Type."""
        os.write(self._ours, keys.encode())

    def resize(self, columns: int, lines: int) -> None:
        """Make the window another size."""
        self._screen.resize(lines, columns)
        self._size(self._ours)
        os.killpg(self.process.pid, signal.SIGWINCH)

    async def until(self, wanted: Callable[[str], object]) -> str:
        """Wait until the screen is as wanted; its text."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not wanted(self.text):
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise TimeoutError(f"never seen; the screen:\n{self.text}") from None
        return self.text

    async def shows(self, *texts: str) -> str:
        """Wait until all texts stand on the screen."""
        return await self.until(lambda screen: all(text in screen for text in texts))

    async def ended(self) -> int:
        """Wait for the end; the exit code."""
        return await asyncio.wait_for(self.process.wait(), PATIENCE_S)

    def _size(self, descriptor: int) -> None:
        size = struct.pack("HHHH", self._screen.lines, self._screen.columns, 0, 0)
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, size)

    def _read(self) -> None:
        try:
            data = os.read(self._ours, 65_536)
        except OSError:  # the program has gone
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._ours)
            return
        self.sent += data
        self._stream.feed(data)
        self._news.set()
