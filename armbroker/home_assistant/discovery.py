"""What Home Assistant is told of an arm: one device with sensors that read its retained documents."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from broker.topics import Topics
from broker.version import service_version
from schema.enums import ControlMode

PREFIX = "homeassistant"


class Sensor(NamedTuple):
    """One row: the document it reads, how, and what Home Assistant makes of it."""

    name: str
    platform: str
    document: str
    template: str
    more: Mapping[str, Any] = {}


_ON = "{{{{ 'ON' if {0} else 'OFF' }}}}"
_DIAGNOSTIC = {"entity_category": "diagnostic"}
_KILOGRAMS = {"device_class": "weight", "unit_of_measurement": "kg", "state_class": "measurement"}

SENSORS: Mapping[str, Sensor] = {
    "online": Sensor(
        "Online",
        "binary_sensor",
        "presence",
        _ON.format("value_json.state == 'online'"),
        {"device_class": "connectivity"},
    ),
    "ready": Sensor("Takes changes", "binary_sensor", "presence", _ON.format("value_json.ready")),
    "authority": Sensor(
        "Authority",
        "sensor",
        "presence",
        "{{ value_json.authority }}",
        {"device_class": "enum", "options": ["observe", "advise", "control"], **_DIAGNOSTIC},
    ),
    "locked": Sensor("Locked by a person", "binary_sensor", "presence", _ON.format("value_json.hold is defined")),
    "mode": Sensor(
        "Control mode",
        "sensor",
        "mode",
        "{{ value_json.control_mode }}",
        {"device_class": "enum", "options": [mode.name for mode in ControlMode]},
    ),
    "revision": Sensor("Revision", "sensor", "config", "{{ value_json.rev }}", _DIAGNOSTIC),
    "waiting": Sensor(
        "Waiting changes", "sensor", "config", "{{ value_json.pending | count }}", {"state_class": "measurement"}
    ),
    "differs": Sensor(
        "Differs from what is desired",
        "binary_sensor",
        "config",
        _ON.format("value_json.differs | count > 0"),
        {"device_class": "problem"},
    ),
    "payload": Sensor(
        "Payload",
        "sensor",
        "reported",
        "{{ value_json['items'].payload_information.payload_mass | default(none) }}",
        _KILOGRAMS,
    ),
    "tool": Sensor(
        "Tool",
        "sensor",
        "reported",
        "{{ value_json['items'].tool_configuration.tool_mass | default(none) }}",
        _KILOGRAMS,
    ),
}
"""All sensors of an arm, by the end of their unique id."""


def discovery_topic(prefix: str, root: str, arm: str) -> str:
    """Where the device of an arm is told; letters that Home Assistant does not take in an object id become `_`."""
    return f"{prefix}/device/{_plain(root)}_{_plain(arm)}/config"


def device(topics: Topics, root: str, arm: str, presence: Mapping[str, Any]) -> dict[str, Any]:
    """The discovery message of an arm, from its presence document (`docs/protocol.md`).

    Its sensors are unavailable while the service that tells of it is offline.
    """
    own = f"armbroker_{_plain(root)}_{_plain(arm)}"
    about = {
        "identifiers": [own],
        "name": arm,
        "model": presence.get("model", ""),
        "serial_number": presence.get("serial", ""),
    }
    return {
        "device": {key: value for key, value in about.items() if value},
        "origin": {"name": "armbroker", "sw_version": service_version()},
        "availability": [
            {
                "topic": topics.service(presence["svc"]),
                "value_template": "{{ value_json.state }}",
                "payload_available": "online",
                "payload_not_available": "offline",
            }
        ],
        "qos": 1,
        "components": {
            key: {
                "platform": sensor.platform,
                "name": sensor.name,
                "unique_id": f"{own}_{key}",
                "state_topic": topics.state(arm, sensor.document),
                "value_template": sensor.template,
                **sensor.more,
            }
            for key, sensor in SENSORS.items()
        },
    }


def _plain(name: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)
