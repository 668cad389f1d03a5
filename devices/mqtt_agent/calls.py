"""The commands that are under way to one arm that speaks MQTT."""

import asyncio
import math

from devices.adapter import ArmAwayError, ArmError, ArmTimeoutError, Command, DeviceBus
from devices.mqtt_agent.commands import Ack, Key, Order, write_order
from schema.arms import Slot
from schema.errors import SUB_CODES

_OUT_OF_REACH = SUB_CODES["DEVICE_DISCONNECTED"]


class Calls:
    """Sends commands to an arm and brings each its acknowledgement; futures only."""

    def __init__(self, name: str, bus: DeviceBus) -> None:
        self._name = name
        self._bus = bus
        self._pending: dict[Key, tuple[int, asyncio.Future[Ack]]] = {}
        self._reads = 0

    async def read(self, session: int, slot: Slot | None, deadline_s: float) -> Ack:
        """Read one slot, or all.

        Raises:
            ArmError: as `ArmAdapter.read`.
        """
        self._reads += 1
        return await self._call(Order(session, (self._reads,), int(deadline_s * 1000), None, slot), deadline_s)

    async def write(self, session: int, command: Command, deadline_s: float) -> Ack:
        """Write one slot; the arm does not begin it once the deadline is over.

        Raises:
            ArmError: as `ArmAdapter.write`.
        """
        key = (command.epoch, command.cmd_seq)
        return await self._call(Order(session, key, int(deadline_s * 1000), command, command.slot), deadline_s)

    async def _call(self, order: Order, deadline_s: float) -> Ack:
        future: asyncio.Future[Ack] = asyncio.get_running_loop().create_future()
        mine = self._pending[order.key] = (order.session, future)
        try:
            self._bus.publish(self._name, "cmd", write_order(order), expiry_s=math.ceil(deadline_s))
            async with asyncio.timeout(deadline_s):
                ack = await future
        except TimeoutError:
            raise ArmTimeoutError(f"{self._name}: no answer within {deadline_s:g} s") from None
        finally:
            if self._pending.get(order.key) is mine:
                del self._pending[order.key]
            del mine, future  # what it raised holds this frame
        if ack.refusal is None:
            return ack
        if ack.refusal.sub_code == _OUT_OF_REACH:
            raise ArmAwayError(f"{self._name}: {ack.refusal}")
        try:
            raise ack.refusal
        finally:
            del ack  # the frame that it holds would hold it

    def take(self, ack: Ack) -> None:
        """Bring an acknowledgement to whoever waits for it; one of another session, or a late one, is dropped."""
        session, future = self._pending.get(ack.key, (0, None))
        if future is not None and session == ack.session and not future.done():
            future.set_result(ack)

    def fail(self, error: ArmError) -> None:
        """What is under way has no answer, or none that can be read."""
        for _, future in self._pending.values():
            if not future.done():
                future.set_exception(error)
        self._pending.clear()
