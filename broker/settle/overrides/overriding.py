"""Changes with an end: they take their place when they took effect, and end in time or because somebody says so."""

import asyncio
from collections.abc import Callable

import msgspec

from broker.arms.arm_session import ArmSession
from broker.arms.batch_job import BatchJob
from broker.arms.jobs import ChangeJob
from broker.life import Origin
from broker.record.administration import NOBODY_ASKED, Asked
from broker.record.ledger import Ledger
from broker.record.override_rows import keep, log_kept
from broker.record.principals import SERVICE
from broker.settle.overrides.override_times import OverrideTimes
from broker.settle.overrides.returns import Returns
from broker.store.rows import Terms
from handlers.items.parts import put
from handlers.items.settling import agrees, same
from handlers.overrides import stack
from handlers.overrides.documents import override_details
from handlers.overrides.room import check_room
from handlers.rpc.outcome import EndOrder, ExtendOrder
from handlers.state.overrides import Override, Overrides
from handlers.state.places import Given, Place, by_slot, given_at, given_in, is_of
from handlers.state.provenance import PARTED
from schema.arms import Slot
from schema.codecs.json_codec import pack, unpack
from schema.codecs.times import format_time
from schema.envelope import Author, Stage, Warned
from schema.events import OverrideEvent
from schema.items import ITEMS
from schema.messages import Message


class Overriding:
    """Keeps the overrides of all arms; `returns` leads them back.

    `released` is called when changes of others may go on at an arm.
    """

    def __init__(self, ledger: Ledger, returns: Returns, loop: asyncio.AbstractEventLoop) -> None:
        self._ledger = ledger
        self.times = OverrideTimes(ledger, loop, self.end, self._announce)
        self._claimed = 0
        """Changes with an end that have none yet."""
        self.release: Callable[[ArmSession], None] = lambda _: None
        self.returns = returns

    # ------------------------------------------------------------------ accepting

    def claim(self, session: ArmSession, job: ChangeJob, terms: Terms) -> None:
        """If the change that is accepted has an end, it expires with it, and its ground is kept as it is now.

        Raises:
            BrokerError: no_room.
        """
        if not terms.until_us:
            return
        waiting = [_places(session, one) for one in session.unsettled() if one.terms is not None and one.terms.until_us]
        check_room(session.state, _places(session, job), waiting, len(self.times) + self._claimed)
        self._claimed += 1
        over_s = self._ledger.clock.deadline(terms.until_us)
        job.expires = min(job.expires, over_s) if job.expires else over_s
        if job.slot in session.state.desired and job.item.record not in PARTED:
            job.terms = msgspec.structs.replace(terms, ground=pack(_ground(session, job.slot)))

    def restore(self, job: ChangeJob) -> None:
        """Claim the place again of a change with an end that a start found."""
        self._claimed += job.terms is not None and job.terms.until_us > 0

    def begin(self, session: ArmSession) -> None:
        """After a start, or when the arm is back in the settings: end what is over, go on with what is owed."""
        if session.state.overrides is not None:
            self.times.begin(session)
            self.returns.resume(session)

    def unclaim(self) -> None:
        """Free the place of a change with an end, which had its own."""
        self._claimed = max(0, self._claimed - 1)

    # ------------------------------------------------------------------ taking effect

    def take_place(
        self, session: ArmSession, job: ChangeJob, part: ChangeJob, value: Message, before: Message | None
    ) -> tuple[Warned, ...]:
        """Let a change that took effect count in a slot: with an end, for good, or as a return; what its reply says."""
        if job.back:
            self.returns.pay(session, job, part.slot, before)
        elif job.terms is not None and job.terms.until_us:
            self._push(session, job, job.terms, given_in(part.slot, value, part.named, before), before)
        elif job.author.user != SERVICE.user:
            return self._settle(session, job, part)
        return ()

    def ground_with(
        self, session: ArmSession, job: ChangeJob, part: ChangeJob, value: Message, before: Message | None
    ) -> Message | None:
        """What is there without overrides once a value takes effect; None where parts are not overridden one by one."""
        state, slot = session.state, part.slot
        if type(value) not in PARTED:
            return None
        known = state.overrides or stack.NONE
        grounds = {place: known.grounds[place] for place in known.places(slot)}
        given = given_in(slot, value, part.named, before)
        if job.terms is not None and job.terms.until_us:
            grounds = {place: given_at(place, before or value) for place in given} | grounds
        elif not job.back and job.author.user != SERVICE.user:
            grounds = {place: ground for place, ground in grounds.items() if place not in given}
        return put(state, slot, value, grounds)

    def _push(
        self, session: ArmSession, job: ChangeJob, terms: Terms, given: dict[Place, Given], before: Message | None
    ) -> None:
        clock, slot = self._ledger.clock, next(iter(by_slot(given)), None)
        if slot is None:  # it names no part
            return
        if terms.ground is not None and slot == job.slot and before is not None:
            wished = unpack(terms.ground, ITEMS[slot[0]].record)
            before = wished if same(slot[0], wished, before, session.state.resolution_rad) else before
        grounds = given if before is None else {place: given_at(place, before) for place in given}
        override = Override(
            rev=job.rev, values=given, since_us=job.at_us, until_us=terms.until_us, by=job.author,
            request_id=job.request_id, reason=job.reason, plan=terms.plan,
        )  # fmt: skip
        known = session.state.overrides
        is_new = known is None or known.find(job.rev) is None
        keep(self._ledger, session, stack.push(known, override, grounds))
        self._drop_return(session, slot)
        if isinstance(job, BatchJob) and job.over:
            self.end(session, job.rev, "expired")
        elif is_new:
            ends_s = job.since + (terms.until_us - job.at_us) / 1e6
            self.times.put(session, override, clock.deadline(terms.until_us) if job.origin >= Origin.FOUND else ends_s)

    def _drop_return(self, session: ArmSession, slot: Slot) -> None:
        """Somebody set what a slot owed, or a part of that: with nothing left its return is dropped."""
        overrides = session.state.overrides
        if overrides is None or not overrides.owes(slot):
            self.returns.drop(session, slot)

    def _settle(self, session: ArmSession, job: ChangeJob, part: ChangeJob) -> tuple[Warned, ...]:
        """What was set for good is the ground: the overrides of its places end."""
        overrides, slot = session.state.overrides, part.slot
        places = [] if overrides is None else [one for one in overrides.places(slot) if is_of(one, part.named)]
        if overrides is None or not places:
            return ()
        over = [one for one in overrides.live if not one.values.keys().isdisjoint(places)]
        left = stack.settle(overrides, places)
        keep(self._ledger, session, left.left)
        asked = Asked(job.method, job.request_id, job.reason, job.trace)
        for one in left.ended:
            self._end_one(session, overrides, one, "superseded", job.author, asked)
        self._drop_return(session, slot)
        return tuple(
            Warned(
                "OVERRIDE_ENDED",
                f"it ended the override of {one.by.user}, revision {one.rev}, until {format_time(one.until_us)}",
            )
            for one in over
        )

    def withdraw(self, session: ArmSession, rev: int, slot: Slot) -> None:
        """Take an override out of a slot in which what it gave was written back; it ends with its last one."""
        overrides = session.state.overrides
        override = None if overrides is None else overrides.find(rev)
        if overrides is None or override is None or slot not in by_slot(override.values):
            return
        left = stack.leave(overrides, rev, slot)
        keep(self._ledger, session, left)
        if left is None or left.find(rev) is None:
            self.times.drop(session, override)

    # ------------------------------------------------------------------ ends

    def end(self, session: ArmSession, rev: int, cause: str, by: Author = SERVICE, asked: Asked = NOBODY_ASKED) -> None:
        """An override ends: what is in force below it is written, as far as that may be."""
        overrides = session.state.overrides
        override = None if overrides is None else overrides.find(rev)
        if overrides is None or override is None:
            return
        self.returns.close(session, override)
        steps = self.returns.steps(session, overrides, override)
        known = {place for one in overrides.returning for place in one.owed}
        owed = [place for step in steps if step.is_owed for place in step.places if place not in known]
        keep(self._ledger, session, stack.cut(overrides, rev, owed).left)
        left_alone = not any(step.is_owed for step in steps) and any(step.writes.overwritten for step in steps)
        self._end_one(session, overrides, override, "overwritten" if left_alone else cause, by, asked)
        self.returns.begin(session, override, steps)
        self.release(session)

    def end_all(self, session: ArmSession, order: EndOrder, by: Author, asked: Asked) -> None:
        """End overrides, or keep what they gave."""
        for rev in order.revs:
            if order.keep:
                self._keep_values(session, rev, by, asked)
            else:
                self.end(session, rev, "ended", by, asked)

    def _keep_values(self, session: ArmSession, rev: int, by: Author, asked: Asked) -> None:
        overrides = session.state.overrides
        override = None if overrides is None else overrides.find(rev)
        if overrides is None or override is None:
            return
        self.returns.close(session, override)
        done, state = stack.keep(overrides, rev), session.state
        for slot in by_slot(override.values):
            before = put(state, slot, state.reported[slot], overrides.grounds)
            after = put(state, slot, before, override.values)
            log_kept(self._ledger, session, slot, (before, after), by, asked)
        keep(self._ledger, session, done.left)
        for one in done.ended:
            self._end_one(session, overrides, one, "kept" if one.rev == rev else "superseded", by, asked)
        self.release(session)

    def discard(self, session: ArmSession, by: Author, asked: Asked) -> None:
        """Another arm was confirmed: nothing of what was live counts."""
        overrides = session.state.overrides
        if overrides is not None:
            keep(self._ledger, session, None)
            for one in overrides.live:
                self.returns.close(session, one)
                self._end_one(session, overrides, one, "discarded", by, asked)

    def extend(self, session: ArmSession, order: ExtendOrder, by: Author, asked: Asked) -> None:
        """Give overrides another end, counted from now."""
        clock = self._ledger.clock
        for rev in order.revs:
            overrides = session.state.overrides
            override = None if overrides is None else overrides.find(rev)
            if overrides is not None and override is not None:
                moved = msgspec.structs.replace(override, until_us=order.until_us, told=False)
                overrides = stack.changed(overrides, moved)
                keep(self._ledger, session, overrides)
                self._tell(session, OverrideEvent.OVERRIDE_EXTENDED, overrides, moved, "extended", by, asked)
                self.times.put(session, moved, clock.deadline(order.until_us))

    def _announce(self, session: ArmSession, override: Override) -> None:
        """Tell that the end of an override is near, once."""
        if session.state.overrides is not None:
            told = msgspec.structs.replace(override, told=True)
            overrides = stack.changed(session.state.overrides, told)
            keep(self._ledger, session, overrides)
            self._tell(session, OverrideEvent.OVERRIDE_ENDING, overrides, told, "ending")

    def _end_one(
        self, session: ArmSession, overrides: Overrides, override: Override, cause: str, by: Author, asked: Asked
    ) -> None:
        self.times.drop(session, override)
        self._tell(session, OverrideEvent.OVERRIDE_ENDED, overrides, override, cause, by, asked)
        self._ledger.audit(
            at=self._ledger.clock.now_us(), arm=session.arm, rev=override.rev, decision="override ended", cause=cause,
            by=f"{by.user}/{by.connection}",
        )  # fmt: skip

    def _tell(
        self,
        session: ArmSession,
        event: OverrideEvent,
        overrides: Overrides,
        override: Override,
        cause: str,
        by: Author = SERVICE,
        asked: Asked = NOBODY_ASKED,
    ) -> None:
        self._ledger.emit(
            session, event, cause=cause, stage=Stage.APPLIED.value, by=by, rev=override.rev,
            request_id=asked.request_id or override.request_id, reason=asked.reason, trace=asked.trace,
            details=override_details(overrides, override), until_us=override.until_us, plan=override.plan,
        )  # fmt: skip


def _places(session: ArmSession, job: ChangeJob) -> set[Place]:
    """What a change names by itself, of whole values what is there and what it wants."""
    reported = session.state.reported
    return {
        place
        for part in job.parts
        if part.wanted is not None
        for place in given_in(part.slot, part.wanted, part.named, reported.get(part.slot))
    }


def _ground(session: ArmSession, slot: Slot) -> Message:
    """What is there for good: the ground below overrides, else what is reported, as it is desired if both agree."""
    state = session.state
    ground = state.desired[slot] if agrees(state, slot) else state.reported[slot]
    return ground if state.overrides is None else put(state, slot, ground, state.overrides.grounds)
