"""Real ROS nodes in processes of their own, in an environment of ROS.

ARMBROKER_ROS_PYTHON names its interpreter; without it that of `.venv-ros`, which `make test` makes, is taken.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from devices.ros2.node_process import NodeProcess, write_parameters
from devices.ros2.rig import LIMITS, NODE, SPEED
from tests.mosquitto import ROOT

DOMAIN = 10 + os.getpid() % 90
"""A ROS domain of this run's own; higher ones use ports that the system gives to others."""
OTHER_SPEED = "joint_limits.joint_2.max_velocity"

__all__ = ["DOMAIN", "LIMITS", "NODE", "OTHER_SPEED", "SPEED", "NodeProcess", "ros_missing", "ros_python", "start_node"]


def _interpreter() -> str:
    """The interpreter with rclpy; empty where there is none."""
    own = ROOT / ".venv-ros/bin/python"
    return os.environ.get("ARMBROKER_ROS_PYTHON", str(own) if own.exists() else "")


def ros_missing() -> str:
    """What this machine lacks for ROS; empty if nothing. A machine that sets CI must lack nothing."""
    if _interpreter():
        return ""
    reason = "no Python with rclpy: ARMBROKER_ROS_PYTHON is not set, and `make test` made no .venv-ros"
    if os.environ.get("CI"):
        pytest.fail(reason)
    return reason


def ros_python() -> str:
    """The interpreter that has rclpy; the test is skipped where there is none, and fails where CI is set."""
    if reason := ros_missing():
        pytest.skip(reason)
    return _interpreter()


async def start_node(
    directory: Path, limits: Mapping[str, Any] | None = None, *, file: Path | None = None, **flags: bool
) -> NodeProcess:
    """Start a node `/arm/driver`; its parameters are those of a file, else `limits`."""
    python = ros_python()
    if file is None:
        file = directory / "parameters.yaml"
        write_parameters(file, NODE, LIMITS if limits is None else limits)
    return await NodeProcess.start(python, NODE, DOMAIN, file, **flags)
