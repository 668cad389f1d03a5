"""What can be looked at on this computer: settings, files, disk."""

import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from armbroker.doctor.findings import Finding, failed, passed, unchecked
from broker.arms.fleet_check import fleet_faults
from broker.arms.limit_files import LimitFiles
from broker.server_url import parse_server_url
from broker.settings import Settings, SettingsError, look_at
from broker.store.reserve import LOW

_TOO_OPEN = stat.S_IRWXO | stat.S_IWGRP | stat.S_IXGRP
_LOOPBACK = re.compile(r"localhost\Z|127\.|::1\Z")


def read_settings(config: Path, now_us: int) -> tuple[Settings | None, Finding]:
    """The settings, None if they cannot be used, and what is wrong with them."""
    try:
        found = look_at(config)
    except SettingsError as error:
        return None, failed("settings", str(error))
    faults = [*found.faults, *fleet_faults(found.settings, LimitFiles(now_us))]
    if faults:
        wrong = failed("settings", str(found.places.error(faults)))
        return (None if found.faults else found.settings), wrong
    doubts = "".join(f"; doubtful: {doubt}" for doubt in found.doubts)
    return found.settings, passed("settings", f"{config}: {len(found.settings.arm)} arms{doubts}")


def secret_files(settings: Settings) -> Finding:
    """Whether password and key are for the service alone."""
    mqtt = settings.mqtt
    named = [name for name in (mqtt.password_file, mqtt.key_file or mqtt.cert_file) if name]
    if not named:
        return unchecked("secret-files", "the settings name neither password nor key")
    wrong = [text for name in named for text in _openness(Path(name))]
    if wrong:
        return failed("secret-files", "; ".join(wrong))
    return passed("secret-files", f"{', '.join(named)}: not for others")


def _openness(path: Path) -> Iterator[str]:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError as error:
        yield f"{path}: {error.strerror}"
        return
    if mode & _TOO_OPEN:
        yield f"{path}: mode {mode:04o}, at most 0640 is wanted"


def disk(settings: Settings) -> Finding:
    """Whether there is room where the store lies."""
    folder = settings.data_dir
    if not folder.is_dir():
        return unchecked("disk", f"{folder}: not on this computer")
    free, wanted = shutil.disk_usage(folder).free, LOW * settings.store.reserve_bytes
    text = f"{folder}: {free >> 20:,} MiB free, {wanted >> 20:,} MiB wanted"
    return passed("disk", text) if free >= wanted else failed("disk", text)


def encryption(settings: Settings) -> Finding:
    """Whether what goes over a network is encrypted."""
    address = parse_server_url(settings.mqtt.url)
    if address.tls:
        return passed("encryption", f"{settings.mqtt.url}: TLS, the server's name and authority are checked")
    if _LOOPBACK.match(address.host):
        return passed("encryption", f"{settings.mqtt.url}: in clear, within this computer")
    return failed("encryption", f"{settings.mqtt.url}: in clear")
