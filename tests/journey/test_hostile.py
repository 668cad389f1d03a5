"""The hostile publishes of the vectors, each on the whole service in a process of its own."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from broker.settings import ANYBODY, RIGHTS
from tests.journey.client import Client, Received
from tests.journey.forms import decode_reply
from tests.links import PATIENCE_S
from tests.mosquitto import ROOT, Mosquitto, make_plant
from tests.raw_publish import payload_of, response_topic, send
from tests.stored import as_started
from tests.vectors_place import VECTORS

ARM, SET = "arm-0001", "SetTwistLinearSoftLimit"
VALUE = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.2}
STORE = "store.sqlite3"
SHORTEST_SECRET = 16
"""Payloads of so many bytes and more must not show in the log."""


def vectors_of(layer: str) -> list[dict[str, Any]]:
    """The vectors that a layer has to stop or answer."""
    lines = (VECTORS / "hostile_inputs.jsonl").read_text().splitlines()
    return [vector for vector in map(json.loads, lines) if vector["layer"] == layer]


class HostilePlant:
    """A service with the arms and users of the vectors; `restore` gives one whose arm is at revision 3, untouched."""

    def __init__(self, server: Mosquitto, folder: Path) -> None:
        self.server = server
        self._folder = folder
        self._count = 0
        self._process: subprocess.Popen[str] | None = None
        self.log = folder / "log"

    def _settings(self) -> dict[str, Any]:
        names = [f"arm-{number:04d}" for number in (1, 2, 499, 500, 600)]
        mqtt: dict[str, Any] = {"url": self.server.url, "client_id": f"armbroker-{self._count}"}
        if "svc" in self.server.passwords:
            secret = self._folder / "secret"
            secret.write_text(self.server.passwords["svc"])
            mqtt |= {"user": "svc", "password_file": str(secret), "identity": "server-acl"}
        return {
            "mqtt": mqtt,
            "store": {"dir": str(self._folder / f"data-{self._count}"), "reserve_mib": 1},
            "sim": {"latency_ms": 0},
            "clients": {ANYBODY: {"rights": list(RIGHTS)}, "alice": {"arms": names[:3]}, "bob": {"arms": names[3:]}},
            "arm": [{"id": name, "model": "gen3_7dof"} for name in names],
        }

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def set_clock(self, at: str) -> None:
        """Let the service's clock go on from a time."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise RuntimeError("the service does not run")
        line = f"{int(datetime.fromisoformat(at).timestamp() * 1e6)}\n"
        process.stdin.write(line)
        process.stdin.flush()
        if process.stdout.readline() != line:
            raise RuntimeError("the service did not take the time")

    async def restore(self, sam: Client, at: str = "") -> None:
        """A service whose arm is at revision 3 with its defaults, at a time; the running one if it is still so."""
        if self.alive and not at:
            state = await sam.call(ARM, "GetGravityVector")
            if state["rev"] == 3:
                return
        if self.alive:
            self.stop()
            await sam.document("svc/main", lambda one: one["state"] == "offline")
            sam.inbox.clear()
        self._count += 1
        self._start()
        if at:
            self.set_clock(at)
        await sam.document("svc/main", lambda one: one["state"] == "online")
        await sam.change(ARM, SET, VALUE)
        restored = await sam.change(ARM, "ResetTwistLinearSoftLimit", {"control_mode": "CARTESIAN_JOYSTICK"})
        if restored["rev"] != 3:
            raise RuntimeError("the arm is not at revision 3")
        for _ in range(2):
            await event_of(sam)

    def _start(self) -> None:
        command = [sys.executable, "-m", "tests.journey.service_process", json.dumps(self._settings())]
        with self.log.open("a") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            )

    def stop(self) -> None:
        """End the service; idempotent."""
        if self._process is not None:
            self._process.terminate()
            self._process.communicate(timeout=PATIENCE_S)
            self._process = None

    def in_store(self, query: str) -> int:
        """The number that a query of the store yields."""
        store = self._folder / f"data-{self._count}" / STORE
        with contextlib.closing(as_started(store)) as database:
            return int(database.execute(query).fetchone()[0])

    def books(self) -> dict[str, int]:
        """Revisions, events, device commands and audit entries so far, of all arms."""
        return {
            "rev": self.in_store("SELECT sum(rev) FROM arm"),
            "seq": self.in_store("SELECT sum(seq) FROM arm"),
            "cmd_seq": self.in_store("SELECT sum(cmd_seq) FROM arm"),
            "audit": self.in_store("SELECT coalesce(max(n), 0) FROM audit"),
        }


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostilePlant]:
    """The plant of the service's layer, on a Mosquitto that lets everybody do everything."""
    server = Mosquitto(tmp_path_factory.mktemp("mosquitto")).start()
    plant = HostilePlant(server, tmp_path_factory.mktemp("hostile"))
    yield plant
    plant.stop()
    server.stop()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostilePlant]:
    """The plant of the MQTT server's layer, on a Mosquitto with the shipped configuration and ACL."""
    server = make_plant(tmp_path_factory.mktemp("mosquitto")).start()
    plant = HostilePlant(server, tmp_path_factory.mktemp("guarded"))
    yield plant
    plant.stop()
    server.stop()


_conns = count()


def sam_of(plant: HostilePlant) -> Client:
    """Another user."""
    password = plant.server.passwords.get("sam")
    return Client(plant.server.port, "armbroker/v1", "sam", f"sam-{next(_conns)}", password=password)


async def check_alive(plant: HostilePlant, sam: Client) -> None:
    """The process lives and answers another user's next valid request."""
    assert plant.alive
    assert (await sam.change("arm-0002", "SetGravityVector", {"z": -9.81}))["stage"] == "applied"


def check_log(plant: HostilePlant, payload: bytes) -> None:
    """No traceback; the payload does not show whole, as it is or quoted."""
    log = plant.log.read_text()
    for word in ("Traceback", '"exception"', "request_failed"):
        assert word not in log
    if len(payload) >= SHORTEST_SECRET:
        shown = payload.decode("utf-8", "backslashreplace")
        assert shown not in log
        assert json.dumps(shown)[1:-1] not in log


async def reply_to(vector: dict[str, Any], sam: Client) -> dict[str, Any]:
    """The reply to a vector; it carries what the protocol says."""
    start = f"res/{vector['user']}/{vector['conn']}/"
    message = await sam.take(lambda one: one.topic.startswith(start))
    if vector["mqtt"]["version"] == 5:
        assert f"{sam.root}/{message.topic}" == response_topic(vector)
        expected = b"" if "correlation_data" in vector["mqtt"] else vector["id"].lower().encode()
        assert message.correlation == expected
    codec = {"application/msgpack": "msgpack", "application/x-protobuf": "protobuf"}.get(message.content_type, "json")
    return decode_reply(codec, message.payload)


def check_rejected(vector: dict[str, Any], reply: dict[str, Any]) -> None:
    """The reply is the refusal that the vector lists."""
    assert (reply["ok"], reply["stage"]) == (False, "refused")
    assert reply["error"]["kind"] in vector["error_kinds_ok"]
    assert reply["error"]["name"] in vector["error_names_ok"]


async def event_of(sam: Client) -> Received:
    """The next event of the arm, once it came."""
    return await sam.take(lambda one: one.topic.startswith(f"evt/{ARM}/"))


async def process_given(vector: dict[str, Any], plant: HostilePlant, sam: Client) -> None:
    """Let the service answer the request that a vector wants answered before."""
    earlier = {**vector, "id": "given", "topic": vector["given"]["topic"]}
    earlier["payload_b64"] = vector["given"]["already_processed_b64"]
    send(plant.server, earlier)
    assert (await reply_to(earlier, sam))["stage"] == "applied"
    await event_of(sam)


@pytest.mark.parametrize("vector", vectors_of("service"), ids=lambda vector: vector["id"])
async def test_the_service_survives_and_answers(hostile: HostilePlant, vector: dict[str, Any]) -> None:
    async with sam_of(hostile) as sam:
        await sam.subscribe("svc/+", "res/#", "evt/#")
        await hostile.restore(sam, vector.get("at", ""))
        if "already_processed_b64" in vector.get("given", {}):
            await process_given(vector, hostile, sam)
        sam.inbox.clear()
        before = hostile.books()
        send(hostile.server, vector)
        if vector["expect"] == "rejected":
            check_rejected(vector, await reply_to(vector, sam))
            after = hostile.books()
            told = "not_permitted" in vector["error_kinds_ok"]
            assert {**after, "audit": 0, "seq": after["seq"]} == {**before, "audit": 0, "seq": after["seq"]}
            assert after["seq"] - before["seq"] <= told
            assert after["audit"] - before["audit"] <= 1
        elif vector["expect"] == "accepted":
            reply = await reply_to(vector, sam)
            names = {warning["name"] for warning in reply["warnings"]} - {"ROUNDED"}
            assert (reply["ok"], reply["stage"], names) == (True, "applied", set(vector.get("warnings", ())))
            assert b"-0.0" not in (await event_of(sam)).payload
        await check_alive(hostile, sam)
        if vector["expect"] == "ignored":
            assert hostile.in_store("SELECT rev FROM arm WHERE arm = 'arm-0001'") == 3
        others = [one.topic for one in sam.inbox if not one.topic.startswith(("res/sam/", "evt/arm-0002/", "svc/"))]
        assert others == ["evt/arm-0500/admin"] * ("not_permitted" in vector.get("error_kinds_ok", ()))
    check_log(hostile, payload_of(vector))
    if vector["mqtt"]["retain"]:
        send(hostile.server, {**vector, "payload_b64": ""})


@pytest.mark.parametrize("vector", vectors_of("mqtt_server"), ids=lambda vector: vector["id"])
async def test_the_mqtt_server_stops_it(guarded: HostilePlant, vector: dict[str, Any]) -> None:
    async with sam_of(guarded) as sam:
        await sam.subscribe("svc/+", "evt/#", "state/#")
        await guarded.restore(sam)
        before = guarded.books()
        send(guarded.server, vector)
        assert guarded.books() == before
        await check_alive(guarded, sam)
        await sam.subscribe("state/arm-0001/config")
        retained = await sam.document("state/arm-0001/config", lambda one: one["rev"] == 3)
        assert retained["items"]
    check_log(guarded, payload_of(vector))
