"""A process that stands for a Kinova arm: keeps values over restarts, tells every session, misbehaves when told.

`python -m tests.devices.kortex.fake_arm DIRECTORY MODEL [PORT CONTROL]`; says its two ports on standard output. On the
control port each line is a JSON object with `do`, answered by one line. What the arm took stands in `log.jsonl`.
"""

import asyncio
import base64
import contextlib
import json
import struct
import sys
import time
from pathlib import Path
from typing import Any

from devices.adapter import ArmChange, ArmRefusedError, Command
from devices.records import record_of
from devices.simulated.firmware import EVERY_SLOT, Firmware
from devices.simulated.store import SimulatedStore
from schema.arms import Slot, Verb
from schema.codecs.protobuf import decode_message, encode_message
from schema.items import ITEMS, SOFT_LIMIT_MODES
from schema.messages import (
    Connection,
    ControlConfigurationNotification,
    ControlModeInformation,
    ControlModeNotification,
    Empty,
    Message,
    NotificationHandle,
)
from tests.devices.kortex.fake_methods import READS, RESETS, SETS, fewer, soft

MARK = bytes.fromhex("07784574526F4B07")
READY = 7
PASSWORDS = (b"secret", b"admin")
FLAGS = {
    "lose_answer": "lose_answers",
    "garbage": "garbage",
    "clamp": "clamp",
    "split_headers": "split_headers",
    "early_notice": "early_notice",
    "deaf_to_keep_alive": "deaf_to_keep_alive",
}
Answer = dict[str, Any]


class Fault:
    """What is in force of what the control port asked for."""

    def __init__(self) -> None:
        self.refuse: Slot | None = None
        self.delay_s = 0.0
        self.lose_answers = self.garbage = self.clamp = False
        self.awake = asyncio.Event()
        self.awake.set()
        self.prompt = asyncio.Event()
        self.prompt.set()
        self.errors: dict[str, tuple[int, int, int]] = {}
        """By method: how often, code, sub code."""
        self.split_headers = self.early_notice = self.deaf_to_keep_alive = False
        self.state = READY


class Session:
    """One connection of a client."""

    def __init__(self, number: int, writer: asyncio.StreamWriter) -> None:
        self.number, self.writer = number, writer
        self.address = "{}:{}".format(*writer.get_extra_info("peername")[:2])
        self.handles: dict[str, int] = {}
        self.logged_in = False

    def connection(self) -> Connection:
        return Connection(None, self.address, self.number)


class FakeArm:
    """The arm; `serial` differs after `swap_serial`."""

    def __init__(self, directory: Path, model: str) -> None:
        self.directory, self.model = directory, model
        self.store = SimulatedStore(directory)
        self.fault = Fault()
        self.sessions: dict[int, Session] = {}
        self.count = 0
        self.swapped = ""
        self.firmware = Firmware("fake", model, self.store, self._tell)
        self.acting: Session | None = None
        self.epoch, self.commands = time.time_ns(), 0
        self.at_start = self.firmware.read_all()
        self.server: asyncio.Server | None = None
        self.port = 0
        self.queue: asyncio.Queue[tuple[Session, Answer]] = asyncio.Queue()

    # ------------------------------------------------------------------ the link

    async def listen(self) -> None:
        if self.server is None:
            self.server = await asyncio.start_server(self._client, "127.0.0.1", self.port)
            self.port = self.server.sockets[0].getsockname()[1]

    async def go_off(self) -> None:
        """Drop every connection and take no new one."""
        server, self.server = self.server, None
        if server is not None:
            server.close()
        for session in list(self.sessions.values()):
            session.writer.transport.abort()
        await asyncio.sleep(0)

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.count += 1
        session = self.sessions[self.count] = Session(self.count, writer)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readexactly(len(MARK) + 4)
                if not head.startswith(MARK):
                    continue  # out of step: the arm drops what it does not understand
                body = await reader.readexactly(struct.unpack(">I", head[len(MARK) :])[0])
                await self._take(session, body)
        self.sessions.pop(session.number, None)
        writer.close()

    async def _take(self, session: Session, body: bytes) -> None:
        try:
            request: Answer = json.loads(body)
        except ValueError:
            return
        if request["service"] == 1:
            self._session_call(session, request)
        else:
            self.queue.put_nowait((session, request))

    def _session_call(self, session: Session, request: Answer) -> None:
        function = request["function"]
        if function == "CreateSession":
            body = base64.b64decode(request["payload"])
            session.logged_in = body.count(PASSWORDS[0]) == 1 or body.count(PASSWORDS[1]) == 2
            if not session.logged_in:
                self._fail(session, request, 3, 54, "no such user or password")
                return
            self._answer(session, request, encode_message(NotificationHandle(session.number)))
        elif function == "KeepAlive":
            if self.fault.deaf_to_keep_alive:
                self._fail(session, request, 3, 12, "no such session")
            elif self.fault.awake.is_set():
                self._answer(session, request, b"")
        else:
            session.logged_in = False
            self._answer(session, request, b"")

    async def work(self) -> None:
        """Act on requests, in order, one each cycle."""
        while True:
            session, request = await self.queue.get()
            await asyncio.sleep(0.002)
            if self.fault.delay_s:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.fault.prompt.wait(), self.fault.delay_s)
            await self.fault.awake.wait()
            self._act(session, request)

    def _act(self, session: Session, request: Answer) -> None:
        method = request["function"]
        left, code, sub = self.fault.errors.get(method, (0, 0, 0))
        if left:
            self.fault.errors[method] = (left - 1, code, sub)
            self._fail(session, request, code, sub, "as told")
            return
        if not session.logged_in:
            self._fail(session, request, 3, 54, "no session")
            return
        try:
            self.acting = session
            answer = self._carry_out(session, method, base64.b64decode(request["payload"]))
        except ArmRefusedError as refusal:
            self._fail(session, request, refusal.code, refusal.sub_code, str(refusal))
            return
        finally:
            self.acting = None
        writes = method.startswith(("Set", "Reset"))
        if not (writes and self.fault.lose_answers):
            self._answer(session, request, b"\xff\xff\xff" if self.fault.garbage and session.handles else answer)

    def _answer(self, session: Session, request: Answer, payload: bytes) -> None:
        self._send(session, {"type": "response", "id": request["id"], "payload": _text(payload)})

    def _fail(self, session: Session, request: Answer, code: int, sub: int, text: str) -> None:
        self._send(session, {"type": "error", "id": request["id"], "code": code, "sub": sub, "text": text})

    def _send(self, session: Session, frame: Answer) -> None:
        body = json.dumps(frame).encode()
        data = MARK + struct.pack(">I", len(body)) + body
        if self.fault.split_headers:
            asyncio.get_running_loop().create_task(_in_two_parts(session.writer, data))
        else:
            session.writer.write(data)

    # ------------------------------------------------------------------ what it can do

    def _carry_out(self, session: Session, method: str, payload: bytes) -> bytes:
        firmware = self.firmware
        if method in READS:
            return encode_message(READS[method](firmware))
        if method in ("ControlConfigurationTopic", "ControlModeTopic"):
            return self._subscribe(session, method)
        if method == "GetArmState":
            return encode_message(NotificationHandle(self.fault.state))
        if method == "GetFirmwareBundleVersions":
            return _string(firmware.describe().firmware)
        if method == "GetSerialNumber":
            return _string(self.swapped or firmware.serial)
        if method == "GetKinematicSoftLimits":
            mode = decode_message(payload, ControlModeInformation, strict=False)
            return encode_message(soft(firmware, int(getattr(mode, "control_mode", 0))))
        if method == "Unsubscribe":
            return b""
        return self._write(method, payload)

    def _write(self, method: str, payload: bytes) -> bytes:
        if self.fault.state != READY:
            raise ArmRefusedError(3, 18, "ROBOT_MOVEMENT_IN_PROGRESS", "it moves")
        verb = Verb.SET if method in SETS else Verb.RESET
        item = SETS[method] if verb is Verb.SET else RESETS[method]
        soft_limit = item in SOFT_LIMIT_MODES
        cls = ITEMS[item].record if verb is Verb.SET else ControlModeInformation if soft_limit else Empty
        value: Message | None = decode_message(payload, cls, strict=False)
        mode = int(getattr(value, "control_mode", 0)) if soft_limit else 0
        self.commands += 1
        if verb is Verb.RESET:
            value = None
        elif self.fault.clamp and value is not None:
            value = fewer(value)
        self.firmware.refuse = self.fault.refuse
        command = Command(self.epoch, self.commands, verb, (item, mode), value)
        answer = self.firmware.execute(command)
        self._write_log(method, (item, mode))
        return b"" if answer is None else encode_message(answer)

    def _write_log(self, method: str, slot: Slot) -> None:
        value = self.firmware.read(slot)
        by = self.acting.address if self.acting is not None else "another"
        line = {"method": method, "slot": slot, "value": repr(value), "by": by}
        with (self.directory / "log.jsonl").open("a") as log:
            log.write(json.dumps(line) + "\n")

    def _subscribe(self, session: Session, topic: str) -> bytes:
        handle = session.handles[topic] = 100 * session.number + len(session.handles) + 1
        if self.fault.early_notice:
            self._notify(
                session, topic, ControlConfigurationNotification(2, None, None, Connection(None, "early", 999))
            )
        return encode_message(NotificationHandle(handle))

    def _tell(self, change: ArmChange) -> None:
        by = self.acting.connection() if change.ours and self.acting else Connection(None, "10.0.0.9:4711", 65000)
        for session in self.sessions.values():
            if change.event == 0:
                mode = self.firmware.read(("control_mode", 0))
                told: Message = ControlModeNotification(getattr(mode, "control_mode", 0), None, None, by)
                self._notify(session, "ControlModeTopic", told)
            else:
                told = ControlConfigurationNotification(change.event, None, None, by)
                self._notify(session, "ControlConfigurationTopic", told)

    def _notify(self, session: Session, topic: str, told: Message | bytes) -> None:
        handle = session.handles.get(topic)
        if handle is not None and self.fault.awake.is_set():
            frame = {"type": "notification", "service": 16, "session": session.number, "handle": handle}
            payload = told if isinstance(told, bytes) else encode_message(told)
            self._send(session, {**frame, "payload": _text(payload)})

    # ------------------------------------------------------------------ control

    async def control(self, order: Answer) -> Answer:
        """Do what the control port asks for."""
        what = order["do"]
        if what in FLAGS:
            setattr(self.fault, FLAGS[what], order.get("on", True))
        elif what in ("foreign_change", "sessions"):
            return self._foreign_change(order) if what == "foreign_change" else self._list_sessions()
        elif what in ("close_peers", "bad_event"):
            for session in list(self.sessions.values()):
                if what == "close_peers":
                    session.writer.write_eof()
                else:
                    self._notify(session, "ControlConfigurationTopic", b"\xff")
        elif what in ("none", "offline", "swap_serial", "reboot"):
            await self._change_link(what, order)
        else:
            self._begin(what, order)
        return {}

    def _begin(self, what: str, order: Answer) -> None:
        fault = self.fault
        match what:
            case "refuse":
                fault.refuse = (order["slot"][0], order["slot"][1]) if order.get("slot") else EVERY_SLOT
            case "delay":
                fault.delay_s = order["s"]
                fault.prompt.clear()
            case "hang":
                fault.awake.clear()
            case "state":
                fault.state = order["state"]
            case "error":
                fault.errors[order["method"]] = (order["times"], order["code"], order["sub"])
            case "event":
                self._tell(ArmChange(order["event"], None, ours=False))
            case _:
                raise ValueError(what)

    async def _change_link(self, what: str, order: Answer) -> None:
        match what:
            case "none":
                await self._end_faults()
            case "offline":
                await self.go_off()
            case "swap_serial":
                self.swapped = order.get("serial", "OTHER1")
                await self.go_off()
                await self.listen()
            case "reboot":
                await self._reboot()

    def _list_sessions(self) -> Answer:
        return {"sessions": [[one.number, one.address, one.handles] for one in self.sessions.values()]}

    def _foreign_change(self, order: Answer) -> Answer:
        slot = (order["slot"][0], order["slot"][1])
        try:
            self.firmware.change_by_another(slot, record_of(ITEMS[slot[0]].record, order["value"]))
        except ArmRefusedError as refusal:
            return {"refused": [refusal.code, refusal.sub_code, refusal.name, str(refusal)]}
        self._write_log("foreign", slot)
        return {}

    async def _end_faults(self) -> None:
        old, self.fault = self.fault, Fault()
        old.prompt.set()
        old.awake.set()
        await self.listen()

    async def _reboot(self) -> None:
        await self.go_off()
        for slot, value in self.at_start.items.items():
            if self.firmware.read(slot) != value:
                with contextlib.suppress(ArmRefusedError):
                    self.firmware.change_by_another(slot, value)
        await self.listen()


def _text(payload: bytes) -> str:
    return base64.b64encode(payload).decode()


def _string(value: str) -> bytes:
    """A message whose field 1 is this text."""
    return encode_message(Connection(None, value)).replace(b"\x12", b"\x0a", 1)


async def _in_two_parts(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data[:5])
    await asyncio.sleep(0.01)
    writer.write(data[5:])


async def main() -> None:
    directory, model = Path(sys.argv[1]), sys.argv[2]
    arm = FakeArm(directory, model)
    arm.port = int(sys.argv[3]) if len(sys.argv) > 3 else 0

    async def obey(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(json.dumps(await arm.control(json.loads(line))).encode() + b"\n")
        writer.close()

    control = await asyncio.start_server(obey, "127.0.0.1", int(sys.argv[4]) if len(sys.argv) > 4 else 0)
    await arm.listen()
    working = asyncio.create_task(arm.work())
    sys.stdout.write(f"{arm.port} {control.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await working


if __name__ == "__main__":
    asyncio.run(main())
