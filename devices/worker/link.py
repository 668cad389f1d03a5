"""Requests to a worker process, and its answers and notices."""

import asyncio
import base64
import binascii
from collections.abc import Callable
from typing import Any, NamedTuple

from devices.adapter import ArmAwayError, ArmError, ArmRefusedError, ArmTimeoutError, ArmUnreadableError
from devices.worker.frames import Document, encode
from devices.worker.process import Program
from devices.worker.supervisor import Supervisor


class Answer(NamedTuple):
    """What a worker answered: bytes, and whatever else its method gives."""

    payload: bytes = b""
    result: Any = None


class WorkerLink:
    """The link to the worker process of one arm, which is started by `open` and kept running until `close`.

    `notice` is called with each object that the worker sends unasked, `came` when a process takes requests, `lost`
    with the reason when it does so no more or cannot be started; all on the event loop.
    """

    def __init__(
        self,
        arm: str,
        program: Program,
        *,
        notice: Callable[[Document], None],
        came: Callable[[], None],
        lost: Callable[[str], None],
    ) -> None:
        self._arm = arm
        self._notice, self._tell_lost = notice, lost
        self._supervisor = Supervisor(arm, program, said=self._take, came=came, lost=self._lose)
        self._waiting: dict[int, asyncio.Future[Document]] = {}
        self._last = 0

    @property
    def pid(self) -> int:
        """The number of the process that takes requests, 0 when none does."""
        return self._supervisor.pid

    def open(self) -> None:
        """Start the process, unless it runs."""
        self._supervisor.open()

    async def wait_up(self, seconds: float) -> None:
        """Wait until a process takes requests.

        Raises:
            ArmAwayError: none does within `seconds`.
        """
        await self._supervisor.wait_up(seconds)

    async def call(
        self, method: str, payload: bytes | None = None, *, timeout_s: float, slack_s: float = 0.5, **more: Any
    ) -> Answer:
        """Ask the worker, which is told `timeout_s`; its answer is waited for `slack_s` longer.

        Raises:
            ArmAwayError: nothing was sent to the arm.
            ArmTimeoutError: sent, and no answer in time, or the process was lost.
            ArmUnreadableError: the answer cannot be read.
            ArmRefusedError: the arm refused.
        """
        self._last += 1
        number = self._last
        request = {"id": number, "method": method, "timeout_ms": round(timeout_s * 1000), **more}
        if payload is not None:
            request["payload"] = base64.b64encode(payload).decode()
        self._supervisor.send(encode(request))
        answer: asyncio.Future[Document] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            async with asyncio.timeout(timeout_s + slack_s):
                return _read(method, await answer)
        except TimeoutError:
            raise ArmTimeoutError(f"{method}: the worker of {self._arm} gave no answer") from None
        finally:
            self._waiting.pop(number, None)
            del answer  # what it raised holds this frame

    def restart(self, why: str) -> None:
        """End the process; another is started once it has ended."""
        self._supervisor.restart(why)

    async def close(self) -> None:
        """End the process; harmless when closed."""
        await self._supervisor.close()

    def _take(self, document: Document) -> None:
        """An object of the worker; an answer that nobody waits for any more is dropped."""
        if "notice" in document:
            self._notice(document)
            return
        answer = self._waiting.pop(document.get("id", 0), None) if isinstance(document.get("id"), int) else None
        if answer is not None and not answer.done():
            answer.set_result(document)

    def _lose(self, why: str) -> None:
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ArmTimeoutError(f"the worker of {self._arm} was lost: {why}"))
        self._waiting.clear()
        self._tell_lost(why)


def _read(method: str, document: Document) -> Answer:
    """The answer of a document.

    Raises:
        ArmError: as `WorkerLink.call`.
    """
    if document.get("ok") is not True:
        raise _error(method, document)
    try:
        payload = base64.b64decode(document.get("payload", ""), validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise ArmUnreadableError(f"{method}: the worker's payload is no base64") from None
    return Answer(payload, document.get("result"))


_KINDS: dict[str, type[ArmError]] = {"away": ArmAwayError, "timeout": ArmTimeoutError, "unreadable": ArmUnreadableError}


def _error(method: str, document: Document) -> ArmError:
    """The error of an answer that is none; a kind that nobody knows cannot be read."""
    text = f"{method}: {document.get('text', 'no reason given')}"
    code, sub = document.get("code"), document.get("sub")
    if document.get("kind") == "refused" and isinstance(code, int) and isinstance(sub, int):
        return ArmRefusedError(code, sub, str(document.get("name") or f"SUB_CODE_{sub}"), text)
    return _KINDS.get(str(document.get("kind")), ArmUnreadableError)(text)
