"""Reads the config items of a Kinova arm, by the calls that its firmware has."""

from collections.abc import Awaitable, Callable

import structlog

from devices.adapter import ArmRefusedError, ArmUnreadableError, Snapshot
from devices.kortex.calls import ANSWERS, DESIRED, GETTERS, methods_of
from devices.refusals import refused
from schema.arms import Slot
from schema.codecs.protobuf import decode_message, encode_message
from schema.enums import ControlMode
from schema.errors import BrokerError
from schema.items import DESIRED_SPEEDS, NUMBER_FIELDS, SOFT_LIMIT_MODES, SOFT_LIMITS, slots_of
from schema.messages import (
    ControlModeInformation,
    DesiredSpeeds,
    KinematicLimits,
    KinematicLimitsList,
    Message,
)

log = structlog.get_logger()

Call = Callable[[str, bytes], Awaitable[bytes]]
"""Carries out one call of the arm: the bytes of its request in, those of its answer out."""
UNSUPPORTED = frozenset({2, 5})
"""Sub codes of a call that a firmware has not: UNIMPLEMENTED, UNSUPPORTED_METHOD."""


class Reader:
    """Reads one arm; `methods` and `notes` tell what `probe` found missing."""

    def __init__(self, arm: str, call: Call) -> None:
        self._arm, self._call = arm, call
        self.missing: frozenset[str] = frozenset()
        """Calls that the firmware has not."""
        self.unreadable: frozenset[str] = frozenset()
        """Items that no call reads."""

    async def ask(self, method: str, request: Message | None = None) -> Message | None:
        """Carry out one call; what it answers, None for the answer without content.

        Raises:
            ArmUnreadableError: what it answered is no message of its kind.
            ArmError: as the call.
        """
        answer = await self._call(method, b"" if request is None else encode_message(request))
        if method not in ANSWERS:
            return None
        try:
            return decode_message(answer, ANSWERS[method], strict=False)
        except BrokerError as error:
            raise ArmUnreadableError(f"{method} of {self._arm}: {error.message}") from None

    async def probe(self) -> tuple[str, ...]:
        """Find out which calls the firmware has; notes about those that it has not.

        Raises:
            ArmError: a call failed for another reason.
        """
        missing = set()
        single = ControlModeInformation(ControlMode.ANGULAR_JOYSTICK)
        for method in (*GETTERS.values(), "GetAllKinematicSoftLimits", "GetKinematicSoftLimits", "GetDesiredSpeeds"):
            try:
                await self.ask(method, single if method == "GetKinematicSoftLimits" else None)
            except ArmRefusedError as refusal:
                if refusal.sub_code in UNSUPPORTED:
                    missing.add(method)
                else:
                    log.warning("probe_refused", arm=self._arm, method=method, why=str(refusal))
        self.missing = frozenset(missing)
        self.unreadable = frozenset(item for item, method in GETTERS.items() if method in missing)
        if "GetDesiredSpeeds" in missing:
            self.unreadable |= frozenset(DESIRED)
        if {"GetAllKinematicSoftLimits", "GetKinematicSoftLimits"} <= missing:
            self.unreadable |= frozenset(SOFT_LIMIT_MODES)
        return tuple(f"the firmware has no {method}: what only it reads is left out" for method in sorted(missing))

    def usable(self, methods: frozenset[str]) -> frozenset[str]:
        """Those of `methods` that can be used on this firmware."""
        return methods - self.missing - {method for item in self.unreadable for method in methods_of(item)}

    async def read(self, slot: Slot) -> Message:
        """Read one slot.

        Raises:
            ArmError: as `ask`; no such slot.
        """
        item, mode = slot
        if item in GETTERS:
            return _there(await self.ask(GETTERS[item]))
        if item in DESIRED:
            return _desired(await self.ask("GetDesiredSpeeds"))[item, 0]
        if item not in SOFT_LIMIT_MODES:
            raise refused("UNSUPPORTED_METHOD", f"no config item {item}")
        if slot not in slots_of(item):
            raise refused("METHOD_FAILED", f"mode {mode} takes no {item}")
        if "GetKinematicSoftLimits" not in self.missing:
            return _soft(await self.ask("GetKinematicSoftLimits", ControlModeInformation(ControlMode(mode))))[item]
        return (await self._all_soft())[slot]

    async def read_all(self) -> Snapshot:
        """Read every slot that can be read.

        Raises:
            ArmError: as `ask`.
        """
        items: dict[Slot, Message] = {}
        for item, method in GETTERS.items():
            if item not in self.unreadable:
                items[item, 0] = _there(await self.ask(method))
        if DESIRED[0] not in self.unreadable:
            items |= _desired(await self.ask("GetDesiredSpeeds"))
        if not self.unreadable & SOFT_LIMIT_MODES.keys():
            items |= await self._all_soft()
        return Snapshot(items)

    async def _all_soft(self) -> dict[Slot, Message]:
        """The soft limits of all slots; those of modes that the arm's list leaves out are asked for one by one."""
        found: dict[int, dict[str, Message]] = {}
        if "GetAllKinematicSoftLimits" not in self.missing:
            told = await self.ask("GetAllKinematicSoftLimits")
            if isinstance(told, KinematicLimitsList):
                found = {int(limits.control_mode): _soft(limits) for limits in told.kinematic_limits_list}
        slots = [slot for item in SOFT_LIMIT_MODES for slot in slots_of(item)]
        for mode in sorted({mode for _, mode in slots} - found.keys()):
            if "GetKinematicSoftLimits" not in self.missing:
                asked = ControlModeInformation(ControlMode(mode))
                found[mode] = _soft(await self.ask("GetKinematicSoftLimits", asked))
        return {(item, mode): found[mode][item] for item, mode in slots if mode in found}


def _there(message: Message | None) -> Message:
    """A message that a call with an answer gave."""
    if message is None:
        raise ArmUnreadableError("the arm answered nothing")
    return message


def _soft(limits: Message | None) -> dict[str, Message]:
    """The soft limits of a mode, by item."""
    if not isinstance(limits, KinematicLimits):
        raise ArmUnreadableError("the arm answered no limits")
    mode = limits.control_mode
    return {
        item.key: item.record(**{"control_mode": mode, item.field: getattr(limits, item.hard)}) for item in SOFT_LIMITS
    }


def _desired(speeds: Message | None) -> dict[Slot, Message]:
    """The desired speeds by slot."""
    if not isinstance(speeds, DesiredSpeeds):
        raise ArmUnreadableError("the arm answered no desired speeds")
    fields = {item: NUMBER_FIELDS[item.key] for item in DESIRED_SPEEDS}
    return {(item.key, 0): item.record(**{field: getattr(speeds, field)}) for item, field in fields.items()}
