"""A ROS node that holds joint limits, plain or with a lifecycle; runs in the environment of ROS, not in ours.

Usage: arm_node.py NODE NAMESPACE [--lifecycle] [--no-atomic] [ROS arguments]. Parameters are declared from the files of
the ROS arguments. Prints `{"ready": ...}`, then carries out one JSON object a line of its standard input and answers
each with one: `{"set": {name: value}}` by itself, `{"values": []}`, `{"reject": reason}`, `{"cap": number}`,
`{"hang": seconds}`, `{"undeclare": name}`, `{"declare": {name: value}}`, `{"transition": label}`.
"""

import json
import sys
import threading
import time
from typing import Any

import rclpy
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.parameter_service import ParameterService

WITHOUT_ATOMIC = {"list": ListParameters, "get": GetParameters, "set": SetParameters}


class ArmNode:
    """The node, and what it was told to do."""

    def __init__(self, name: str, namespace: str, *, lifecycle: bool, atomic: bool) -> None:
        self.node: Any = (LifecycleNode if lifecycle else Node)(
            name,
            namespace=namespace,
            automatically_declare_parameters_from_overrides=True,
            start_parameter_services=atomic,
            enable_rosout=False,
        )
        if not atomic:
            self._serve_without_atomic()
        self.reason = ""
        self.cap = float("inf")
        self.node.add_on_set_parameters_callback(self._on_set)
        self.node.add_pre_set_parameters_callback(self._before_set)

    def _serve_without_atomic(self) -> None:
        handlers: Any = ParameterService.__new__(ParameterService)
        handlers._get_node = lambda: self.node
        for verb, kind in WITHOUT_ATOMIC.items():
            handler = getattr(handlers, f"_{verb}_parameters_callback")
            self.node.create_service(kind, f"{self.node.get_name()}/{verb}_parameters", handler)

    def _on_set(self, parameters: list[Any]) -> Any:
        refused = self.reason and any(self.reason in one.name or "all" in self.reason for one in parameters)
        return SetParametersResult(successful=not refused, reason=f"{self.reason} is locked" if refused else "")

    def _before_set(self, parameters: list[Any]) -> list[Any]:
        return [
            Parameter(one.name, value=min(one.value, self.cap)) if isinstance(one.value, float) else one
            for one in parameters
        ]

    def do(self, order: dict[str, Any]) -> Any:
        """Carry out one order."""
        ((verb, value),) = order.items()
        match verb:
            case "set":
                results = self.node.set_parameters([Parameter(name, value=one) for name, one in value.items()])
                return [one.reason for one in results]
            case "reject":
                self.reason = value
            case "cap":
                self.cap = value
            case "hang":
                time.sleep(value)
            case "undeclare":
                self.node.undeclare_parameter(value)
            case "declare":
                for name, one in value.items():
                    self.node.declare_parameter(name, one)
            case "transition":
                getattr(self.node, f"trigger_{value}")()
        return {name: one.value for name, one in self.node.get_parameters_by_prefix("joint_limits").items()}


def main() -> None:
    """Serve until the input ends."""
    name, namespace, *rest = sys.argv[1:]
    flags = [one for one in rest if one in ("--lifecycle", "--no-atomic")]
    rclpy.init(args=[one for one in rest if one not in flags])
    arm = ArmNode(name, namespace, lifecycle="--lifecycle" in flags, atomic="--no-atomic" not in flags)
    executor = SingleThreadedExecutor()
    executor.add_node(arm.node)

    def carry_out(line: str) -> None:
        try:
            answer = arm.do(json.loads(line))
        except Exception as error:  # noqa: BLE001 - the test that gave the order is told
            answer = {"error": str(error)}
        sys.stdout.write(json.dumps(answer, default=list) + "\n")
        sys.stdout.flush()

    def listen() -> None:
        for line in sys.stdin:
            executor.create_task(carry_out, line)
        executor.create_task(rclpy.shutdown)

    threading.Thread(target=listen, daemon=True).start()
    sys.stdout.write('{"ready": true}\n')
    sys.stdout.flush()
    try:
        executor.spin()
    except rclpy.executors.ExternalShutdownException:
        return


if __name__ == "__main__":
    main()
