"""Arms that refuse, dawdle, hang, go away or are changed by others: what clients and monitors see, on a real server."""

from collections.abc import Callable
from typing import Any

from tests.journey.client import Client
from tests.journey.conftest import ClientMaker

SET = "SetTwistLinearSoftLimit"
MODE = {"control_mode": "CARTESIAN_JOYSTICK"}
ITEM, SLOT = "twist_linear_soft_limit", "CARTESIAN_JOYSTICK"
VALUE = {**MODE, ITEM: 0.25}
OTHER = {**MODE, ITEM: 0.2}
FOREIGN = {"fault": "foreign_change", "item": ITEM, "slot": SLOT, "value": 0.125}
GRAVITY = {"x": 0.0, "y": 0.0, "z": -9.8}


async def fault(client: Client, arm: str, name: str, **more: Any) -> None:
    """Let a fault begin."""
    await client.change(arm, "SimFault", {"fault": name, **more})


async def twist_linear(client: Client, arm: str) -> float:
    """The limit as the arm reports it."""
    reply = await client.change(arm, "GetKinematicSoftLimits", MODE)
    value: float = reply["result"]["twist_linear"]
    return value


async def test_a_refusal_has_the_numbers_of_the_arm_and_changes_nothing(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#", f"state/{arm}/config")
    before = await twist_linear(client, arm)
    await fault(client, arm, "refuse")
    reply = await client.call(arm, SET, VALUE, id="r1")
    assert (reply["ok"], reply["stage"], reply["final"]) == (False, "refused", True)
    error = reply["error"]
    assert (error["kind"], error["name"], error["retry"]) == ("arm_refused", "METHOD_FAILED", "new_id")
    assert error["code"] == 3
    event = (await client.take_topic(f"evt/{arm}/outcome")).document
    assert (event["event"], event["cause"]) == ("CHANGE_NOT_APPLIED", "refused")
    assert event["request_id"] == f"{client.user}/{client.conn}/r1"
    assert (event["seq"], event["rev"]) == (reply["seq"], reply["rev"]) == (1, 2)
    assert event["change"] == {"item": ITEM, "slot": SLOT, "before": before, "after": before}
    config = await client.document(f"state/{arm}/config", lambda document: document["seq"] == 1)
    assert config["items"][ITEM][SLOT] == before
    assert (config["pending"], config["differs"], config["rev"]) == ([], [], 3)
    assert await twist_linear(client, arm) == before
    again = await client.call(arm, SET, VALUE, id="r1")
    assert (again["duplicate"], again["in_force"], again["error"]) == (True, False, error)


async def test_a_refusal_can_be_for_one_item(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    await fault(client, arm, "refuse", item=ITEM, slot=SLOT)
    assert (await client.call(arm, SET, VALUE))["error"]["kind"] == "arm_refused"
    await client.change(arm, "SetGravityVector", GRAVITY)
    await fault(client, arm, "none")
    await client.change(arm, SET, VALUE)


async def test_a_change_that_takes_its_time_is_pending(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"state/{arm}/config")
    await fault(client, arm, "delay", delay_ms=300)
    await client.send(arm, SET, {"id": "d1", "params": VALUE})
    topic = f"state/{arm}/config"
    config = await client.document(topic, lambda document: bool(document["pending"]))
    (pending,) = config["pending"]
    assert (pending["rev"], pending["item"], pending["slot"], pending["state"]) == (2, ITEM, SLOT, "writing")
    assert config["items"][ITEM][SLOT] == 0.25
    assert config["differs"] == [f"{ITEM}/{SLOT}"]
    assert (await client.reply("d1"))["stage"] == "applied"
    await client.document(topic, lambda document: not document["pending"] and not document["differs"])


async def test_a_hanging_arm_delays_nobody_else(connect: ClientMaker, arms: Any) -> None:
    hanging, other = next(arms), next(arms)
    client = await connect()
    await fault(client, hanging, "hang")
    await client.send(hanging, SET, {"id": "h1", "params": VALUE})
    for number in range(20):
        await client.change(other, SET, {**MODE, ITEM: 0.1 + number / 100})
    await client.change(hanging, "GetGravityVector")
    assert not [message for message in client.inbox if message.topic.endswith("/h1")]
    await fault(client, hanging, "none")
    assert (await client.reply("h1"))["stage"] == "applied"


async def test_a_change_expires_behind_one_that_hangs(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#", f"state/{arm}/config")
    await fault(client, arm, "hang")
    await client.send(arm, SET, {"id": "e1", "params": VALUE})
    reply = await client.call(arm, SET, OTHER, id="e2", ttl_ms=150)
    assert (reply["ok"], reply["stage"], reply["final"]) == (False, "refused", True)
    assert (reply["error"]["kind"], reply["error"]["name"]) == ("expired", "METHOD_TIMEOUT")
    event = (await client.take_topic(f"evt/{arm}/outcome")).document
    assert (event["cause"], event["seq"]) == ("expired", 1)
    config = await client.document(f"state/{arm}/config", lambda document: document["seq"] == 1)
    assert config["items"][ITEM][SLOT] == 0.25
    assert [entry["rev"] for entry in config["pending"]] == [2]
    await fault(client, arm, "none")
    first = await client.reply("e1")
    assert (first["stage"], first["seq"]) == ("applied", 2)
    config = await client.document(f"state/{arm}/config", lambda document: document["seq"] == 2)
    assert (config["pending"], config["differs"]) == ([], [])
    assert (await client.call(arm, SET, VALUE, id="e1"))["in_force"] is True
    assert await twist_linear(client, arm) == 0.25


async def test_an_arm_that_is_away_takes_its_changes_when_it_is_back(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#", f"state/{arm}/presence")
    await client.document(f"state/{arm}/presence", lambda document: document["state"] == "online")
    await fault(client, arm, "offline")
    away = await client.document(f"state/{arm}/presence", lambda document: document["state"] == "offline")
    assert away["ready"] is False
    reply = await client.call(arm, SET, VALUE)
    assert (reply["ok"], reply["stage"], reply["final"]) == (True, "stored", False)
    assert [warning["name"] for warning in reply["warnings"]] == ["DEVICE_DISCONNECTED"]
    refused = await client.call(arm, "ResetGravityVector")
    assert (refused["error"]["kind"], refused["error"]["name"]) == ("arm_away", "DEVICE_DISCONNECTED")
    read = await client.call(arm, "GetGravityVector")
    assert [warning["name"] for warning in read["warnings"]] == ["DEVICE_DISCONNECTED"]
    assert read["ok"]
    await fault(client, arm, "none")
    back = await client.document(f"state/{arm}/presence", lambda document: document["state"] == "online")
    assert back["ready"] is True
    assert back["since"] > away["since"]
    event = (await client.take(lambda message: message.topic.startswith(f"evt/{arm}/"))).document
    assert (event["rev"], event["seq"], event["cause"], event["change"]["after"]) == (2, 1, "applied", VALUE[ITEM])


async def test_what_others_changed_meanwhile_shows_on_return(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#", f"state/{arm}/presence")
    before = await twist_linear(client, arm)
    await fault(client, arm, "offline")
    await client.document(f"state/{arm}/presence", lambda document: document["state"] == "offline")
    await client.change(arm, "SimFault", FOREIGN)
    assert await twist_linear(client, arm) == before
    await fault(client, arm, "none")
    event = (await client.take(lambda message: message.topic.startswith(f"evt/{arm}/"))).document
    assert (event["cause"], event["by"]["user"], event["rev"], event["seq"]) == ("foreign", "@arm", 2, 1)
    assert event["change"] == {"item": ITEM, "slot": SLOT, "before": before, "after": 0.125}
    assert await twist_linear(client, arm) == 0.125


async def test_a_foreign_change_is_told_and_not_fought(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#", f"state/{arm}/#")
    await client.change(arm, SET, VALUE)
    await client.change(arm, "SimFault", FOREIGN)
    event = await client.document(
        f"evt/{arm}/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", lambda document: document["cause"] == "foreign"
    )
    assert (event["rev"], event["prev"], event["seq"]) == (3, 1, 2)
    assert "request_id" not in event
    config = await client.document(f"state/{arm}/config", lambda document: document["seq"] == 2)
    assert (config["items"][ITEM][SLOT], config["differs"]) == (0.25, [f"{ITEM}/{SLOT}"])
    reported = await client.document(f"state/{arm}/reported", lambda document: document["seq"] == 2)
    assert reported["items"][ITEM][SLOT] == 0.125
    read = await client.call(arm, "GetKinematicSoftLimits", MODE)
    assert (read["result"]["twist_linear"], read["desired"]["twist_linear"]) == (0.125, 0.25)
    history = (await client.call(arm, "GetHistory"))["result"]["changes"]
    assert [(change["rev"], change["outcome"], change["after"]) for change in history] == [
        (3, "foreign", 0.125),
        (2, "applied", 0.25),
    ]


async def test_a_refused_mode_fails(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#", f"state/{arm}/mode")
    await fault(client, arm, "refuse", item="control_mode")
    reply = await client.call(arm, "SetControlMode", {"control_mode": "CARTESIAN_JOYSTICK"})
    assert reply["error"]["kind"] == "arm_refused"
    event = (await client.take_topic(f"evt/{arm}/config/CHANGE_CONTROL_MODE_FAILED")).document
    assert (event["cause"], event["seq"]) == ("refused", reply["seq"])
    assert event["notification"]["event"] == "CHANGE_CONTROL_MODE_FAILED"
    mode = await client.document(f"state/{arm}/mode", lambda document: document["seq"] == 1)
    assert mode["control_mode"] == "IDLE"
    assert "desired" not in mode


async def test_a_full_queue_is_busy_and_the_same_id_counts_later(
    connect: ClientMaker, start_service: Callable[..., Any]
) -> None:
    own = start_service("r1", arm_defaults={"queue": 2})
    client = await connect(to=own)
    await fault(client, "r1", "hang")
    for number in (1, 2):
        await client.send("r1", SET, {"id": f"b{number}", "params": VALUE, "ttl_ms": 60_000})
    reply = await client.call("r1", SET, OTHER, id="b3")
    assert (reply["error"]["kind"], reply["error"]["retry"], reply["final"]) == ("busy", "same_id", False)
    await fault(client, "r1", "none")
    assert [(await client.reply(each))["stage"] for each in ("b1", "b2")] == ["applied", "applied"]
    later = await client.call("r1", SET, OTHER, id="b3")
    assert (later["stage"], later.get("duplicate")) == ("applied", None)


async def test_a_reconnect_without_a_change_tells_nothing(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#", f"state/{arm}/presence")
    await client.document(f"state/{arm}/presence", lambda document: document["state"] == "online")  # it was retained
    for _ in range(2):
        await fault(client, arm, "offline")
        await client.document(f"state/{arm}/presence", lambda document: document["state"] == "offline")
        await fault(client, arm, "none")
        await client.document(f"state/{arm}/presence", lambda document: document["state"] == "online")
    assert (await client.call(arm, "GetEvents", {"after_seq": 0}))["result"]["head_seq"] == 0
    assert client.events(arm) == []
