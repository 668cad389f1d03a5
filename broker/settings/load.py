"""Reads settings: a file, a decoded document, the quick form of the command line; the environment overrides."""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from broker.settings.checks import setting_faults
from broker.settings.conversion import conversion_faults
from broker.settings.environment import override, strays
from broker.settings.lines import lines_of
from broker.settings.places import NOWHERE, Fault, KeyPath, Places
from broker.settings.records import (
    ANYBODY,
    RIGHTS,
    ArmSettings,
    ClientSettings,
    MqttSettings,
    RateSettings,
    Settings,
    SettingsError,
    SimSettings,
    StoreSettings,
)
from broker.settings.users import doubts

_AT_LINE = re.compile(r"(?P<text>.*) \(at (?:line (?P<line>\d+), column \d+|end of document)\)\Z", re.DOTALL)


class Read(NamedTuple):
    """Settings, where each of them stands, what is wrong with them, and what is hardly meant."""

    settings: Settings
    places: Places
    faults: tuple[Fault, ...] = ()
    doubts: tuple[str, ...] = ()


def _converted(document: Mapping[str, Any], places: Places) -> Settings:
    if faults := list(conversion_faults(document, Settings)):
        raise places.error(faults)
    return checked(msgspec.convert(document, Settings), places)


def checked(settings: Settings, places: Places = NOWHERE) -> Settings:
    """The settings, if they say what can be.

    Raises:
        SettingsError: naming each setting, its value and what is allowed.
    """
    if faults := list(setting_faults(settings)):
        raise places.error(faults)
    return settings


def from_document(document: Mapping[str, Any], source: str = "") -> Settings:
    """Settings from a decoded document.

    Raises:
        SettingsError: keys or values are not as they should be; the message names each.
    """
    return _converted(document, Places(source))


def text_of(path: Path) -> str:
    """The text of a file.

    Raises:
        SettingsError: it cannot be read, or is no UTF-8.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from error
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SettingsError(f"{path}:{line}: no UTF-8: {error.reason}") from error


def decoded(path: Path, text: str) -> dict[str, Any]:
    """The document of a text.

    Raises:
        SettingsError: it is no TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _AT_LINE.match(str(error))
        if found is None:
            raise SettingsError(f"{path}: {error}") from error
        line = int(found["line"]) if found["line"] else text.count("\n") + 1
        raise SettingsError(f"{path}:{line}: {found['text']}") from error
    except RecursionError:
        raise SettingsError(f"{path}: nested too deep") from None
    except ValueError:
        raise SettingsError(f"{path}: an integer has too many digits") from None


def look_at(path: Path, environment: Mapping[str, str] | None = None) -> Read:
    """Settings of a `fleet.toml` with the overrides of the environment, and what is wrong with what they mean.

    Relative paths in the file count from its directory.

    Raises:
        SettingsError: the file cannot be read, or has keys and types that are none.
    """
    text = text_of(path)
    document = decoded(path, text)
    environment = os.environ if environment is None else environment
    places = Places(str(path), lines_of(text), override(document, environment))
    if faults := list(conversion_faults(document, Settings)):
        raise places.error(faults)
    settings = from_directory(msgspec.convert(document, Settings), path.parent, places.variables)
    wrong = tuple(setting_faults(settings))
    return Read(settings, places, wrong, () if wrong else (*strays(environment), *doubts(settings)))


def from_directory(settings: Settings, directory: Path, variables: Mapping[KeyPath, str]) -> Settings:
    """Settings whose relative paths count from a directory, but those that variables give."""
    replace = msgspec.structs.replace

    def below(name: str, *path: str | int) -> str:
        return name if not name or path in variables else str(directory / name)

    mqtt, store, policy = settings.mqtt, settings.store, settings.policy
    return replace(
        settings,
        mqtt=replace(
            mqtt,
            **{
                name: below(getattr(mqtt, name), "mqtt", name)
                for name in ("password_file", "ca_file", "cert_file", "key_file")
            },
        ),
        store=replace(store, dir=below(store.dir, "store", "dir")),
        policy=replace(policy, file=below(policy.file, "policy", "file")),
        arm=tuple(
            replace(arm, **{name: below(getattr(arm, name), "arm") for name in ("urdf", "ros_yaml", "skeleton")})
            for arm in settings.arm
        ),
    )


def read(path: Path, environment: Mapping[str, str] | None = None) -> Read:
    """Settings of a `fleet.toml` with the overrides of the environment, and where they stand.

    Raises:
        SettingsError: the file cannot be read or used; each line names file, line and setting.
    """
    found = look_at(path, environment)
    if found.faults:
        raise found.places.error(found.faults)
    return found


def load(path: Path, environment: Mapping[str, str] | None = None) -> Settings:
    """Settings of a `fleet.toml`, as far as the file alone tells.

    Raises:
        SettingsError: as `read`.
    """
    return read(path, environment).settings


def quick(
    url: str, data: Path, arms: int, *, latency_ms: float = 25.0, faults: bool = False, root: str = "armbroker"
) -> Settings:
    """Settings of the quick form: `arms` simulated arms `sim-0000`... of gen3_7dof on a server that proves nobody.

    Everybody may do everything with them, as often as the service keeps up with.

    Raises:
        SettingsError: they cannot be used.
    """
    return checked(
        Settings(
            root=root,
            mqtt=MqttSettings(url=url),
            store=StoreSettings(str(data)),
            sim=SimSettings(faults, latency_ms),
            rates=RateSettings(rate=0.0),
            clients={ANYBODY: ClientSettings(rights=RIGHTS)},
            arm=tuple(ArmSettings(f"sim-{number:04d}", "simulated", "gen3_7dof") for number in range(arms)),
        )
    )
