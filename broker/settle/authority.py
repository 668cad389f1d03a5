"""How far the service may go with each arm, and who holds it: kept in the store, ended in time."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import msgspec
import structlog

from broker.arms.arm_session import ArmSession
from broker.arms.damages import Damages
from broker.record.ledger import Ledger
from broker.settle.parking import Parking
from broker.store.rows import Damage
from handlers.arm_state import Hold
from handlers.outcome import AccessOrder, AuthorityOrder, HoldOrder
from handlers.request import Request
from schema.arms import Authority
from schema.codecs.times import format_time
from schema.envelope import Author

log = structlog.get_logger()

AUTHORITY_KEY, HOLD_KEY = "authority/", "hold/"
"""What the keys of an arm begin with in the store's small values; an empty value counts as none."""
LONGEST_WAIT_S = 3600.0
"""How long a timer runs at most before it looks at the clock again, which may have been set."""


class AuthorityRow(msgspec.Struct, frozen=True):
    """The authority that somebody set, and the one that the settings named then; it counts while they still do."""

    value: Authority
    file: Authority
    by: Author
    at_us: int
    reason: str = ""


class Authorities:
    """Changes authorities and locks.

    `describe` publishes the factsheet of an arm, `release` lets what waits for an arm go on, if it may.
    """

    def __init__(
        self,
        ledger: Ledger,
        parking: Parking,
        loop: asyncio.AbstractEventLoop,
        describe: Callable[[ArmSession], None],
        release: Callable[[ArmSession], None],
    ) -> None:
        self._ledger = ledger
        self._parking = parking
        self._loop = loop
        self._describe = describe
        self._release = release
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def restore(self, sessions: Iterable[ArmSession], meta: Mapping[str, str], damages: Damages) -> None:
        """Take over what the store knows; an authority that was set under other settings counts no more.

        An arm of which that cannot be read is held.
        """
        for session in sessions:
            try:
                self._restore(session, meta)
            except msgspec.DecodeError as error:
                damages.distrust(session, Damage("meta", session.arm, "authority or hold", f"unreadable: {error}"))
        self._ledger.store.flush_soon()

    def _restore(self, session: ArmSession, meta: Mapping[str, str]) -> None:
        if text := meta.get(AUTHORITY_KEY + session.arm):
            row = msgspec.json.decode(text, type=AuthorityRow)
            if row.file is session.file_authority:
                session.state.authority = row.value
            else:
                self._put(AUTHORITY_KEY, session, None)
                self._audit(session, decision="authority", authority=session.file_authority, by="settings")
        if text := meta.get(HOLD_KEY + session.arm):
            session.state.hold = msgspec.json.decode(text, type=Hold)
            self.watch(session)

    def follow_settings(self, session: ArmSession, authority: Authority) -> None:
        """The settings were read again: where they name another authority than before, that one counts."""
        if authority is session.file_authority:
            return
        session.file_authority = authority
        self._put(AUTHORITY_KEY, session, None)
        self._set_authority(session, authority)
        self._audit(session, decision="authority", authority=authority, by="settings")

    def carry_out(self, session: ArmSession, request: Request, order: AccessOrder) -> None:
        """Do what is ordered; it counts at once, and for good with the commit of this moment."""
        author, now_us = request.author, self._ledger.clock.now_us()
        by = {"by": f"{author.user}/{author.connection}", "proven": author.proven}
        if isinstance(order, AuthorityOrder):
            row = AuthorityRow(order.authority, session.file_authority, author, now_us, order.reason)
            self._put(AUTHORITY_KEY, session, row)
            self._set_authority(session, order.authority)
            self._audit(session, decision="authority", authority=order.authority, reason=order.reason, **by)
        elif isinstance(order, HoldOrder):
            held = session.state.hold
            since_us = now_us if held is None or held.by.user != author.user else held.since_us
            self._hold(session, Hold(author, order.reason, since_us, order.until_us))
            until = format_time(order.until_us) if order.until_us else ""
            self._audit(session, decision="hold", reason=order.reason, until=until, **by)
        else:
            self._hold(session, None)
            self._audit(session, decision="release", **by)

    def forget(self, arm: str) -> None:
        """No lock of one arm ends any more; `watch` lets it."""
        if (timer := self._timers.pop(arm, None)) is not None:
            timer.cancel()

    def close(self) -> None:
        """No lock ends any more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _set_authority(self, session: ArmSession, authority: Authority) -> None:
        before, session.state.authority = session.state.authority, authority
        log.info("arm_authority", arm=session.arm, before=before.value, authority=authority.value)
        self._changed(session)

    def _hold(self, session: ArmSession, hold: Hold | None) -> None:
        session.state.hold = hold
        self._put(HOLD_KEY, session, hold)
        log.info("arm_hold", arm=session.arm, by=hold.by.user if hold is not None else "")
        self.watch(session)
        self._changed(session)

    def _changed(self, session: ArmSession) -> None:
        """Show it once it is committed, and look at what waits again."""
        self._ledger.documents.mark(session, "presence")
        self._ledger.store.batch.on_commit(partial(self._describe, session))
        self._ledger.store.flush_soon()
        self._parking.stop_waiting(session)
        self._release(session)

    def watch(self, session: ArmSession) -> None:
        """End a lock in time."""
        if (timer := self._timers.pop(session.arm, None)) is not None:
            timer.cancel()
        hold = session.state.hold
        if hold is not None and hold.until_us:
            left_s = max(0.0, (hold.until_us - self._ledger.clock.now_us()) / 1e6)
            self._timers[session.arm] = self._loop.call_later(min(left_s, LONGEST_WAIT_S), self._look, session, hold)

    def _look(self, session: ArmSession, hold: Hold) -> None:
        if self._ledger.clock.now_us() < hold.until_us:
            self.watch(session)
            return
        self._hold(session, None)
        self._audit(session, decision="release", by="clock", user=hold.by.user)

    def _put(self, prefix: str, session: ArmSession, row: AuthorityRow | Hold | None) -> None:
        text = "" if row is None else msgspec.json.encode(row).decode()
        self._ledger.store.batch.set_meta(prefix + session.arm, text)

    def _audit(self, session: ArmSession, **entry: object) -> None:
        self._ledger.audit(at=self._ledger.clock.now_us(), arm=session.arm, **entry)
