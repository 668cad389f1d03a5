"""The ROS side of one arm: a process with a ROS node of its own, which reads, sets and watches the node of the arm.

Started as `python worker.py OPTIONS FD` by the interpreter of ROS, whose libraries so stay out of the service; needs
the standard library and rclpy only. FD is one end of a socket pair; OPTIONS a JSON object: `name` of our own node,
`node` of the arm by its full name, `domain` (null: that of the environment), `discovery` (`localhost` or `subnet`) and
`silence_s`, after which a node that does not answer is away.

A frame is a length (4 bytes, most significant first) and a JSON object. In come `{id, method, timeout_ms, values?}`,
out go `{id, ok, result}` or `{id, ok, kind, text}`, and unasked `{notice: link, online, ready, why}` and `{notice:
changed, values}`. A value is `[type, value]`, null where it was deleted; a number that is not finite is a text.
"""

import importlib
import json
import math
import os
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

Value = list[Any]
Values = dict[str, Value]
"""Parameters by name, each `[type, value]`."""
Steps = Generator[tuple[Any, Any], Any, Any]
"""Service calls one after the other: yields client and request, is sent the answer, returns the result."""
Done = Callable[[Any, "WorkerError | None"], None]
"""Is told the result of steps, or why there is none."""

ROOT, EVENTS = "joint_limits", "/parameter_events"
SERVICES = {
    "list_parameters": "ListParameters",
    "get_parameters": "GetParameters",
    "set_parameters": "SetParameters",
    "set_parameters_atomically": "SetParametersAtomically",
}
"""The services of the arm's node that are called, and their types; the last one may be missing."""
TYPES = ("not_set", "bool", "integer", "double", "string")
"""What ROS calls its first types, by number; the others are arrays."""
READY_STATES = frozenset({"", "inactive", "active"})
"""States of a lifecycle in which a node takes parameters; empty for a node without one."""
NEW_DISCOVERY = 4
"""The version of rclpy (that of Iron) from which on ROS knows ROS_AUTOMATIC_DISCOVERY_RANGE."""
TICK_S, POLL_S = 0.2, 1.0
"""How often the graph is looked at, and how often the node is read."""


class WorkerError(Exception):
    """Why a request has no result; `kind` is away, timeout, refused or unreadable."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Pipe:
    """Frames from and to the service; where it is gone, the process ends."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)

    def send(self, **frame: Any) -> None:
        """Write a frame."""
        body = json.dumps(frame).encode()
        try:
            self._socket.sendall(struct.pack(">I", len(body)) + body)
        except OSError:
            os._exit(0)

    def frames(self) -> Iterator[dict[str, Any]]:
        """Every frame that comes."""
        while True:
            (length,) = struct.unpack(">I", self._take(4))
            yield json.loads(self._take(length))

    def _take(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self._socket.recv(count - len(data))
            if not part:
                os._exit(0)
            data += part
        return data


class Calls:
    """Service calls, each with a deadline, all on the thread of ROS.

    Callbacks, no coroutines: executors of older ROS versions burn a processor while a coroutine awaits.
    """

    def __init__(self) -> None:
        self._open: dict[Any, tuple[float, Any]] = {}

    def run(self, steps: Steps, deadline: float, done: Done, before: Any = None) -> None:
        """Carry out steps until a moment of the monotonic clock; `before` is the call that the next one follows."""
        try:
            failed = before.exception() if before is not None else None
            answer = before.result() if before is not None and failed is None else None
            client, request = steps.throw(failed) if failed else steps.send(answer)
            future = client.call_async(request)
        except StopIteration as end:
            done(end.value, None)
        except WorkerError as error:
            done(None, error)
        except Exception as error:  # noqa: BLE001 - whatever ROS raises ends the request, not the worker
            done(None, WorkerError("unreadable", f"{type(error).__name__}: {error}"))
        else:
            self._open[future] = (deadline, client)
            future.add_done_callback(lambda _: self._go_on(steps, deadline, done, future))

    def _go_on(self, steps: Steps, deadline: float, done: Done, before: Any) -> None:
        del self._open[before]
        self.run(steps, deadline, done, before)

    def expire(self) -> None:
        """End the calls whose time is over."""
        now = time.monotonic()
        for future, (deadline, client) in tuple(self._open.items()):
            if deadline <= now and not future.done():
                client.remove_pending_request(future)
                future.set_exception(WorkerError("timeout", f"no answer of {client.srv_name}"))


class Arm:
    """The node of the arm: read and set by its services, present by graph and polls, its changes told by its events."""

    def __init__(self, ros: SimpleNamespace, node: Any, options: Mapping[str, Any], pipe: Pipe) -> None:
        self.name: str = options["node"]
        self._silence_s: float = options["silence_s"]
        self._ros, self._node, self._pipe, self._calls = ros, node, pipe, Calls()
        self._clients = {
            leaf: node.create_client(getattr(ros.services, kind), f"{self.name}/{leaf}")
            for leaf, kind in SERVICES.items()
        }
        self._state = node.create_client(ros.states.GetState, f"{self.name}/get_state")
        node.create_subscription(ros.messages.ParameterEvent, EVENTS, self._on_event, ros.qos)
        node.create_subscription(
            ros.transitions.TransitionEvent, f"{self.name}/transition_event", lambda _: self._poll_soon(), 10
        )
        node.create_timer(TICK_S, self._tick)
        self._link: tuple[bool, bool, str] = (False, False, f"{self.name} was not seen yet")
        self._publishers: frozenset[tuple[int, ...]] = frozenset()
        self._seen: Values | None = None
        self._poll_number, self._polling, self._next_poll = 0, False, 0.0
        self._waiting: list[tuple[float, Done]] = []

    def ask(self, frame: Mapping[str, Any]) -> None:
        """Carry out a request of the service: describe, get_parameters, or set_parameters."""
        deadline = time.monotonic() + frame["timeout_ms"] / 1000

        def done(result: Any, error: WorkerError | None) -> None:
            if error is None:
                self._pipe.send(id=frame["id"], ok=True, result=result)
            else:
                self._pipe.send(id=frame["id"], ok=False, kind=error.kind, text=str(error), **REFUSED)

        if frame["method"] == "describe":
            self._waiting.append((deadline, done))
            self._meet()
        elif frame["method"] == "get_parameters":
            self._calls.run(self._read(), deadline, done)
        else:
            self._calls.run(self._set(frame["values"]), deadline, done)

    # ------------------------------------------------------------------ presence

    def _tick(self) -> None:
        self._calls.expire()
        now = time.monotonic()
        if why := self._absence():
            self._set_link(online=False, ready=False, why=why)
        elif not self._polling and now >= self._next_poll:
            self._polling = True
            self._poll_number += 1
            self._calls.run(self._poll(), now + self._silence_s, partial(self._polled, self._poll_number))
        late = [one for one in self._waiting if one[0] <= now]
        self._waiting = [one for one in self._waiting if one[0] > now]
        for _, done in late:
            done(None, WorkerError("away", self._link[2]))

    def _absence(self) -> str:
        """Why the node cannot be spoken to; empty where it can. A node that was started anew is away for a moment."""
        known = self._node.get_node_names_and_namespaces()
        if self.name not in {full_name(namespace, name) for name, namespace in known}:
            self._publishers = frozenset()
            return f"no node {self.name} in the ROS graph"
        for leaf, client in self._clients.items():
            if not client.service_is_ready() and not leaf.endswith("atomically"):
                return f"{self.name} does not offer {leaf}"
        before = self._publishers
        self._publishers = frozenset(
            tuple(one.endpoint_gid)
            for one in self._node.get_publishers_info_by_topic(EVENTS)
            if full_name(one.node_namespace, one.node_name) == self.name
        )
        return f"{self.name} was started anew" if before and self._publishers - before else ""

    def _poll_soon(self) -> None:
        self._next_poll = 0.0

    def _poll(self) -> Steps:
        """All limits, and the state of the lifecycle."""
        found = yield from self._read()
        if not self._state.service_is_ready():
            return found, ""
        answer = yield self._state, self._ros.states.GetState.Request()
        return found, answer.current_state.label

    def _polled(self, number: int, result: tuple[Values, str] | None, error: WorkerError | None) -> None:
        """Take what a poll found; one of a node that is gone meanwhile, or was started anew, says nothing."""
        if number != self._poll_number or not self._polling:
            return
        self._polling = False
        self._next_poll = time.monotonic() + POLL_S
        if result is None:
            self._set_link(online=False, ready=False, why=str(error))
            return
        found, state = result
        seen, self._seen = self._seen, found
        if seen is not None:
            names = [name for name in {**seen, **found} if seen.get(name) != found.get(name)]
            self._tell({name: found.get(name) for name in names})
        ready = state in READY_STATES
        self._set_link(online=True, ready=ready, why="" if ready else f"its lifecycle state is {state}")

    def _set_link(self, *, online: bool, ready: bool, why: str) -> None:
        before, self._link = self._link, (online, ready, why)
        if not online:
            self._seen, self._polling = None, False
        if before != self._link and (online or before[0]):
            self._pipe.send(notice="link", online=online, ready=ready, why=why)
        self._meet()

    def _meet(self) -> None:
        """Answer those who wait for the node, once it is there."""
        online, ready, why = self._link
        if online:
            distro = os.environ.get("ROS_DISTRO") or f"rclpy {version('rclpy')}"
            waiting, self._waiting = self._waiting, []
            for _, done in waiting:
                done({"distro": distro, "events": bool(self._publishers), "ready": ready, "why": why}, None)

    # ------------------------------------------------------------------ parameters

    def _on_event(self, event: Any) -> None:
        if event.node != self.name:
            return
        values: dict[str, Value | None] = {one.name: None for one in event.deleted_parameters}
        values |= {one.name: encoded(one.value) for one in (*event.new_parameters, *event.changed_parameters)}
        values = {name: value for name, value in values.items() if name.startswith(f"{ROOT}.")}
        if self._seen is not None:
            after = self._seen | values
            self._seen = {name: value for name, value in after.items() if value is not None}
        self._tell(values)

    def _tell(self, values: Mapping[str, Value | None]) -> None:
        if values:
            self._pipe.send(notice="changed", values=values)

    def _call(self, leaf: str, **fields: Any) -> Steps:
        """One call of a service of the node."""
        client = self._clients[leaf]
        if not client.service_is_ready():
            raise WorkerError("away", f"{self.name} does not offer {leaf}")
        return (yield client, client.srv_type.Request(**fields))

    def _read(self) -> Steps:
        """All limits of the node."""
        answer = yield from self._call("list_parameters", prefixes=[ROOT])
        return (yield from self._get([name for name in answer.result.names if name.startswith(f"{ROOT}.")]))

    def _get(self, names: list[str]) -> Steps:
        """Some parameters; a node answers nothing at all where one of them is declared without a value."""
        if not names:
            return {}
        answer = yield from self._call("get_parameters", names=names)
        if len(answer.values) == len(names):
            return dict(zip(names, map(encoded, answer.values), strict=True))
        if answer.values:
            raise WorkerError("unreadable", f"{len(answer.values)} values of {len(names)} parameters")
        if len(names) == 1:
            return {names[0]: ["not_set", None]}
        middle = len(names) // 2
        first = yield from self._get(names[:middle])
        return first | (yield from self._get(names[middle:]))

    def _set(self, values: Values) -> Steps:
        """Set parameters, together where the node can; the values that it took, which need not be those given."""
        messages = [self._message(name, *value) for name, value in values.items()]
        if self._clients["set_parameters_atomically"].service_is_ready():
            answer = yield from self._call("set_parameters_atomically", parameters=messages)
            refused = [] if answer.result.successful else [answer.result.reason]
            some = False
        else:
            answer = yield from self._call("set_parameters", parameters=messages)
            results = zip(values, answer.results, strict=True)
            refused = [f"{name}: {one.reason}" for name, one in results if not one.successful]
            some = len(refused) < len(values)
        if refused:
            text = "; ".join(refused) or f"{self.name} gives no reason"
            raise WorkerError("timeout" if some else "refused", f"a part was refused: {text}" if some else text)
        try:
            taken = yield from self._get(list(values))
        except WorkerError as error:
            raise WorkerError("timeout", f"it was set, and could not be read back: {error}") from error
        if self._seen is not None:
            self._seen |= taken
        return taken

    def _message(self, name: str, kind: str, value: Any) -> Any:
        fields = {f"{kind}_value": float(value) if kind == "double" else value}
        held = self._ros.messages.ParameterValue(type=TYPES.index(kind), **fields)
        return self._ros.messages.Parameter(name=name, value=held)


REFUSED = {"code": 3, "sub": 1, "name": "METHOD_FAILED"}
"""Kinova's numbers of an arm that refuses; they count only with that kind."""


def encoded(value: Any) -> Value:
    """A ParameterValue as `[type, value]`; without value where no limit has such a type."""
    kind = TYPES[value.type] if value.type < len(TYPES) else "array"
    if kind not in ("bool", "integer", "double"):
        return [kind, None]
    found = getattr(value, f"{kind}_value")
    return [kind, found if kind != "double" or math.isfinite(found) else repr(found)]


def full_name(namespace: str, name: str) -> str:
    """The full name of a node."""
    return f"{namespace.rstrip('/')}/{name}"


def load_ros(options: Mapping[str, Any]) -> SimpleNamespace:
    """The modules of ROS, imported once the environment says who may be discovered."""
    local = options["discovery"] == "localhost"
    if int(version("rclpy").partition(".")[0]) >= NEW_DISCOVERY:
        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST" if local else "SUBNET"
    else:
        os.environ["ROS_LOCALHOST_ONLY"] = "1" if local else "0"
    modules = {
        "rclpy": "rclpy",
        "executors": "rclpy.executors",
        "signals": "rclpy.signals",
        "services": "rcl_interfaces.srv",
        "messages": "rcl_interfaces.msg",
        "states": "lifecycle_msgs.srv",
        "transitions": "lifecycle_msgs.msg",
    }
    qos = importlib.import_module("rclpy.qos").qos_profile_parameter_events
    return SimpleNamespace(qos=qos, **{name: importlib.import_module(module) for name, module in modules.items()})


def main() -> None:
    """Serve until the service closes its end."""
    pipe, options = Pipe(int(sys.argv[2])), json.loads(sys.argv[1])
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        ros = load_ros(options)
    except ImportError as error:
        sys.exit(f"{sys.executable} cannot import ROS: {error}")
    ros.rclpy.init(domain_id=options["domain"], signal_handler_options=ros.signals.SignalHandlerOptions.NO)
    node = ros.rclpy.create_node(
        options["name"], use_global_arguments=False, enable_rosout=False, start_parameter_services=False
    )
    arm = Arm(ros, node, options, pipe)
    executor = ros.executors.SingleThreadedExecutor()
    executor.add_node(node)

    def listen() -> None:
        for frame in pipe.frames():
            executor.create_task(arm.ask, frame)

    threading.Thread(target=listen, daemon=True).start()
    executor.spin()


if __name__ == "__main__":
    main()
