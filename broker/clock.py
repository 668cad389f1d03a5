"""Time for the whole service: injected, so that tests can hold it.

Service time never runs backwards, and it believes the machine's clock only as far as the monotonic clock and the store
agree with it: docs/decisions tell why.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import structlog

log = structlog.get_logger()

OK, AHEAD, BEHIND = "ok", "ahead", "behind"
"""How the machine's clock stands: it is believed; it jumped ahead; it is behind what the store was told."""
BOUND_US = 10_000_000
"""How far the machine's clock may be from service time and still be believed."""
FOLLOW_US = 600_000_000
"""After so long a clock that jumped ahead, and went on evenly since, is followed."""
AWAY_US = 3 * 86_400_000_000
"""A longer absence of the service is not believed where something would be deleted for its age."""
SLEWED_US = 3_600_000_000
"""Up to so much service time is ahead, it goes at half speed until the machine's clock has caught up."""
_CLOSE_US = 1_000_000
"""So little after the last time told a time is believed as it is."""
_STILL_US = 100_000
"""As SLEWED_US, but up to so much it stands still."""
_UNSET = 1 << 62


def machine_us() -> int:
    """µs since 1970 of the machine's clock."""
    return time.time_ns() // 1000


class ClockState(NamedTuple):
    """What is told of the machine's clock: `ok`, `ahead` or `behind`, and by how many seconds."""

    state: str
    seconds: float


class Clock:
    """Service time never runs backwards; deadlines are on the monotonic clock.

    Args:
        wall_us: µs since 1970 of the machine's clock, where it is another one than that of this machine.
        monotonic: seconds of the monotonic clock.
    """

    def __init__(
        self,
        wall_us: Callable[[], int] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._machine = wall_us is None
        self.wall_us = wall_us or machine_us
        self.monotonic = monotonic
        self.state = OK
        self.sure_since_us = 0
        """Since this service time ages are known: before it the clock was wrong, or the service was away for long."""
        self.on_doubt: Callable[[], None] = lambda: None
        """Called when `sure_since_us` moved."""
        self._last_us = 0
        self._offset_us = _UNSET
        """Service time less monotonic time, when it was last compared."""
        self._found_us = _UNSET
        """The machine's clock less monotonic time, as it has been since it jumped ahead."""
        self._found_at_us = 0

    def now_us(self) -> int:
        """Service time in µs since 1970."""
        wall_us = time.time_ns() // 1000 if self._machine else self.wall_us()
        if 0 < wall_us - self._last_us < _CLOSE_US and self.state is OK:  # no clock has to be asked what passed
            self._last_us = wall_us
            return wall_us
        return self._reckon(wall_us, wall_us - int(self.monotonic() * 1e6))

    def not_before(self, time_us: int, sure_since_us: int = 0) -> None:
        """Go on from the last committed time of a store, and from the time since which it was sure of ages."""
        wall_us = self.wall_us()
        offset_us = wall_us - int(self.monotonic() * 1e6)
        self.sure_since_us = max(self.sure_since_us, sure_since_us)
        if time_us > self._last_us:
            self._last_us, self._offset_us = time_us, time_us - (wall_us - offset_us)
            if time_us <= wall_us:
                self._offset_us = offset_us
            else:  # nobody knows how long the service was away
                self._doubt(time_us)
            self._reckon(wall_us, offset_us)
        if 0 < time_us < wall_us - AWAY_US:
            log.info("away", hours=round((wall_us - time_us) / 3.6e9, 1))
            self._doubt(wall_us)

    def deadline(self, time_us: int) -> float:
        """A service time on the monotonic clock, in seconds; 0 stays 0, which is never."""
        return self.monotonic() + (time_us - self.now_us()) / 1e6 if time_us else 0.0

    @property
    def told(self) -> ClockState:
        """How the machine's clock stands now."""
        now_us = self.now_us()
        away_us = 0 if self.state is OK else abs(self.wall_us() - now_us)
        return ClockState(self.state, round(away_us / 1e6, 3))

    # ------------------------------------------------------------------ ages

    def age_us(self, at_us: int) -> int | None:
        """How long ago a stored time was; None where nobody can say: it counts as old where it matters."""
        now_us = self.now_us()
        if self.state is not OK or at_us < self.sure_since_us or at_us > now_us + BOUND_US:
            return None
        return now_us - at_us

    def for_deleting(self) -> tuple[int, int]:
        """The earliest time that it may be now, and the time since which ages are known."""
        now_us = min(self.now_us(), self.wall_us())
        if self.sure_since_us > now_us + BOUND_US:  # a clock told it that is disproved by now
            self._doubt(now_us)
        return now_us, self.sure_since_us

    # ------------------------------------------------------------------ the rule

    def _reckon(self, wall_us: int, offset_us: int) -> int:
        """Tell the time where the machine's clock is not simply believed."""
        mono_us = wall_us - offset_us
        if self._offset_us == _UNSET:
            self._offset_us = max(self._last_us, wall_us) - mono_us
        passed_us = max(0, mono_us + self._offset_us - self._last_us)
        gap_us = offset_us - self._offset_us
        self._judge(gap_us, offset_us, mono_us)
        if self.state is AHEAD or -gap_us > SLEWED_US:
            now_us = self._last_us + passed_us
        else:
            slow_us = passed_us // 2 if -gap_us > _STILL_US else 0
            now_us = max(wall_us, self._last_us + slow_us)
        self._last_us, self._offset_us = now_us, now_us - mono_us
        return now_us

    def _judge(self, gap_us: int, offset_us: int, mono_us: int) -> None:
        """Believe the machine's clock, or not; `gap_us` is how far it is ahead of service time."""
        if -BOUND_US <= gap_us <= BOUND_US:
            if self.state is not OK:
                log.info("clock_right", was=self.state, seconds=gap_us / 1e6)
                self.state = OK
                self._doubt(self._last_us)
        elif gap_us < 0:
            self._tell(BEHIND, gap_us)
        elif self.state is AHEAD and abs(offset_us - self._found_us) <= BOUND_US:
            if mono_us - self._found_at_us >= FOLLOW_US:
                log.warning("clock_followed", seconds=gap_us / 1e6)
                self.state = OK
                self._doubt(mono_us + offset_us)
        else:
            self._found_us, self._found_at_us = offset_us, mono_us
            self._tell(AHEAD, gap_us)

    def _tell(self, state: str, gap_us: int) -> None:
        if self.state is state:
            return
        self.state = state
        what = "issued_at, ages and what is kept do not rely on the machine's clock until it is right again"
        if state is BEHIND:
            what += "; `armbroker store set-time` corrects a store that a wrong clock wrote"
        log.warning("clock_ahead" if state is AHEAD else "clock_behind", seconds=gap_us / 1e6, what=what)

    def _doubt(self, time_us: int) -> None:
        """Nobody knows how long ago things before this time were."""
        if time_us != self.sure_since_us:
            self.sure_since_us = time_us
            self.on_doubt()
