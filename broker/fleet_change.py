"""The arms follow new settings while the service runs: what is not concerned goes on untouched."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import msgspec
import structlog

from broker import recovery
from broker.announcer import Announcer
from broker.arms.arm_session import ArmSession
from broker.arms.damages import Damages
from broker.arms.fleet import Fleet, options_of
from broker.arms.fleet_check import CheckedFleet
from broker.arms.jobs import ChangeJob, ForwardJob
from broker.arms.limit_files import LimitFiles
from broker.life import State
from broker.publish.contents import NAMES
from broker.record.ledger import Ledger
from broker.settings import REAPPLY, ArmSettings, Settings, SettingsError
from broker.settle.contact.drift import Drift
from broker.settle.contact.reconciler import Reconciler
from broker.settle.queues import Queues
from broker.settle.rights.authority import Authorities
from broker.settle.settler import Settler
from broker.store.rows import Loaded
from devices.adapter import ArmError
from handlers.state.refusals import NOTHING_CHANGED
from schema.arms import Activity
from schema.errors import BrokerError

log = structlog.get_logger()

REST_S = 10.0
"""How long the change that is with an arm may take before it is left to be read back later."""


class Difference(NamedTuple):
    """The arms that new settings add, remove, and open anew; by id, sorted."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


def difference(old: Settings, new: Settings, digests: dict[str, bytes], files: LimitFiles) -> Difference:
    """What new settings mean for the arms; `digests` tell what the files of each held when it was opened."""
    before, after = ({arm.id: arm for arm in settings.arm} for settings in (old, new))
    changed = [
        name
        for name in before.keys() & after.keys()
        if _opened_as(old, before[name]) != _opened_as(new, after[name])
        or digests.get(name) != files.digest(after[name])
    ]
    added, removed = after.keys() - before.keys(), before.keys() - after.keys()
    return Difference(tuple(sorted(added)), tuple(sorted(removed)), tuple(sorted(changed)))


def _opened_as(settings: Settings, arm: ArmSettings) -> ArmSettings:
    """The settings that an arm is opened with; those that count without opening it are left out."""
    return msgspec.structs.replace(
        arm, options=options_of(settings, arm), authority="", drift="", idle_modes=(), was="", groups=()
    )


class Parts(NamedTuple):
    """What a change of the fleet works on."""

    ledger: Ledger
    fleet: Fleet
    queues: Queues
    settler: Settler
    reconciler: Reconciler
    drift: Drift
    authorities: Authorities
    announcer: Announcer
    loaded: Loaded
    damages: Damages


class FleetChange:
    """Opens, shuts and opens anew; a removed arm that comes back goes on where it was."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._sessions = parts.fleet.sessions
        self._removed: dict[str, ArmSession] = {}

    async def follow(self, old: Settings, checked: CheckedFleet) -> Settings:
        """Let the arms follow new settings; the settings that count now: an arm that cannot be opened keeps its old."""
        parts, new = self._parts, checked.settings
        found = difference(old, new, parts.fleet.digests, checked.files)
        log.info("arms_follow", added=found.added, removed=found.removed, changed=found.changed)
        parts.fleet.follow(new, checked.files)
        parts.settler.pending_max_age(new.arm_defaults.pending_max_age_us)
        parts.drift.follow_settings({arm.id for arm in new.arm if arm.drift == REAPPLY})
        before, after = ({arm.id: arm for arm in settings.arm} for settings in (old, new))
        removed = [self._sessions.pop(name) for name in found.removed]
        async with asyncio.TaskGroup() as tasks:
            for session in removed:
                tasks.create_task(self._remove(session))
            for name in found.changed:
                tasks.create_task(self._change(self._sessions[name], before, after))
        for name in found.added:
            self._add(after, name)
        for session in self._sessions.values():
            state = session.state
            shown = (state.groups, state.idle_modes)
            parts.fleet.allow(session, after[session.arm])
            if (state.groups, state.idle_modes) != shown:
                parts.announcer.factsheet(session)
            parts.authorities.follow_settings(session, parts.fleet.authority_of(after[session.arm]))
            parts.drift.look(session)
        parts.settler.idle.follow_settings(new.arm_defaults.idle_for_us / 1e6, self._sessions)
        parts.fleet.close_unused({arm.adapter for arm in after.values()})
        parts.announcer.follow(new, checked.policy)
        return msgspec.structs.replace(new, arm=tuple(after.values()))

    # ------------------------------------------------------------------ arms

    async def _remove(self, session: ArmSession) -> None:
        """What is with the arm ends first, or is left to be read back if the arm returns; what waits is discarded."""
        parts = self._parts
        await self._rest(session)
        await parts.fleet.shut(session)
        for forgotten in (parts.reconciler, parts.drift, parts.authorities, parts.settler.overriding.times):
            forgotten.forget(session.arm)
        for job in session.unsettled():
            if session.may_be_with_arm(job):
                parts.settler.leave(session, job)
            else:
                session.take_out(job)
                text = f"{session.arm} was taken out of the settings. {NOTHING_CHANGED}"
                parts.settler.endings.fail(session, job, BrokerError("unknown_arm", text), "discarded", None)
        session.state.online = session.state.ready = session.met = False
        session.state.activity = Activity.UNKNOWN
        self._removed[session.arm] = session
        parts.ledger.audit(at=parts.ledger.clock.now_us(), arm=session.arm, decision="removed")
        parts.ledger.documents.forget(session.arm)
        parts.ledger.after_commit(partial(parts.announcer.forget, session.arm))
        parts.ledger.store.flush_soon()

    async def _change(self, session: ArmSession, before: dict[str, ArmSettings], after: dict[str, ArmSettings]) -> None:
        """Shut and open anew; what waits goes on, decided again."""
        name = session.arm
        await self._rest(session)
        await self._parts.fleet.shut(session)
        if not self._try_open(name, lambda: self._parts.fleet.reopen(session, after[name])):
            after[name] = before[name]
            self._try_open(name, lambda: self._parts.fleet.reopen(session, after[name]))
        self._begin(session)

    def _add(self, after: dict[str, ArmSettings], name: str) -> None:
        parts, arm = self._parts, after[name]
        session = self._removed.get(name)
        if session is not None:
            known = session
            if self._try_open(name, lambda: parts.fleet.reopen(known, arm)):
                del self._removed[name]
                parts.settler.take_back(session)
                self._sessions[name] = session
                parts.settler.overriding.begin(session)
                self._begin(session)
                return
        elif self._try_open(name, lambda: self._sessions.update({name: parts.fleet.open(arm)})):
            session = self._sessions[name]
            alone = {name: session}
            recovery.restore(alone, parts.loaded, parts.damages)
            parts.authorities.restore([session], parts.loaded.meta, parts.damages)
            parts.ledger.backfill.begin(session)
            parts.ledger.backfill.feed()
            recovery.requeue(alone, parts.loaded, parts.ledger, parts.settler, parts.damages)
            parts.settler.overriding.begin(session)
            self._begin(session)
            return
        del after[name]

    def _try_open(self, name: str, opening: Callable[[], None]) -> bool:
        """Whether an arm could be opened."""
        try:
            opening()
        except (ArmError, SettingsError) as error:
            log.warning("arm_not_opened", arm=name, why=str(error))
            return False
        return True

    async def _rest(self, session: ArmSession) -> None:
        """Let the queue of an arm stand; the change that is with it ends first, or is read back before it is sent."""
        left = await self._parts.queues.rest(session, REST_S)
        if isinstance(left, ChangeJob) and session.has_begun(left):
            left.state = State.RESUMED
        for job in [job for job in session.jobs if not isinstance(job, ChangeJob)]:
            session.jobs.remove(job)
            if isinstance(job, ForwardJob):
                await self._parts.reconciler.forward(session, job)

    def _begin(self, session: ArmSession) -> None:
        """First contact, as after a start; then what waits."""
        parts, state = self._parts, session.state
        state.online = state.ready = session.met = False
        state.activity = Activity.UNKNOWN
        state.distrust, session.found, session.told, session.failures = session.damage, None, (), 0
        session.reverts += 1
        session.adapter.watch(partial(parts.reconciler.on_notice, session))
        parts.ledger.documents.mark(session, *(NAMES if state.adopted else ("presence",)))
        parts.announcer.factsheet(session)
        parts.authorities.begin(session)
        parts.reconciler.contact_soon(session, "the settings changed")
        parts.queues.wake(session)
