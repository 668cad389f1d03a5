"""Real ROS nodes in processes of their own, in the environment of ROS that ARMBROKER_ROS_PYTHON names."""

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

NODE = "/arm/driver"
PROGRAM = Path(__file__).parent / "devices" / "ros2" / "arm_node.py"
DOMAIN = 10 + os.getpid() % 90
"""A ROS domain of this run's own; higher ones use ports that the system gives to others."""

LIMITS: dict[str, bool | float] = {
    "joint_limits.joint_1.has_position_limits": True,
    "joint_limits.joint_1.min_position": -2.0,
    "joint_limits.joint_1.max_position": 2.0,
    "joint_limits.joint_1.has_velocity_limits": True,
    "joint_limits.joint_1.max_velocity": 1.5,
    "joint_limits.joint_2.has_velocity_limits": True,
    "joint_limits.joint_2.max_velocity": 2.5,
}
"""What the nodes of tests hold unless told."""
SPEED, OTHER_SPEED = "joint_limits.joint_1.max_velocity", "joint_limits.joint_2.max_velocity"


def ros_python() -> str:
    """The interpreter that has rclpy; the test is skipped where there is none, and fails where CI is set."""
    python = os.environ.get("ARMBROKER_ROS_PYTHON", "")
    if not python:
        reason = "ARMBROKER_ROS_PYTHON names no Python with rclpy"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return python


class RosNode:
    """A node `/arm/driver` that holds parameters and does what it is told; see arm_node.py."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    @classmethod
    async def start(
        cls, directory: Path, limits: Mapping[str, Any] | None = None, *flags: str, file: Path | None = None
    ) -> "RosNode":
        """Start a node, and return once it serves; its parameters are in a file, that given or one of `limits`."""
        if file is None:
            file = directory / "parameters.yaml"
            lines = [
                f"    {name}: {json.dumps(value)}" for name, value in (LIMITS if limits is None else limits).items()
            ]
            file.write_text("\n".join([f"{NODE}:", "  ros__parameters:", *lines, ""]), encoding="utf-8")
        namespace, _, name = NODE.rpartition("/")
        process = await asyncio.create_subprocess_exec(
            *(ros_python(), str(PROGRAM), name, namespace, *flags, "--ros-args", "--params-file", str(file)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "ROS_DOMAIN_ID": str(DOMAIN), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"},
        )
        node = cls(process)
        assert await node.answer() == {"ready": True}
        return node

    async def tell(self, **order: Any) -> Any:
        """Give an order, and return what the node answers."""
        self.order(**order)
        return await self.answer()

    def order(self, **order: Any) -> None:
        """Give an order."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order).encode() + b"\n")

    async def answer(self) -> Any:
        """The answer to an order."""
        assert self.process.stdout is not None
        return json.loads(await self.process.stdout.readline())

    async def holds(self, name: str) -> Any:
        """The value of a parameter."""
        return (await self.tell(values=[]))[name.removeprefix("joint_limits.")]

    async def kill(self) -> None:
        """End the node without a farewell; harmless when it has ended."""
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()

    async def end(self) -> None:
        """Let the node say farewell to the graph and end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        await self.process.wait()
