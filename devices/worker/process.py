"""One run of a worker process: started, spoken to, ended, reaped."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Mapping
from typing import NamedTuple

from devices.adapter import ArmAwayError
from devices.worker.frames import Decoder, Document, FrameError
from devices.worker.stderr import StderrLog

KILL_AFTER_S = 2.0
"""How long a process that was told to end may take."""

END_AFTER_S = 0.2
"""How long a process that closed its link may take to end by itself."""


class Program(NamedTuple):
    """How to start a worker: its words, to which the number of its descriptor is added, and its environment."""

    argv: tuple[str, ...]
    env: Mapping[str, str] | None = None
    """None: the environment of the service."""


class WorkerProcess(asyncio.Protocol):
    """A process that speaks frames over a socket pair; `said` is called with each object that it sends.

    It has a session of its own, so that a signal of the terminal does not reach it, and holds no descriptor of the
    service but its end of the pair: when the service ends, however it does, the pair closes and the worker ends.
    """

    def __init__(self, arm: str, program: Program, said: Callable[[Document], None]) -> None:
        self._arm, self._program, self._said = arm, program, said
        self._loop = asyncio.get_running_loop()
        self._decoder = Decoder()
        self._process: subprocess.Popen[bytes] | None = None
        self._pidfd = -1
        self._pair: asyncio.Transport | None = None
        self._stderr: asyncio.BaseTransport | None = None
        self._killer: asyncio.TimerHandle | None = None
        self._why = ""
        self._ended: asyncio.Future[None] = self._loop.create_future()

    @property
    def pid(self) -> int:
        """The number of the process; 0 before its start."""
        return self._process.pid if self._process is not None else 0

    async def start(self) -> None:
        """Start the process.

        Raises:
            ArmAwayError: it cannot be started; the text says why.
        """
        ours, theirs = socket.socketpair()
        try:
            self._process = self._spawn(theirs.fileno())
        except (OSError, ValueError) as error:
            ours.close()
            raise ArmAwayError(f"worker of {self._arm} cannot be started: {error}") from error
        finally:
            theirs.close()
        self._pidfd = os.pidfd_open(self._process.pid)
        self._loop.add_reader(self._pidfd, self._reap)
        ours.setblocking(False)
        await self._loop.create_connection(lambda: self, sock=ours)
        stderr = StderrLog(self._arm, self._process.pid, self._loop.time)
        self._stderr, _ = await self._loop.connect_read_pipe(lambda: stderr, self._process.stderr)

    def _spawn(self, descriptor: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - the words are those of an adapter
            [*self._program.argv, str(descriptor)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=(descriptor,),
            env=self._program.env,
            start_new_session=True,
        )

    def send(self, frame: bytes) -> None:
        """Send a frame; harmless when the process has ended."""
        if self._pair is not None:
            self._pair.write(frame)

    def stop(self, why: str) -> None:
        """Tell the process to end, and kill it when it does not; harmless when it has ended or was told."""
        if self._killer is not None or self._ended.done() or self._process is None:
            return
        self._why = why
        self._signal(signal.SIGTERM)
        self._killer = self._loop.call_later(KILL_AFTER_S, self._signal, signal.SIGKILL)

    async def ended(self) -> str:
        """Wait until the process has ended and is reaped; how it ended."""
        await asyncio.shield(self._ended)
        return self._why

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        if isinstance(transport, asyncio.Transport):
            self._pair = transport

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`; a process that sends no frames is ended."""
        if self._killer is not None:
            return
        try:
            for document in self._decoder.feed(data):
                self._said(document)
        except FrameError as error:
            self.stop(f"what it sent cannot be read: {error}")

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`; a process that closed its end is ending, or of no use any more."""
        del exc
        self._pair = None
        if not self._ended.done():
            self._loop.call_later(END_AFTER_S, self.stop, "it closed its link")

    def _reap(self) -> None:
        """The process has ended: take its exit code, let go of all descriptors."""
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        if self._process is None:
            return
        code = self._process.wait()
        if self._killer is not None:
            self._killer.cancel()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        self._why = f"{self._why or 'it ended by itself'} ({how})"
        self._ended.set_result(None)
        for transport in (self._pair, self._stderr):
            if transport is not None:
                self._loop.call_soon(transport.close)
