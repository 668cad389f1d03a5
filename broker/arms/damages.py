"""Rows of the store that are not what was written: told once each, and what they mean for their arm."""

from collections.abc import Iterable

import structlog

from broker.arms.arm_session import ArmSession
from broker.counters import Counters
from broker.store.meta_keys import DAMAGED
from broker.store.rows import Damage
from broker.store.store import Store

log = structlog.get_logger()

KNOWN_MOST = 10_000
"""Damaged rows that are told once; beyond, the oldest may be told again."""
_LONGEST_REASON = 400


class Damages:
    """Tells of damaged rows, those that a start found first, and keeps their arms held until somebody confirms them."""

    def __init__(self, store: Store, counters: Counters, found: Iterable[Damage]) -> None:
        self._store = store
        self._counters = counters
        self._known: dict[Damage, None] = {}
        store.on_damage = self.tell
        for damage in found:
            self.tell(damage)

    def tell(self, damage: Damage) -> None:
        """Log and count a damaged row, the first time it is met."""
        if damage in self._known:
            return
        while len(self._known) >= KNOWN_MOST:
            del self._known[next(iter(self._known))]
        self._known[damage] = None
        log.error("row_damaged", table=damage.table, arm=damage.arm, key=damage.key, what=damage.what)
        self._counters.add("row_damaged")

    def distrust(self, session: ArmSession, damage: Damage) -> None:
        """A row of an arm cannot be used although its hash is right: the arm is held, over restarts too."""
        self.tell(damage)
        what = f"{damage.table} {damage.key}".rstrip()
        hold(session, what)
        self._store.batch.set_meta(DAMAGED + session.arm, what)


def hold(session: ArmSession, rows: str) -> None:
    """Nothing that the store says of an arm counts before somebody confirms it."""
    state = session.state
    session.damage = state.distrust = (
        f"rows of it in the store are damaged ({rows[:_LONGEST_REASON]}); ConfirmArm takes over what is read of it"
    )
    state.damaged, state.adopted = True, False
