"""The retained documents of an arm, the presence of the service, and what it says of itself."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handlers.rpc_table import RPC_TABLE
from schema.errors import ERRORS
from tests.journey.client import Client
from tests.journey.conftest import ClientMaker
from tests.journey.running import RunningService
from tests.links import PATIENCE_S
from tests.mosquitto import ROOT, Mosquitto

SET = "SetTwistLinearSoftLimit"
MODE = {"control_mode": "CARTESIAN_JOYSTICK"}
VALUE = {**MODE, "twist_linear_soft_limit": 0.25}
NAMES = ("config", "reported", "mode", "effective", "presence")
SETTLED = ("config", "reported", "effective")
"""The documents that the end of a change shows in."""
COMMON = {"arm", "svc", "epoch", "rev", "seq", "at"}
SLOT = "twist_linear_soft_limit/CARTESIAN_JOYSTICK"


async def emptied(client: Client, topic: str) -> bool:
    """Wait until a topic is cleared."""
    return bool(await client.take(lambda message: message.topic == topic and not message.payload))


def states(document: dict[str, Any]) -> list[str]:
    """The states of what is pending."""
    return [entry["state"] for entry in document["pending"]]


def limit_in(document: dict[str, Any]) -> float:
    """The twist limit of the joystick mode in a config or reported document."""
    return float(document["items"]["twist_linear_soft_limit"]["CARTESIAN_JOYSTICK"])


async def test_first_contact_adopts_without_event_or_write(connect: ClientMaker, arm: str) -> None:
    early = await connect(f"state/{arm}/+")
    for name in NAMES:
        await early.take_topic(f"state/{arm}/{name}")
    client = await connect(f"evt/{arm}/#", f"state/{arm}/+")
    documents = {}
    for name in NAMES:
        message = await client.take_topic(f"state/{arm}/{name}")
        assert message.retained
        documents[name] = message.document
        assert set(message.document) >= COMMON
        assert (message.document["arm"], message.document["svc"]) == (arm, "main")
        assert message.document["seq"] == 0
    config, reported = documents["config"], documents["reported"]
    assert (config["rev"], config["pending"], config["differs"]) == (1, [], [])
    assert config["items"] == reported["items"]
    assert len(config["items"]) == 14
    assert config["items"]["gravity_vector"] == {"x": 0.0, "y": 0.0, "z": -9.81}
    assert set(reported) == COMMON | {"items", "hard_limits", "mode", "firmware", "read_at"}
    assert reported["hard_limits"]["joint_speed_limits"] == [80.0] * 4 + [70.0] * 3
    mode = documents["mode"]
    assert set(mode) == COMMON | {"control_mode", "mode_seen_at"}
    assert mode["control_mode"] == reported["mode"] == "IDLE"
    presence = documents["presence"]
    assert (presence["state"], presence["ready"], presence["adapter"]) == ("online", True, "simulated")
    assert (presence["model"], presence["joints"]) == ("gen3_7dof", 7)
    assert presence["serial"]
    history = await client.call(arm, "GetHistory")
    assert history["result"] == {"changes": [], "more": False, "missing": []}
    assert client.events() == []


async def test_documents_follow_the_event_that_they_hold(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#", f"state/{arm}/+")
    reply = await client.change(arm, SET, VALUE)
    for name in ("config", "reported"):
        document = await client.document(f"state/{arm}/{name}", lambda one: one["seq"] == reply["seq"])
        assert limit_in(document) == 0.25
        assert document["rev"] == reply["rev"]
    order = [message.topic for message in client.inbox]
    assert f"evt/{arm}/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED" in order
    await client.change(arm, "SetControlMode", {"control_mode": "ANGULAR_JOYSTICK"})
    mode = await client.document(f"state/{arm}/mode", lambda one: one["seq"] == 2)
    assert (mode["control_mode"], mode["by"]["user"]) == ("ANGULAR_JOYSTICK", client.user)
    assert mode["by"]["connection"] == client.conn


async def test_no_document_holds_more_than_the_events_before_it(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#", f"state/{arm}/config")
    for number in range(1, 21):
        await client.send(arm, SET, {"id": f"n{number}", "params": {**MODE, "twist_linear_soft_limit": number / 100}})
    for number in range(1, 21):
        assert (await client.reply(f"n{number}"))["stage"] == "applied"
    seen: list[Any] = []
    while True:
        message = await client.take(lambda one: one.topic.startswith(("evt/", "state/")))
        document = message.document
        if message.topic.startswith("evt/"):
            seen.append(document["seq"])
            continue
        assert document["seq"] <= (seen[-1] if seen else 0)
        if document["seq"] == 20 and not document["pending"]:
            break
    assert seen == list(range(1, 21))
    assert limit_in(document) == 0.2


async def test_pending_and_differs_show_with_the_same_seq(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"state/{arm}/config")
    await client.change(arm, "SimFault", {"fault": "hang"})
    first = await client.change(arm, SET, VALUE, wait="stored")
    second = await client.change(arm, "SetGravityVector", {"x": 9.81}, wait="stored")
    document = await client.document(f"state/{arm}/config", lambda one: len(one["pending"]) == 2)
    assert (document["seq"], document["rev"]) == (0, second["rev"])
    writing, accepted = document["pending"]
    assert (writing["rev"], writing["item"], writing["slot"]) == (first["rev"], *SLOT.split("/"))
    assert writing["state"] == "writing"
    assert (accepted["rev"], accepted["item"], accepted["state"]) == (second["rev"], "gravity_vector", "accepted")
    assert "slot" not in accepted
    assert sorted(document["differs"]) == ["gravity_vector", SLOT]
    assert limit_in(document) == 0.25
    await client.change(arm, "SimFault", {"fault": "none"})
    document = await client.document(f"state/{arm}/config", lambda one: one["seq"] == 2)
    assert (document["pending"], document["differs"]) == ([], [])


async def test_a_foreign_change_shows_as_a_difference(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"state/{arm}/+")
    await client.change(arm, SET, VALUE)
    slot = {"item": "twist_linear_soft_limit", "slot": "CARTESIAN_JOYSTICK", "value": 0.4}
    await client.change(arm, "SimFault", {"fault": "foreign_change", **slot})
    config = await client.document(f"state/{arm}/config", lambda one: one["differs"] == [SLOT] and one["seq"] == 2)
    assert (limit_in(config), config["rev"], config["pending"]) == (0.25, 3, [])
    reported = await client.document(f"state/{arm}/reported", lambda one: one["seq"] == 2)
    assert limit_in(reported) == 0.4
    await client.change(arm, SET, {**MODE, "twist_linear_soft_limit": 0.4})
    config = await client.document(f"state/{arm}/config", lambda one: one["seq"] == 3)
    assert (limit_in(config), config["differs"]) == (0.4, [])


async def test_an_unknown_outcome_shows_as_pending(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"state/{arm}/config")
    await client.change(arm, "SimFault", {"fault": "hang"})
    await client.send(arm, SET, {"id": "u", "params": VALUE})
    await client.send(arm, "SetGravityVector", {"id": "q", "params": {"x": 9.81}})
    await client.document(f"state/{arm}/config", lambda one: states(one) == ["unknown", "accepted"])
    reply = await client.reply("u")
    error = reply["error"]
    shown = (reply["ok"], reply["stage"], reply["final"], error["kind"], error["name"], error["retry"])
    assert shown == (False, "stored", False, "outcome_unknown", "METHOD_TIMEOUT", "repeat")
    assert (reply["rev"], reply["seq"]) == (2, 0)
    queued = await client.reply("q")
    assert (queued["ok"], queued["stage"], queued["final"], queued["seq"]) == (True, "stored", False, 0)
    again = await client.call(arm, SET, VALUE, id="u", wait="stored")
    assert again["duplicate"] is True
    await client.change(arm, "SimFault", {"fault": "none"})
    await client.document(f"state/{arm}/config", lambda one: one["seq"] == 2 and not one["pending"])
    latest = await client.call(arm, SET, VALUE, id="u")
    assert (latest["stage"], latest["duplicate"], latest["in_force"]) == ("applied", True, True)
    assert not [message for message in client.inbox if message.topic.endswith(("/u", "/q"))]


async def test_an_arm_that_the_settings_no_longer_name_leaves_nothing_retained(
    connect: ClientMaker, start_service: ClientMaker
) -> None:
    own: RunningService = start_service("r1", "r2")
    client = await connect("state/+/+", "meta/factsheet/+", to=own)
    for arm in ("r1", "r2"):
        await client.document(f"meta/factsheet/{arm}", lambda one: bool(one["modes_settable"]))
        for name in NAMES:
            await client.take_topic(f"state/{arm}/{name}")
    own.stop()
    own.settings = msgspec.structs.replace(own.settings, arm=own.settings.arm[:1])
    own.start()
    for name in NAMES:
        assert await emptied(client, f"state/r2/{name}")
    assert await emptied(client, "meta/factsheet/r2")
    late = await connect("state/+/+", "meta/factsheet/+", to=own)
    assert (await late.call("r2", "GetGravityVector"))["error"]["kind"] == "unknown_arm"
    assert {message.topic.split("/")[-1] for message in late.inbox if "r2" in message.topic} == set()
    assert [message.topic for message in late.inbox if message.topic == "state/r1/config"]


async def test_a_restart_publishes_what_changed_and_leaves_what_is_right(
    connect: ClientMaker, start_service: ClientMaker
) -> None:
    own: RunningService = start_service("r1")
    client = await connect("state/r1/+", "svc/+", "evt/#", to=own)
    await client.change("r1", SET, VALUE)
    first = {name: await client.document(f"state/r1/{name}", lambda one: one["seq"] == 1) for name in SETTLED}
    await client.document("state/r1/mode", lambda _: True)
    client.inbox.clear()
    own.restart()
    await client.document("svc/main", lambda one: one["state"] == "offline")
    online = await client.document("svc/main", lambda one: one["state"] == "online" and one["epoch"] > 1)
    assert (await client.call("r1", "GetEvents", {"after_seq": 1}))["result"]["events"] == []
    await client.change("r1", SET, VALUE | {SLOT.partition("/")[0]: 0.2})
    for name in SETTLED:
        document = await client.document(f"state/r1/{name}", lambda one: one["seq"] == 2)
        assert (document["rev"], document["epoch"]) == (3, online["epoch"])
    assert not [one for one in client.inbox if one.topic in {f"state/r1/{name}" for name in ("presence", "mode")}]
    late = await connect("state/r1/+", to=own)
    for name in ("presence", "mode"):
        document = await late.document(f"state/r1/{name}", lambda _: True)
        assert document["epoch"] == first["config"]["epoch"]


async def test_the_service_describes_itself(connect: ClientMaker, arm: str) -> None:
    client = await connect("meta/#", "svc/+")
    service = (await client.take_topic("meta/service")).document
    expected = {
        "name": "armbroker",
        "protocol": 1,
        "root": "journey",
        "instance": "main",
        "identity": "none",
        "codecs": ["application/json", "application/msgpack", "application/x-protobuf"],
        "limits": {"payload": 65_536, "queue": 256, "handles": 32},
        "payload_with_lists": {"CheckTrajectory": 4_194_304},
        "service_version": {"service": 16, "version": 1},
    }
    assert {key: service[key] for key in expected} == expected
    assert "not a safety function" in service["notice"]
    assert set(service["methods"]) == set(RPC_TABLE)
    errors = (await client.take_topic("meta/errors")).document["errors"]
    assert {row["kind"]: row["retry"] for row in errors} == {kind: row.retry.value for kind, row in ERRORS.items()}
    assert all(set(row) == {"kind", "code", "names", "retry", "text", "remedy"} for row in errors)
    asyncapi = (await client.take_topic("meta/asyncapi")).document
    assert asyncapi["asyncapi"].startswith("3.")
    assert asyncapi["channels"]["request"]["address"] == "journey/v1/req/{user}/{conn}/{arm}/{method}"
    presence = (await client.take_topic("svc/main")).document
    fields = {"state", "since", "seen_at", "version", "epoch", "start", "counters", "clock", "metrics"}
    assert (set(presence), presence["state"]) == (fields, "online")
    assert presence["epoch"] == service["epoch"]
    sheet = await client.document(f"meta/factsheet/{arm}", lambda one: bool(one["modes_settable"]))
    assert (sheet["arm"], sheet["adapter"], sheet["model"]) == (arm, "simulated", "gen3_7dof")
    assert [set(joint) for joint in sheet["joints"]] == [{"name", "type"}] * 7
    assert {"hard_limits", "resolution", "methods", "items", "serial"} <= set(sheet)
    assert "FORCE_CONTROL" not in sheet["modes_settable"]
    assert len(sheet["items"]) == 15


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_the_presence_of_the_service_ends_with_it(
    connect: ClientMaker, mosquitto: Mosquitto, tmp_path: Path, number: signal.Signals
) -> None:
    root = f"presence{number}"
    command = [sys.executable, "-m", "armbroker", "run", "--mqtt", mosquitto.url, "--data", str(tmp_path / "data")]
    command += ["--sim", "1", "--sim-latency", "0", "--root", root]
    monitor = await connect(conn=f"monitor-{root}")
    monitor.root = f"{root}/v1"
    await monitor.subscribe("svc/+")
    log = tmp_path / "log"
    with log.open("wb") as errors, subprocess.Popen(command, cwd=ROOT, stderr=errors) as process:
        online = await monitor.document("svc/main", lambda one: one["state"] == "online")
        process.send_signal(number)
        offline = await monitor.document("svc/main", lambda one: one["state"] == "offline")
        code = await asyncio.to_thread(process.wait, PATIENCE_S)
    assert code == (0 if number == signal.SIGTERM else -signal.SIGKILL)
    assert (offline["epoch"], offline["since"]) == (online["epoch"], online["since"])
    await monitor.subscribe("svc/+")
    again = await monitor.take(lambda message: message.retained)
    assert (again.topic, again.document["state"]) == ("svc/main", "offline")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert all({"event", "level", "timestamp"} <= set(line) for line in lines)
    assert "mqtt_connected" in {line["event"] for line in lines}
