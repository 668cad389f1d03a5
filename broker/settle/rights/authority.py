"""How far the service may go with each arm, and who holds it: kept in the store, ended in time."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import msgspec

from broker.arms.arm_session import ArmSession
from broker.arms.damages import Damages
from broker.record.administration import CLOCK, NOBODY_ASKED, SETTINGS, Administration, Asked, asked_by
from broker.record.ledger import Ledger
from broker.store.rows import Damage
from handlers.methods.authority import hold_document, is_within
from handlers.rpc.outcome import AccessOrder, AuthorityOrder, HoldOrder
from handlers.rpc.request import Request
from handlers.state.arm_state import Hold
from schema.arms import Authority
from schema.codecs.times import format_time
from schema.envelope import Author, Plain
from schema.events import AdminEvent

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
    """Changes authorities and locks, and lets `administration` tell of it.

    `describe` publishes the factsheet of an arm, `release` lets what waits for an arm go on, if it may.
    """

    def __init__(
        self,
        ledger: Ledger,
        administration: Administration,
        stop_waiting: Callable[[ArmSession], None],
        loop: asyncio.AbstractEventLoop,
        describe: Callable[[ArmSession], None],
        release: Callable[[ArmSession], None],
    ) -> None:
        self._ledger = ledger
        self._administration = administration
        self._stop_waiting = stop_waiting
        self._loop = loop
        self._describe = describe
        self._release = release
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._dropped: dict[str, Authority] = {}
        """The authorities that the store knew and the settings no longer allow, until it is told."""

    def restore(self, sessions: Iterable[ArmSession], meta: Mapping[str, str], damages: Damages) -> None:
        """Take over what the store knows; an authority that was set under other settings counts no more.

        An arm of which that cannot be read is held. What became of the others is told by `begin`:
        after the events that are still owed.
        """
        for session in sessions:
            try:
                self._restore(session, meta)
            except msgspec.DecodeError as error:
                damages.distrust(session, Damage("meta", session.arm, "authority or hold", f"unreadable: {error}"))
        self._ledger.store.flush_soon()

    def begin(self, session: ArmSession) -> None:
        """Tell what the settings changed, and end the lock in time."""
        if (before := self._dropped.pop(session.arm, None)) is not None:
            self._administration.tell_change(
                session, AdminEvent.AUTHORITY_CHANGED, SETTINGS, before, session.state.authority
            )
        self.watch(session)

    def _restore(self, session: ArmSession, meta: Mapping[str, str]) -> None:
        if text := meta.get(AUTHORITY_KEY + session.arm):
            row = msgspec.json.decode(text, type=AuthorityRow)
            if row.file is session.file_authority and is_within(row.value, session.state.ceiling):
                session.state.authority = row.value
            else:
                self._put(AUTHORITY_KEY, session, None)
                self._audit(session, decision="authority", authority=session.file_authority, by="settings")
                self._dropped[session.arm] = row.value
        if text := meta.get(HOLD_KEY + session.arm):
            hold = msgspec.json.decode(text, type=Hold)
            if not hold.until_us:
                until_us = self._ledger.clock.now_us() + session.state.longest_hold_us
                hold = msgspec.structs.replace(hold, until_us=until_us)
                self._put(HOLD_KEY, session, hold)
            session.state.hold = hold

    def follow_settings(self, session: ArmSession, authority: Authority) -> None:
        """The settings were read again: where they name another authority than before, or a lower one, that counts."""
        state = session.state
        if authority is session.file_authority and is_within(state.authority, state.ceiling):
            return
        session.file_authority = authority
        self._put(AUTHORITY_KEY, session, None)
        self._audit(session, decision="authority", authority=authority, by="settings")
        self._set_authority(session, authority, SETTINGS, NOBODY_ASKED)

    def carry_out(self, session: ArmSession, request: Request, order: AccessOrder) -> None:
        """Do what is ordered; it counts at once, and for good with the commit of this moment."""
        author, now_us = request.author, self._ledger.clock.now_us()
        by = {"by": f"{author.user}/{author.connection}", "proven": author.proven}
        if isinstance(order, AuthorityOrder):
            row = AuthorityRow(order.authority, session.file_authority, author, now_us, order.reason)
            self._put(AUTHORITY_KEY, session, row)
            self._audit(session, decision="authority", authority=order.authority, reason=order.reason, **by)
            self._set_authority(session, order.authority, author, asked_by(request, order.reason))
        elif isinstance(order, HoldOrder):
            held = session.state.hold
            since_us = now_us if held is None or held.by.user != author.user else held.since_us
            self._audit(session, decision="hold", reason=order.reason, until=format_time(order.until_us), **by)
            hold = Hold(author, order.reason, since_us, order.until_us)
            self._hold(session, hold, author, asked_by(request, order.reason))
        else:
            self._audit(session, decision="release", **by)
            self._hold(session, None, author, asked_by(request))

    def forget(self, arm: str) -> None:
        """No lock of one arm ends any more; `watch` lets it."""
        if (timer := self._timers.pop(arm, None)) is not None:
            timer.cancel()

    def close(self) -> None:
        """No lock ends any more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _set_authority(self, session: ArmSession, authority: Authority, by: Author, asked: Asked) -> None:
        before, session.state.authority = session.state.authority, authority
        self._administration.tell_change(session, AdminEvent.AUTHORITY_CHANGED, by, before, authority, asked)
        self._tell_changed(session)

    def _hold(self, session: ArmSession, hold: Hold | None, by: Author, asked: Asked) -> None:
        before, session.state.hold = session.state.hold, hold
        self._put(HOLD_KEY, session, hold)
        event = AdminEvent.ARM_RELEASED if hold is None else AdminEvent.ARM_HELD
        self._administration.tell_change(session, event, by, _shown(before), _shown(hold), asked)
        self.watch(session)
        self._tell_changed(session)

    def _tell_changed(self, session: ArmSession) -> None:
        """Show it once it is committed, and look at what waits again."""
        self._ledger.documents.mark(session, "presence")
        self._ledger.store.batch.on_commit(partial(self._describe, session))
        self._ledger.store.flush_soon()
        self._stop_waiting(session)
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
        self._audit(session, decision="release", by="clock", user=hold.by.user)
        self._hold(session, None, CLOCK, Asked(reason="its end was reached"))

    def _put(self, prefix: str, session: ArmSession, row: AuthorityRow | Hold | None) -> None:
        text = "" if row is None else msgspec.json.encode(row).decode()
        self._ledger.store.batch.set_meta(prefix + session.arm, text)

    def _audit(self, session: ArmSession, **entry: object) -> None:
        self._ledger.audit(at=self._ledger.clock.now_us(), arm=session.arm, **entry)


def _shown(hold: Hold | None) -> Plain:
    return None if hold is None else hold_document(hold)
