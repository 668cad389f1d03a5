"""The settings: `fleet.toml`, the environment and the quick form of the command line. Nothing else reads them."""

from broker.settings.load import from_document, load, quick, read
from broker.settings.places import Fault, KeyPath, Places
from broker.settings.records import (
    CHECK_MODES,
    LOG_LEVELS,
    LONGEST_LATENCY_MS,
    REAPPLY,
    ArmChecks,
    ArmDefaults,
    ArmSettings,
    AuditSettings,
    CheckSettings,
    ClientSettings,
    MqttSettings,
    Settings,
    SettingsError,
    SimSettings,
    StoreSettings,
    duration_us,
)

__all__ = [
    "CHECK_MODES",
    "LOG_LEVELS",
    "LONGEST_LATENCY_MS",
    "REAPPLY",
    "ArmChecks",
    "ArmDefaults",
    "ArmSettings",
    "AuditSettings",
    "CheckSettings",
    "ClientSettings",
    "Fault",
    "KeyPath",
    "MqttSettings",
    "Places",
    "Settings",
    "SettingsError",
    "SimSettings",
    "StoreSettings",
    "duration_us",
    "from_document",
    "load",
    "quick",
    "read",
]
