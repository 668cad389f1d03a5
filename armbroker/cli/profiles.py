"""Who a command is, where its options do not say: profiles in a file, and variables of the environment."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

FILES = ("password_file", "ca_file", "cert_file", "key_file")
DEFAULT = "default"
"""The profile that counts where none is named."""
PROFILE = "ARMBROKER_PROFILE"


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One table of the file, and what comes of it, the environment and the options."""

    url: str = "mqtt://127.0.0.1:1883"
    user: str = "cli"
    conn: str = ""
    root: str = "armbroker"
    password_file: str = ""
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""


VARIABLES: Mapping[str, str] = {
    "url": "ARMBROKER_MQTT_URL",
    "user": "ARMBROKER_MQTT_USER",
    "conn": "ARMBROKER_CONN",
    "root": "ARMBROKER_ROOT",
    "password_file": "ARMBROKER_MQTT_PASSWORD_FILE",
    "ca_file": "ARMBROKER_MQTT_CA_FILE",
    "cert_file": "ARMBROKER_MQTT_CERT_FILE",
    "key_file": "ARMBROKER_MQTT_KEY_FILE",
}
"""The variable of each setting; those that the service has, too, mean the same there."""


class ProfileError(ValueError):
    """A profile that cannot be used; it names file, line and setting."""


def profiles_path(environment: Mapping[str, str]) -> Path:
    """Where the profiles of this user stand."""
    home = environment.get("XDG_CONFIG_HOME") or ""
    folder = Path(home) if Path(home).is_absolute() else Path(environment.get("HOME") or "~").expanduser() / ".config"
    return folder / "armbroker" / "profiles.toml"


def chosen(
    options: Mapping[str, str | None], profile: str | None = None, environment: Mapping[str, str] | None = None
) -> Profile:
    """Who the command is: its options (None: not given) first, then `profile`, whole.

    Without `profile` the variables come after the options, then the profile that ARMBROKER_PROFILE names, else the one
    called `default`, if there is one.

    Raises:
        ProfileError: the profile is none, or cannot be used.
    """
    return Profile(**given(options, profile, environment))


def given(
    options: Mapping[str, str | None], profile: str | None = None, environment: Mapping[str, str] | None = None
) -> dict[str, str]:
    """As `chosen`, but only what is said somewhere.

    Raises:
        ProfileError: as `chosen`.
    """
    environment = os.environ if environment is None else environment
    found: dict[str, str] = {}
    if profile is not None:
        found |= _read(profiles_path(environment), profile, needed=True)
    else:
        named = environment.get(PROFILE) or ""
        found |= _read(profiles_path(environment), named or DEFAULT, needed=bool(named))
        found |= {name: value for name, variable in VARIABLES.items() if (value := environment.get(variable))}
    found |= {name: value for name, value in options.items() if value is not None}
    return found


def names(environment: Mapping[str, str] | None = None) -> list[str]:
    """The profiles there are; none where they cannot be read."""
    try:
        tables = _tables(profiles_path(os.environ if environment is None else environment))
    except ProfileError:
        return []
    return list(tables)


def _tables(path: Path) -> dict[str, dict[str, str]]:
    if not path.is_file():
        return {}
    from broker.settings import SettingsError  # noqa: PLC0415 - only for those who have profiles
    from broker.settings.tables import read_tables  # noqa: PLC0415 - likewise

    try:
        return read_tables(path, Profile)
    except SettingsError as error:
        raise ProfileError(str(error)) from None


def _read(path: Path, name: str, *, needed: bool) -> dict[str, str]:
    """What a profile says; empty where there is none and none is `needed`."""
    if not path.is_file():
        if needed:
            raise ProfileError(f"{path}: no such file, so there is no profile {name!r}")
        return {}
    from schema.nearest import did_you_mean  # noqa: PLC0415 - only for those who have profiles

    tables = _tables(path)
    if name in tables:
        return {key: _placed(path, key, value) for key, value in tables[name].items()}
    if needed:
        raise ProfileError(f"{path}: no profile {name!r}{did_you_mean(name, tables)}")
    return {}


def _placed(path: Path, key: str, value: str) -> str:
    """Files count from the folder of the profiles; `~` is the home of the user."""
    return str(path.parent / Path(value).expanduser()) if key in FILES and value else value
