"""The settings: `fleet.toml`, the environment and the quick form of the command line. Nothing else reads them."""

import math
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from broker.topics import Topics, is_name
from limits.stack.joints import QUANTITIES
from schema.arms import Authority
from schema.intrinsic import DynamicLimitsCheckMode

ENVIRONMENT = "ARMBROKER_"
CHECK_MODES = tuple(mode.name for mode in DynamicLimitsCheckMode if mode)
AUTHORITIES = tuple(Authority)
LOG_LEVELS = ("debug", "info", "warning", "error")
_LOOPBACK = re.compile(r"(localhost|127(\.\d{1,3}){3}|::1)\Z")
_DURATION = re.compile(r"(\d+)\s*(ms|s|min|h|d)\Z")
_UNITS_US = {"ms": 1_000, "s": 1_000_000, "min": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}


class SettingsError(Exception):
    """A setting that cannot be used; the message names it, its value and what is allowed."""


class MqttSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to reach the MQTT server; `identity` is `server-acl` (it proves user and connection) or `none`."""

    url: str = "mqtt://127.0.0.1:1883"
    user: str = ""
    password_file: str = ""
    ca_file: str = ""
    client_id: str = ""
    identity: str = "none"
    allow_unproven_remote: bool = False
    """Accept a server that is not on loopback although it proves nobody."""


class StoreSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the store lies: a directory on a local disk."""

    dir: str = "data"


class CheckSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`strict` refuses what is doubtful instead of warning."""

    strict: bool = False


class SimSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`faults` allows SimFault; `latency_ms` is how long a simulated arm takes."""

    faults: bool = False
    latency_ms: float = 25.0


class ClientSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One user: `clock = "none"` ignores its issued_at; `arms` are those it may change (absent: all)."""

    clock: str = ""
    arms: tuple[str, ...] | None = None


class ArmDefaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What holds for every arm: unsettled changes at most, and how old a loosening may be when its arm returns."""

    queue: int = 256
    pending_max_age: str = "15min"

    @property
    def pending_max_age_us(self) -> int:
        """The age in µs."""
        return duration_us("arm_defaults.pending_max_age", self.pending_max_age)


class ArmChecks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Checks of one arm: `loosest` is the loosest DynamicLimitsCheckMode that a request may ask for."""

    loosest: str = DynamicLimitsCheckMode.DYNAMIC_LIMITS_CHECK_MODE_CHECK_NONE.name


class ArmSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One arm of the fleet.

    `urdf`, `ros_yaml` (of `ros_node`, where it holds several) and `skeleton` are files that limit it; `site_caps` caps
    of the plant by quantity, one number or one a joint: rad or m and per s, twists in m/s and rad/s.
    """

    id: str
    adapter: str = "simulated"
    model: str = ""
    authority: str = ""
    """How far the service may go: observe, advise, control; empty = as its adapter says, control for simulated arms."""
    options: dict[str, str | int | float | bool] = {}
    urdf: str = ""
    ros_yaml: str = ""
    ros_node: str = ""
    skeleton: str = ""
    site_caps: dict[str, float | list[float]] = {}
    checks: ArmChecks = ArmChecks()


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings, checked."""

    root: str = "armbroker"
    instance: str = "main"
    log_level: str = "info"
    mqtt: MqttSettings = MqttSettings()
    store: StoreSettings = StoreSettings()
    checks: CheckSettings = CheckSettings()
    sim: SimSettings = SimSettings()
    clients: dict[str, ClientSettings] = {}
    arm_defaults: ArmDefaults = ArmDefaults()
    arm: tuple[ArmSettings, ...] = ()

    @property
    def data_dir(self) -> Path:
        """The directory of the store."""
        return Path(self.store.dir)

    @property
    def client_id(self) -> str:
        """The service's fixed client id."""
        return self.mqtt.client_id or f"armbroker-{self.instance}"

    @property
    def ca_path(self) -> Path | None:
        """The file of the certificate authorities, if one is named."""
        return Path(self.mqtt.ca_file) if self.mqtt.ca_file else None

    def password(self) -> str:
        """The password from its file; empty without one.

        Raises:
            SettingsError: the file cannot be read.
        """
        if not self.mqtt.password_file:
            return ""
        try:
            return Path(self.mqtt.password_file).read_text(encoding="utf-8").rstrip("\n")
        except OSError as error:
            raise SettingsError(f"mqtt.password_file: {error}") from error


def duration_us(name: str, text: str) -> int:
    """A duration such as `15min`, `500ms`, `24h` in µs.

    Raises:
        SettingsError: it is none.
    """
    match = _DURATION.match(text)
    if match is None:
        raise SettingsError(f"{name}: {text!r} is no duration; write for example 500ms, 30s, 15min, 24h")
    return int(match[1]) * _UNITS_US[match[2]]


def _check_arms(settings: Settings) -> None:
    seen: dict[str, str] = {}
    for arm in settings.arm:
        if not is_name(arm.id):
            raise SettingsError(f"arm.id: {arm.id!r} is no arm id ([A-Za-z0-9][A-Za-z0-9._-]{{0,62}})")
        other = seen.setdefault(arm.id.lower(), arm.id)
        if other != arm.id or sum(1 for one in settings.arm if one.id == arm.id) > 1:
            raise SettingsError(f"arm.id: {arm.id!r} and {other!r} are the same or differ only in case")
        if arm.authority and arm.authority not in AUTHORITIES:
            text = f"arm {arm.id}: authority: {arm.authority!r}; allowed are {', '.join(AUTHORITIES)}"
            raise SettingsError(text)
        if arm.checks.loosest not in CHECK_MODES:
            text = f"arm {arm.id}: checks.loosest: {arm.checks.loosest!r}; allowed are {', '.join(CHECK_MODES)}"
            raise SettingsError(text)
        _check_caps(arm)


def _check_caps(arm: ArmSettings) -> None:
    for quantity, cap in arm.site_caps.items():
        if quantity not in QUANTITIES:
            text = f"arm {arm.id}: site_caps.{quantity}: no such quantity; allowed are {', '.join(QUANTITIES)}"
            raise SettingsError(text)
        for number in cap if isinstance(cap, list) else [cap]:
            if not math.isfinite(number):
                raise SettingsError(f"arm {arm.id}: site_caps.{quantity}: {number} is not finite")


def check(settings: Settings) -> Settings:
    """The settings, if they can be used.

    Raises:
        SettingsError: naming the setting, its value and what is allowed.
    """
    try:
        Topics(settings.root)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    if not is_name(settings.instance):
        raise SettingsError(f"instance: {settings.instance!r} is no name ([A-Za-z0-9][A-Za-z0-9._-]{{0,62}})")
    if settings.mqtt.identity not in ("server-acl", "none"):
        raise SettingsError(f"mqtt.identity: {settings.mqtt.identity!r}; allowed are 'server-acl' and 'none'")
    host = urlsplit(settings.mqtt.url).hostname or ""
    if settings.log_level not in LOG_LEVELS:
        raise SettingsError(f"log_level: {settings.log_level!r}; allowed are {', '.join(LOG_LEVELS)}")
    unproven = settings.mqtt.identity == "none" and not settings.mqtt.allow_unproven_remote
    if unproven and not _LOOPBACK.match(host):
        text = (
            "is not on loopback and identity is 'none': set mqtt.identity = 'server-acl' once the server proves users"
        )
        raise SettingsError(f"mqtt.url: {host!r} {text}, or mqtt.allow_unproven_remote = true")
    for name, client in settings.clients.items():
        if client.clock not in ("", "none"):
            raise SettingsError(f"clients.{name}.clock: {client.clock!r}; only 'none' is known")
    if settings.arm_defaults.queue < 1:
        raise SettingsError(f"arm_defaults.queue: {settings.arm_defaults.queue} < 1")
    duration_us("arm_defaults.pending_max_age", settings.arm_defaults.pending_max_age)
    _check_arms(settings)
    return settings


def _from_environment(document: dict[str, object], environment: Mapping[str, str]) -> None:
    """Overrides: `ARMBROKER_ROOT`, `ARMBROKER_MQTT_URL`, `ARMBROKER_STORE_DIR`, ... for texts of one or two levels."""
    sections = {"mqtt": MqttSettings, "store": StoreSettings}
    for name, value in environment.items():
        if not name.startswith(ENVIRONMENT):
            continue
        key = name.removeprefix(ENVIRONMENT).lower()
        section, _, rest = key.partition("_")
        if key in ("root", "instance", "log_level"):
            document[key] = value
        elif section in sections and rest in sections[section].__struct_fields__:
            place = document.setdefault(section, {})
            if isinstance(place, dict):
                place[rest] = value


def from_document(document: Mapping[str, object], source: str = "settings") -> Settings:
    """Settings from a decoded document.

    Raises:
        SettingsError: a key or value is not as it should be; the message names it.
    """
    try:
        settings = msgspec.convert(document, Settings)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{source}: {error}") from error
    return check(settings)


def load(path: Path, environment: Mapping[str, str] | None = None) -> Settings:
    """Settings of a `fleet.toml`, with the overrides of the environment.

    Raises:
        SettingsError: the file cannot be read or used.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from error
    _from_environment(document, os.environ if environment is None else environment)
    return from_document(document, str(path))


def quick(
    url: str, data: Path, arms: int, *, latency_ms: float = 25.0, faults: bool = False, root: str = "armbroker"
) -> Settings:
    """Settings of the quick form: `arms` simulated arms `sim-0000`... of gen3_7dof on a server that proves nobody."""
    return check(
        Settings(
            root=root,
            mqtt=MqttSettings(url=url),
            store=StoreSettings(str(data)),
            sim=SimSettings(faults, latency_ms),
            arm=tuple(ArmSettings(f"sim-{number:04d}", "simulated", "gen3_7dof") for number in range(arms)),
        )
    )
