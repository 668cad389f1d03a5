"""What the settings name, adapters and files, looked at before anything is opened."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from broker.arms.limit_files import LimitFileError, LimitFiles
from broker.settings import ArmSettings, Fault, KeyPath, Settings, SettingsError, look_at
from broker.settings.policy_file import compiled, groups_of, policy_doubts, readable_policy
from broker.tls import TlsFileError, tls_context
from devices.adapter import ArmError
from devices.adapter_class import AdapterAbout
from devices.options import option_faults
from devices.registry import adapter_class
from handlers.policy.rules import Policy
from handlers.stack.limit_layers import PARAMETERS_SLOT


class CheckedFleet(NamedTuple):
    """Settings whose arms can be opened, and the files of their limits as they were read."""

    settings: Settings
    files: LimitFiles
    doubts: tuple[str, ...] = ()
    """What can be, but is hardly meant."""
    policy: Policy | None = None


def read_fleet(path: Path, now_us: int, environment: Mapping[str, str] | None = None) -> CheckedFleet:
    """Read a `fleet.toml` and everything that it names; nothing is opened.

    Raises:
        SettingsError: something in it cannot be used; each line names file, line and setting.
    """
    found = look_at(path, environment)
    settings, files = found.settings, LimitFiles(now_us)
    wrong = [str(found.places.error(faults))] if (faults := [*found.faults, *fleet_faults(settings, files)]) else []
    try:
        written = readable_policy(settings)
    except SettingsError as error:
        written = None
        wrong.append(str(error))
    if wrong:
        raise SettingsError("\n".join(wrong))
    if written is None:
        return CheckedFleet(settings, files, found.doubts)
    groups = groups_of(settings)
    doubts = policy_doubts(written, [arm.id for arm in settings.arm], groups)
    return CheckedFleet(settings, files, (*found.doubts, *doubts), compiled(written, groups))


def fleet_faults(settings: Settings, files: LimitFiles) -> Iterator[Fault]:
    """All that keeps the service from starting with these settings, as far as that shows without reaching anything."""
    if (name := settings.mqtt.password_file) and (why := _unreadable(name)):
        yield Fault(("mqtt", "password_file"), f"mqtt.password_file: {name}: {why}")
    try:
        if any(settings.tls):
            tls_context(settings.tls)
    except TlsFileError as error:
        yield Fault(("mqtt", f"{error.which}_file"), f"mqtt.{error.which}_file: {error}")
    if settings.data_dir.exists() and not settings.data_dir.is_dir():
        yield Fault(("store", "dir"), f"store.dir: {settings.data_dir} is no directory")
    known: dict[str, AdapterAbout | str] = {}
    for index, arm in enumerate(settings.arm):
        if arm.adapter not in known:
            known[arm.adapter] = _about(arm.adapter)
        yield from _arm_faults(("arm", index), arm, known[arm.adapter])
        try:
            files.sources(arm)
        except LimitFileError as error:
            yield Fault(("arm", index, error.setting) if error.setting else ("arm", index), str(error))


def _unreadable(name: str) -> str:
    """Why a file cannot be read; empty if it can."""
    try:
        Path(name).read_bytes()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _about(adapter: str) -> AdapterAbout | str:
    """What an adapter is, or why it cannot be used."""
    try:
        return adapter_class(adapter).about
    except ArmError as error:
        return str(error)


def _arm_faults(path: KeyPath, arm: ArmSettings, about: AdapterAbout | str) -> Iterator[Fault]:
    """What an adapter does not take of the settings of an arm."""
    if isinstance(about, str):
        yield Fault((*path, "adapter"), f"arm {arm.id}: {about}")
        return
    if about.models and arm.model not in about.models:
        allowed = ", ".join(about.models)
        told = repr(arm.model) if arm.model else "it is needed"
        yield Fault((*path, "model"), f"arm {arm.id}: model: {told}; allowed are {allowed}")
    if arm.ros_yaml and PARAMETERS_SLOT[0] in about.items:
        text = f"{arm.ros_yaml!r}: adapter {arm.adapter} reads the parameters from the arm itself"
        yield Fault((*path, "ros_yaml"), f"arm {arm.id}: ros_yaml: {text}")
    for option, text in option_faults(arm.options, about.options):
        yield Fault((*path, "options", option), f"arm {arm.id}: option {option}: {text}")
