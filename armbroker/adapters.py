"""What an adapter of your own is written with and tested by; `docs/adapters.md` tells how.

`messages` and `ControlMode` are the vocabulary of the protocol, the rest is the interface of the service to an arm.
"""

from devices.adapter import (
    AdapterSettingError,
    ArmAdapter,
    ArmAwayError,
    ArmChange,
    ArmError,
    ArmFleet,
    ArmRefusedError,
    ArmTimeoutError,
    ArmUnreadableError,
    Command,
    Deadlines,
    DeviceBus,
    FaultyArm,
    FleetContext,
    LinkState,
    Notice,
    PromptArm,
    Reread,
    Setting,
    Snapshot,
)
from devices.adapter_class import AdapterAbout, AdapterClass, AdapterOptions
from devices.conformance import BEHAVIOURS, CannotInjectError, Example, Refusal, Rig, Traits, run_all
from devices.conformance.adapter_rig import AdapterRig
from devices.fence import Fence
from devices.options import read_options
from devices.refusals import refused
from schema import messages
from schema.arms import Activity, Authority, Description, Fault, JointInfo, Slot, Verb
from schema.enums import ControlMode

__all__ = [
    "BEHAVIOURS",
    "Activity",
    "AdapterAbout",
    "AdapterClass",
    "AdapterOptions",
    "AdapterRig",
    "AdapterSettingError",
    "ArmAdapter",
    "ArmAwayError",
    "ArmChange",
    "ArmError",
    "ArmFleet",
    "ArmRefusedError",
    "ArmTimeoutError",
    "ArmUnreadableError",
    "Authority",
    "CannotInjectError",
    "Command",
    "ControlMode",
    "Deadlines",
    "Description",
    "DeviceBus",
    "Example",
    "Fault",
    "FaultyArm",
    "Fence",
    "FleetContext",
    "JointInfo",
    "LinkState",
    "Notice",
    "PromptArm",
    "Refusal",
    "Reread",
    "Rig",
    "Setting",
    "Slot",
    "Snapshot",
    "Traits",
    "Verb",
    "messages",
    "read_options",
    "refused",
    "run_all",
]
