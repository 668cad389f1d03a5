"""The clocks of overrides: when each is over, and when that is announced."""

import asyncio
from collections.abc import Callable

import structlog

from broker.arms.arm_session import ArmSession
from broker.clock import BEHIND
from broker.record.ledger import Ledger
from broker.record.override_rows import keep
from broker.settle.overrides.ends import Ends
from handlers.items.direction import Direction
from handlers.overrides.stack import NONE, direction
from handlers.state.overrides import Override

log = structlog.get_logger()

NOTICE_US, LEAST_US = 60_000_000, 300_000_000
"""How long before its end that is announced, and how long an override has to last for it."""


class OverrideTimes:
    """Tells when an override is over: `end` it, or `announce` that it will be soon.

    Either clock ends one that loosens or has no order; it takes both for one that tightens.
    """

    def __init__(
        self,
        ledger: Ledger,
        loop: asyncio.AbstractEventLoop,
        end: Callable[[ArmSession, int, str], None],
        announce: Callable[[ArmSession, Override], None],
    ) -> None:
        self._ledger = ledger
        self._clock = ledger.clock
        self._ends = Ends(ledger.clock, loop, self._ring)
        self._end = end
        self._announce = announce
        self._deadlines: dict[tuple[str, int], float] = {}
        """When each live override is over on the monotonic clock."""

    def __len__(self) -> int:
        """How many are live."""
        return len(self._deadlines)

    def put(self, session: ArmSession, override: Override, deadline_s: float) -> None:
        """Ring before the end of a live override, and at it."""
        self._deadlines[session.arm, override.rev] = deadline_s
        if override.until_us - override.since_us >= LEAST_US and not override.told:
            self._ends.put(session, override.rev, override.until_us - NOTICE_US)
        tightens = _direction(session, override) is Direction.TIGHTENING
        self._ends.put(session, override.rev, override.until_us, deadline_s, rank=int(tightens))

    def drop(self, session: ArmSession, override: Override) -> None:
        """An override ended."""
        self._deadlines.pop((session.arm, override.rev), None)

    def _ring(self, session: ArmSession, rev: int) -> None:
        overrides = session.state.overrides
        override = None if overrides is None else overrides.find(rev)
        deadline_s = self._deadlines.get((session.arm, rev))
        if override is None or deadline_s is None:
            return
        now_us = self._clock.now_us()
        reached = (now_us >= override.until_us, self._clock.monotonic() >= deadline_s)
        if all(reached) or (any(reached) and _direction(session, override) is not Direction.TIGHTENING):
            self._end(session, rev, "expired")
        elif not override.told and now_us >= override.until_us - NOTICE_US and _is_long(override):
            self._announce(session, override)

    # ------------------------------------------------------------------ the life of an arm

    def begin(self, session: ArmSession) -> None:
        """End what is over, and watch the others.

        After a start with a clock behind the store nobody knows how long the service was away: what loosens or has no
        order is over.
        """
        overrides = session.state.overrides
        if overrides is None:
            return
        if session.damage or not overrides.is_whole:
            log.warning("overrides_lost", arm=session.arm, why=session.damage)
            keep(self._ledger, session, None)
            return
        self._clock.now_us()
        for override in overrides.live:
            late = self._clock.state is BEHIND and _direction(session, override) is not Direction.TIGHTENING
            deadline_s = self._clock.monotonic() if late else self._clock.deadline(override.until_us)
            self.put(session, override, deadline_s)
            self._ring(session, override.rev)

    def forget(self, arm: str) -> None:
        """The overrides of one arm do not end any more; `begin` lets them."""
        self._ends.forget(arm)
        for key in [one for one in self._deadlines if one[0] == arm]:
            del self._deadlines[key]

    def close(self) -> None:
        """No override ends any more."""
        self._ends.close()


def _direction(session: ArmSession, override: Override) -> Direction:
    return direction(session.state.overrides or NONE, override)


def _is_long(override: Override) -> bool:
    return override.until_us - override.since_us >= LEAST_US
