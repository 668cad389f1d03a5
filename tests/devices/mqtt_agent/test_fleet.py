"""The adapter by name, and what its settings may say."""

from pathlib import Path

import pytest

from devices.adapter import AdapterSettingError, FleetContext
from devices.guard import guard
from devices.mqtt_agent import MqttAgents
from devices.registry import adapter_class
from tests.devices.mqtt_agent.memory_bus import MemoryBus
from tests.devices.mqtt_agent.messages import birth


async def test_arms_share_a_bus_and_hear_their_own(tmp_path: Path) -> None:
    assert adapter_class("mqtt_agent") is MqttAgents
    bus = MemoryBus()
    fleet = MqttAgents.open_fleet(FleetContext(tmp_path, bus))
    one, two = fleet.arm("r1", "", {}), fleet.arm("r2", "anything", {})
    for name, serial in (("r1", "S1"), ("r2", "S2")):
        bus.answer_probes(name)
        bus.say(name, "birth", birth(serial=serial))
    assert [(await arm.connect()).serial for arm in (one, two)] == ["S1", "S2"]
    fleet.close()


async def test_what_an_arm_can_do_is_known_behind_the_guard(tmp_path: Path) -> None:
    bus = MemoryBus()
    arm = guard("r1", MqttAgents.open_fleet(FleetContext(tmp_path, bus)).arm("r1", "", {}))
    bus.answer_probes("r1")
    bus.say("r1", "birth", birth(methods=["GetGravityVector"], resolution_rad=0.5))
    await arm.connect()
    assert arm.methods == {"GetGravityVector"}
    assert arm.resolution_rad == 0.5


def test_no_option_is_known(tmp_path: Path) -> None:
    fleet = MqttAgents.open_fleet(FleetContext(tmp_path, MemoryBus()))
    with pytest.raises(AdapterSettingError, match="speed"):
        fleet.arm("r1", "", {"speed": 1})


def test_without_an_mqtt_server_there_are_no_such_arms(tmp_path: Path) -> None:
    with pytest.raises(AdapterSettingError, match="MQTT server"):
        MqttAgents.open_fleet(FleetContext(tmp_path)).arm("r1", "", {})
