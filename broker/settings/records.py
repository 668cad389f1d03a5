"""The settings as records."""

import re
from pathlib import Path

import msgspec

from broker.tls import TlsFiles
from handlers.rpc.row import Right
from schema.arms import Authority
from schema.enums import ControlMode
from schema.intrinsic import DynamicLimitsCheckMode

CHECK_MODES = tuple(mode.name for mode in DynamicLimitsCheckMode if mode)
AUTHORITIES = tuple(Authority)
RIGHTS = tuple(right.value for right in Right)
ANYBODY = "*"
"""Stands in `clients` for the users without an entry of their own."""
LONGEST_LATENCY_MS = 60_000
REAPPLY = "reapply"
MQTT_CLIENTS = ("own", "mqttium")
MODES = tuple(mode.name for mode in ControlMode if mode)
DRIFTS = ("report", REAPPLY)
LOG_LEVELS = ("debug", "info", "warning", "error")
LARGEST_PORT = 65_535
_LISTEN = re.compile(r"(\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9.-]+)):(?P<port>\d{1,5})\Z")
_DURATION = re.compile(r"(\d+)\s*(ms|s|min|h|d)\Z")
_UNITS_US = {"ms": 1_000, "s": 1_000_000, "min": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}


class SettingsError(Exception):
    """Settings that cannot be used: a line each, with file and line, the setting, its value and what is allowed."""


class MqttSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to reach the MQTT server; `identity` is `server-acl` (it proves user and connection) or `none`."""

    url: str = "mqtt://127.0.0.1:1883"
    user: str = ""
    password_file: str = ""
    ca_file: str = ""
    cert_file: str = ""
    """A client certificate, where the server asks for one; these files are read again at each connection."""
    key_file: str = ""
    client_id: str = ""
    identity: str = "none"
    allow_unproven_remote: bool = False
    """Accept a server that is not on loopback although it proves nobody."""
    client: str = "own"
    """What speaks MQTT, one of `MQTT_CLIENTS`."""


class StoreSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the store lies: a directory on a local disk. `reserve_mib` of it are kept for when it is full; 0: none."""

    dir: str = "data"
    reserve_mib: int = 64

    @property
    def reserve_bytes(self) -> int:
        """The same in bytes."""
        return self.reserve_mib * 1024 * 1024


class CheckSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`strict` refuses what is doubtful instead of warning."""

    strict: bool = False


class AuditSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the audit holds beside changes and refused changes: with `reads` every read, dry run and their refusals."""

    reads: bool = False


class SimSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`faults` allows SimFault; `latency_ms` is how long a simulated arm takes."""

    faults: bool = False
    latency_ms: float = 25.0


class RateSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much each user may ask for: requests a second (0 = without bound), and how many at once."""

    rate: float = 2000.0
    burst: float = 1000.0


class MetricsSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where `/metrics`, `/healthz` and `/readyz` are answered: `host:port` (port 0: any), or nowhere.

    They say who asks for what, and are shown to everybody who can connect: an address that is not on loopback needs
    `allow_remote`.
    """

    listen: str = ""
    allow_remote: bool = False

    @property
    def address(self) -> tuple[str, int]:
        """Host and port.

        Raises:
            SettingsError: they cannot be read.
        """
        found = _LISTEN.match(self.listen)
        if found is None or int(found["port"]) > LARGEST_PORT:
            text = "is no host:port; write for example 127.0.0.1:9464 or [::1]:9464"
            raise SettingsError(f"metrics.listen: {self.listen!r} {text}")
        return found["six"] or found["host"], int(found["port"])


class TracesSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where spans of traced requests go: an OpenTelemetry collector that takes OTLP over HTTP, or nowhere."""

    otlp: str = ""


class ClientSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One user, or "*" for those without an entry; what an entry leaves out counts as "*" says.

    `clock = "none"` ignores its issued_at; `rights` are what it may do beside reading (absent: write), `arms` with
    which arms: ids, patterns with `*` and `?`, or `@group` (absent: all); `replies = "short"` is for clients of little
    memory. `rate` and `burst` take the place of those of `[rates]`. `reads` are the arms that it may read (absent:
    all), `arms` count within them; `requests = false` is for monitors: they send none.
    """

    clock: str = ""
    arms: tuple[str, ...] | None = None
    rights: tuple[str, ...] | None = None
    replies: str = ""
    rate: float | None = None
    burst: float | None = None
    reads: tuple[str, ...] | None = None
    requests: bool | None = None


class LockSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Locks on arms: how long one lasts at most, without being asked for again."""

    longest: str = "12h"

    @property
    def longest_us(self) -> int:
        """The time in µs."""
        return duration_us("locks.longest", self.longest)


class PolicySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file of rules that writes need beside the rights of `[clients]`; empty: none."""

    file: str = ""


class ArmDefaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What holds for every arm: unsettled changes at most, and how old a loosening may be when its arm returns.

    `idle_for`: how long an arm has to be idle before a change that waits for it goes out.
    """

    queue: int = 256
    pending_max_age: str = "15min"
    idle_for: str = "2s"

    @property
    def pending_max_age_us(self) -> int:
        """The age in µs."""
        return duration_us("arm_defaults.pending_max_age", self.pending_max_age)

    @property
    def idle_for_us(self) -> int:
        """The time in µs."""
        return duration_us("arm_defaults.idle_for", self.idle_for)


class FleetSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Work on many arms at once: `rate` is the number of rows a second that begin while other requests come."""

    rate: int = 100


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
    drift: str = "report"
    """What comes of changes by other writers: `report` tells of them, `reapply` undoes what they loosened."""
    idle_modes: tuple[str, ...] = (ControlMode.IDLE.name,)
    """The control modes in which it may be idle."""
    was: str = ""
    """The id that it had before: what the service knows under that one counts under this."""
    groups: tuple[str, ...] = ()
    """The groups that it is a member of; requests to `@<group>` are for all its members."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings, checked."""

    root: str = "armbroker"
    instance: str = "main"
    log_level: str = "info"
    mqtt: MqttSettings = MqttSettings()
    store: StoreSettings = StoreSettings()
    checks: CheckSettings = CheckSettings()
    audit: AuditSettings = AuditSettings()
    sim: SimSettings = SimSettings()
    rates: RateSettings = RateSettings()
    clients: dict[str, ClientSettings] = {}
    locks: LockSettings = LockSettings()
    metrics: MetricsSettings = MetricsSettings()
    traces: TracesSettings = TracesSettings()
    policy: PolicySettings = PolicySettings()
    arm_defaults: ArmDefaults = ArmDefaults()
    fleet: FleetSettings = FleetSettings()
    arm: tuple[ArmSettings, ...] = ()

    @property
    def renames(self) -> dict[str, str]:
        """The id before of each arm that had another one."""
        return {arm.id: arm.was for arm in self.arm if arm.was}

    @property
    def data_dir(self) -> Path:
        """The directory of the store."""
        return Path(self.store.dir)

    @property
    def tls(self) -> TlsFiles:
        """The files of the connection to the MQTT server."""
        mqtt = self.mqtt
        return TlsFiles(*(Path(name) if name else None for name in (mqtt.ca_file, mqtt.cert_file, mqtt.key_file)))

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
