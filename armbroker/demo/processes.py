"""Processes that live as long as the demo."""

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import NamedTuple

_END_S = 10.0
_LOG_LINES = 15


class DemoError(Exception):
    """The demo cannot go on."""


class Child(NamedTuple):
    """A running process and where its output goes."""

    name: str
    process: Process
    log: Path

    async def ended(self) -> DemoError:
        """Wait for its end, which nobody wanted; what to tell of it."""
        code = await self.process.wait()
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_LINES:]
        return DemoError("\n".join([f"{self.name} ended with exit code {code}:", *lines]))


@contextlib.asynccontextmanager
async def child(name: str, command: Sequence[str], folder: Path) -> AsyncIterator[Child]:
    """A running process in a session of its own, so that Ctrl-C reaches only us; ended, with its children, on leaving.

    Raises:
        DemoError: it cannot be started.
    """
    log = folder / f"{name}.log"
    with log.open("wb") as out:
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )
        except OSError as error:
            raise DemoError(f"{name}: {error}") from error
    try:
        yield Child(name, process, log)
    finally:
        await _end(process)


async def _end(process: Process) -> None:
    if process.returncode is None:
        process.terminate()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                await process.wait()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # what it left running, and itself if it did not end
    await process.wait()
