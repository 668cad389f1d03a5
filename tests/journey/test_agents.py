"""Arms that speak MQTT, their agents being real processes, on the whole path."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from broker.topics import Topics
from tests.journey.agents import AgentProcess
from tests.journey.client import Client, Received
from tests.journey.conftest import ClientMaker
from tests.journey.processes import ServiceProcess
from tests.journey.running import RunningService, settings_of
from tests.links import PATIENCE_S, peer, until
from tests.mosquitto import Mosquitto

TWIST = "twist_linear_soft_limit"
MODE = "CARTESIAN_JOYSTICK"
_numbers = count()


class Cell:
    """A service with arms that speak MQTT, and their agents."""

    def __init__(self, server: Mosquitto, folder: Path, arms: list[str]) -> None:
        self.root = f"cell{next(_numbers)}"
        self.topics = Topics(self.root)
        self.server = server
        table = [{"id": arm, "adapter": "mqtt_agent", "authority": "control"} for arm in arms]
        self.service = RunningService(settings_of(server.url, self.root, folder / "service", [], arm=table))
        self.agents = {arm: AgentProcess(server.url, self.root, folder / arm, arm) for arm in arms}

    def start(self) -> None:
        for agent in self.agents.values():
            agent.start()
        self.service.start()

    def stop(self) -> None:
        self.service.stop()
        for agent in self.agents.values():
            agent.kill()

    async def say(self, arm: str, leaf: str, document: Any) -> None:
        """Publish as an agent, retained, from elsewhere."""
        async with peer(self.server.port) as client:
            await client.publish(self.topics.device(arm, leaf), json.dumps(document), qos=1, retain=True)

    async def retained(self, arm: str, leaf: str) -> dict[str, Any]:
        """The retained document of an arm."""
        async with peer(self.server.port) as client, asyncio.timeout(PATIENCE_S):
            await client.subscribe(self.topics.device(arm, leaf), qos=1)
            document: dict[str, Any] = json.loads((await anext(aiter(client.messages))).payload)
            return document


@pytest.fixture
def make_cell(mosquitto: Mosquitto, tmp_path: Path) -> Iterator[Callable[..., Cell]]:
    """A function that starts a cell of the named arms (on a server of its own, if given)."""
    cells: list[Cell] = []

    def make(*arms: str, server: Mosquitto | None = None) -> Cell:
        cells.append(Cell(server or mosquitto, tmp_path / f"cell{len(cells)}", list(arms)))
        cells[-1].start()
        return cells[-1]

    yield make
    for cell in cells:
        cell.stop()


async def monitor_of(cell: Cell, connect: ClientMaker) -> Client:
    client: Client = await connect("state/+/+", "evt/#", to=cell.service)
    return client


async def presence(client: Client, arm: str, state: str, *, ready: bool | None = None) -> dict[str, Any]:
    """Wait for a presence; those that came before it do not count any more."""
    topic = f"state/{arm}/presence"

    def wanted(message: Received) -> bool:
        document = message.document if message.topic == topic else None
        return document is not None and document["state"] == state and ready in (None, document["ready"])

    taken: dict[str, Any] = (await client.take(wanted)).document
    client.inbox[:] = [one for one in client.inbox if one.topic != topic or one.document["at"] > taken["at"]]
    return taken


async def met_again(client: Client, arm: str) -> None:
    """Wait until a service that was started anew has met an arm: its presence is as it was, and not told again."""
    async with asyncio.timeout(PATIENCE_S):
        while "DEVICE_DISCONNECTED" in str((await client.call(arm, "GetGravityVector"))["warnings"]):  # noqa: ASYNC110 - asked from outside
            await asyncio.sleep(0.05)


def limit(value: float) -> dict[str, Any]:
    return {"control_mode": MODE, TWIST: value}


async def change(client: Client, arm: str, value: float, **fields: Any) -> dict[str, Any]:
    return await client.call(arm, "SetTwistLinearSoftLimit", limit(value), **fields)


async def read(client: Client, arm: str) -> float:
    reply = await client.change(arm, "GetKinematicSoftLimits", {"control_mode": MODE})
    return float(reply["result"]["twist_linear"])


async def test_a_change_goes_all_the_way_and_back(make_cell: Callable[..., Cell], connect: ClientMaker) -> None:
    cell = make_cell("r1")
    client = await monitor_of(cell, connect)
    document = await presence(client, "r1", "online")
    assert (document["adapter"], document["model"], document["joints"]) == ("mqtt_agent", "gen3_7dof", 7)
    reply = await change(client, "r1", 0.2)
    assert (reply["ok"], reply["stage"], reply["rev"]) == (True, "applied", 2)
    event = await client.document("evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", bool)
    assert (event["cause"], event["change"]["after"]) == ("applied", 0.2)
    assert await read(client, "r1") == 0.2
    reply = await client.call("r1", "ResetTwistLinearSoftLimit", {"control_mode": MODE})
    assert (reply["ok"], reply["stage"]) == (True, "applied")
    reply = await client.call("r1", "SetControlMode", {"control_mode": MODE})
    assert reply["stage"] == "applied"
    refused = await change(client, "r1", 0.9)
    assert refused["error"]["kind"] == "out_of_limits"


async def test_another_writer_is_noticed(make_cell: Callable[..., Cell], connect: ClientMaker) -> None:
    cell = make_cell("r1")
    client = await monitor_of(cell, connect)
    await presence(client, "r1", "online")
    await cell.agents["r1"].tell("r1", fault="foreign_change", item=TWIST, slot=MODE, value=0.33)
    event = await client.document("evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", bool)
    assert (event["cause"], event["change"]["after"], event["by"]["user"]) == ("foreign", 0.33, "@arm")


async def test_lost_and_garbled_reports_have_everything_read(
    make_cell: Callable[..., Cell], connect: ClientMaker
) -> None:
    cell = make_cell("r1")
    client = await monitor_of(cell, connect)
    await presence(client, "r1", "online")
    agent = cell.agents["r1"]
    await agent.tell("r1", fault="foreign_change", item=TWIST, slot=MODE, value=0.31)
    await client.document("evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", bool)
    await agent.tell("r1", swallow="report")
    await agent.tell("r1", fault="foreign_change", item=TWIST, slot=MODE, value=0.32)
    await agent.tell("r1", fault="foreign_change", item="gravity_vector", value={"x": 0, "y": 0, "z": 9.81})
    event = await client.document("evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", bool)
    assert event["change"]["after"] == 0.32
    await agent.tell("r1", garble="report")
    await agent.tell("r1", fault="foreign_change", item=TWIST, slot=MODE, value=0.33)
    event = await client.document("evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", bool)
    assert event["change"]["after"] == 0.33


async def test_a_killed_agent_is_offline_and_comes_back(make_cell: Callable[..., Cell], connect: ClientMaker) -> None:
    cell = make_cell("r1", "r2")
    client = await monitor_of(cell, connect)
    for arm in ("r1", "r2"):
        await presence(client, arm, "online")
    await change(client, "r1", 0.2)
    cell.agents["r1"].kill()
    await presence(client, "r1", "offline")
    assert (await change(client, "r2", 0.2))["stage"] == "applied"
    cell.agents["r1"].start()
    await presence(client, "r1", "online")
    assert await read(client, "r1") == 0.2
    assert (await change(client, "r1", 0.15))["stage"] == "applied"


async def test_an_agent_that_is_told_to_end_says_goodbye(make_cell: Callable[..., Cell], connect: ClientMaker) -> None:
    cell = make_cell("r1")
    client = await monitor_of(cell, connect)
    await presence(client, "r1", "online")
    assert cell.agents["r1"].stop() == 0
    await presence(client, "r1", "offline")
    birth, death = [await cell.retained("r1", leaf) for leaf in ("birth", "death")]
    assert birth["session"] == death["session"]


async def test_a_late_will_ends_nothing(make_cell: Callable[..., Cell], connect: ClientMaker) -> None:
    cell = make_cell("r1")
    client = await monitor_of(cell, connect)
    await presence(client, "r1", "online")
    old = (await cell.retained("r1", "birth"))["session"]
    cell.agents["r1"].kill()
    await presence(client, "r1", "offline")
    cell.agents["r1"].start()
    await presence(client, "r1", "online")
    await cell.say("r1", "death", {"session": old})
    assert (await change(client, "r1", 0.2))["stage"] == "applied"
    cell.service.restart()
    await met_again(client, "r1")
    assert (await change(client, "r1", 0.25))["stage"] == "applied"


async def test_a_dead_arm_is_not_taken_for_a_living_one_at_a_start(
    make_cell: Callable[..., Cell], connect: ClientMaker
) -> None:
    cell = make_cell("r1")
    client = await monitor_of(cell, connect)
    await presence(client, "r1", "online")
    cell.service.stop()
    cell.agents["r1"].kill()
    client.inbox.clear()
    cell.service.start()
    await presence(client, "r1", "offline")
    assert not [each for each in client.inbox if each.topic == "state/r1/presence" and each.document["ready"]]


async def test_a_restart_of_the_server_finds_all_again(
    start_mosquitto: Callable[[str], Mosquitto], tmp_path: Path
) -> None:
    server, root = start_mosquitto(""), "restarted"
    arms = "".join(f'[[arm]]\nid = "{arm}"\nadapter = "mqtt_agent"\nauthority = "control"\n' for arm in ("r1", "r2"))
    service = ServiceProcess(server, tmp_path, root, [], more=arms).start()
    agents = AgentProcess(server.url, root, tmp_path / "agents", "r1", "r2").start()
    try:
        async with Client(server.port, service.root, "alice", "alice-1") as client:
            await client.subscribe("state/+/presence")
            for arm in ("r1", "r2"):
                await presence(client, arm, "online")
        server.stop()
        server.start()
        async with Client(server.port, service.root, "alice", "alice-2") as client:
            await client.subscribe("state/+/presence")
            for arm in ("r1", "r2"):
                await presence(client, arm, "online")
                assert (await change(client, arm, 0.2))["stage"] == "applied"
    finally:
        agents.kill()
        service.kill()


async def test_an_arm_that_saw_a_higher_epoch_raises_ours(
    make_cell: Callable[..., Cell], connect: ClientMaker, tmp_path: Path
) -> None:
    cell = make_cell("r1")
    client = await monitor_of(cell, connect)
    await presence(client, "r1", "online")
    assert (await change(client, "r1", 0.2))["stage"] == "applied"
    cell.service.restart()
    assert (await change(client, "r1", 0.25))["stage"] == "applied"
    cell.service.stop()
    (tmp_path / "cell0" / "service").rename(tmp_path / "lost")
    cell.service.start()
    reply = await change(client, "r1", 0.3)
    assert (reply["ok"], reply["stage"]) == (True, "applied")


async def test_a_lost_answer_is_read_back(make_cell: Callable[..., Cell], connect: ClientMaker) -> None:
    cell = make_cell("r1")
    client = await monitor_of(cell, connect)
    await presence(client, "r1", "online")
    await cell.agents["r1"].tell("r1", swallow="ack")
    reply = await change(client, "r1", 0.2)
    assert (reply["ok"], reply["stage"]) == (True, "applied")
    await cell.agents["r1"].tell("r1", garble="ack")
    reply = await change(client, "r1", 0.21)
    assert (reply["ok"], reply["stage"]) == (True, "applied")


async def test_a_command_that_waits_too_long_is_not_begun(make_cell: Callable[..., Cell], connect: ClientMaker) -> None:
    cell = make_cell("r1")
    client = await monitor_of(cell, connect)
    await presence(client, "r1", "online")
    topic = cell.topics.device("r1", "cmd")
    session = (await cell.retained("r1", "birth"))["session"]
    await cell.agents["r1"].tell("r1", fault="delay", delay_ms=1_500)
    command = {"session": session, "epoch": 99, "verb": "set", "item": TWIST, "slot": MODE, "expires_in_ms": 1_000}
    async with peer(cell.server.port) as other, asyncio.timeout(PATIENCE_S):
        await other.subscribe(cell.topics.device("r1", "ack"), qos=1)
        for cmd_seq, value in ((1, 0.2), (2, 0.3)):
            await other.publish(topic, json.dumps({**command, "cmd_seq": cmd_seq, "value": value}), qos=1)
        reading = {"session": session, "read": 7, "verb": "read", "item": TWIST, "slot": MODE, "expires_in_ms": 5000}
        await other.publish(topic, json.dumps(reading), qos=1)
        acks = [json.loads((await anext(aiter(other.messages))).payload) for _ in range(3)]
    assert [ack["ok"] for ack in acks] == [True, False, True]
    assert acks[1]["error"]["name"] == "METHOD_TIMEOUT"
    assert acks[2]["value"] == pytest.approx(0.2)


async def test_a_hanging_arm_delays_nobody_else(make_cell: Callable[..., Cell], connect: ClientMaker) -> None:
    cell = make_cell("r1", "r2")
    client = await monitor_of(cell, connect)
    for arm in ("r1", "r2"):
        await presence(client, arm, "online")
    await cell.agents["r1"].tell("r1", fault="hang")
    await client.send("r1", "SetTwistLinearSoftLimit", {"id": "hung", "params": limit(0.2)})
    assert (await change(client, "r2", 0.2))["stage"] == "applied"
    assert not any(message.topic.endswith("/hung") for message in client.inbox)
    await cell.agents["r1"].tell("r1", fault="none")
    reply = await client.reply("hung")
    assert (reply["ok"], reply["stage"]) == (True, "applied")


async def test_a_change_for_an_absent_arm_waits_for_it(make_cell: Callable[..., Cell], connect: ClientMaker) -> None:
    cell = make_cell("r1")
    client = await monitor_of(cell, connect)
    await presence(client, "r1", "online")
    cell.agents["r1"].kill()
    await presence(client, "r1", "offline")
    reply = await change(client, "r1", 0.2)
    assert (reply["ok"], reply["stage"], reply["final"]) == (True, "stored", False)
    cell.agents["r1"].start()
    event = await client.document("evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", bool)
    assert (event["cause"], event["change"]["after"]) == ("applied", 0.2)


async def test_an_arm_that_moves_takes_the_change_later(make_cell: Callable[..., Cell], connect: ClientMaker) -> None:
    cell = make_cell("r1")
    client = await monitor_of(cell, connect)
    await presence(client, "r1", "online", ready=True)
    await cell.agents["r1"].tell("r1", fault="moving")
    await presence(client, "r1", "online", ready=False)
    cell.service.restart()
    await met_again(client, "r1")
    assert (await change(client, "r1", 0.2))["stage"] == "stored"
    await cell.agents["r1"].tell("r1", fault="none")
    event = await client.document("evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", bool)
    assert (event["cause"], event["change"]["after"]) == ("applied", 0.2)


async def test_another_serial_number_is_held(make_cell: Callable[..., Cell], connect: ClientMaker) -> None:
    cell = make_cell("r1")
    client = await monitor_of(cell, connect)
    await presence(client, "r1", "online")
    await cell.agents["r1"].tell("r1", fault="swap_serial")
    await presence(client, "r1", "held")
    assert (await client.call("r1", "ConfirmArm", {}))["ok"]
    await presence(client, "r1", "online", ready=True)


async def test_a_reboot_with_old_values_is_noticed(make_cell: Callable[..., Cell], connect: ClientMaker) -> None:
    cell = make_cell("r1")
    client = await monitor_of(cell, connect)
    await presence(client, "r1", "online")
    assert (await change(client, "r1", 0.2))["stage"] == "applied"
    await client.document("evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", bool)
    await cell.agents["r1"].tell("r1", fault="reboot")
    event = await client.document("evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", bool)
    assert (event["cause"], event["change"]["before"]) == ("foreign", 0.2)


async def test_nothing_is_lost_or_doubled_while_an_agent_is_killed(
    make_cell: Callable[..., Cell], connect: ClientMaker
) -> None:
    cell = make_cell("r1")
    client = await monitor_of(cell, connect)
    await presence(client, "r1", "online")
    ids: list[str] = []

    async def send(number: int) -> None:
        for _ in range(number):
            ids.append(f"k{len(ids)}")
            request = {"id": ids[-1], "params": limit(0.1 + 0.01 * len(ids)), "wait": "stored"}
            await client.send("r1", "SetTwistLinearSoftLimit", request)

    for _ in range(3):
        await send(6)
        cell.agents["r1"].kill()
        await send(4)
        await presence(client, "r1", "offline")
        cell.agents["r1"].start()
        await presence(client, "r1", "online")
    for each in ids:
        assert (await client.reply(each))["ok"]

    def ends() -> Counter[str]:
        return Counter(event["request_id"].rpartition("/")[2] for event in client.events("r1") if "request_id" in event)

    await until(lambda: len(ends()) == len(ids))
    assert ends() == Counter(ids)
    assert await read(client, "r1") == pytest.approx(0.1 + 0.01 * len(ids))
