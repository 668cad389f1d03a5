"""The ROS 2 arms of a campaign."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devices.ros2.node_process import NodeProcess, write_parameters
from schema.codecs.json_codec import unpack
from schema.joint_items import JointParameterMap
from tests.campaigns.cells import Cell, Place, Taken
from tests.devices.kortex.plant import workers_of
from tests.mosquitto import Mosquitto
from tests.ros_nodes import DOMAIN, LIMITS, OTHER_SPEED, SPEED, ros_python


class RosCell(Cell):
    """ROS 2 arms: their worker processes are killed; the log that each node writes of what was set is the truth."""

    adapter = "ros2"
    names = (SPEED, OTHER_SPEED, "joint_limits.joint_1.max_position")

    def __init__(self, server: Mosquitto, folder: Path, arms: list[str]) -> None:
        super().__init__(server, folder, arms)
        self._python = ros_python()
        self._nodes: dict[str, NodeProcess] = {}
        self._lives = dict.fromkeys(arms, 0)

    def options(self, arm: str) -> Mapping[str, Any]:
        """See `Cell.options`."""
        return {"node": f"/{arm}/driver", "python": self._python, "domain": DOMAIN, "silence_s": 2.0}

    async def start(self) -> None:
        """See `Cell.start`."""
        for arm in self.arms:
            await self._start(arm)

    async def _start(self, arm: str) -> None:
        node, file = f"/{arm}/driver", self.folder / f"{arm}.yaml"
        write_parameters(file, node, LIMITS)
        self._lives[arm] += 1
        log = str(self._log(arm, self._lives[arm]))
        self._nodes[arm] = await NodeProcess.start(self._python, node, DOMAIN, file, log=log)

    def _log(self, arm: str, life: int) -> Path:
        return self.folder / f"{arm}-{life}.jsonl"

    async def close(self) -> None:
        """See `Cell.close`."""
        for node in self._nodes.values():
            await node.kill()

    def victims(self, service_pid: int) -> list[int]:
        """See `Cell.victims`."""
        return workers_of(service_pid, "ros2/worker.py")

    def request(self, name: str, value: float) -> tuple[str, dict[str, Any]]:
        """See `Cell.request`."""
        return "SetJointParameters", {"parameters": {name: value}}

    def taken(self) -> list[Taken]:
        """See `Cell.taken`."""
        return [
            Taken(Place(arm, name), value, life)
            for arm, lives in self._lives.items()
            for life in range(1, lives + 1)
            if self._log(arm, life).exists()
            for line in self._log(arm, life).read_text().splitlines()
            for name, value in json.loads(line).items()
        ]

    async def now(self) -> dict[Place, float]:
        """See `Cell.now`: the nodes themselves say."""
        held = {arm: await node.tell(values=[]) for arm, node in self._nodes.items()}
        return {Place(arm, name): values[name] for arm, values in held.items() for name in self.names}

    def reported(self, arm: str, key: str, mode: int, blob: bytes) -> dict[Place, float]:
        """See `Cell.reported`."""
        value = unpack(blob, JointParameterMap) if (key, mode) == ("joint_parameters", 0) else None
        if not isinstance(value, JointParameterMap):
            return {}
        return {Place(arm, name): value.parameters[name] for name in self.names}


class RosNodeCell(RosCell):
    """ROS 2 arms: the nodes are killed, and begin anew with the values of their first start."""

    lives_s = (2.0, 6.0)
    forgetful = True

    def victims(self, service_pid: int) -> list[int]:
        """See `Cell.victims`."""
        del service_pid
        return [node.pid for node in self._nodes.values()]

    async def kill(self, pid: int) -> None:
        """See `Cell.kill`."""
        arm = next(arm for arm, node in self._nodes.items() if node.pid == pid)
        await self._nodes[arm].kill()
        await self._start(arm)
