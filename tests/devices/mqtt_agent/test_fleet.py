"""The adapter by name, and what its settings may say."""

from pathlib import Path

import pytest

from devices.adapter import AdapterSettingError, FleetContext
from devices.mqtt_agent import MqttAgents
from devices.registry import adapter_class
from tests.devices.mqtt_agent.memory_bus import MemoryBus
from tests.devices.mqtt_agent.messages import birth


async def test_arms_share_a_bus_and_hear_their_own(tmp_path: Path) -> None:
    assert adapter_class("mqtt_agent") is MqttAgents
    bus = MemoryBus()
    fleet = MqttAgents.open_fleet(FleetContext(tmp_path, bus))
    one, two = fleet.arm("r1", "", {}), fleet.arm("r2", "anything", {})
    bus.say("r1", "birth", birth(serial="S1"))
    bus.say("r2", "birth", birth(serial="S2"))
    assert [(await arm.connect()).serial for arm in (one, two)] == ["S1", "S2"]
    fleet.close()


def test_no_option_is_known(tmp_path: Path) -> None:
    fleet = MqttAgents.open_fleet(FleetContext(tmp_path, MemoryBus()))
    with pytest.raises(AdapterSettingError, match="speed"):
        fleet.arm("r1", "", {"speed": 1})


def test_without_an_mqtt_server_there_are_no_such_arms(tmp_path: Path) -> None:
    with pytest.raises(AdapterSettingError, match="MQTT server"):
        MqttAgents.open_fleet(FleetContext(tmp_path)).arm("r1", "", {})
