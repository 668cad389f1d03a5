"""What an arm says and does in one session: no network here, only messages in and out."""

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

import structlog

from devices.adapter import (
    ArmAdapter,
    ArmAwayError,
    ArmError,
    ArmRefusedError,
    Command,
    LinkState,
    Notice,
    Reread,
)
from devices.mqtt_agent.birth import Birth, write_birth
from devices.mqtt_agent.commands import (
    AckHead,
    Fence,
    Key,
    Order,
    UnfitOrderError,
    read_order,
    write_all,
    write_done,
    write_refusal,
)
from devices.mqtt_agent.documents import UnreadableError
from devices.mqtt_agent.reports import write_change, write_readiness
from devices.refusals import refused
from schema.arms import Description, Verb
from schema.codecs.times import format_time
from schema.messages import Message

log = structlog.get_logger()

QUEUE_MOST = 64
"""Commands that may wait; more are refused."""


class Said(NamedTuple):
    """What goes to `dev/<arm>/<leaf>`."""

    leaf: str
    payload: bytes
    retain: bool = False


class AgentSession:
    """One session of an arm, from `begin` until `ended`; `say` takes what is to be published, in order.

    It hears what the arm tells from before the beginning on: give `notice` to `ArmAdapter.watch`.
    """

    def __init__(self, arm: ArmAdapter, say: Callable[[Said], None]) -> None:
        self.number = 0
        self.ended = asyncio.Event()
        """Set once the arm itself is out of reach, or began anew: the session is over, and the next one may begin."""
        self._arm = arm
        self._say = say
        self._description: Description | None = None
        self._fence: Fence = (0, 0)
        self._link = LinkState(online=True, ready=True)
        self._reports = 0
        self._waiting: asyncio.Queue[tuple[Order, float]] = asyncio.Queue(QUEUE_MOST)

    def begin(self, number: int, description: Description) -> None:
        """Say who the arm is."""
        self.number, self._description, self._fence = number, description, description.fence
        self._say_birth(description)
        if not self._link.online:
            self.ended.set()

    def _say_birth(self, description: Description) -> None:
        """Said again whenever something of it changes."""
        link, arm = self._link, self._arm
        birth = Birth(self.number, description, arm.methods, arm.resolution_rad, link.ready, link.why, link.activity)
        self._say(Said("birth", write_birth(birth, format_time(time.time_ns() // 1_000)), retain=True))

    # ------------------------------------------------------------------ commands

    def command(self, payload: bytes, *, retained: bool = False) -> None:
        """Take a command: refuse it now, or carry it out in its turn. A retained one is not from now and is ignored."""
        if retained:
            return
        try:
            order = self._meant_for_us(read_order(payload))
            self._waiting.put_nowait((order, asyncio.get_running_loop().time() + order.expires_in_ms / 1000))
        except UnreadableError as error:
            log.warning("command_unreadable", why=str(error))
        except UnfitOrderError as error:
            self._ack(write_refusal(self._head(error.key), refused("INVALID_PARAM", str(error))))
        except asyncio.QueueFull:
            text = f"{QUEUE_MOST} commands wait already"
            self._ack(write_refusal(self._head(order.key), refused("DEVICE_NOT_READY", text)))

    def _meant_for_us(self, order: Order) -> Order:
        if order.session != self.number:
            raise UnfitOrderError(order.session, order.key, f"for session {order.session}, this is {self.number}")
        return order

    async def work(self) -> None:
        """Carry out commands, one after the other, for ever."""
        while True:
            order, expires = await self._waiting.get()
            if asyncio.get_running_loop().time() >= expires:
                text = f"not begun within {order.expires_in_ms} ms"
                self._ack(write_refusal(self._head(order.key), refused("METHOD_TIMEOUT", text)))
                continue
            try:
                self._ack(await self._answer(order))
            except ArmRefusedError as error:
                self._ack(write_refusal(self._head(order.key), error))
            except ArmAwayError as error:
                self._ack(write_refusal(self._head(order.key), refused("DEVICE_DISCONNECTED", str(error))))
            except ArmError as error:
                log.warning("no_answer", why=str(error))

    async def _answer(self, order: Order) -> bytes:
        """Carry out a command and give its acknowledgement; the arm itself keeps the fence and its last answer."""
        if order.command is not None:
            taken = await self._write(order.command)
            return write_done(self._head(order.key), order.slot, taken if order.command.verb is Verb.RESET else None)
        if order.slot is None:
            snapshot = await self._arm.read_all()
            return write_all(self._head(order.key), snapshot.items)
        return write_done(self._head(order.key), order.slot, await self._arm.read(order.slot))

    async def _write(self, command: Command) -> Message | None:
        """Hand a command to the arm: it counts as given from here on, whatever comes of it."""
        self._fence = max(self._fence, (command.epoch, command.cmd_seq))
        return await self._arm.write(command)

    def _head(self, key: Key) -> AckHead:
        return AckHead(self.number, key, self._fence)

    def _ack(self, payload: bytes) -> None:
        self._say(Said("ack", payload))

    # ------------------------------------------------------------------ what the arm tells by itself

    def notice(self, notice: Notice) -> None:
        """Report what the arm tells."""
        if isinstance(notice, LinkState):
            self._follow_link(notice)
        elif isinstance(notice, Reread):
            self.ended.set()
        elif self._description is not None:
            self._say(Said("report", write_change(self.number, self._next_report(), notice)))

    def _follow_link(self, link: LinkState) -> None:
        before, self._link = self._link, link
        if self._description is None or before == link:
            return
        if not link.online:
            self.ended.set()
            return
        self._say(Said("report", write_readiness(self.number, self._next_report(), link)))
        self._say_birth(self._description)

    def _next_report(self) -> int:
        self._reports += 1
        return self._reports
