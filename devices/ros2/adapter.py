"""The adapter of arms that are ROS 2 nodes, each with a worker process."""

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from devices.adapter import (
    ArmAwayError,
    ArmChange,
    ArmRefusedError,
    ArmTimeoutError,
    ArmUnreadableError,
    Command,
    Deadlines,
    FleetContext,
    LinkState,
    Notice,
    Setting,
    Snapshot,
)
from devices.adapter_class import AdapterAbout
from devices.fence import Fence
from devices.options import read_options
from devices.refusals import refused
from devices.ros2.echoes import Echoes
from devices.ros2.options import DOMAIN_OF_ENVIRONMENT, Ros2Options, check_options, joint_infos, names_of
from devices.ros2.parameters import Held, as_map, changes, joints_in, read_values
from devices.worker import Program, WorkerLink
from schema.arms import Description, Slot, Verb
from schema.joint_items import JointParameterMap
from schema.messages import KinematicLimits, Message

SLOT: Slot = ("joint_parameters", 0)
WORKER = Path(__file__).with_name("worker.py")
START_S = 2.0
"""How long a worker may take until it hears the first request."""
NO_EVENTS = "the node publishes no parameter events: its changes are seen when it is read, once a second"


class Ros2Arm:
    """An `ArmAdapter` whose arm is a ROS 2 node with parameters `joint_limits.<joint>.<key>`."""

    resolution_rad = 0.0
    methods: frozenset[str] = frozenset()
    items = frozenset({SLOT[0]})
    deadlines = Deadlines(connect_s=10.0)
    about: ClassVar = AdapterAbout(
        purpose="arms whose joint limits are parameters of a ROS 2 node",
        options=Ros2Options,
        methods=methods,
        items=items,
        deadlines=deadlines,
        rig="devices.ros2.rig:make",
    )

    def __init__(self, name: str, model: str, options: Ros2Options, fence: Fence) -> None:
        self._model, self._options, self._fence = model, options, fence
        self._joints: tuple[str, ...] = names_of(options.joints)
        self._echoes = Echoes()
        self._state = LinkState(online=False, ready=False)
        self._sink: Callable[[Notice], None] | None = None
        self._link = WorkerLink(
            name, program_of(name, options), notice=self._hear, came=lambda: None, lost=self._lose_worker
        )

    @classmethod
    def open_fleet(cls, context: FleetContext) -> "Ros2Fleet":
        """The ROS 2 arms of a service; what they were given last is remembered in the directory of `context`."""
        return Ros2Fleet(context.directory)

    @property
    def worker_pid(self) -> int:
        """The number of the worker process, 0 when none runs."""
        return self._link.pid

    async def connect(self) -> Description:
        """See `ArmAdapter.connect`."""
        until = asyncio.get_running_loop().time() + self.deadlines.connect_s
        self._link.open()
        await self._link.wait_up(self.deadlines.connect_s)
        seconds = max(_left(until) - START_S, 0.1)
        told = (await self._link.call("describe", timeout_s=seconds, slack_s=START_S)).result
        if not isinstance(told, dict):
            raise ArmUnreadableError("what the worker tells of the node cannot be read")
        held = await self._held()
        self._joints = names_of(self._options.joints) or joints_in(held)
        if not self._joints:
            raise ArmAwayError(f"{self._options.node} has no parameters joint_limits.<joint>.*")
        _, doubts = as_map(held, self._joints)
        self._state = LinkState(online=True, ready=told.get("ready") is True, why=str(told.get("why", "")))
        if not self._state.ready:
            self._tell(self._state)
        return Description(
            model=self._model or "ros2",
            serial=self._options.serial or self._options.node,
            firmware=str(told.get("distro", "")),
            joints=joint_infos(self._options, self._joints),
            hard_limits=KinematicLimits(),
            hard_source="",
            payload_max=0.0,
            modes_settable=(),
            notes=doubts if told.get("events") is True else (*doubts, NO_EVENTS),
            fence=self._fence.last,
        )

    async def read_all(self) -> Snapshot:
        """See `ArmAdapter.read_all`."""
        return Snapshot({SLOT: await self.read(SLOT)})

    async def read(self, slot: Slot) -> Message:
        """See `ArmAdapter.read`."""
        if slot != SLOT:
            raise refused("UNSUPPORTED_METHOD", f"{slot[0]}: the node has no such value")
        return as_map(await self._held(), self._joints)[0]

    async def write(self, command: Command) -> Message | None:
        """See `ArmAdapter.write`: sets what the node does not hold yet, all of it or nothing."""
        return await self._fence.carry_out(command, self._carry_out)

    def watch(self, sink: Callable[[Notice], None]) -> None:
        """See `ArmAdapter.watch`."""
        self._sink = sink

    async def close(self) -> None:
        """See `ArmAdapter.close`."""
        self._sink = None
        await self._link.close()

    async def _held(self) -> dict[str, Held | None]:
        """All limits of the node."""
        return read_values((await self._link.call("get_parameters", timeout_s=self.deadlines.read_s)).result)

    async def _carry_out(self, command: Command) -> None:
        if command.slot != SLOT or command.verb is not Verb.SET or not isinstance(command.value, JointParameterMap):
            raise refused("UNSUPPORTED_METHOD", f"{command.verb} {command.slot[0]}: the node has no such service")
        if self._state.online and not self._state.ready:
            raise refused("DEVICE_NOT_READY", f"{self._options.node} takes no change now: {self._state.why}")
        until = asyncio.get_running_loop().time() + self.deadlines.write_s
        change = changes(self._options.node, command.value, await self._held())
        if change:
            await self._set(change, _left(until))

    async def _set(self, change: dict[str, list[Any]], seconds: float) -> None:
        self._echoes.begin({name: Held(*value) for name, value in change.items()})
        try:
            answer = await self._link.call("set_parameters", timeout_s=seconds, values=change)
            self._echoes.answered(read_values(answer.result), asyncio.get_running_loop().time())
        except (ArmRefusedError, ArmAwayError):
            self._echoes.refused()
            raise
        except (ArmTimeoutError, asyncio.CancelledError):
            self._echoes.unanswered()
            raise

    def _hear(self, notice: dict[str, Any]) -> None:
        """What the worker tells unasked; one that tells what cannot be read is of no use."""
        if notice["notice"] == "link":
            why = str(notice.get("why", ""))
            self._tell_link(LinkState(notice.get("online") is True, notice.get("ready") is True, why))
            return
        try:
            changed = read_values(notice.get("values"))
        except ArmUnreadableError as error:
            self._link.restart(str(error))
            return
        ours = self._echoes.are(changed, asyncio.get_running_loop().time())
        self._tell(ArmChange(event=0, slot=SLOT, ours=ours))

    def _lose_worker(self, why: str) -> None:
        self._tell_link(LinkState(online=False, ready=False, why=f"its worker process: {why}"))

    def _tell_link(self, state: LinkState) -> None:
        if (state.online, state.ready) != (self._state.online, self._state.ready):
            self._state = state
            self._tell(state)

    def _tell(self, notice: Notice) -> None:
        if self._sink is not None:
            self._sink(notice)


def _left(until: float) -> float:
    """The seconds until then, a tenth at least."""
    return max(until - asyncio.get_running_loop().time(), 0.1)


def program_of(name: str, options: Ros2Options) -> Program:
    """How the worker of an arm is started."""
    told = {
        "name": "armbroker_" + re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_"),
        "node": options.node,
        "domain": None if options.domain == DOMAIN_OF_ENVIRONMENT else options.domain,
        "discovery": options.discovery,
        "silence_s": options.silence_s,
    }
    return Program((options.python, str(WORKER), json.dumps(told)))


class Ros2Fleet:
    """The ROS 2 arms of a service: an `ArmFleet`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def arm(self, name: str, model: str, options: Mapping[str, Setting]) -> Ros2Arm:
        """See `ArmFleet.arm`.

        Raises:
            FenceError: what the arm was given last cannot be read.
        """
        read = read_options(name, options, Ros2Options)
        check_options(name, read)
        return Ros2Arm(name, model, read, Fence(self._directory / f"{name}.fence"))

    def close(self) -> None:
        """See `ArmFleet.close`."""
