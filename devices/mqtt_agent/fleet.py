"""All arms of a service that speak MQTT."""

from collections.abc import Mapping
from typing import ClassVar

from devices.adapter import DeviceBus, FleetContext, Setting
from devices.adapter_class import AdapterAbout, AdapterOptions
from devices.mqtt_agent.arm import MqttAgentArm
from devices.mqtt_agent.birth import AGENT_METHODS
from devices.options import read_options
from schema.arms import Activity
from schema.items import KINOVA_ITEMS


class MqttAgents:
    """The adapter `mqtt_agent`."""

    about: ClassVar = AdapterAbout(
        purpose="arms whose own agent speaks MQTT, as docs/agent_protocol.md says",
        methods=AGENT_METHODS,
        items=KINOVA_ITEMS,
        activities=frozenset(Activity) - {Activity.UNKNOWN},
    )

    @classmethod
    def open_fleet(cls, context: FleetContext) -> "MqttAgentFleet":
        """See `AdapterClass.open_fleet`."""
        return MqttAgentFleet(context.bus)


class MqttAgentFleet:
    """An `ArmFleet` on one bus."""

    def __init__(self, bus: DeviceBus) -> None:
        self._bus = bus

    def arm(self, name: str, model: str, options: Mapping[str, Setting]) -> MqttAgentArm:
        """See `ArmFleet.arm`; there are no options, and the arm itself says its model."""
        del model
        read_options(name, options, AdapterOptions)
        return MqttAgentArm(name, self._bus)

    def close(self) -> None:
        """See `ArmFleet.close`."""
