"""The adapter of an arm that speaks MQTT: no task of its own, callbacks of the bus and futures only."""

import asyncio
from collections.abc import Callable

import msgspec
import structlog

from devices.adapter import (
    ArmAwayError,
    ArmRefusedError,
    ArmTimeoutError,
    ArmUnreadableError,
    Command,
    Deadlines,
    DeviceBus,
    LinkState,
    Notice,
    Reread,
    Snapshot,
)
from devices.mqtt_agent.birth import AGENT_METHODS, Birth, read_birth, read_death
from devices.mqtt_agent.calls import Calls
from devices.mqtt_agent.commands import Ack, all_values, read_ack
from devices.mqtt_agent.documents import UnreadableError
from devices.mqtt_agent.reports import read_report
from devices.mqtt_agent.sessions import Sessions
from devices.mqtt_agent.values import fits, from_value, require_slot
from devices.refusals import refused
from schema.arms import Activity, Description, Slot, Verb
from schema.items import KINOVA_ITEMS
from schema.messages import Message

log = structlog.get_logger()

MESSAGES_MOST = 200
"""Messages of one arm within a second; an arm that says more is not heard for `UNHEARD_S`."""
UNHEARD_S = 5.0
REREAD_S = 1.0
"""Shortest time between two readings of everything for the sake of lost reports."""
PROBE: Slot = ("control_mode", 0)
"""What is read to see whether an arm answers."""
_PRESENCE = ("birth", "death")


class MqttAgentArm:
    """An `ArmAdapter` and `BusListener`; what the arm can do stands in its birth, and is known once connected."""

    def __init__(self, name: str, bus: DeviceBus) -> None:
        self.resolution_rad = 0.0
        self.methods = AGENT_METHODS
        self.items = KINOVA_ITEMS
        self.deadlines = Deadlines()
        self._name = name
        self._bus = bus
        self._sink: Callable[[Notice], None] | None = None
        self._sessions = Sessions()
        self._current: Birth | None = None
        self._told_online: bool | None = None
        self._unreadable = ""
        self._up_since: float | None = None
        self._waiting: set[asyncio.Future[None]] = set()
        self._calls = Calls(name, bus)
        self._next_n: int | None = None
        self._reread_timer: asyncio.TimerHandle | None = None
        self._reread_after = 0.0
        self._second = (0.0, 0)
        self._deaf_timer: asyncio.TimerHandle | None = None
        self._unheard: dict[str, tuple[bytes, bool]] = {}
        bus.listen(name, self)

    # ------------------------------------------------------------------ for the service

    def watch(self, sink: Callable[[Notice], None]) -> None:
        """See `ArmAdapter.watch`."""
        self._sink = sink

    async def connect(self) -> Description:
        """See `ArmAdapter.connect`; waits for a birth only while retained ones may still be on their way.

        A birth may be old: the arm has to answer, and to say which command it was given last.
        """
        loop = asyncio.get_running_loop()
        if self._current is None and self._up_since is not None and not self._unreadable:
            future: asyncio.Future[None] = loop.create_future()
            self._waiting.add(future)
            await asyncio.wait([future], timeout=max(0.0, self._up_since + self.deadlines.connect_s - loop.time()))
            self._waiting.discard(future)
        self._told_online = False
        birth = self._alive()
        try:
            ack = await self._calls.read(birth.session, PROBE, self.deadlines.read_s)
        except ArmRefusedError as error:
            raise ArmTimeoutError(f"{self._name} refuses to be read: {error}") from error
        self._told_online = True
        if (now := self._current) is not None and (not now.ready or now.activity is not Activity.UNKNOWN):
            self._tell_readiness()
        return msgspec.structs.replace(birth.description, fence=max(birth.description.fence, ack.fence))

    async def read_all(self) -> Snapshot:
        """See `ArmAdapter.read_all`."""
        ack = await self._calls.read(self._alive().session, None, self.deadlines.read_s)
        try:
            values = all_values(ack)
        except UnreadableError as error:
            raise self._garbled(error) from error
        return Snapshot(values)

    async def read(self, slot: Slot) -> Message:
        """See `ArmAdapter.read`."""
        require_slot(slot)
        ack = await self._calls.read(self._alive().session, slot, self.deadlines.read_s)
        return self._value(slot, ack)

    async def write(self, command: Command) -> Message | None:
        """See `ArmAdapter.write`; the arm does not begin it once the deadline is over."""
        require_slot(command.slot)
        if command.verb is Verb.SET and not fits(command.slot, command.value):
            raise refused("INVALID_PARAM", f"{command.slot[0]}: the value is none of slot {command.slot[1]}")
        ack = await self._calls.write(self._alive().session, command, self.deadlines.write_s)
        return self._value(command.slot, ack) if command.verb is Verb.RESET else None

    async def close(self) -> None:
        """See `ArmAdapter.close`."""
        self._bus.forget(self._name)
        self._sink = None
        self._up_since = None
        for timer in (self._reread_timer, self._deaf_timer):
            if timer is not None:
                timer.cancel()
        self._settle("the adapter was closed")

    def _alive(self) -> Birth:
        """The birth of the arm as it is now.

        Raises:
            ArmAwayError: there is none.
            ArmUnreadableError: it cannot be read.
        """
        if self._current is not None:
            return self._current
        if self._unreadable and self._up_since is not None:
            raise ArmUnreadableError(f"the birth of {self._name} cannot be read: {self._unreadable}")
        raise ArmAwayError(f"{self._name} is not there")

    def _value(self, slot: Slot, ack: Ack) -> Message:
        try:
            return from_value(slot, ack.value)
        except UnreadableError as error:
            raise self._garbled(error) from error

    def _garbled(self, error: UnreadableError) -> ArmUnreadableError:
        return ArmUnreadableError(f"the answer of {self._name} cannot be read: {error}")

    # ------------------------------------------------------------------ what the arm says

    def heard(self, leaf: str, payload: bytes, *, retained: bool) -> None:
        """See `BusListener.heard`; only birth and death may be retained."""
        if retained and leaf not in _PRESENCE:
            return
        if self._deaf_timer is not None or self._says_too_much():
            if leaf in _PRESENCE:
                self._unheard[leaf] = (payload, retained)
            return
        try:
            self._take(leaf, payload, retained=retained)
        except UnreadableError as error:
            self._take_garbage(leaf, str(error))

    def bus_changed(self, *, up: bool) -> None:
        """See `BusListener.bus_changed`: who is there says so again."""
        self._up_since = asyncio.get_running_loop().time() if up else None
        self._unreadable = ""
        self._sessions.await_birth()
        self._settle("the connection to the MQTT server was lost")

    def _take(self, leaf: str, payload: bytes, *, retained: bool) -> None:
        match leaf:
            case "birth" if not payload:
                self._unreadable = ""
                self._sessions.forget()
                self._settle("its birth was taken back")
            case "birth":
                self._take_birth(read_birth(payload), retained=retained)
            case "death" if payload:
                self._sessions.died(read_death(payload))
                self._settle("its session ended")
            case "ack":
                self._calls.take(read_ack(payload))
            case "report":
                self._take_report(payload)

    def _take_birth(self, birth: Birth, *, retained: bool) -> None:
        before = self._sessions.birth
        if not self._sessions.born(birth):
            log.warning("late_birth", arm=self._name, session=birth.session)
            return
        self._unreadable = ""
        if before is None or before.session != birth.session:
            self._next_n = None if retained else 1
        self._settle(f"it began session {birth.session}")

    def _take_report(self, payload: bytes) -> None:
        report = read_report(payload)
        current, expected = self._current, self._next_n
        if current is None or report.session != current.session:
            return
        if expected is not None and report.n < expected:
            return
        if expected is not None and report.n > expected:
            self._reread(f"reports {expected} to {report.n - 1} were lost")
        self._next_n = report.n + 1
        if report.change is not None:
            self._tell(report.change)
        if report.ready is not None:
            self._sessions.born(current._replace(ready=report.ready, why=report.why, activity=report.activity))
            self._settle("")

    def _take_garbage(self, leaf: str, why: str) -> None:
        """A birth that cannot be read is none; an answer is no answer; a report may have been any."""
        log.warning("unreadable_message", arm=self._name, leaf=leaf, why=why)
        if leaf == "birth":
            self._unreadable = why
            self._settle("its birth cannot be read")
        elif leaf == "ack":
            self._calls.fail(ArmUnreadableError(f"the answer of {self._name} cannot be read: {why}"))
        elif leaf == "report":
            self._reread("a report cannot be read")

    def _says_too_much(self) -> bool:
        """Count a message; whether the arm is not to be heard for a while."""
        loop = asyncio.get_running_loop()
        began, count = self._second
        self._second = (began, count + 1) if loop.time() - began < 1.0 else (loop.time(), 1)
        if self._second[1] <= MESSAGES_MOST:
            return False
        self._deaf_timer = loop.call_later(UNHEARD_S, self._hear_again)
        self._settle(f"it says more than {MESSAGES_MOST} messages a second and is not heard for {UNHEARD_S:g} s")
        return True

    def _hear_again(self) -> None:
        self._deaf_timer = None
        self._second = (0.0, 0)
        unheard, self._unheard = self._unheard, {}
        for leaf, (payload, retained) in unheard.items():
            self.heard(leaf, payload, retained=retained)
        self._next_n = None
        self._settle("")

    # ------------------------------------------------------------------ what the service hears

    def _settle(self, why: str) -> None:
        """Tell what became of the arm; `why` if it was lost."""
        heard = self._up_since is not None and self._deaf_timer is None and not self._unreadable
        before, birth = self._current, self._sessions.living if heard else None
        self._current = birth
        if before is not None and (birth is None or birth.session != before.session or not birth.same_arm(before)):
            self._calls.fail(ArmTimeoutError(f"{self._name} was lost before it answered: {why}"))
            if self._told_online:
                self._told_online = False
                self._tell(LinkState(online=False, ready=False, why=why))
            before = None
        if birth is not None or self._unreadable:
            for future in self._waiting:
                if not future.done():
                    future.set_result(None)
        if birth is None:
            return
        self.methods, self.resolution_rad = birth.methods, birth.resolution_rad
        if before is None and self._told_online is False:
            self._told_online = True
            self._tell_readiness()
        elif before is not None and _doing(before) != _doing(birth):
            self._tell_readiness()

    def _tell_readiness(self) -> None:
        if self._current is not None and self._told_online:
            self._tell(LinkState(True, *_doing(self._current)))

    def _reread(self, why: str) -> None:
        """Have everything read again, not too often."""
        if self._reread_timer is None:
            loop = asyncio.get_running_loop()
            delay_s = max(0.0, self._reread_after - loop.time())
            self._reread_timer = loop.call_later(delay_s, self._tell_reread, why)

    def _tell_reread(self, why: str) -> None:
        self._reread_timer = None
        self._reread_after = asyncio.get_running_loop().time() + REREAD_S
        self._tell(Reread(why))

    def _tell(self, notice: Notice) -> None:
        if self._sink is not None:
            self._sink(notice)


def _doing(birth: Birth) -> tuple[bool, str, Activity]:
    """Whether an arm takes changes, why not, and what it does."""
    return birth.ready, birth.why, birth.activity
