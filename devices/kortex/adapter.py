"""The adapter of Kinova arms: `ArmAdapter` on a session in a worker process."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

from devices.adapter import (
    AdapterSettingError,
    ArmAwayError,
    ArmRefusedError,
    ArmTimeoutError,
    Command,
    Deadlines,
    FleetContext,
    Notice,
    Setting,
    Snapshot,
)
from devices.adapter_class import AdapterAbout
from devices.fence import Fence
from devices.kinova_methods import CONTROL_CONFIG_METHODS
from devices.kortex.arm_state import ACTIVITIES
from devices.kortex.calls import MODE_SLOT, RESETTERS, SETTERS
from devices.kortex.description import describe
from devices.kortex.events import Events
from devices.kortex.options import KortexOptions, check, interpreter
from devices.kortex.reading import Reader
from devices.kortex.session import Session
from devices.options import read_options
from devices.refusals import refused
from devices.worker import Program
from limits.kinova_models import MODELS, KinovaModel
from schema.arms import Description, Slot, Verb
from schema.items import ITEMS, KINOVA_ITEMS, SOFT_LIMIT_MODES
from schema.messages import ControlModeInformation, Message

WORKER = Path(__file__).with_name("worker.py")
RESOLUTION_RAD = 1e-4
LOCK_S = 7.5
"""How long a client of the arm keeps the control after its last command."""
NOT_IN_CONTROL = (3, 130)
"""What the arm answers while another client has the control: SESSION_NOT_IN_CONTROL."""
READ_S = 5.0
"""How long reading may take, all values together."""
_FOR_SESSION = 0.8
"""The part of a deadline in which there has to be a session."""


class KortexArm:
    """An `ArmAdapter` of one arm of a model of `limits.kinova_models`."""

    resolution_rad = RESOLUTION_RAD
    items = KINOVA_ITEMS
    about: ClassVar = AdapterAbout(
        purpose="Kinova Gen3 and Gen3 lite arms, through the maker's Python client in a process of its own",
        options=KortexOptions,
        models=tuple(MODELS),
        methods=CONTROL_CONFIG_METHODS,
        items=KINOVA_ITEMS,
        deadlines=Deadlines(connect_s=10.0, read_s=READ_S),
        resolution_rad=RESOLUTION_RAD,
        activities=frozenset(ACTIVITIES.values()),
    )

    def __init__(self, name: str, model: KinovaModel, options: KortexOptions, python: str, fence: Fence) -> None:
        self._name, self._model, self._fence = name, model, fence
        self._call_s = options.call_timeout_s
        self.methods = CONTROL_CONFIG_METHODS
        self.deadlines = Deadlines(options.connect_timeout_s, READ_S, options.write_timeout_s)
        self._events = Events(name, lambda: asyncio.get_running_loop().time())
        self._sink: Callable[[Notice], None] | None = None
        self._session = Session(
            name,
            Program((python, "-I", "-u", str(WORKER))),
            _login(options),
            open_s=options.connect_timeout_s,
            call_s=options.call_timeout_s,
            tell=self._tell,
            heard=self._hear,
            opened=self._events.forget,
        )
        self._reader = Reader(name, self._session.call)

    @classmethod
    def open_fleet(cls, context: FleetContext) -> "KortexFleet":
        """The Kinova arms of a service; the directory of `context` holds their fences and the workers' environment."""
        return KortexFleet(context.directory)

    @property
    def worker_pid(self) -> int:
        """The number of the arm's worker process, 0 when there is none."""
        return self._session.pid

    async def connect(self) -> Description:
        """See `ArmAdapter.connect`."""
        async with _deadline(self.deadlines.connect_s, "connect"):
            await self._session.open(_FOR_SESSION * self.deadlines.connect_s)
            try:
                notes = await self._reader.probe()
                self.methods = self._reader.usable(CONTROL_CONFIG_METHODS)
                self._session.watched = _first(self._reader.missing, "GetControlMode", "GetKinematicHardLimits")
                found = await describe(self._model, self._session.identity, self._reader)
            except ArmRefusedError as refusal:
                raise ArmAwayError(f"{self._name} cannot be described: {refusal}") from None
        self._session.confirm_online()
        notes = (*found.notes, *notes, *self._session.notes)
        return Description(
            model=found.model,
            serial=found.serial,
            firmware=found.firmware,
            joints=found.joints,
            hard_limits=found.hard_limits,
            hard_source=found.hard_source,
            payload_max=found.payload_max,
            modes_settable=(),
            notes=notes,
            fence=self._fence.last,
        )

    async def read_all(self) -> Snapshot:
        """See `ArmAdapter.read_all`."""
        async with _deadline(self.deadlines.read_s, "read_all"):
            await self._session.wait(_FOR_SESSION * self.deadlines.read_s)
            return await self._reader.read_all()

    async def read(self, slot: Slot) -> Message:
        """See `ArmAdapter.read`; waits for a session that is being opened anew."""
        async with _deadline(self.deadlines.read_s, f"read {slot[0]}"):
            await self._session.wait(_FOR_SESSION * self.deadlines.read_s)
            return await self._reader.read(slot)

    async def write(self, command: Command) -> Message | None:
        """See `ArmAdapter.write`; what no call of the arm could say is refused here."""
        method, request = _call_of(command)
        await self._session.wait(0)

        async def send(_: Command) -> Message | None:
            return await self._send(command.slot, method, request)

        return await self._fence.carry_out(command, send)

    def watch(self, sink: Callable[[Notice], None]) -> None:
        """See `ArmAdapter.watch`."""
        self._sink = sink

    async def close(self) -> None:
        """See `ArmAdapter.close`."""
        self._sink = None
        await self._session.close()

    async def _send(self, slot: Slot, method: str, request: Message | None) -> Message | None:
        """Carry a write out; one that another client's control keeps from being done is tried again if time allows."""
        now = asyncio.get_running_loop().time
        latest = now() + self.deadlines.write_s
        with self._events.writing(slot):
            try:
                return await self._reader.ask(method, request)
            except ArmRefusedError as refusal:
                in_time = now() + LOCK_S + self._call_s <= latest
                if (refusal.code, refusal.sub_code) != NOT_IN_CONTROL or not in_time:
                    raise
            except ArmTimeoutError as error:
                raise self._given_up(error) from None
            await asyncio.sleep(LOCK_S)
            try:
                return await self._reader.ask(method, request)
            except ArmTimeoutError as error:
                raise self._given_up(error) from None

    def _given_up(self, error: ArmTimeoutError) -> ArmTimeoutError:
        """After a write without answer the client is not to be trusted: the read-back goes through another."""
        self._session.restart(f"a write was not answered: {error}")
        return error

    def _tell(self, notice: Notice) -> None:
        if self._sink is not None:
            self._sink(notice)

    def _hear(self, topic: str, payload: bytes) -> None:
        for change in self._events.read(topic, payload):
            self._tell(change)


class KortexFleet:
    """The Kinova arms of a service: an `ArmFleet`; they share nothing but the environment of their workers."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def arm(self, name: str, model: str, options: Mapping[str, Setting]) -> KortexArm:
        """See `ArmFleet.arm`."""
        if model not in MODELS:
            raise AdapterSettingError(f"arm {name}: model {model!r} is none of {', '.join(MODELS)}")
        read = read_options(name, options, KortexOptions)
        check(name, read)
        fence = Fence(self._directory / f"{name}.fence")
        return KortexArm(name, MODELS[model], read, interpreter(read, self._directory), fence)

    def close(self) -> None:
        """See `ArmFleet.close`."""


def _login(options: KortexOptions) -> dict[str, Setting]:
    """What the worker needs for a session; where the password is, never the password."""
    return {
        "host": options.host,
        "port": options.port,
        "user": options.user,
        "password_file": options.password_file,
        "password_env": options.password_env,
        "allow_default_login": options.allow_default_login,
        "session_ms": round(options.session_timeout_s * 1000),
        "connection_ms": round(options.connection_timeout_s * 1000),
    }


def _first(missing: frozenset[str], *methods: str) -> str:
    """The first of some calls that is not missing, else the last."""
    return next((method for method in methods if method not in missing), methods[-1])


def _call_of(command: Command) -> tuple[str, Message | None]:
    """Call and request of a command.

    Raises:
        ArmRefusedError: there is none.
    """
    item, mode = command.slot
    if command.slot == MODE_SLOT:
        raise refused("UNSUPPORTED_METHOD", "no Kinova arm takes a request for a control mode")
    table = SETTERS if command.verb is Verb.SET else RESETTERS
    if item not in table:
        raise refused("UNSUPPORTED_METHOD", f"there is no call to {command.verb} {item}")
    if command.verb is Verb.RESET:
        return table[item], ControlModeInformation(mode) if item in SOFT_LIMIT_MODES else None
    value = command.value
    if type(value) is not ITEMS[item].record:
        raise refused("INVALID_PARAM", f"{item}: {type(value).__name__} instead of {ITEMS[item].record.__name__}")
    if item in SOFT_LIMIT_MODES and getattr(value, "control_mode", 0) != mode:
        raise refused("INVALID_PARAM", f"{item}: control_mode differs from slot {mode}")
    return table[item], value


@asynccontextmanager
async def _deadline(seconds: float, what: str) -> AsyncIterator[None]:
    """Let a step last so long at most.

    Raises:
        ArmTimeoutError: it lasted longer.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise ArmTimeoutError(f"{what}: not done within {seconds:g} s") from None
