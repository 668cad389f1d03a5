"""What happens to what other writers change: by default nothing; where an arm says `reapply`, tightenings come back."""

import asyncio

import structlog

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import ChangeJob
from broker.record.ledger import Ledger
from broker.record.principals import SERVICE
from broker.settle.settler import Settler
from handlers.items.config_items import CHECKS, kept_by_service
from handlers.items.direction import is_loosening
from handlers.items.settling import equal
from schema.arms import Authority, Slot, Verb
from schema.errors import BrokerError
from schema.items import ITEMS

log = structlog.get_logger()

GAP_S = 60.0
"""Least time between two writes that bring back what another writer loosened."""
REASON = "another writer loosened it; drift = reapply"
METHOD = "Reapply"


class Drift:
    """Writes what is desired again where another writer made it looser: one slot of an arm a minute at most."""

    def __init__(self, ledger: Ledger, settler: Settler, loop: asyncio.AbstractEventLoop, reapplying: set[str]) -> None:
        self._ledger = ledger
        self._settler = settler
        self._loop = loop
        self._reapplying = reapplying
        self._last: dict[str, float] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def look(self, session: ArmSession) -> None:
        """Look for what drifted, once the present event is dealt with, and not within a minute of the last time."""
        if session.arm not in self._reapplying or session.arm in self._timers:
            return
        now = self._loop.time()
        due = max(now, self._last.get(session.arm, -GAP_S) + GAP_S)
        self._timers[session.arm] = self._loop.call_at(due, self._reapply, session)

    def follow_settings(self, reapplying: set[str]) -> None:
        """The settings were read again: these arms get back what others loosen."""
        self._reapplying = reapplying

    def forget(self, arm: str) -> None:
        """Look no more at one arm."""
        if (timer := self._timers.pop(arm, None)) is not None:
            timer.cancel()

    def close(self) -> None:
        """Look no more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._reapplying = set()

    def _reapply(self, session: ArmSession) -> None:
        del self._timers[session.arm]
        state = session.state
        free = state.authority is Authority.CONTROL and state.hold is None
        if not (free and state.adopted and state.online and state.ready) or state.distrust:
            return
        drifted = [slot for slot in state.reported if _drifted(session, slot)]
        if not drifted:
            return
        slot, wanted = drifted[0], state.desired[drifted[0]]
        self._last[session.arm] = self._loop.time()
        log.warning("reapplied", arm=session.arm, slot=slot)
        self._settler.admit(
            session,
            ChangeJob(
                n=self._ledger.new_change(), request_n=0, rev=0, slot=slot, item=ITEMS[slot[0]], verb=Verb.SET,
                wanted=wanted, loosening=False, unchanged=False, author=SERVICE, request_id="", method=METHOD,
                reason=REASON, at_us=self._ledger.clock.now_us(),
            ),
        )  # fmt: skip
        if len(drifted) > 1:
            self.look(session)


def _drifted(session: ArmSession, slot: Slot) -> bool:
    """Whether what is desired is tighter than what is reported in some component, looser in none, and may be sent.

    What a restored store wished for is no longer what anybody wished for last.
    """
    state, item = session.state, ITEMS[slot[0]]
    desired, reported = state.desired[slot], state.reported[slot]
    if state.desired_rev.get(slot, 0) <= session.restored_rev:
        return False
    owed = state.overrides is not None and state.overrides.owes(slot)
    if owed or state.open.get(slot) or kept_by_service(state, slot[0]) or is_loosening(item, desired, reported):
        return False
    if equal(slot[0], desired, reported, state.resolution_rad):
        return False
    try:
        CHECKS[item.key](state, desired)
    except BrokerError as error:
        log.warning("not_reapplied", arm=session.arm, slot=slot, why=error.message)
        return False
    return True
