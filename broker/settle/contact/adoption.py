"""Which arm it is: what is known of one is adopted at first contact, and anew when somebody confirms another one."""

from collections.abc import Callable
from functools import partial

import structlog

from broker.arms.arm_session import ArmSession, Found
from broker.arms.fleet import with_ours
from broker.blobs import pack_description, shared
from broker.publish.contents import NAMES
from broker.publish.documents import Documents
from broker.record.ledger import Ledger
from broker.record.principals import FOREIGN_USER
from broker.settle.contact.fences import Fences
from broker.settle.parking import Parking
from broker.store.meta_keys import DAMAGED
from broker.store.rows import FirstRow
from devices.adapter import Snapshot
from handlers.items.config_items import kept_by_service
from handlers.items.own_items import INITIAL_ORDER, initial_value
from handlers.methods.factory import has_no_reset
from handlers.stack.arm_limits import limits_of
from handlers.state.limit_sources import SETTINGS_USER, with_joint_types
from handlers.state.provenance import Setter, Stamp
from handlers.state.refusals import NOTHING_CHANGED
from limits.errors import LimitsError
from limits.stack.disagreement import disagreements
from schema.arms import Description, Slot
from schema.codecs.json_codec import pack
from schema.envelope import Author
from schema.errors import BrokerError
from schema.items import ITEMS
from schema.messages import Message

log = structlog.get_logger()


class Adoption:
    """Decides whether the arm that answers is the one that is known, and takes over what it holds."""

    def __init__(
        self,
        ledger: Ledger,
        documents: Documents,
        parking: Parking,
        fences: Fences,
        describe: Callable[[ArmSession], None],
    ) -> None:
        self._ledger = ledger
        self._documents = documents
        self._parking = parking
        self._fences = fences
        self._describe = describe
        self.serials: dict[str, str] = {}
        """Under which name an arm of each serial number is known."""

    def recognise(self, session: ArmSession, description: Description, snapshot: Snapshot) -> bool:
        """Keep what the arm is; False if it is another arm than before, or its limits cannot be used: it is held."""
        state = session.state
        description = with_joint_types(description, state.sources)
        if session.damage:
            self._hold(session, session.damage, unfit=False)
            session.found = Found(description, snapshot)
            return False
        joints = len(state.description.joints) if state.description is not None else 0
        if state.adopted and (session.serial != description.serial or joints != len(description.joints)):
            why = (
                f"serial {description.serial} with {len(description.joints)} joints answers, "
                f"{session.serial} with {joints} is known"
            )
            self._hold(session, why, unfit=False)
            session.found = Found(description, snapshot)
            return False
        if why := self._fences.ahead(session, description.fence):
            self._hold(session, why, unfit=False)
            session.found = Found(description, snapshot)
            return False
        if why := self._take_description(session, description):
            self._hold(session, why, unfit=True)
            return False
        state.distrust, state.unfit, session.found = "", False, None
        if not state.adopted:
            self._tell_other_name(session, description.serial)
        self._keep(session, description)
        return True

    def _tell_other_name(self, session: ArmSession, serial: str) -> None:
        """An arm that is known under another name begins anew under this one: what was set for it does not count."""
        other = self.serials.get(serial, session.arm)
        if serial and other != session.arm:
            log.warning(
                "arm_known_by_another_name", arm=session.arm, serial=serial, other=other,
                why="limits, history, authority and locks kept under the other name do not count here",
                remedy=f'if it was renamed, write was = "{other}" beside its id and start or reload anew',
            )  # fmt: skip

    def _hold(self, session: ArmSession, why: str, *, unfit: bool) -> None:
        state = session.state
        if state.distrust != why:
            log.error("arm_held", arm=session.arm, why=why)
        state.distrust, state.unfit, session.found = why, unfit, None

    def _take_description(self, session: ArmSession, description: Description) -> str:
        """Let the limits be made of what an arm tells; why they cannot be used, empty if they can."""
        state = session.state
        known = state.description
        if known is None or known.hard_limits != description.hard_limits or not state.described_at_us:
            state.described_at_us = self._ledger.clock.now_us()
        state.description = description
        return _unfit(session)

    def _keep(self, session: ArmSession, description: Description) -> None:
        session.state.methods = with_ours(session.adapter.methods)
        session.state.resolution_rad = session.adapter.resolution_rad
        session.serial = description.serial
        self.serials[description.serial] = session.arm
        packed = pack_description(description, session.state.described_at_us)
        if packed != session.description:  # else the bytes that the store has, too, are kept
            session.description = packed
        self._fences.respect(session, description.fence)
        self._ledger.put_arm(session)
        self._ledger.after_commit(partial(self._describe, session))

    # ------------------------------------------------------------------ values

    def adopt(self, session: ArmSession, snapshot: Snapshot) -> None:
        """Desired becomes what was read, as revision 1; nothing is written to the arm, no event."""
        state = session.state
        state.adopted = True
        state.rev = max(state.rev, 1)
        self._take_values(session, snapshot)
        self._put(session, state.rev, "adopted")
        self._documents.mark(session, "config", "reported", "mode")

    def confirm(self, session: ArmSession, by: Author) -> None:
        """Take the arm that answers for the known one: what it holds is desired, what was pending is discarded.

        Raises:
            BrokerError: arm_away: it has not answered yet; held: its limits cannot be used.
        """
        state, found = session.state, session.found
        if found is None:
            raise BrokerError("arm_away", f"{session.arm} has not been read yet. {NOTHING_CHANGED}")
        known, told_at_us = state.description, state.described_at_us
        if why := self._take_description(session, found.description):
            state.description, state.described_at_us = known, told_at_us
            raise BrokerError("held", f"{session.arm} stays held: {why}. {NOTHING_CHANGED}")
        state.distrust, session.found = "", None
        state.rev += 1
        if session.damage:
            session.damage, state.damaged, state.adopted = "", False, True
            self._ledger.store.batch.set_meta(DAMAGED + session.arm, "")
        state.read_at_us = state.mode_seen_at_us = self._ledger.clock.now_us()
        same_joints = known is not None and known.joints == found.description.joints
        for slot in [one for one in INITIAL_ORDER if kept_by_service(state, one[0])]:
            kept = state.reported.pop(slot, None)
            if kept is not None and same_joints:
                self._adopt(session, slot, kept, state.reported_by[slot])
        self._take_values(session, found.snapshot)
        self._keep(session, found.description)
        self._put(session, state.rev, "confirmed")
        for job in session.unsettled():
            self._parking.discard_one(session, job, f"{by.user}/{by.connection}, who confirmed another arm,")
        self._documents.mark(session, *NAMES)

    def _put(self, session: ArmSession, rev: int, decision: str) -> None:
        self._ledger.put_arm(session)
        self._ledger.audit(
            at=self._ledger.clock.now_us(), arm=session.arm, serial=session.serial, rev=rev, decision=decision
        )
        self._ledger.store.flush_soon()

    def _take_values(self, session: ArmSession, snapshot: Snapshot) -> None:
        setter = self._by(FOREIGN_USER)
        for slot, read in snapshot.items.items():
            self._adopt_read(session, slot, read, setter)
        self.adopt_own(session)

    def adopt_own(self, session: ArmSession) -> None:
        """Give the items that the service itself holds their first values."""
        setter: Setter | None = None
        for slot in INITIAL_ORDER:
            if slot not in session.state.reported and kept_by_service(session.state, slot[0]):
                setter = setter or self._by(SETTINGS_USER)
                self._adopt(session, slot, initial_value(session.state, slot), setter)

    def adopt_slot(self, session: ArmSession, slot: Slot, read: Message) -> None:
        """A value of the arm that was not known before is desired, and kept where no Reset can bring it back."""
        self._adopt_read(session, slot, read, self._by(FOREIGN_USER))

    def _adopt_read(self, session: ArmSession, slot: Slot, read: Message, setter: Setter) -> None:
        self._adopt(session, slot, shared(read), setter)
        if has_no_reset(ITEMS[slot[0]]):
            session.state.first[slot] = read
            self._ledger.store.batch.put_first(FirstRow(arm=session.arm, key=slot[0], mode=slot[1], value=pack(read)))

    def _by(self, user: str) -> Setter:
        return Setter(Stamp(user, self._ledger.clock.now_us()))

    def _adopt(self, session: ArmSession, slot: Slot, value: Message, setter: Setter) -> None:
        state = session.state
        state.reported[slot] = state.desired[slot] = value
        state.desired_rev[slot] = state.last_rev[slot] = state.rev
        state.reported_by[slot] = state.desired_by[slot] = setter
        self._ledger.put_slot(session, slot)


def _unfit(session: ArmSession) -> str:
    """Why the limits that an arm tells and the files of the settings make no stack; empty if they do."""
    try:
        limits = limits_of(session.state)
        reports = (*limits.placed.reports, *map(str, disagreements(limits.stack)))
    except LimitsError as error:
        return f"its limits cannot be used: {error}"
    new = [report for report in reports if report not in session.told]
    for report in new:
        log.debug("limit_source", arm=session.arm, what=report)
    if new:
        log.warning(
            "limit_sources", arm=session.arm, count=len(new), first=new[0], more="in the factsheet, or log level debug"
        )
    session.told = reports
    return ""
