"""The adapters by name: built in, or from other distributions; imported when asked for."""

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from devices.adapter import ArmError
from devices.adapter_class import AdapterAbout, AdapterClass

BUILT_IN: dict[str, str] = {
    "kortex": "devices.kortex:KortexArm",
    "mqtt_agent": "devices.mqtt_agent:MqttAgents",
    "ros2": "devices.ros2:Ros2Arm",
    "simulated": "devices.simulated:SimulatedArm",
}
"""`module:class` by name."""

GROUP = "armbroker.adapters"
"""Entry point group of further adapters; a built-in name cannot be taken over."""


class UnknownAdapterError(ArmError):
    """No adapter has this name; the text lists the known ones."""


class AdapterImportError(ArmError):
    """An adapter is registered but cannot be imported, for want of a vendor's library for instance."""


def known_adapters() -> list[str]:
    """All names, sorted; nothing is imported."""
    return sorted({*BUILT_IN, *entry_points(group=GROUP).names})


def registered() -> list[tuple[str, str]]:
    """All names, sorted, each with where its adapter is from: `built in`, or a distribution and its version."""
    return [(name, "built in" if name in BUILT_IN else _distribution(name)) for name in known_adapters()]


def _distribution(name: str) -> str:
    dist = next(iter(entry_points(group=GROUP, name=name))).dist
    return f"{dist.name} {dist.version}" if dist is not None else "unknown"


def adapter_class(name: str) -> AdapterClass:
    """The class of an adapter.

    Raises:
        UnknownAdapterError: no such name.
        AdapterImportError: it cannot be imported.
    """
    place = BUILT_IN.get(name) or _place_of_other(name)
    found: AdapterClass = imported(name, place)
    if not isinstance(getattr(found, "about", None), AdapterAbout):
        raise AdapterImportError(f"adapter {name} ({place}) does not say what it is: it has no `about`")
    return found


def imported(name: str, place: str) -> Any:
    """What stands at `module:attribute`, for an adapter.

    Raises:
        AdapterImportError: it cannot be imported.
    """
    module, _, attribute = place.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise AdapterImportError(f"adapter {name} ({place}) cannot be imported: {error}") from error


def _place_of_other(name: str) -> str:
    """Module and class of an adapter of another distribution."""
    others: list[EntryPoint] = list(entry_points(group=GROUP, name=name))
    if not others:
        raise UnknownAdapterError(f"no adapter {name!r}; known: {', '.join(known_adapters())}")
    return others[0].value
