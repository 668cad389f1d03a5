"""The worker process of one Kinova arm: the only code that loads the vendor's client.

One file, standard library and the vendor's wheel only, Python 3.8 syntax: it runs in an environment of its own. Its
first word is the number of the descriptor of its link to the service; the frames are those of `devices.worker`. What
the vendor's client does wrong, and what is done about it here, stands in `docs/adapter_kortex.md`.
"""

from __future__ import annotations

import base64
import collections
import collections.abc
import concurrent.futures
import importlib
import json
import os
import queue
import socket
import struct
import sys
import threading
import time
from typing import Any

SERVICE = 16
"""Number of `Kinova.Api.ControlConfig`."""
KEPT_S = 1.0
"""How long a notice of a handle that nobody knows yet is kept."""
CLOSE_MS = 500
"""How long the arm may take to close the session."""
LENGTH = struct.Struct(">I")

_MODE, _OPTIONS = "ControlConfig_pb2.ControlModeInformation", "Common_pb2.NotificationOptions"
METHODS = {
    "SetGravityVector": "ControlConfig_pb2.GravityVector",
    "GetGravityVector": "",
    "SetPayloadInformation": "ControlConfig_pb2.PayloadInformation",
    "GetPayloadInformation": "",
    "SetToolConfiguration": "ControlConfig_pb2.ToolConfiguration",
    "GetToolConfiguration": "",
    "ControlConfigurationTopic": _OPTIONS,
    "Unsubscribe": "Common_pb2.NotificationHandle",
    "SetCartesianReferenceFrame": "ControlConfig_pb2.CartesianReferenceFrameInfo",
    "GetCartesianReferenceFrame": "",
    "GetControlMode": "",
    "SetJointSpeedSoftLimits": "ControlConfig_pb2.JointSpeedSoftLimits",
    "SetTwistLinearSoftLimit": "ControlConfig_pb2.TwistLinearSoftLimit",
    "SetTwistAngularSoftLimit": "ControlConfig_pb2.TwistAngularSoftLimit",
    "SetJointAccelerationSoftLimits": "ControlConfig_pb2.JointAccelerationSoftLimits",
    "GetKinematicHardLimits": "",
    "GetKinematicSoftLimits": _MODE,
    "GetAllKinematicSoftLimits": "",
    "SetDesiredLinearTwist": "ControlConfig_pb2.LinearTwist",
    "SetDesiredAngularTwist": "ControlConfig_pb2.AngularTwist",
    "SetDesiredJointSpeeds": "ControlConfig_pb2.JointSpeeds",
    "GetDesiredSpeeds": "",
    "ResetGravityVector": "",
    "ResetPayloadInformation": "",
    "ResetToolConfiguration": "",
    "ResetJointSpeedSoftLimits": _MODE,
    "ResetTwistLinearSoftLimit": _MODE,
    "ResetTwistAngularSoftLimit": _MODE,
    "ResetJointAccelerationSoftLimits": _MODE,
    "ControlModeTopic": _OPTIONS,
}
"""The 30 methods that may be called, and what each takes; none of them moves the arm."""
VENDOR = (
    "TCPTransport.TCPTransport",
    "RouterClient.RouterClient",
    "RouterClient.RouterClientSendOptions",
    "SessionManager.SessionManager",
    "Exceptions.KServerException.KServerException",
    "autogen.client_stubs.ControlConfigClientRpc.ControlConfigClient",
    "autogen.client_stubs.BaseClientRpc.BaseClient",
    "autogen.client_stubs.DeviceConfigClientRpc.DeviceConfigClient",
    "autogen.messages.Session_pb2.CreateSessionInfo",
)
"""What else is used of the vendor's package."""


class WorkerError(Exception):
    """A request that was not carried out: nothing was sent to the arm."""


def vendor(place: str) -> Any:
    """A class of the vendor's package, by `module.Class` below `kortex_api`."""
    module, _, name = place.rpartition(".")
    return getattr(importlib.import_module("kortex_api." + module), name)


def message(place: str) -> Any:
    """A message class, by `module.Message` below the vendor's messages."""
    return vendor("autogen.messages." + place)


class Link:
    """The frames to and from the service."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._lock = threading.Lock()

    def say(self, document: dict[str, Any]) -> None:
        """Send an object; one thread at a time."""
        body = json.dumps(document, allow_nan=False).encode()
        with self._lock:
            self._socket.sendall(LENGTH.pack(len(body)) + body)

    def hear(self) -> dict[str, Any]:
        """Wait for the next object; the process ends with the link."""
        (length,) = LENGTH.unpack(self._exactly(LENGTH.size))
        document: dict[str, Any] = json.loads(self._exactly(length))
        return document

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self._socket.recv(count - len(data))
            if not part:
                os._exit(0)
            data += part
        return data


class Notices:
    """What the arm tells by itself: taken in the vendor's thread, sent on in another."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._heard: queue.SimpleQueue[tuple[float, int, bytes]] = queue.SimpleQueue()
        self._topics: dict[int, str] = {}
        self._kept: list[tuple[float, int, bytes]] = []
        threading.Thread(target=self._pass_on, name="notices", daemon=True).start()

    def take(self, *given: Any) -> None:
        """Called by the vendor's receive thread, which an error would end and a wait would block: does neither."""
        try:
            frame = next(one for one in given if hasattr(one, "payload"))
            self._heard.put((time.monotonic(), frame.header.message_info & 0xFFFF, bytes(frame.payload)))
        except Exception as error:  # noqa: BLE001 - see above
            sys.stderr.write(f"a notification was not understood: {error!r}\n")

    def name(self, handle: int, topic: str) -> None:
        """Say which topic a handle stands for."""
        self._topics[handle] = topic
        self._heard.put((0.0, 0, b""))

    def _pass_on(self) -> None:
        while True:
            self._kept.append(self._heard.get())
            now, waiting = time.monotonic(), []
            for heard in self._kept:
                at, handle, payload = heard
                if handle in self._topics:
                    body = base64.b64encode(payload).decode()
                    self._link.say({"notice": "event", "topic": self._topics[handle], "payload": body})
                elif now - at < KEPT_S:
                    waiting.append(heard)
            self._kept = waiting


class Arm:
    """The vendor's client of the arm, opened at most once."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._notices = Notices(link)
        self._router: Any = None
        self._session: Any = None
        self._clients: dict[str, Any] = {}
        self.errors = self.silences = 0

    def open(self, request: dict[str, Any]) -> dict[str, Any]:
        """Connect, log in, and hear what the arm tells; the address that the arm sees us at, if it can be known."""
        if self._session is not None:
            raise WorkerError("the session was opened before")
        user, password = request["user"], secret(request)
        if (user, password) == ("admin", "admin") and not request.get("allow_default_login"):
            raise WorkerError("user admin with password admin is refused; see the option allow_default_login")
        transport = vendor("TCPTransport.TCPTransport")()
        transport.send = one_at_a_time(transport.send)
        self._router = router = vendor("RouterClient.RouterClient")(transport, self._on_error)
        separate(router)
        transport.connect(request["host"], request["port"])
        manager = vendor("SessionManager.SessionManager")
        try:
            self._session = manager(router, self._on_silence)
        except TypeError:
            self._session = manager(router)
        info = message("Session_pb2.CreateSessionInfo")()
        info.username, info.password = user, password
        info.session_inactivity_timeout = request["session_ms"]
        info.connection_inactivity_timeout = request["connection_ms"]
        self._session.CreateSession(info)
        for name in ("ControlConfig", "Base", "DeviceConfig"):
            self._clients[name] = vendor(f"autogen.client_stubs.{name}ClientRpc.{name}Client")(router)
        router.registerNotificationCallback(SERVICE, self._notices.take)
        return {"address": address(transport)}

    def call(self, name: str, payload: bytes, timeout_ms: int) -> bytes:
        """Carry out one of METHODS; bytes in, bytes out."""
        client, given = self._client("ControlConfig"), {"options": options(timeout_ms)}
        wanted = METHODS[name]
        request = message(wanted).FromString(payload) if wanted else None
        if not name.endswith("Topic"):
            method = getattr(client, name)
            answer = method(request, **given) if wanted else method(**given)
            return answer.SerializeToString() if hasattr(answer, "SerializeToString") else b""
        handle = getattr(client, "OnNotification" + name)(self._notices.take, request, **given)
        self._router.registerNotificationCallback(SERVICE, self._notices.take)
        self._notices.name(handle.identifier & 0xFFFF, name)
        return bytes(handle.SerializeToString())

    def identity(self, timeout_ms: int) -> dict[str, Any]:
        """What the arm is: each fact, or why it cannot be had."""
        found: dict[str, Any] = {"missing": []}
        for fact, service, name, field in (
            ("serial", "DeviceConfig", "GetSerialNumber", "serial_number"),
            ("firmware", "Base", "GetFirmwareBundleVersions", "main_bundle_version"),
            ("actuators", "Base", "GetActuatorCount", "count"),
        ):
            try:
                found[fact] = getattr(getattr(self._client(service), name)(options=options(timeout_ms)), field)
            except vendor("Exceptions.KServerException.KServerException") as error:
                found["missing"].append(f"{name}: {error}")
        return found

    def arm_state(self, timeout_ms: int) -> dict[str, Any]:
        """The number of the state of the arm's base."""
        return {"state": int(self._client("Base").GetArmState(options=options(timeout_ms)).active_state)}

    def facts(self) -> dict[str, Any]:
        """What can be told without asking the arm."""
        thread = getattr(self._session, "m_thread", None)
        alive = thread is None or thread.is_alive()
        return {"alive": alive, "errors": self.errors, "silences": self.silences}

    def close(self) -> None:
        """Leave no session behind on the arm."""
        if self._session is not None:
            self._session.CloseSession(options(CLOSE_MS))

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            raise WorkerError("there is no session with the arm")
        return self._clients[service]

    def _on_error(self, *given: Any) -> None:
        """Called in a thread of the client, which an error would end."""
        self.errors += 1
        try:
            self._link.say({"notice": "broken", "why": "the client reports " + " ".join(map(str, given))})
        except Exception as error:  # noqa: BLE001 - see above
            sys.stderr.write(f"an error of the client was not told: {error!r}\n")

    def _on_silence(self, *_: Any) -> None:
        """The arm was late to answer a keep-alive call: only counted, the service asks it by itself."""
        self.silences += 1


def options(timeout_ms: int) -> Any:
    """Options of one call, never the object that the client shares between calls."""
    fresh = vendor("RouterClient.RouterClientSendOptions")()
    fresh.timeout_ms = timeout_ms
    return fresh


def separate(router: Any) -> None:
    """Give a router tables of its own in the place of those of its class."""
    for name, value in list(vars(type(router)).items()):
        if isinstance(value, dict):
            setattr(router, name, dict(value))


def one_at_a_time(send: Any) -> Any:
    """Let only one thread send at a time: header and body of two messages would mix."""
    lock = threading.Lock()

    def send_locked(*given: Any, **named: Any) -> Any:
        with lock:
            return send(*given, **named)

    return send_locked


def address(transport: Any) -> str:
    """Our own end of the connection as `ip:port`; empty when it cannot be known."""
    for value in vars(transport).values():
        if isinstance(value, socket.socket):
            host, port = value.getsockname()[:2]
            return f"{host}:{port}"
    return ""


def secret(request: dict[str, Any]) -> str:
    """The password, from its file or variable."""
    if request.get("password_env"):
        if request["password_env"] not in os.environ:
            raise WorkerError("the variable of password_env is not set")
        return os.environ[request["password_env"]]
    try:
        with open(request["password_file"], encoding="utf-8") as file:  # noqa: PTH123 - one line of a file
            return file.readline().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise WorkerError(f"password_file cannot be read: {error}") from None


def failure(error: BaseException, *, opening: bool) -> dict[str, Any]:
    """How an error is answered: what kind it is, and the arm's own numbers."""
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, WorkerError):
        return {"kind": "away", "text": str(error)}
    if type(error).__name__ == "KServerException":
        code, sub = int(error.get_error_code()), int(error.get_error_sub_code())  # type: ignore[attr-defined] # vendor's
        return {"kind": "refused", "code": code, "sub": sub, "name": sub_code_name(sub), "text": text}
    if opening:
        return {"kind": "away", "text": text}
    # A client's or a socket's error may come before, amid or after the sending: what became of it is unknown.
    waited = (concurrent.futures.TimeoutError, OSError)
    unknown = isinstance(error, waited) or type(error).__name__ == "KClientException"
    return {"kind": "timeout" if unknown else "unreadable", "text": text}


def sub_code_name(number: int) -> str:
    """The vendor's name of a sub code; empty for a newer one than its enum has."""
    try:
        return str(message("Errors_pb2.SubErrorCodes").Name(number))
    except (ValueError, ImportError, AttributeError):
        return ""


class Worker:
    """Requests in order of arrival, one at a time, in a thread of its own; what needs no arm is answered at once."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._arm = Arm(link)
        self._requests: queue.SimpleQueue[tuple[float, dict[str, Any]]] = queue.SimpleQueue()

    def run(self) -> None:
        """Serve until the service closes the link."""
        threading.Thread(target=self._work, name="caller", daemon=True).start()
        while True:
            request = self._link.hear()
            if request["method"] == "facts":
                self._link.say({"id": request["id"], "ok": True, "result": self._arm.facts()})
            else:
                self._requests.put((time.monotonic() + request["timeout_ms"] / 1000, request))

    def _work(self) -> None:
        while True:
            latest, request = self._requests.get()
            try:
                answer = {"ok": True, **self._carry_out(request, latest)}
            except Exception as error:  # noqa: BLE001 - whatever it is, it is answered
                answer = {"ok": False, **failure(error, opening=request["method"] == "open")}
            self._link.say({"id": request["id"], **answer})
            if request["method"] == "close":
                os._exit(0)

    def _carry_out(self, request: dict[str, Any], latest: float) -> dict[str, Any]:
        method, timeout_ms = request["method"], request["timeout_ms"]
        if time.monotonic() > latest:
            raise WorkerError("its time was over before its turn came")
        if method in METHODS:
            answer = self._arm.call(method, base64.b64decode(request.get("payload", "")), timeout_ms)
            return {"payload": base64.b64encode(answer).decode()}
        if method == "open":
            return {"result": self._arm.open(request)}
        if method == "identity":
            return {"result": self._arm.identity(timeout_ms)}
        if method == "arm_state":
            return {"result": self._arm.arm_state(timeout_ms)}
        if method == "close":
            self._arm.close()
            return {}
        raise WorkerError(f"{method} is no method of this worker")


def prepare() -> None:
    """Keep descriptor 1 from the vendor's prints, and let old generated code load."""
    os.dup2(2, 1)
    for name in collections.abc.__all__:
        if not hasattr(collections, name):
            setattr(collections, name, getattr(collections.abc, name))


def load() -> None:
    """Load all that is used of the vendor's package, and say that it is there."""
    said = os.dup(1)
    prepare()
    for place in VENDOR:
        vendor(place)
    for place in METHODS.values():
        if place:
            message(place)
    os.write(said, b"loaded\n")


def main() -> None:
    """Serve on the descriptor that the first word names; `check` only loads."""
    if sys.argv[1] == "check":
        load()
        return
    prepare()
    Worker(Link(int(sys.argv[1]))).run()


if __name__ == "__main__":
    main()
