"""What arms say in these tests."""

from typing import Any

from devices.mqtt_agent.birth import AGENT_METHODS
from devices.mqtt_agent.values import to_value
from devices.simulated.cells import cells_of
from schema.items import KINOVA_ITEMS, slot_name

ITEMS: list[dict[str, Any]] = [
    {"item": slot[0], "value": to_value(slot, cell.default), **({"slot": slot_name(slot)} if slot[1] else {})}
    for slot, cell in cells_of("gen3_7dof").items()
]
"""The answer to a reading of everything."""


def birth(session: int = 1, **changes: Any) -> dict[str, Any]:
    """A birth of an arm of two joints, with some fields changed; None leaves one out."""
    document = {
        "session": session,
        "model": "two",
        "serial": "S1",
        "firmware": "1.0",
        "joints": [{"name": "a", "type": "revolute"}, {"name": "b", "type": "prismatic"}],
        "hard_limits": {
            "twist_linear": 0.5,
            "twist_angular": 100,
            "joint_speed_limits": [80, 70],
            "joint_acceleration_limits": [300, 200],
        },
        "hard_source": "hard:device",
        "payload_max": 4,
        "modes_settable": ["IDLE"],
        "methods": sorted(AGENT_METHODS),
        "items": sorted(KINOVA_ITEMS),
        "resolution_rad": 0.0001,
        "fence": [3, 7],
        "ready": True,
        **changes,
    }
    return {name: value for name, value in document.items() if value is not None}


def report(session: int, n: int, **more: Any) -> dict[str, Any]:
    """A report of another writer's change of gravity, unless told otherwise."""
    event = {"event": "GRAVITY_VECTOR_CHANGED", "item": "gravity_vector", "ours": False, "connection": "pendant"}
    return {"session": session, "n": n, **event, **more}
