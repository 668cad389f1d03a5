"""The life of one arm's agent on the MQTT server: session after session, each on a connection of its own."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple

import aiomqtt
import structlog

from armbroker.agent.numbers import SessionNumbers
from armbroker.agent.session import AgentSession, Said
from armbroker.client.address import parse_address
from armbroker.client.connection import CONNECT_TIMEOUT_S, delays, tls_now
from broker.tls import TlsFiles
from broker.topics import Topics
from devices.adapter import ArmAdapter, ArmError
from devices.mqtt_agent.birth import write_death
from schema.arms import Description

log = structlog.get_logger()

STEADY_S = 10.0
"""A session that lived for so long was a good one: the pauses begin anew."""
REACH_S = 0.2
"""How often an arm that is out of reach is tried."""


class AgentLogin(NamedTuple):
    """How agents connect; the user name is the arm's id, which stands for `{arm}` in the names of the files, too."""

    url: str
    topics: Topics
    password: str | None = None
    tls: TlsFiles = TlsFiles()
    keepalive_s: int = 5
    """A dead connection is noticed by the MQTT server after one and a half times this."""


def files_of(files: TlsFiles, arm: str) -> TlsFiles:
    """The files of one arm."""
    return TlsFiles(*(path and Path(str(path).replace("{arm}", arm)) for path in files))


Bend = Callable[[Said], Said | None]
"""What an agent that is told to misbehave says instead; None: nothing."""


class AgentConnection:
    """The agent of one arm; `bend` lets it misbehave."""

    def __init__(
        self, name: str, arm: ArmAdapter, login: AgentLogin, numbers: SessionNumbers, *, bend: Bend = lambda said: said
    ) -> None:
        self._name = name
        self._arm = arm
        self._login = login
        self._numbers = numbers
        self._bend = bend
        self._outbox: asyncio.Queue[Said] = asyncio.Queue()

    def say(self, said: Said) -> None:
        """Publish something of the arm, in order."""
        bent = self._bend(said)
        if bent is not None:
            self._outbox.put_nowait(bent)

    async def serve(self, stop: asyncio.Event) -> None:
        """Hold one session after the other until `stop`; then say goodbye."""
        loop, waits = asyncio.get_running_loop(), delays()
        while not stop.is_set():
            began = loop.time()
            try:
                await self._session(stop)
                continue
            except aiomqtt.MqttError as error:
                log.warning("session_lost", arm=self._name, why=str(error))
            if loop.time() - began > STEADY_S:
                waits.reset()
            await asyncio.sleep(waits.next_s())

    async def _reach(self) -> Description:
        """Wait until the arm itself answers."""
        while True:
            try:
                return await self._arm.connect()
            except ArmError as error:
                log.info("arm_not_reached", arm=self._name, why=str(error))
            await asyncio.sleep(REACH_S)

    async def _session(self, stop: asyncio.Event) -> None:
        """One session: its number stands in the will, so it is taken before the connection is made.

        Raises:
            aiomqtt.MqttError: the connection was not made, or lost.
        """
        session = AgentSession(self._arm, self.say)
        self._arm.watch(session.notice)
        description = await self._reach()
        self._outbox = asyncio.Queue()
        number = self._numbers.next()
        goodbye = Said("death", write_death(number), retain=True)
        async with self._client(goodbye) as client:
            await client.subscribe(self._topic("cmd"), 1)
            session.begin(number, description)
            await _until_first(
                self._hear(client, session),
                self._publish_all(client),
                session.work(),
                session.ended.wait(),
                stop.wait(),
            )
            await self._publish(client, goodbye)

    def _client(self, will: Said) -> aiomqtt.Client:
        address = parse_address(self._login.url)
        return aiomqtt.Client(
            address.host,
            address.port,
            username=self._name,
            password=self._login.password,
            identifier=f"agent-{self._name}",
            protocol=aiomqtt.ProtocolVersion.V5,
            clean_start=True,
            keepalive=self._login.keepalive_s,
            timeout=CONNECT_TIMEOUT_S,
            tls_context=tls_now(address, files_of(self._login.tls, self._name)),
            will=aiomqtt.Will(self._topic(will.leaf), will.payload, qos=1, retain=True),
            socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
        )

    def _topic(self, leaf: str) -> str:
        return self._login.topics.device(self._name, leaf)

    async def _hear(self, client: aiomqtt.Client, session: AgentSession) -> None:
        async for message in client.messages:
            session.command(message.payload, retained=message.retain)

    async def _publish_all(self, client: aiomqtt.Client) -> None:
        while True:
            await self._publish(client, await self._outbox.get())

    async def _publish(self, client: aiomqtt.Client, said: Said) -> None:
        await client.publish(self._topic(said.leaf), said.payload, 1, retain=said.retain)


async def _until_first(*works: Coroutine[Any, Any, object]) -> None:
    """Do all of these until one ends; raises what that one raised."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in done:
        task.result()
