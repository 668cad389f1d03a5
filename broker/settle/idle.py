"""Arms that changes wait for until they are idle: since when they are, and when the changes may go."""

from collections.abc import Callable
from dataclasses import dataclass

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import ChangeJob
from broker.publish.documents import Documents
from broker.timers import Timer, Timers
from handlers.state.rest import unrest

WAITS = "waits for idle: "
"""How the reason of a change that waits begins."""


@dataclass(slots=True)
class _Rest:
    """One arm that changes wait for; `since` in s of the monotonic clock, None while it is not idle.

    `long`: it is idle for long enough; `read`: and was read whole since.
    """

    since: float | None = None
    timer: Timer | None = None
    long: bool = False
    read: bool = False


class IdleWatch:
    """Watches the arms for which changes wait, all on one timer; one that nobody waits for costs nothing.

    An arm counts as idle from when a change began to wait for it, and each break begins anew. When that lasted for
    `idle_for_s` it is read; what is idle then as well lets the changes go.
    """

    def __init__(self, timers: Timers, documents: Documents, monotonic: Callable[[], float], idle_for_s: float) -> None:
        self._timers = timers
        self._documents = documents
        self._monotonic = monotonic
        self.idle_for_s = idle_for_s
        self._rests: dict[str, _Rest] = {}
        self.access: Callable[[ArmSession, ChangeJob], bool] = lambda *_: True
        """Whether a change may go to its arm, whatever that does; set by `Obstacles`."""
        self.read: Callable[[ArmSession], None] = lambda _: None
        """Reads an arm in its turn, then looks at what waits for it; set by the composition root."""

    def wait(self, session: ArmSession) -> None:
        """A change waits for an arm."""
        rest = self._rests.setdefault(session.arm, _Rest())
        self._look(session, rest)
        self._read_if_due(session, rest)

    def look(self, session: ArmSession) -> None:
        """Whether an arm is idle may be otherwise now."""
        if (rest := self._rests.get(session.arm)) is not None:
            self._look(session, rest)

    def broken(self, session: ArmSession) -> None:
        """An arm told of another mode, which may be over by the time that it is read."""
        if (rest := self._rests.get(session.arm)) is not None:
            rest.since, rest.read = None, False
            self._stop(rest)
            self._look(session, rest)

    def follow_settings(self, idle_for_s: float, sessions: dict[str, ArmSession]) -> None:
        """How long an arm has to be idle from now on, and its modes may be others."""
        self.idle_for_s = idle_for_s
        for arm, rest in list(self._rests.items()):
            self._stop(rest)
            if arm in sessions:
                self._look(sessions[arm], rest)
            else:
                del self._rests[arm]

    def why(self, session: ArmSession) -> str:
        """Why a change that waits for an arm may not go; empty: it was idle for long enough, and is."""
        if why := unrest(session.state):
            return why
        rest = self._rests.get(session.arm)
        return "" if rest is not None and rest.long else f"it was not idle for {self.idle_for_s:g} s yet"

    def may_go(self, session: ArmSession) -> bool:
        """Whether what waits for an arm may go, which was read since it is idle for long enough."""
        rest = self._rests.get(session.arm)
        return rest is not None and rest.read and not unrest(session.state)

    def note_read(self, session: ArmSession) -> None:
        """Know that an arm was read whole."""
        if (rest := self._rests.get(session.arm)) is not None:
            rest.read = rest.long

    def note_released(self, session: ArmSession) -> None:
        """Know that what may go was let go; what may go by now, and was not read for, waits for another reading."""
        if (rest := self._rests.get(session.arm)) is not None:
            rest.read = False
            self._look(session, rest)
            self._read_if_due(session, rest)

    def _look(self, session: ArmSession, rest: _Rest) -> None:
        if unrest(session.state):
            rest.since, rest.read = None, False
            self._stop(rest)
        elif rest.since is None:
            rest.since = self._monotonic()
        waiting = [job for job in session.parked if job.idles]
        if not waiting:
            if not any(job.idles for job in session.unsettled()):
                self._stop(rest)
                del self._rests[session.arm]
            return
        if rest.since is not None and rest.timer is None and not rest.long:
            left_s = max(0.0, rest.since + self.idle_for_s - self._monotonic())
            rest.timer = self._timers.put(left_s, self._due, session, rest)
        why = f"{WAITS}{self.why(session)}"
        for job in waiting:
            if job.why.startswith(WAITS) and why not in (WAITS, job.why):
                job.why = why
                self._documents.mark(session, "config")

    def _stop(self, rest: _Rest) -> None:
        rest.long = False
        if rest.timer is not None:
            self._timers.drop(rest.timer)
            rest.timer = None

    def _due(self, session: ArmSession, rest: _Rest) -> None:
        """An arm was idle for long enough."""
        rest.timer, rest.long = None, True
        self._look(session, rest)
        self._read_if_due(session, rest)

    def _read_if_due(self, session: ArmSession, rest: _Rest) -> None:
        if rest.long and any(job.idles and self.access(session, job) for job in session.parked):
            self.read(session)
