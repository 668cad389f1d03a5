"""The arms of the settings: one session and one adapter each."""

from broker.arm_session import ArmSession
from broker.limit_files import LimitFiles
from broker.settings import Settings
from devices.adapter import ArmFleet, DeviceBus, FleetContext, NoBus
from devices.guard import guard
from devices.registry import adapter_class
from handlers.arm_state import ArmState, HandleEntry
from handlers.rpc_table import SERVICE_METHODS
from schema.arms import Authority

SIMULATED = "simulated"
NO_BUS = NoBus()


class Fleet:
    """Builds the sessions of all arms; adapters of one kind share what they share.

    Raises:
        ArmError: an adapter or one of its settings cannot be used.
        SettingsError: a file that limits an arm cannot be used.
    """

    def __init__(
        self, settings: Settings, handles: dict[int, HandleEntry], now_us: int, bus: DeviceBus = NO_BUS
    ) -> None:
        files = LimitFiles(now_us)
        self._fleets: dict[str, ArmFleet] = {}
        self.sessions: dict[str, ArmSession] = {}
        for arm in settings.arm:
            fleet = self._fleets.get(arm.adapter)
            if fleet is None:
                directory = settings.data_dir / "adapters" / arm.adapter
                directory.mkdir(parents=True, exist_ok=True)
                fleet = self._fleets[arm.adapter] = adapter_class(arm.adapter).open_fleet(FleetContext(directory, bus))
            options = dict(arm.options)
            simulated = arm.adapter == SIMULATED
            if simulated:
                options.setdefault("latency_ms", settings.sim.latency_ms)
            adapter = guard(arm.id, fleet.arm(arm.id, arm.model, options))
            authority = Authority(arm.authority or adapter_class(arm.adapter).about.authority)
            state = ArmState(
                arm=arm.id,
                adapter=arm.adapter,
                methods=adapter.methods | SERVICE_METHODS,
                resolution_rad=adapter.resolution_rad,
                arm_items=adapter.items,
                model=arm.model,
                strict=settings.checks.strict,
                queue_limit=settings.arm_defaults.queue,
                faults_allowed=simulated and settings.sim.faults,
                handles=handles,
                sources=files.sources(arm),
                authority=authority,
            )
            self.sessions[arm.id] = ArmSession(state, adapter, model=arm.model, file_authority=authority)

    async def close(self) -> None:
        """Close every adapter, then what they share."""
        for session in self.sessions.values():
            await session.adapter.close()
        for fleet in self._fleets.values():
            fleet.close()
