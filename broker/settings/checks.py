"""What settings may say, beyond their types."""

import math
import re
from collections.abc import Iterator
from importlib.util import find_spec
from urllib.parse import urlsplit

from broker.server_url import parse_server_url
from broker.settings.client_checks import NAME, client_faults, lock_faults
from broker.settings.group_checks import group_faults
from broker.settings.places import Fault, KeyPath
from broker.settings.records import (
    AUTHORITIES,
    CHECK_MODES,
    DRIFTS,
    LOG_LEVELS,
    LONGEST_LATENCY_MS,
    MODES,
    MQTT_CLIENTS,
    ArmSettings,
    Settings,
    SettingsError,
    duration_us,
)
from broker.topics import Topics, is_name
from limits.stack.joints import QUANTITIES

LARGEST_RESERVE_MIB = 65_536
MOST_RATE = 1_000_000
IDENTITIES = ("server-acl", "none")
MOST_ROWS = 10_000
"""The highest rate of rows of plans."""
QUEUE_MOST = 10_000
CLIENT_ID_MOST = 128
AGE_MOST_US = 365 * 86_400_000_000
IDLE_MOST_US = 60_000_000
_LOOPBACK = re.compile(r"(localhost|127(\.\d{1,3}){3}|::1)\Z")


def setting_faults(settings: Settings) -> Iterator[Fault]:
    """Everything that the settings say and that cannot be."""
    try:
        Topics(settings.root)
    except ValueError as error:
        yield Fault(("root",), str(error))
    if not is_name(settings.instance):
        yield Fault(("instance",), f"instance: {settings.instance!r} is no name {NAME}")
    yield from _chosen(("log_level",), "log_level", settings.log_level, LOG_LEVELS)
    yield from _mqtt_faults(settings)
    yield from client_faults(settings)
    yield from lock_faults(settings)
    yield from _rate_faults(settings)
    yield from _metrics_faults(settings)
    yield from _traces_faults(settings)
    if not 0 <= settings.sim.latency_ms <= LONGEST_LATENCY_MS:
        text = f"sim.latency_ms: {settings.sim.latency_ms} is not between 0 and {LONGEST_LATENCY_MS}"
        yield Fault(("sim", "latency_ms"), text)
    if not 0 <= settings.store.reserve_mib <= LARGEST_RESERVE_MIB:
        text = f"store.reserve_mib: {settings.store.reserve_mib} is not between 0 and {LARGEST_RESERVE_MIB}"
        yield Fault(("store", "reserve_mib"), text)
    yield from _default_faults(settings)
    yield from _fleet_faults(settings)
    yield from _arm_faults(settings)
    yield from _rename_faults(settings)
    yield from group_faults(settings)


def _chosen(path: KeyPath, name: str, value: str, allowed: tuple[str, ...]) -> Iterator[Fault]:
    if value not in allowed:
        yield Fault(path, f"{name}: {value!r}; allowed are {', '.join(allowed)}")


def _mqtt_faults(settings: Settings) -> Iterator[Fault]:
    mqtt = settings.mqtt
    yield from _chosen(("mqtt", "identity"), "mqtt.identity", mqtt.identity, IDENTITIES)
    yield from _chosen(("mqtt", "client"), "mqtt.client", mqtt.client, MQTT_CLIENTS)
    if len(mqtt.client_id) > CLIENT_ID_MOST or not mqtt.client_id.isprintable():
        text = f"mqtt.client_id: at most {CLIENT_ID_MOST} printable characters are taken"
        yield Fault(("mqtt", "client_id"), text)
    if mqtt.key_file and not mqtt.cert_file:
        yield Fault(("mqtt", "key_file"), "mqtt.key_file: is the key of mqtt.cert_file, which is missing")
    try:
        host, _, tls = parse_server_url(mqtt.url)
    except ValueError as error:
        yield Fault(("mqtt", "url"), f"mqtt.url: {error}")
        return
    if mqtt.cert_file and not tls:
        text = "a certificate is presented over TLS alone: mqtt.url has to begin with mqtts://"
        yield Fault(("mqtt", "cert_file"), f"mqtt.cert_file: {text}")
    if mqtt.identity == "none" and not mqtt.allow_unproven_remote and not _LOOPBACK.match(host):
        text = (
            "is not on loopback and identity is 'none': set mqtt.identity = 'server-acl' once the server proves users"
        )
        yield Fault(("mqtt", "url"), f"mqtt.url: {host!r} {text}, or mqtt.allow_unproven_remote = true")


def _rate_faults(settings: Settings) -> Iterator[Fault]:
    places: list[tuple[KeyPath, float | None, float | None]] = [(("rates",), settings.rates.rate, settings.rates.burst)]
    places += [(("clients", name), client.rate, client.burst) for name, client in settings.clients.items()]
    for path, rate, burst in places:
        where = ".".join(map(str, path))
        if rate is not None and not 0 <= rate <= MOST_RATE:
            yield Fault((*path, "rate"), f"{where}.rate: {rate:g} is not between 0 (without bound) and {MOST_RATE:,}")
        if burst is not None and not 1 <= burst <= MOST_RATE:
            yield Fault((*path, "burst"), f"{where}.burst: {burst:g} is not between 1 and {MOST_RATE:,}")


def _fleet_faults(settings: Settings) -> Iterator[Fault]:
    rate = settings.fleet.rate
    if not 1 <= rate <= MOST_ROWS:
        yield Fault(("fleet", "rate"), f"fleet.rate: {rate} is not between 1 and {MOST_ROWS:,}")


def _metrics_faults(settings: Settings) -> Iterator[Fault]:
    metrics, path = settings.metrics, ("metrics", "listen")
    if not metrics.listen:
        return
    try:
        host, _ = metrics.address
    except SettingsError as error:
        yield Fault(path, str(error))
        return
    if not metrics.allow_remote and not _LOOPBACK.match(host):
        text = (
            f"metrics.listen: {host!r} is not on loopback, and nobody is asked who he is: metrics tell users and arms"
        )
        yield Fault(path, f"{text}. Write 127.0.0.1, or set metrics.allow_remote = true")


def _traces_faults(settings: Settings) -> Iterator[Fault]:
    otlp, path = settings.traces.otlp, ("traces", "otlp")
    if not otlp:
        return
    try:
        found = urlsplit(otlp)
        usable = found.scheme in ("http", "https") and bool(found.hostname) and found.port != 0
    except ValueError:
        usable = False
    if not usable:
        yield Fault(
            path,
            f"traces.otlp: {otlp!r} is no address; write for example http://localhost:4318 and the path of its traces",
        )
    elif find_spec("opentelemetry") is None:
        yield Fault(path, "traces.otlp: spans need more packages: pip install 'armbroker[otel]'")


def _default_faults(settings: Settings) -> Iterator[Fault]:
    defaults = settings.arm_defaults
    if not 1 <= defaults.queue <= QUEUE_MOST:
        text = f"arm_defaults.queue: {defaults.queue} is not between 1 and {QUEUE_MOST}"
        yield Fault(("arm_defaults", "queue"), text)
    yield from _duration_faults("pending_max_age", defaults.pending_max_age, AGE_MOST_US, "365d")
    yield from _duration_faults("idle_for", defaults.idle_for, IDLE_MOST_US, "60s")


def _duration_faults(key: str, text: str, most_us: int, most: str) -> Iterator[Fault]:
    name, path = f"arm_defaults.{key}", ("arm_defaults", key)
    try:
        found_us = duration_us(name, text)
    except SettingsError as error:
        yield Fault(path, str(error))
        return
    if found_us > most_us:
        yield Fault(path, f"{name}: {text} is more than {most}")


def _idle_faults(path: KeyPath, arm: ArmSettings) -> Iterator[Fault]:
    if not arm.idle_modes:
        yield Fault((*path, "idle_modes"), f"arm {arm.id}: idle_modes: at least one control mode is needed")
    for index, name in enumerate(arm.idle_modes):
        within: KeyPath = (*path, "idle_modes", index)
        yield from _chosen(within, f"arm {arm.id}: idle_modes", name, MODES)
        if name in arm.idle_modes[:index]:
            yield Fault(within, f"arm {arm.id}: idle_modes: {name} stands there twice")


def _arm_faults(settings: Settings) -> Iterator[Fault]:
    seen: dict[str, str] = {}
    for index, arm in enumerate(settings.arm):
        path: KeyPath = ("arm", index)
        if not is_name(arm.id):
            yield Fault((*path, "id"), f"arm.id: {arm.id!r} is no arm id {NAME}")
        elif (other := seen.get(arm.id.lower())) is not None:
            yield Fault((*path, "id"), f"arm.id: {arm.id!r} and {other!r} are the same or differ only in case")
        seen.setdefault(arm.id.lower(), arm.id)
        if arm.authority:
            yield from _chosen((*path, "authority"), f"arm {arm.id}: authority", arm.authority, AUTHORITIES)
        yield from _chosen((*path, "drift"), f"arm {arm.id}: drift", arm.drift, DRIFTS)
        loosest = arm.checks.loosest
        yield from _chosen((*path, "checks", "loosest"), f"arm {arm.id}: checks.loosest", loosest, CHECK_MODES)
        yield from _idle_faults(path, arm)
        yield from _cap_faults(path, arm)


def _rename_faults(settings: Settings) -> Iterator[Fault]:
    """What arms cannot have been called before."""
    standing, taken = {arm.id.lower(): arm.id for arm in settings.arm}, dict[str, str]()
    for index, arm in enumerate(settings.arm):
        path: KeyPath = ("arm", index, "was")
        if not arm.was:
            continue
        if not is_name(arm.was):
            yield Fault(path, f"arm {arm.id}: was: {arm.was!r} is no arm id {NAME}")
        elif (other := standing.get(arm.was.lower())) is not None:
            yield Fault(path, f"arm {arm.id}: was: {arm.was!r} is still an arm of these settings ({other})")
        elif (other := taken.get(arm.was.lower())) is not None:
            yield Fault(path, f"arm {arm.id}: was: {arm.was!r} is what {other} was")
        taken.setdefault(arm.was.lower(), arm.id)


def _cap_faults(path: KeyPath, arm: ArmSettings) -> Iterator[Fault]:
    for quantity, cap in arm.site_caps.items():
        within: KeyPath = (*path, "site_caps", quantity)
        if quantity not in QUANTITIES:
            text = f"arm {arm.id}: site_caps.{quantity}: no such quantity; allowed are {', '.join(QUANTITIES)}"
            yield Fault(within, text)
        for number in cap if isinstance(cap, list) else [cap]:
            if not math.isfinite(number):
                yield Fault(within, f"arm {arm.id}: site_caps.{quantity}: {number} is not finite")
