"""The test bench of the adapter: a real ROS node of ours that misbehaves when it is told to."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devices.adapter import Setting
from devices.conformance.adapter_rig import AdapterRig
from devices.conformance.rig import CannotInjectError, Example, Refusal, Rig, Traits
from devices.ros2.adapter import SLOT, Ros2Arm
from devices.ros2.node_process import NodeProcess, write_parameters
from schema.arms import Fault
from schema.joint_items import JointParameterMap

NODE, DOMAIN = "/arm/driver", 87
"""The node of the bench and its ROS domain, unless the options say."""
REBOOT_S = 1.0
SPEED = "joint_limits.joint_1.max_velocity"
LIMITS: dict[str, bool | float] = {
    "joint_limits.joint_1.has_position_limits": True,
    "joint_limits.joint_1.min_position": -2.0,
    "joint_limits.joint_1.max_position": 2.0,
    "joint_limits.joint_1.has_velocity_limits": True,
    SPEED: 1.5,
    "joint_limits.joint_2.has_velocity_limits": True,
    "joint_limits.joint_2.max_velocity": 2.5,
}
"""What the node declares at its start."""

TRAITS = Traits(
    values={SLOT: Example(JointParameterMap(LIMITS | {SPEED: 1.0}), JointParameterMap(LIMITS | {SPEED: 2.0}))},
    refused={
        "undeclared": Refusal(SLOT, JointParameterMap(LIMITS | {"joint_limits.joint_1.max_jerk": 1.0}), 3),
        "number for a flag": Refusal(SLOT, JointParameterMap({"joint_limits.joint_1.has_velocity_limits": 1.0}), 3),
        "flag for a number": Refusal(SLOT, JointParameterMap({SPEED: True}), 3),
        "other item": Refusal(("joint_limits", 0), JointParameterMap({SPEED: 1.0}), 5),
    },
    clamped=(SLOT, JointParameterMap(LIMITS | {SPEED: 1.0})),
    cannot={
        "rounded": "a node holds doubles as they are",
        "same reset answered": "a node has no reset",
        "swap_serial": "a node has no serial number: its full name stands for it",
    },
)

_FAULTS: Mapping[str, Mapping[str, Any]] = {
    "none": {
        "reject": "",
        "cap": sys.float_info.max,
        "delay": 0,
        "lose": False,
        "garble": False,
        "hang": False,
        "offline": False,
    },
    "clamp": {"cap": 0.75},
    "refuse": {"reject": "all"},
    "lose_answer": {"lose": True},
    "garbage": {"garble": True},
    "hang": {"hang": True},
    "offline": {"offline": True},
    "reboot": {"reboot": REBOOT_S},
    "moving": {"transition": "cleanup"},
}
"""What the node is told to do for a fault."""


class Ros2Rig(AdapterRig):
    """A rig whose arm is a lifecycle node."""

    def __init__(self, node: NodeProcess, directory: Path, options: Mapping[str, Setting]) -> None:
        self._node = node
        self._moving = False
        super().__init__(Ros2Arm, directory, TRAITS, options=options)

    async def inject(self, fault: Fault) -> None:
        """See `Rig.inject`."""
        if fault.name == "foreign_change" and isinstance(fault.value, JointParameterMap):
            await self._node.tell(set=fault.value.parameters)
        elif fault.name == "delay":
            await self._node.tell(delay=fault.delay_ms / 1000)
        elif fault.name in _FAULTS:
            await self._node.tell(**_FAULTS[fault.name])
            if fault.name == "none" and self._moving:
                await self._node.tell(transition="configure")
            self._moving = fault.name == "moving"
        else:
            raise CannotInjectError(f"the node cannot be told to {fault.name}")

    async def close(self) -> None:
        """See `Rig.close`."""
        await super().close()
        await self._node.kill()

    async def reopen(self) -> None:
        """See `Rig.reopen`."""
        await super().close()
        self._open()


async def make(directory: Path, model: str, options: Mapping[str, Setting]) -> Rig:
    """The bench of `armbroker devices verify ros2`: option `python` names an interpreter that has rclpy.

    Raises:
        OSError: there is none.
        EOFError: the node cannot run there.
    """
    del model
    known: dict[str, Setting] = {"node": NODE, "python": "python3", "domain": DOMAIN, **options}
    file = directory / "parameters.yaml"
    write_parameters(file, str(known["node"]), LIMITS)
    node = await NodeProcess.start(str(known["python"]), str(known["node"]), int(known["domain"]), file, lifecycle=True)
    return Ros2Rig(node, directory, known)
