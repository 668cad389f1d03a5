"""The arms counted, in slices between requests."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from broker.arms.arm_session import ArmSession
from broker.life import WAITING
from broker.publish.contents import presence_word
from handlers.items.settling import agrees
from handlers.overrides.documents import overdue

SLICE = 100
"""Arms that are looked at without a pause."""


@dataclass(slots=True)
class Count:
    """What was found: arms by presence and authority, those online by activity, changes by state.

    The rest as the metrics of these names.
    """

    arms: Counter[tuple[str, str]] = field(default_factory=Counter)
    doing: Counter[str] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)
    drifted: int = 0
    overrides: int = 0
    overdue: int = 0
    longest_queue: int = 0
    unpublished: int = 0
    oldest_us: int = 0
    """When the oldest change without an end was accepted; 0 without one."""


_Seen = tuple[int, int, int, int, bool]
_Drifted = tuple[_Seen, bool]


class Census:
    """Counts all arms; whether one drifted is looked at again only after something of it changed."""

    def __init__(self) -> None:
        self.last = Count()
        """What was found last."""
        self._drifted: dict[str, _Drifted] = {}

    async def take(self, sessions: Iterable[ArmSession]) -> Count:
        """Count; what else there is to do is done in between."""
        count, arms = Count(), list(sessions)
        for number, session in enumerate(arms):
            if number % SLICE == SLICE - 1:
                await asyncio.sleep(0)
            self._look(session, count)
        if len(self._drifted) > len(arms):
            gone = self._drifted.keys() - {session.arm for session in arms}
            for arm in gone:
                del self._drifted[arm]
        self.last = count
        return count

    def _look(self, session: ArmSession, count: Count) -> None:
        state = session.state
        count.arms[presence_word(session), state.authority.value] += 1
        if state.online:
            count.doing[state.activity] += 1
        count.unpublished += max(0, state.seq - session.published_seq)
        count.longest_queue = max(count.longest_queue, len(session.jobs))
        seen = (state.rev, state.seq, state.read_at_us, state.unsettled, state.adopted)
        before = self._drifted.get(session.arm)
        if before is None or before[0] != seen:  # else what was made then stays: most arms are as they were
            before = self._drifted[session.arm] = seen, has_drifted(session)
        count.drifted += before[1]
        if state.overrides is not None:
            count.overrides += len(state.overrides.live)
            count.overdue += overdue(state)
        if state.unsettled:
            self._look_at_changes(session, count)

    def _look_at_changes(self, session: ArmSession, count: Count) -> None:
        for job in session.unsettled():
            count.changes[job.state.value if job.state in WAITING else "queued"] += 1
            count.oldest_us = min(count.oldest_us or job.at_us, job.at_us)


def has_drifted(session: ArmSession) -> bool:
    """Whether an arm reports something else than is desired, where nothing under way explains it."""
    state = session.state
    return any(not agrees(state, slot) and not state.open.get(slot) for slot in state.desired)
