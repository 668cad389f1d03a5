"""What is told of an arm in lists and summaries, each fact in one place."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from handlers.compare.drift import drift_of
from handlers.items.settling import agrees
from handlers.state.arm_state import ArmState
from schema.enums import ControlMode

MODE_SLOT = ("control_mode", 0)


class Seen(NamedTuple):
    """An arm, whether it is there (`online`, `offline`, `held`, `unknown`), and how many of its changes are held."""

    state: ArmState
    presence: str
    held_changes: int = 0


def model(seen: Seen) -> str:
    """What it says it is, else what the settings say."""
    description = seen.state.description
    return description.model if description is not None else seen.state.model


def ready(seen: Seen) -> bool:
    """Whether it takes changes now."""
    state = seen.state
    return state.online and state.ready and not state.distrust


def mode(seen: Seen) -> str | None:
    """The name of the control mode last seen; None before, the number in words where nobody knows it."""
    known = getattr(seen.state.reported.get(MODE_SLOT), "control_mode", None)
    if known is None:
        return None
    return ControlMode(known).name if known in ControlMode.__members__.values() else str(known)


def held_by(seen: Seen) -> str | None:
    """Who locked it."""
    hold = seen.state.hold
    return None if hold is None else hold.by.user


def differs(seen: Seen) -> bool:
    """Whether a desired value is not the reported one."""
    state, reported = seen.state, seen.state.reported
    return any(
        wanted is not (there := reported.get(slot)) and wanted != there and not agrees(state, slot)
        for slot, wanted in state.desired.items()
    )


def overridden(seen: Seen) -> bool:
    """Whether a change with an end is live, or its return is owed."""
    overrides = seen.state.overrides
    return overrides is not None and bool(overrides.live or overrides.returning)


def recipe(seen: Seen) -> str | None:
    """The recipe that was applied last, `weld@3`."""
    applied = seen.state.applied
    return None if applied is None else f"{applied.name}@{applied.version}"


FACTS: Mapping[str, Callable[[Seen], Any]] = MappingProxyType({
    "model": model,
    "adapter": lambda seen: seen.state.adapter,
    "presence": lambda seen: seen.presence,
    "activity": lambda seen: seen.state.activity.value,
    "authority": lambda seen: seen.state.authority.value,
    "mode": mode,
    "held_by": held_by,
    "ready": ready,
    "pending": lambda seen: seen.state.unsettled > 0,
    "override": overridden,
    "differs": differs,
    "recipe_drift": lambda seen: bool(drift_of(seen.state)),
})  # fmt: skip
"""Every fact that arms can be found by, the cheapest first."""
TOLD = ("model", "presence", "ready", "activity", "mode", "authority", "differs", "pending", "override")
"""The facts that are told of an arm that was found."""
