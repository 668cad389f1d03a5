"""The arms of the settings: one session and one adapter each."""

import asyncio
from collections.abc import Collection, Mapping
from functools import lru_cache

from broker.arms.arm_session import ArmSession
from broker.arms.limit_files import LimitFiles
from broker.settings import ArmSettings, Settings
from broker.store.meta_keys import FIRST_NAME
from devices.adapter import ArmFleet, DeviceBus, FleetContext, NoBus, Setting
from devices.adapter_class import AdapterAbout
from devices.guard import GuardedArm, guard
from devices.registry import adapter_class
from handlers.rpc_table import SERVICE_METHODS
from handlers.state.arm_state import ArmState, HandleEntry
from handlers.state.recipes import NO_RECIPES, Applied, Shelf
from schema.arms import Authority
from schema.enums import ControlMode

SIMULATED = "simulated"
NO_BUS = NoBus()
NOTHING: Mapping[str, str] = {}
NONE_APPLIED: Mapping[str, Applied] = {}


class Fleet:
    """Builds the sessions of all arms; adapters of one kind share what they share.

    `meta`: the small values of the store, for the first names of simulated arms that were renamed.

    Raises:
        ArmError: an adapter or one of its settings cannot be used.
        SettingsError: a file that limits an arm cannot be used.
    """

    def __init__(
        self,
        settings: Settings,
        handles: dict[int, HandleEntry],
        now_us: int,
        bus: DeviceBus = NO_BUS,
        meta: Mapping[str, str] = NOTHING,
        shelf: Shelf = NO_RECIPES,
        applied: Mapping[str, Applied] = NONE_APPLIED,
    ) -> None:
        self._settings = settings
        self._files = LimitFiles(now_us)
        self._handles = handles
        self._bus = bus
        self._meta = meta
        self._shelf, self._applied = shelf, applied
        self._fleets: dict[str, ArmFleet] = {}
        self._open: dict[str, ArmSession] = {}
        self._abouts: dict[str, AdapterAbout] = {}
        self.digests: dict[str, bytes] = {}
        """What the files of each arm held when it was opened."""
        self.sessions: dict[str, ArmSession] = {}
        for arm in settings.arm:
            self.sessions[arm.id] = self.open(arm)

    def follow(self, settings: Settings, files: LimitFiles) -> None:
        """Open arms as these settings say from now on."""
        self._settings, self._files = settings, files

    def open(self, arm: ArmSettings) -> ArmSession:
        """A session of its own for an arm; nothing is sent.

        Raises:
            ArmError: the adapter or one of the settings cannot be used.
            SettingsError: a file that limits it cannot be used.
        """
        adapter = self._adapter(arm)
        state = ArmState(
            arm=arm.id, adapter="", methods=frozenset(), resolution_rad=0.0, handles=self._handles,
            authority=self.authority_of(arm), recipes=self._shelf, applied=self._applied.get(arm.id),
        )  # fmt: skip
        session = ArmSession(state, adapter, file_authority=state.authority)
        self._equip(session, arm, adapter)
        return session

    def reopen(self, session: ArmSession, arm: ArmSettings) -> None:
        """Give a session whose adapter was shut another one, as the settings of its arm say; nothing is sent.

        Raises:
            ArmError: as `open`; the session is as it was.
            SettingsError: as `open`; the session is as it was.
        """
        self._equip(session, arm, self._adapter(arm))

    def _adapter(self, arm: ArmSettings) -> GuardedArm:
        fleet = self._fleets.get(arm.adapter)
        if fleet is None:
            directory = self._settings.data_dir / "adapters" / arm.adapter
            directory.mkdir(parents=True, exist_ok=True)
            context = FleetContext(directory, self._bus)
            adapters = adapter_class(arm.adapter)
            fleet = self._fleets[arm.adapter] = adapters.open_fleet(context)
            self._abouts[arm.adapter] = adapters.about
        self._files.sources(arm)
        options = options_of(self._settings, arm)
        if arm.adapter == SIMULATED and (first := self._meta.get(FIRST_NAME + arm.id)):
            options.setdefault("first_name", first)
        return guard(arm.id, fleet.arm(arm.id, arm.model, options))

    def _equip(self, session: ArmSession, arm: ArmSettings, adapter: GuardedArm) -> None:
        """What the settings and the adapter say of an arm."""
        state = session.state
        self._open[arm.id] = session
        session.adapter, session.model = adapter, arm.model
        state.adapter, state.model = arm.adapter, arm.model
        state.methods = with_ours(adapter.methods)
        state.resolution_rad, state.arm_items = adapter.resolution_rad, adapter.items
        state.activities = self._abouts[arm.adapter].activities
        state.sources, state.limits = self._files.sources(arm), None
        self.digests[arm.id] = self._files.digest(arm)
        self.allow(session, arm)

    def allow(self, session: ArmSession, arm: ArmSettings) -> None:
        """What counts without opening an arm anew: what the settings say of all arms, and how far each may go."""
        settings, state = self._settings, session.state
        state.groups = arm.groups
        state.idle_modes = _modes(arm.idle_modes)
        state.ceiling = Authority(arm.authority or Authority.CONTROL)
        state.longest_hold_us = settings.locks.longest_us
        state.strict, state.queue_limit = settings.checks.strict, settings.arm_defaults.queue
        state.faults_allowed = state.adapter == SIMULATED and settings.sim.faults

    def authority_of(self, arm: ArmSettings) -> Authority:
        """How far the service may go with an arm that was opened, as the settings or else its adapter say."""
        return Authority(arm.authority or self._abouts[arm.adapter].authority)

    async def shut(self, session: ArmSession) -> None:
        """Close the adapter of an arm."""
        self._open.pop(session.arm, None)
        await session.adapter.close()

    async def close(self) -> None:
        """Close every adapter, all at once, then what they share."""
        await asyncio.gather(*(session.adapter.close() for session in self._open.values()))
        self._open.clear()
        self.close_unused(())

    def close_unused(self, used: Collection[str]) -> None:
        """Close what the arms of adapters share, but of those that are used."""
        for name in self._fleets.keys() - set(used):
            self._fleets.pop(name).close()


@lru_cache(maxsize=64)
def with_ours(methods: frozenset[str]) -> frozenset[str]:
    """The methods of an adapter and those of the service: one set for all arms that are alike."""
    return methods | SERVICE_METHODS


@lru_cache(maxsize=64)
def _modes(names: tuple[str, ...]) -> frozenset[int]:
    """Control modes by their names: one set for all arms that are alike."""
    return frozenset(ControlMode[name] for name in names)


def options_of(settings: Settings, arm: ArmSettings) -> dict[str, Setting]:
    """The options of an arm, with what the settings say of all simulated ones."""
    defaults: dict[str, Setting] = {"latency_ms": settings.sim.latency_ms} if arm.adapter == SIMULATED else {}
    return {**defaults, **arm.options}
