"""How the process starts and ends: signals, locks, servers that are away or forget, full disks, deadly messages."""

import asyncio
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from armbroker.cli.exits import Exit
from broker.app import Start, serve
from tests.devices.virtual_loop import VirtualLoop
from tests.journey.client import Client
from tests.journey.poisoned import POISON
from tests.journey.processes import ServiceProcess, online
from tests.journey.running import settings_of
from tests.mosquitto import Mosquitto, free_port

SET = "SetTwistLinearSoftLimit"
ITEM, SLOT = "twist_linear_soft_limit", "CARTESIAN_JOYSTICK"
VALUE = {"control_mode": SLOT, ITEM: 0.25}
_numbers = count()

Maker = Callable[..., ServiceProcess]


@pytest.fixture
def process(mosquitto: Mosquitto, tmp_path: Path) -> Iterator[Maker]:
    """A function that makes a service process with arms r1 and r2, by default on the shared server."""
    made: list[ServiceProcess] = []

    def make(server: Mosquitto = mosquitto, folder: Path = tmp_path, name: str = "", **more: Any) -> ServiceProcess:
        made.append(ServiceProcess(server, folder, name or f"process{next(_numbers)}", ("r1", "r2"), **more))
        return made[-1]

    yield make
    for each in made:
        each.kill()


async def test_sigterm_lets_changes_settle_and_says_goodbye(process: Maker) -> None:
    one = process().start()
    async with Client(one.port, one.root, "ann", "ann") as client:
        await client.subscribe("svc/+", "evt/#")
        await online(client, 1)
        await client.change("r1", "SimFault", {"fault": "delay", "delay_ms": 400})
        await client.send("r1", SET, {"id": "s1", "params": VALUE})
        await client.send("r2", SET, {"id": "s2", "params": VALUE})
        assert (await client.reply("s2"))["stage"] == "applied"
        assert await one.stop() == Exit.OK
        assert (await client.reply("s1"))["stage"] == "applied"
        bye = await client.document("svc/main", lambda document: document["state"] == "offline")
        assert bye["epoch"] == 1
        assert [event["seq"] for event in client.events("r1")] == [1]
        one.start()
        await online(client, 2)
        again = await client.call("r1", SET, VALUE, id="s1")
        assert (again["stage"], again["duplicate"], again["in_force"]) == ("applied", True, True)
        assert await one.stop() == Exit.OK


async def test_a_service_that_said_goodbye_does_not_come_back(process: Maker) -> None:
    one = process().start()
    async with Client(one.port, one.root, "ann", "ann") as client:
        await client.subscribe("svc/+")
        await online(client, 1)
        client.inbox.clear()
        assert await one.stop() == Exit.OK
        await client.publish("svc/last", b"{}")
        await client.take_topic("svc/last")
        states = [message.document["state"] for message in client.inbox if message.topic == "svc/main"]
        first = states.index("offline")
        assert set(states[first:]) == {"offline"}


async def test_a_kill_leaves_the_will(process: Maker) -> None:
    one = process().start()
    async with Client(one.port, one.root, "ann", "ann") as client:
        await client.subscribe("svc/+")
        await online(client, 1)
        one.kill()
        await client.document("svc/main", lambda document: document["state"] == "offline")


async def test_a_second_process_on_the_same_store_is_refused(process: Maker, tmp_path: Path) -> None:
    one = process().start()
    async with Client(one.port, one.root, "ann", "ann") as client:
        await client.subscribe("svc/+")
        await online(client, 1)
        (tmp_path / "second").mkdir()
        second = process(folder=tmp_path / "second")
        second.data.symlink_to(one.data)
        assert await second.start().exit_code() == Exit.NO_SERVER
        assert "in use by another process" in second.log
        await client.change("r1", SET, VALUE)


def test_without_an_mqtt_server_the_service_ends(tmp_path: Path) -> None:
    settings = settings_of(f"mqtt://127.0.0.1:{free_port()}", "nobody", tmp_path, ["r1"])
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        assert runner.run(serve(settings, how=Start(wait=False))) == Exit.NO_SERVER
        assert runner.get_loop().time() == pytest.approx(10.0, abs=10.0)


async def test_a_server_that_lost_everything_gets_everything_again(
    process: Maker, start_mosquitto: Callable[[], Mosquitto]
) -> None:
    server = start_mosquitto()
    one = process(server).start()
    async with Client(one.port, one.root, "ann", "ann") as client:
        await client.subscribe("svc/+", "state/#", "meta/#")
        await online(client, 1)
        await client.change("r1", SET, VALUE)
        await client.document("state/r1/config", lambda document: document["seq"] == 1)
        before = {message.topic for message in client.inbox if message.topic.startswith(("state/", "meta/"))}
    server.stop(signal.SIGKILL)
    server.start()
    async with Client(one.port, one.root, "ann", "ann") as client:
        await client.subscribe("svc/+", "state/#", "meta/#")
        config = await client.document("state/r1/config", lambda _: True)
        assert (config["seq"], config["items"][ITEM][SLOT]) == (1, 0.25)
        for topic in before - {"state/r1/config"}:
            await client.take_topic(topic)
        assert (await client.call("r1", SET, VALUE, id="again"))["ok"]
    assert await one.stop() == Exit.OK


async def test_a_message_that_ends_the_process_three_times_is_quarantined(process: Maker) -> None:
    one = process(module="tests.journey.poisoned")
    async with Client(one.port, one.root, "ann", "ann") as client:
        await client.subscribe("svc/+")
        one.start()
        await online(client, 1)
        await client.change("r1", SET, VALUE)
        await client.send("r1", SET, {"id": "p1", "params": VALUE, "reason": POISON.decode()})
        await client.send("r2", SET, {"id": "p2", "params": VALUE})
        for _ in range(3):
            assert await one.exit_code() == -signal.SIGKILL
            one.start()
        reply = await client.reply("_")
        assert (reply["ok"], reply["error"]["kind"], reply["error"]["retry"]) == (False, "quarantined", "never")
        assert (await client.reply("p2"))["stage"] == "applied"
        assert (await client.call("r1", SET, VALUE))["stage"] == "applied"
        assert await one.stop() == Exit.OK
        one.start()
        await online(client, 5)
        assert (await client.call("r1", SET, VALUE))["stage"] == "applied"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 6 MiB; the test is skipped where none can be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    made = mount and subprocess.run([mount, "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)], check=False)
    if not made or made.returncode:
        pytest.skip("no tmpfs can be mounted")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(place: Path) -> Path:
    """A file that takes all the room that is left."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return ballast


async def test_on_a_full_disk_changes_are_refused_and_all_else_goes_on(process: Maker, small_disk: Path) -> None:
    one = process(folder=small_disk).start()
    async with Client(one.port, one.root, "ann", "ann") as client:
        await client.subscribe("svc/+")
        await online(client, 1)
        await client.change("r1", SET, VALUE, id="before")
        ballast = fill(small_disk)
        refused = await _first_refusal(client)
        assert (refused["error"]["kind"], refused["error"]["retry"]) == ("store_unavailable", "same_id")
        assert (refused["error"]["name"], refused["final"]) == ("DATABASE_ERROR", False)
        read = await client.call("r1", "GetKinematicSoftLimits", {"control_mode": SLOT})
        assert (read["ok"], read["warnings"]) == (True, [])
        again = await client.call("r1", SET, VALUE, id="before")
        assert (again["stage"], again["duplicate"]) == ("applied", True)
        illegal = await client.call("r1", SET, {**VALUE, ITEM: 0.9}, dry_run=True)
        assert illegal["error"]["kind"] == "out_of_limits"
        ballast.unlink()
        while not (reply := await client.call("r1", SET, VALUE, id="after"))["ok"]:
            assert reply["error"]["kind"] == "store_unavailable"
        assert reply["stage"] == "applied"
        assert not any(
            message.topic == "svc/main" and message.document["state"] == "offline" for message in client.inbox
        )
        assert '"disk_full"' in one.log
        assert '"disk_has_room"' in one.log
        assert await one.stop() == Exit.OK


async def _first_refusal(client: Client) -> dict[str, Any]:
    """Send changes until one is refused."""
    for number in range(10_000):
        reply = await client.call("r1", SET, {**VALUE, ITEM: 0.1 + number % 100 / 1000})
        if not reply["ok"]:
            return reply
    raise AssertionError("the disk did not get full")
