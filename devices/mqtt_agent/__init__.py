"""Arms that speak MQTT themselves: `docs/agent_protocol.md` is their protocol."""

from devices.mqtt_agent.arm import MqttAgentArm
from devices.mqtt_agent.fleet import MqttAgentFleet, MqttAgents

__all__ = ["MqttAgentArm", "MqttAgentFleet", "MqttAgents"]
