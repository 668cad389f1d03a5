"""Settings that variables of the environment give: `ARMBROKER_MQTT_URL`, `ARMBROKER_CHECKS_STRICT` and so on."""

import tomllib
from collections.abc import Mapping
from typing import Any

import msgspec

from broker.settings.places import KeyPath
from broker.settings.records import Settings
from schema.nearest import did_you_mean

PREFIX = "ARMBROKER_"


def _variables() -> dict[str, tuple[KeyPath, Any]]:
    """The variable of each setting: its path, and its type."""
    found: dict[str, tuple[KeyPath, Any]] = {}
    for field in msgspec.structs.fields(Settings):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            for below in msgspec.structs.fields(field.type):
                name = f"{PREFIX}{field.name}_{below.name}".upper()
                found[name] = ((field.name, below.name), below.type)
        else:
            found[f"{PREFIX}{field.name}".upper()] = ((field.name,), field.type)
    return found


VARIABLES: Mapping[str, tuple[KeyPath, Any]] = _variables()
"""Every variable that gives a setting; what is no text is written as in TOML: `true`, `7`, `["a"]`."""

TOOLS: Mapping[str, str] = {
    "ARMBROKER_CONN": "MQTT client id of `call`, `watch` and the other tools; `cli-` and 8 hex digits unless told",
    "ARMBROKER_PROFILE": "the profile of `~/.config/armbroker/profiles.toml` that the tools use; `default` unless told",
}
"""Variables for people's tools alone, and what they mean; the service passes over them."""

PROCESS: Mapping[str, str] = {
    "ARMBROKER_LARGE_PAGES": "`false`: memory of the service lies in small pages also where the kernel has large ones",
}
"""Variables for the process of the service, read before its settings are, and what they mean."""


def override(document: dict[str, Any], environment: Mapping[str, str]) -> dict[KeyPath, str]:
    """Put in what the environment says; the variable that each setting comes from."""
    variables: dict[KeyPath, str] = {}
    for name, text in environment.items():
        if name not in VARIABLES:
            continue
        path, kind = VARIABLES[name]
        place: Any = document
        for step in path[:-1]:
            place = place.setdefault(step, {})
            if not isinstance(place, dict):
                break
        else:
            place[path[-1]] = text if kind is str else _value(text)
            variables[path] = name
    return variables


def _value(text: str) -> Any:
    """What a text says in TOML; itself where it says nothing."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def strays(environment: Mapping[str, str]) -> list[str]:
    """Words for each variable that looks like one of ours and gives no setting."""
    known = VARIABLES.keys() | TOOLS.keys() | PROCESS.keys()
    return [
        f"{name}: no such setting{did_you_mean(name, VARIABLES)}"
        for name in environment
        if name.upper().startswith(PREFIX) and name not in known
    ]
