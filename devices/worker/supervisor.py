"""Keeps one worker process running: started again when it ends, ever more slowly when it keeps ending."""

import asyncio
from collections.abc import Callable

import structlog

from devices.adapter import ArmAwayError
from devices.worker.frames import Document
from devices.worker.process import Program, WorkerProcess
from schema.backoff import Backoff

log = structlog.get_logger()

FIRST_S, MOST_S = 2.0, 30.0
"""How long to wait before a process is started again: at first, and in the end; shortened at random by up to a half."""
STABLE_S = 5.0
"""A process that ran for so long counts as sound: the next wait is the first again."""


class Supervisor:
    """One process at a time; `said`, `came` and `lost` (with the reason) are called on the event loop.

    `lost` is called too when a process cannot be started.
    """

    def __init__(
        self,
        arm: str,
        program: Program,
        *,
        said: Callable[[Document], None],
        came: Callable[[], None],
        lost: Callable[[str], None],
    ) -> None:
        self._arm, self._program = arm, program
        self._said, self._came, self._lost = said, came, lost
        self._process: WorkerProcess | None = None
        self._up = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._backoff = Backoff(FIRST_S, MOST_S)
        self._why = "not started"

    @property
    def pid(self) -> int:
        """The number of the running process, 0 when none takes requests."""
        return self._process.pid if self._process is not None and self._up.is_set() else 0

    def open(self) -> None:
        """Start, unless it runs."""
        if self._task is None:
            self._task = asyncio.create_task(self._supervise(), name=f"worker of {self._arm}")

    async def wait_up(self, seconds: float) -> None:
        """Wait until a process takes requests.

        Raises:
            ArmAwayError: none does within `seconds`.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._up.wait()
        except TimeoutError:
            raise ArmAwayError(f"no worker of {self._arm}: {self._why}") from None

    def send(self, frame: bytes) -> None:
        """Send a frame.

        Raises:
            ArmAwayError: no process takes requests; nothing was sent.
        """
        if self._process is None or not self._up.is_set():
            raise ArmAwayError(f"no worker of {self._arm}: {self._why}")
        self._process.send(frame)

    def restart(self, why: str) -> None:
        """End the process, and start another once it has ended; harmless when none runs."""
        if self._process is not None and self._up.is_set():
            self._go_down(why)
            self._process.stop(why)

    async def close(self) -> None:
        """End the process and start no other; returns once it has ended. Harmless when closed."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait([task])
        self._go_down("closed")

    def _go_down(self, why: str) -> None:
        """No process takes requests from now on."""
        self._why = why
        if self._up.is_set():
            self._up.clear()
            self._lost(why)

    async def _supervise(self) -> None:
        while True:
            began = asyncio.get_running_loop().time()
            why = await self._run_once()
            self._go_down(why)
            if asyncio.get_running_loop().time() - began >= STABLE_S:
                self._backoff.reset()
            wait_s = self._backoff.next_s()
            log.warning("worker_ended", arm=self._arm, why=why, restart_in_s=round(wait_s, 1))
            await asyncio.sleep(wait_s)

    async def _run_once(self) -> str:
        """One process from its start to its end; why it ended."""
        process = WorkerProcess(self._arm, self._program, self._said)
        try:
            await process.start()
            self._process = process
            log.info("worker_started", arm=self._arm, pid=process.pid)
            self._up.set()
            self._came()
            return await process.ended()
        except ArmAwayError as error:
            self._lost(str(error))
            return str(error)
        except asyncio.CancelledError:
            self._go_down("closed")
            process.stop("closed")
            if process.pid:
                await process.ended()
            raise
        finally:
            self._process = None
