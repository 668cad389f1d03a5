"""The session with one Kinova arm, in its worker process: opened, watched, opened anew."""

import asyncio
import base64
from collections.abc import Callable
from typing import Any

import structlog

from devices.adapter import (
    ArmAwayError,
    ArmError,
    ArmRefusedError,
    ArmTimeoutError,
    ArmUnreadableError,
    LinkState,
    Notice,
)
from devices.kortex.arm_state import SERVOING_READY, link_state
from devices.kortex.events import TOPICS
from devices.kortex.reading import UNSUPPORTED
from devices.worker import Program, WorkerLink
from devices.worker.frames import Document
from schema.codecs.protobuf import encode_message
from schema.messages import NotificationOptions

log = structlog.get_logger()

WATCH_S = 1.0
"""How often the arm is asked whether it is there."""
ANSWER_S, SLACK_S = 0.8, 0.2
"""How long the arm may take to say so, and its worker longer."""
MISSES = 2
"""Questions in a row without answer after which the worker is started anew."""
CLOSE_S = 1.0
SESSION_GONE = frozenset({12, 54})
"""Sub codes that end a session: INVALID_SESSION, INVALID_USER_SESSION_ACCESS."""
METHOD_TIMEOUT = 131


class Session:
    """One session at a time, never mended: whatever is wrong with it, the worker is started anew.

    `tell` is called when the session is lost, there again, or the arm ready or not; `heard` with the topic and bytes of
    each notification; `opened` with our address at the arm. `watched` is the call that the watch makes.
    """

    def __init__(
        self,
        arm: str,
        program: Program,
        login: dict[str, Any],
        *,
        open_s: float,
        call_s: float,
        tell: Callable[[Notice], None],
        heard: Callable[[str, bytes], None],
        opened: Callable[[str], None],
    ) -> None:
        self._arm, self._login, self._open_s, self._call_s = arm, login, open_s, call_s
        self._tell, self._heard, self._opened = tell, heard, opened
        self._link = WorkerLink(arm, program, notice=self._on_notice, came=self._on_start, lost=self._on_loss)
        self._turn = asyncio.Lock()
        self._settled = asyncio.Event()
        self._wanted = self._started = self._is_open = False
        self._online = self._away = False
        self._why = "it was not opened"
        self._state, self._silences, self._misses = SERVOING_READY, 0, 0
        self._watcher: asyncio.Task[None] | None = None
        self.watched = "GetControlMode"
        self.notes: tuple[str, ...] = ()
        """What this firmware cannot tell."""

    @property
    def pid(self) -> int:
        """The number of the worker process, 0 when there is none."""
        return self._link.pid

    async def open(self, seconds: float) -> None:
        """Wait for a session, and keep one open from now on.

        Raises:
            ArmAwayError: there is none; it is told when there is.
        """
        if not self._wanted:
            self._wanted = True
            self._settled.clear()
            self._link.open()
        try:
            await self.wait(seconds)
        except ArmAwayError:
            self._away = True
            raise

    async def wait(self, seconds: float) -> None:
        """Wait for a session that is being opened anew.

        Raises:
            ArmAwayError: there is none.
        """
        try:
            async with asyncio.timeout(seconds if self._wanted else 0):
                await self._settled.wait()
        except TimeoutError:
            self._why = f"none within {seconds:g} s"
            await self._link.wait_up(0)
        self._refuse_unless_open()

    def confirm_online(self) -> None:
        """The arm was described: from now on it is told when it is lost; that it takes no change is told now."""
        self._online, self._away = True, False
        if self._state != SERVOING_READY:
            self._tell(link_state(self._state))

    async def call(self, method: str, payload: bytes = b"") -> bytes:
        """One call of the arm.

        Raises:
            ArmAwayError: there is no session; nothing was sent.
            ArmTimeoutError, ArmUnreadableError: the outcome is unknown.
            ArmRefusedError: the arm refused.
        """
        async with self._turn:
            self._refuse_unless_open()
            return await self._ask(method, payload, self._call_s)

    async def identity(self) -> dict[str, Any]:
        """What the arm says it is: `serial`, `firmware`, `actuators`, and in `missing` why one is not there.

        Raises:
            ArmError: as `call`.
        """
        async with self._turn:
            self._refuse_unless_open()
            found = (await self._link.call("identity", timeout_s=self._call_s)).result
        return found if isinstance(found, dict) else {}

    def restart(self, why: str) -> None:
        """End the session with its worker, and open another."""
        self._link.restart(why)

    async def close(self) -> None:
        """Log out, and end the worker; harmless when closed."""
        was_open = self._is_open
        self._wanted = self._is_open = self._online = self._away = False
        self._why = "it was closed"
        self._settled.set()
        self._stop_watching()
        if was_open:
            try:
                await self._link.call("close", timeout_s=CLOSE_S, slack_s=0)
            except ArmError as error:
                log.info("session_not_closed", arm=self._arm, why=str(error))
        await self._link.close()

    def _refuse_unless_open(self) -> None:
        if not self._is_open:
            raise ArmAwayError(f"{self._arm}: no session: {self._why}")

    async def _ask(self, method: str, payload: bytes, seconds: float, slack_s: float = 0.5) -> bytes:
        """Call the arm; the second call in a row without answer ends the session."""
        try:
            answer = await self._link.call(method, payload, timeout_s=seconds, slack_s=slack_s)
        except ArmRefusedError as refusal:
            self._misses = 0
            if refusal.sub_code == METHOD_TIMEOUT:
                raise ArmTimeoutError(str(refusal)) from None
            if refusal.sub_code in SESSION_GONE:
                self.restart(f"the arm knows the session no more: {refusal}")
            raise
        except ArmUnreadableError:
            raise
        except ArmTimeoutError as error:
            self._miss(error)
            raise
        self._misses = 0
        return answer.payload

    def _miss(self, error: ArmError) -> None:
        self._misses += 1
        log.warning("arm_silent", arm=self._arm, why=str(error), misses=self._misses)
        if self._misses >= MISSES:
            self.restart(f"{MISSES} questions in a row were not answered")

    # ------------------------------------------------------------------ the worker's life

    def _on_start(self) -> None:
        self._started = True
        if self._wanted:
            self._settled.clear()
            self._watcher = asyncio.create_task(self._serve(), name=f"session with {self._arm}")

    def _on_loss(self, why: str) -> None:
        self._is_open, self._why = False, why
        if self._wanted and self._started:
            self._settled.clear()
        else:
            self._settled.set()
        self._started = False
        self._stop_watching()
        if self._online:
            self._online, self._away = False, True
            self._tell(LinkState(online=False, ready=False, why=why))

    def _stop_watching(self) -> None:
        watcher, self._watcher = self._watcher, None
        if watcher is not None and watcher is not asyncio.current_task():
            watcher.cancel()

    async def _serve(self) -> None:
        """Open the session, then watch it until the worker is lost."""
        try:
            await self._open()
        except ArmError as error:
            log.warning("session_not_opened", arm=self._arm, why=str(error))
            self.restart(str(error))
            self._settled.set()
            return
        self._is_open = True
        self._settled.set()
        if self._away:
            self._online, self._away = True, False
            self._tell(link_state(self._state))
        await self._watch()

    async def _open(self) -> None:
        answer = await self._link.call("open", timeout_s=self._open_s, **self._login)
        self._silences = self._misses = 0
        self._opened(str((answer.result or {}).get("address", "")))
        notes = []
        for topic in TOPICS:
            try:
                await self._ask(topic, encode_message(NotificationOptions()), self._call_s)
            except ArmRefusedError as refusal:
                notes.append(f"{topic} cannot be heard: {refusal}")
        self.notes = (*notes, *await self._look())

    async def _look(self) -> tuple[str, ...]:
        """See what state the arm is in; a note where it does not tell."""
        try:
            answer = (await self._link.call("arm_state", timeout_s=ANSWER_S, slack_s=SLACK_S)).result
        except ArmRefusedError as refusal:
            if refusal.sub_code not in UNSUPPORTED:
                raise
            self._state = SERVOING_READY
            return ("the arm does not tell its state: it counts as ready",)
        before, self._state = self._state, _number(answer, "state")
        if self._is_open and (before != self._state or self._state != SERVOING_READY):
            self._tell(link_state(self._state))
        return ()

    async def _watch(self) -> None:
        """Ask once a second whether all is well."""
        while self._is_open:
            await asyncio.sleep(0 if self._misses else WATCH_S)
            before = self._misses
            try:
                await self._check()
            except ArmRefusedError as refusal:
                log.info("watch_refused", arm=self._arm, why=str(refusal))
            except ArmError as error:
                if self._misses == before:
                    self._miss(error)

    async def _check(self) -> None:
        """Whether worker and arm answer.

        Raises:
            ArmError: one does not.
        """
        facts = (await self._link.call("facts", timeout_s=ANSWER_S, slack_s=SLACK_S)).result
        before, self._silences = self._silences, _number(facts, "silences")
        if self._silences > before:
            log.info("keep_alive_late", arm=self._arm, times=self._silences)
        if not _number(facts, "alive"):
            self.restart("the thread that keeps the session alive has ended")
            raise ArmAwayError("the session dies")
        async with self._turn:
            await self._ask(self.watched, b"", ANSWER_S, SLACK_S)
            await self._look()

    def _on_notice(self, document: Document) -> None:
        """What the worker says unasked."""
        if document["notice"] == "event":
            self._heard(str(document.get("topic")), base64.b64decode(str(document.get("payload"))))
        elif document["notice"] == "broken":
            self.restart(str(document.get("why")))


def _number(result: Any, name: str) -> int:
    """A number of what the worker found.

    Raises:
        ArmUnreadableError: there is none.
    """
    try:
        return int(result[name])
    except (LookupError, TypeError, ValueError):
        raise ArmUnreadableError(f"the worker tells no {name}") from None
