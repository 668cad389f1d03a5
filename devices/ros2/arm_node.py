"""A ROS node that holds joint limits and can be told to misbehave, for trials; runs in the environment of ROS.

Usage: `python arm_node.py OPTIONS [ROS arguments]`; OPTIONS is a JSON object: `name`, `namespace`, `domain`, and the
flags `lifecycle` (the node is configured at its start), `atomic` (false: no service set_parameters_atomically), and
`log`, a file that each set by others that was carried out is appended to, as a JSON object of names and values.
Parameters are declared from the files of the ROS arguments.

Prints `{"ready": true}`, then carries out one JSON object a line of its standard input and answers each with a line:
`{"set": {name: value}}` by itself, `{"values": []}`, `{"declare": {name: value}}`, `{"undeclare": name}`, `{"reject":
text}` (sets of names with the text in them, or "all"), `{"cap": number}` (numbers above it are taken as it), `{"delay":
seconds}` and `{"lose": flag}` of the answers to sets, `{"hang": flag}`, `{"offline": flag}`, `{"reboot": seconds}` with
the values of its start, `{"transition": name}`.
"""

import json
import math
import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

import rclpy
from rcl_interfaces.msg import ParameterValue, SetParametersResult
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    GetParameterTypes,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.parameter_service import ParameterService

PREFIX = "joint_limits"
ATOMIC = "set_parameters_atomically"
SERVICES = {
    "describe_parameters": DescribeParameters,
    "get_parameter_types": GetParameterTypes,
    "list_parameters": ListParameters,
    "get_parameters": GetParameters,
    "set_parameters": SetParameters,
    ATOMIC: SetParametersAtomically,
}
CYCLE_S = 0.02


class LostAnswerError(Exception):
    """Ends the handling of a set after it was carried out, so that it is never answered."""


class ArmNode:
    """The node, what it holds while it is offline, and what it was told to do."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options
        self._executor = SingleThreadedExecutor()
        self._awake = True
        self._own = False
        self._reason, self._cap, self._delay_s = "", math.inf, 0.0
        self._lose = self._garble = False
        self._over = threading.Event()
        self._back_at = math.inf
        self._node: Any = None
        self._create(None)
        self._start = self._held()

    def spin(self) -> None:
        """Be a node for a moment."""
        if time.monotonic() >= self._back_at:
            self._back_at = math.inf
            self._create(self._start)
        if self._node is None or not self._awake:
            time.sleep(CYCLE_S)
            return
        try:
            self._executor.spin_once(timeout_sec=CYCLE_S)
        except LostAnswerError:
            return

    def hurry(self, order: Mapping[str, Any]) -> None:
        """Take notice of an order before its turn: one that ends a delay ends that of what is under way."""
        if order.get("delay") == 0:
            self._over.set()

    def do(self, order: Mapping[str, Any]) -> Any:
        """Carry out one order."""
        for verb, value in order.items():
            answer = getattr(self, f"_do_{verb}")(value)
            if answer is not None:
                return answer
        return self._held()

    def _do_set(self, values: Mapping[str, Any]) -> Any:
        if self._node is None:
            self._saved |= values
            return None
        self._own = True
        results = self._node.set_parameters([Parameter(name, value=one) for name, one in values.items()])
        self._own = False
        return [one.reason for one in results]

    def _do_values(self, _value: Any) -> None:
        """Nothing but the answer."""

    def _do_declare(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            if value is None:
                self._node.declare_parameter(name, Parameter.Type.DOUBLE)
            else:
                self._node.declare_parameter(name, value)

    def _do_undeclare(self, name: str) -> None:
        self._node.undeclare_parameter(name)

    def _do_reject(self, text: str) -> None:
        self._reason = text

    def _do_cap(self, number: float) -> None:
        self._cap = number

    def _do_delay(self, seconds: float) -> None:
        self._delay_s = seconds
        self._over.clear()

    def _do_lose(self, flag: bool) -> None:
        self._lose = flag

    def _do_garble(self, flag: bool) -> None:
        self._garble = flag

    def _do_hang(self, flag: bool) -> None:
        self._awake = not flag

    def _do_transition(self, name: str) -> None:
        getattr(self._node, f"trigger_{name}")()

    def _do_offline(self, flag: bool) -> None:
        if flag and self._node is not None:
            self._destroy()
        elif not flag and self._node is None and self._back_at == math.inf:
            self._create(self._saved)

    def _do_reboot(self, seconds: float) -> None:
        self._destroy()
        self._back_at = time.monotonic() + seconds

    def _held(self) -> dict[str, Any]:
        if self._node is None:
            return self._saved
        return {f"{PREFIX}.{name}": one.value for name, one in self._node.get_parameters_by_prefix(PREFIX).items()}

    def _destroy(self) -> None:
        self._saved = self._held()
        self._executor.remove_node(self._node)
        self._node.destroy_node()
        self._node = None

    def _create(self, held: Mapping[str, Any] | None) -> None:
        """Make the node, with the parameters of the ROS arguments or with those it held."""
        given = None if held is None else [Parameter(name, value=value) for name, value in held.items()]
        self._node = (LifecycleNode if self._options.get("lifecycle") else Node)(
            self._options["name"],
            namespace=self._options["namespace"],
            use_global_arguments=given is None,
            parameter_overrides=given,
            automatically_declare_parameters_from_overrides=True,
            start_parameter_services=False,
            enable_rosout=False,
        )
        self._serve()
        self._node.add_pre_set_parameters_callback(self._before_set)
        self._node.add_on_set_parameters_callback(self._on_set)
        self._node.add_post_set_parameters_callback(self._after_set)
        if self._options.get("lifecycle"):
            self._node.trigger_configure()
        self._executor.add_node(self._node)

    def _serve(self) -> None:
        """Offer the services of the library, by its handlers, so that answers can be garbled."""
        handlers: Any = ParameterService.__new__(ParameterService)
        handlers._get_node = lambda: self._node  # noqa: SLF001 - what the handlers of the library ask for
        for leaf, kind in SERVICES.items():
            if leaf == ATOMIC and not self._options.get("atomic", True):
                continue
            handler = getattr(handlers, f"_{leaf}_callback")
            self._node.create_service(
                kind, f"{self._options['name']}/{leaf}", self._garbled(handler) if kind is GetParameters else handler
            )

    def _garbled(self, handler: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def answer(request: Any, response: Any) -> Any:
            found = handler(request, response)
            if self._garble:
                found.values = [*found.values, ParameterValue()]
            return found

        return answer

    def _before_set(self, parameters: list[Any]) -> list[Any]:
        return [
            Parameter(one.name, value=min(one.value, self._cap)) if isinstance(one.value, float) else one
            for one in parameters
        ]

    def _on_set(self, parameters: list[Any]) -> Any:
        if self._own:
            return SetParametersResult(successful=True)
        if self._delay_s:
            self._over.wait(self._delay_s)
        refused = self._reason and (self._reason == "all" or any(self._reason in one.name for one in parameters))
        return SetParametersResult(successful=not refused, reason=f"{self._reason} is locked" if refused else "")

    def _after_set(self, parameters: list[Any]) -> None:
        if self._own:
            return
        if "log" in self._options:
            with open(self._options["log"], "a", encoding="utf-8") as log:  # noqa: PTH123 - it is a name here
                log.write(json.dumps({one.name: one.value for one in parameters}) + "\n")
        if self._lose:
            raise LostAnswerError


def say(answer: Any) -> None:
    """Print an answer."""
    sys.stdout.write(json.dumps(answer, default=list) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Serve until the input ends."""
    options = json.loads(sys.argv[1])
    rclpy.init(args=sys.argv[2:], domain_id=options["domain"])
    arm = ArmNode(options)
    orders: queue.Queue[dict[str, Any] | None] = queue.Queue()

    def listen() -> None:
        for line in sys.stdin:
            order = json.loads(line)
            arm.hurry(order)
            orders.put(order)
        orders.put(None)

    threading.Thread(target=listen, daemon=True).start()
    say({"ready": True})
    while True:
        arm.spin()
        while not orders.empty():
            order = orders.get()
            if order is None:
                rclpy.shutdown()
                return
            try:
                say(arm.do(order))
            except Exception as error:  # noqa: BLE001 - whoever gave the order is told
                say({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
