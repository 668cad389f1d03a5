"""An arm gets another name: over a real restart, and at a reload; what was set for it binds under the new one."""

import asyncio
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from armbroker.cli.exits import Exit
from tests.journey.client import Client
from tests.journey.processes import ServiceProcess, online
from tests.mosquitto import Mosquitto

SET, GET = "SetTwistLinearSoftLimit", "GetKinematicSoftLimits"
MODE = {"control_mode": "CARTESIAN_JOYSTICK"}
SLOW = {"max_velocity": {"values": [0.5] * 7}}
TIGHT = {**MODE, "twist_linear_soft_limit": 0.1}
_numbers = count()


@pytest.fixture
def process(mosquitto: Mosquitto, tmp_path: Path) -> Iterator[ServiceProcess]:
    """A service of two arms, not yet started."""
    one = ServiceProcess(mosquitto, tmp_path, f"renamed{next(_numbers)}", ("r13", "s7"))
    yield one
    one.kill()


def rename(process: ServiceProcess, old: str, new: str) -> None:
    """Write another id for an arm, and which one it had."""
    text = process.config.read_text()
    assert f'id = "{old}"\n' in text
    process.config.write_text(text.replace(f'id = "{old}"\n', f'id = "{new}"\nwas = "{old}"\n'))


@pytest.mark.parametrize("by", ["restart", "kill", "reload"])
async def test_what_was_set_binds_under_the_new_name(process: ServiceProcess, by: str) -> None:
    process.start()
    async with Client(process.port, process.root, "ann", "ann") as client:
        await client.subscribe("svc/+", "evt/+/admin")
        await online(client, 1)
        assert (await client.change("r13", SET, TIGHT))["stage"] == "applied"
        assert (await client.change("r13", "SetJointLimits", SLOW))["stage"] == "applied"
        rename(process, "r13", "r12")
        if by == "reload":
            process.signal(signal.SIGHUP)
        else:
            if by == "kill":
                process.kill()
            else:
                assert await process.stop() == Exit.OK
            process.start()
        told = (await client.take_topic("evt/r12/admin")).document
        assert (told["event"], told["change"]["before"], told["change"]["after"]) == ("ARM_RENAMED", "r13", "r12")
        await online(client, 2)
        read = await client.call("r12", GET, MODE)
        assert read["result"]["twist_linear"] == pytest.approx(0.1)
        held = await client.call("r12", "GetJointLimits")
        assert held["result"]["max_velocity"] == SLOW["max_velocity"]
        history = await client.call("r12", "GetHistory", {})
        assert SET in {entry["method"] for entry in history["result"]["changes"]}
        refused = await client.call("r13", "GetControlMode")
        assert refused["error"]["kind"] == "unknown_arm"
        assert "it is called r12 now" in refused["error"]["message"]
        assert (await client.change("r12", SET, {**MODE, "twist_linear_soft_limit": 0.09}))["rev"] == 4
    async with Client(process.port, process.root, "mon", "mon") as monitor:
        await monitor.subscribe("state/+/config", "state/+/presence", "meta/factsheet/+")
        config = await monitor.document("state/r12/config", lambda document: document["rev"] == 4)
        assert config["rev"] == 4
        await monitor.document("state/s7/presence", lambda document: document["state"] == "online")
        assert not [message.topic for message in monitor.inbox if "r13" in message.topic]
    assert await process.stop() == Exit.OK
    assert process.log.count('"event": "arm_renamed"') == 1


async def test_a_name_of_another_arm_is_refused_at_a_reload_and_at_a_start(process: ServiceProcess) -> None:
    process.start()
    async with Client(process.port, process.root, "ann", "ann") as client:
        await client.subscribe("svc/+", "state/+/presence")
        await online(client, 1)
        for arm in ("r13", "s7"):
            assert (await client.change(arm, SET, TIGHT))["stage"] == "applied"
        text = process.config.read_text()
        other = '[[arm]]\nid = "s7"\nmodel = "gen3_7dof"\n'
        assert other in text
        process.config.write_text(text.replace(other, "").replace('id = "r13"', 'id = "s7"\nwas = "r13"'))
        process.signal(signal.SIGHUP)
        while '"event": "reload_refused"' not in process.log:  # noqa: ASYNC110 - a log announces nothing
            await asyncio.sleep(0.02)
        assert (await client.change("r13", SET, {**MODE, "twist_linear_soft_limit": 0.09}))["stage"] == "applied"
    assert await process.stop() == Exit.OK
    process.start()
    assert await process.exit_code() == Exit.REFUSED
    assert "the store knows both r13 and s7" in process.log
