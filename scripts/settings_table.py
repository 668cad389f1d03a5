"""What each setting of `fleet.toml` means and may be: the part of the reference that no type tells.

`good` and `bad` are TOML values: a test puts each into a file.
"""

from typing import NamedTuple

from broker.settings import CHECK_MODES, EVERYBODY, LOG_LEVELS, LONGEST_LATENCY_MS, RIGHTS
from broker.settings.checks import (
    AGE_MOST_US,
    CLIENT_ID_MOST,
    IDENTITIES,
    IDLE_MOST_US,
    LARGEST_RESERVE_MIB,
    MOST_RATE,
    MOST_ROWS,
    QUEUE_MOST,
)
from broker.settings.group_checks import GROUPS_MOST, OF_AN_ARM_MOST
from broker.settings.records import AUTHORITIES, DRIFTS, MQTT_CLIENTS
from broker.topics import ROOT_LEVELS
from limits.stack.joints import QUANTITIES

NAME = "`[A-Za-z0-9][A-Za-z0-9._-]{0,62}`"
PATTERNS = "ids of arms, patterns with `*` and `?`, or `@group`"
FILE = "a file; relative paths count from the folder of `fleet.toml`"
DAYS_US = 86_400_000_000


class Meaning(NamedTuple):
    """One setting: what it means, what it may be beyond its type, values that are taken and refused."""

    what: str
    allowed: str = ""
    good: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()


def one_of(what: str, words: tuple[str, ...]) -> Meaning:
    """A setting that takes a few words."""
    allowed = ", ".join(f"`{word}`" for word in words)
    return Meaning(what, allowed, tuple(f'"{word}"' for word in words), ('"other"',))


def between(what: str, low: float, high: float, unit: str = "", *, whole: bool = False) -> Meaning:
    """A setting that takes numbers."""
    step = 1 if whole else 0.5
    allowed = f"{low:,} to {high:,}{f' {unit}' if unit else ''}"
    return Meaning(what, allowed, (f"{low}", f"{high}"), (f"{low - step}", f"{high + step}"))


SETTINGS: dict[str, Meaning] = {
    "root": Meaning(
        "first levels of every topic", f"1 to {ROOT_LEVELS} levels, each {NAME}", ('"plant/hall-2"',), ('"a//b"', '"+"')
    ),
    "instance": Meaning("`svc/<instance>` tells whether this service is there", NAME, ('"main-2"',), ('"a/b"', '""')),
    "log_level": one_of("the least that is logged", LOG_LEVELS),
    "mqtt.url": Meaning(
        "the MQTT server; user and password have settings of their own",
        "`mqtt://host[:port]`, `mqtts://host[:port]`",
        ('"mqtt://127.0.0.1:1884"', '"mqtts://localhost"'),
        ('"localhost"', '"http://localhost"', '"mqtt://u:p@localhost"', '"mqtt://localhost:0"'),
    ),
    "mqtt.user": Meaning("user name; empty: none is said", "", ('"svc"',), ("1",)),
    "mqtt.password_file": Meaning("first line is the password; read again at each connection", FILE, ('"password"',)),
    "mqtt.ca_file": Meaning(
        "authorities that are trusted instead of the system's; read again at each connection", FILE, ('"ca.crt"',)
    ),
    "mqtt.cert_file": Meaning(
        "client certificate, PEM; read again at each connection", f"{FILE}; needs `mqtts://`", (), ('"svc.crt"',)
    ),
    "mqtt.key_file": Meaning(
        "its key, where `cert_file` does not hold it, not encrypted", f"{FILE}; needs `cert_file`", (), ('"svc.key"',)
    ),
    "mqtt.client_id": Meaning(
        "client id, keep it secret; empty: made at the first start and kept in the store",
        f"at most {CLIENT_ID_MOST} printable characters",
        (f'"{"x" * CLIENT_ID_MOST}"',),
        (f'"{"x" * (CLIENT_ID_MOST + 1)}"', r'"\u0007"'),
    ),
    "mqtt.identity": one_of(
        "whether the MQTT server proves user and client id of each request (`server-acl`) or nobody", IDENTITIES
    ),
    "mqtt.allow_unproven_remote": Meaning(
        'accept a server that is not on loopback although `identity = "none"`', "", ("true",), ('"yes"',)
    ),
    "mqtt.client": one_of("what speaks MQTT: our own client, or mqttium (an extra)", MQTT_CLIENTS),
    "store.dir": Meaning("directory of the store, on a local disk", FILE.replace("file", "folder", 1), ('"data"',)),
    "store.reserve_mib": between(
        "kept for a full disk: reads are answered then", 0, LARGEST_RESERVE_MIB, "MiB", whole=True
    ),
    "checks.strict": Meaning("refuse what is otherwise warned about", "", ("true",), ("1",)),
    "audit.reads": Meaning("audit reads, dry runs and their refusals, too", "", ("true",), ('"no"',)),
    "sim.faults": Meaning("allow SimFault on simulated arms", "", ("true",), ("0",)),
    "sim.latency_ms": between("how long a simulated arm takes", 0, LONGEST_LATENCY_MS, "ms"),
    "fleet.rate": between("rows of plans a second that begin while other requests come", 1, MOST_ROWS),
    "rates.rate": between("requests a second of one user; 0: without bound", 0, MOST_RATE),
    "rates.burst": between("and so many at once", 1, MOST_RATE),
    "clients.<user>.clock": one_of("`none`: the user has no usable clock, its `issued_at` is ignored", ("none",)),
    "clients.<user>.arms": Meaning(
        "arms on which `rights` count (absent: all)",
        PATTERNS,
        ('["r1"]', '["r*"]', "[]"),
        ('["r9"]', '["r/1"]', '"r1"'),
    ),
    "clients.<user>.rights": Meaning(
        "what the user may do beside reading (absent: `write`)",
        ", ".join(f"`{right}`" for right in RIGHTS),
        (str(list(RIGHTS)).replace("'", '"'), "[]"),
        ('["read"]', '"write"'),
    ),
    "clients.<user>.replies": one_of("`short`: no message texts, at most 512 bytes a reply", ("short", "full")),
    "clients.<user>.rate": between("instead of `[rates] rate`", 0, MOST_RATE),
    "clients.<user>.burst": between("instead of `[rates] burst`", 1, MOST_RATE),
    "clients.<user>.reads": Meaning(
        'arms that the user may read (absent: all); where one entry says it, `"*"` has to, and no more than each other',
        PATTERNS,
        (),
        ('["r1"]', '["r9"]'),
    ),
    "clients.<user>.requests": Meaning("`false`: a monitor, it sends no requests", "", ("false",), ('"no"',)),
    "locks.longest": Meaning(
        "how long HoldArm lasts at most", "a duration, 1s to 30d", ('"1s"', '"30d"'), ('"500ms"', '"31d"', '"soon"')
    ),
    "metrics.listen": Meaning(
        "address and port of `/metrics`, `/healthz`, `/readyz`; empty: none", "`host:port`", ('"127.0.0.1:9464"',)
    ),
    "traces.otlp": Meaning(
        "where spans of traced requests go, OTLP over HTTP ([metrics.md](metrics.md)); empty: nowhere. Needs the extra "
        "`otel`",
        "an address of `http` or `https`",
        ('"http://127.0.0.1:4318/v1/traces"',),
        ('"127.0.0.1"', '"ftp://a"'),
    ),
    "metrics.allow_remote": Meaning("allow an address that is not on loopback", "", ("true",), ('"yes"',)),
    "policy.file": Meaning(
        "rules that writes need beside the rights of `[clients]`, a `policy.toml`; empty: none",
        FILE,
        ('"policy.toml"',),
        ('["policy.toml"]',),
    ),
    "arm_defaults.queue": between(
        "unsettled changes of one arm; more are refused as `busy`", 1, QUEUE_MOST, whole=True
    ),
    "arm_defaults.pending_max_age": Meaning(
        "a loosening that waits is held when its arm returns, if it is older",
        f"a duration, at most {AGE_MOST_US // DAYS_US}d",
        ('"0s"', f'"{AGE_MOST_US // DAYS_US}d"'),
        (f'"{AGE_MOST_US // DAYS_US + 1}d"', "15"),
    ),
    "arm_defaults.idle_for": Meaning(
        "how long an arm has to be idle before a change with `when: idle` goes out",
        f"a duration, at most {IDLE_MOST_US // 1_000_000}s",
        ('"0s"', '"1min"'),
        ('"61s"', '"soon"'),
    ),
    "arm.id": Meaning("name of the arm; differs from others not by case alone", NAME, ('"r-1.a"',), ('"r/1"', '"R2"')),
    "arm.adapter": Meaning("how the arm is reached: `armbroker devices` lists adapters", "", ('"simulated"',), ("1",)),
    "arm.model": Meaning("one of the models of its adapter", "", ('"gen3_6dof"',), ("6",)),
    "arm.authority": one_of(
        "how far the service may go; a ceiling for SetAuthority (absent: as the adapter says)", AUTHORITIES
    ),
    "arm.options": Meaning("options of its adapter", "a table", ("{ latency_ms = 5 }",), ("5",)),
    "arm.urdf": Meaning("URDF that limits it", FILE, ('"arm.urdf"',)),
    "arm.ros_yaml": Meaning("parameters of ROS nodes that limit it", FILE, ('"limits.yaml"',)),
    "arm.ros_node": Meaning("the node in `ros_yaml`, where it holds several", "", ('"move_group"',)),
    "arm.skeleton": Meaning("intrinsic Skeleton that limits it", FILE, ('"arm.json"',)),
    "arm.site_caps": Meaning(
        "caps of the plant by quantity, one number or one a joint: rad or m and per s, twists in m/s and rad/s",
        ", ".join(f"`{quantity}`" for quantity in QUANTITIES),
        ("{ velocity = 1.0 }", "{ velocity = [1, 1, 1, 1, 1, 1, 1] }"),
        ("{ speed = 1.0 }", "{ velocity = inf }"),
    ),
    "arm.checks.loosest": one_of("the loosest DynamicLimitsCheckMode that a request may ask for", CHECK_MODES),
    "arm.drift": one_of("changes by other writers: tell of them, or undo what they loosened", DRIFTS),
    "arm.idle_modes": Meaning(
        "control modes in which it may be idle, for changes with `when: idle`",
        "one or more control modes",
        ('["IDLE", "ANGULAR_JOYSTICK"]',),
        ("[]", '["REST"]', '["IDLE", "IDLE"]', '"IDLE"'),
    ),
    "arm.was": Meaning(
        "the id that it had before: all that is known of it goes over", NAME, ('"old-1"',), ('"r2"', '"o/1"')
    ),
    "arm.groups": Meaning(
        "the groups that it is a member of, for requests to `@<group>`; names that differ only in case are refused",
        f"at most {OF_AN_ARM_MOST} an arm, {GROUPS_MOST:,} in all; {NAME}; not `{EVERYBODY}`",
        ('["cell-4", "gen3"]',),
        ('["all"]', '["@cell"]'),
    ),
}
"""By key; `<user>` stands for a user, `arm` is each `[[arm]]`."""
