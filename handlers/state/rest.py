"""Whether an arm is idle, as far as its adapter tells: what changes with `when: idle` wait for."""

from handlers.state.arm_state import ArmState, as_message
from schema.arms import Activity
from schema.codecs.times import format_time
from schema.enums import ControlMode
from schema.envelope import Warned
from schema.messages import ControlModeInformation

MODE = ("control_mode", 0)
_MICRO = 1_000_000
_DAY_US = 86_400 * _MICRO


def mode_name(mode: int) -> str:
    """The name of a control mode, or its number where it has none."""
    return ControlMode(mode).name if mode in ControlMode.__members__.values() else str(int(mode))


def mode_of(state: ArmState) -> int | None:
    """The number of the control mode that was read last; None of an arm without, or where none was read."""
    seen = state.reported.get(MODE) if MODE[0] in state.arm_items else None
    return None if seen is None else int(as_message(seen, ControlModeInformation).control_mode)


def unrest(state: ArmState) -> str:
    """What keeps an arm from being idle, in words; empty: nothing that is known.

    Where nobody can tell what it does that counts as idle, and an arm without control modes is not asked for one.
    """
    if not state.online:
        return f"{state.arm} is not connected"
    if state.distrust:
        return f"{state.arm} is held"
    if state.activity not in (Activity.IDLE, Activity.UNKNOWN):
        return f"its activity is {state.activity.value}"
    if not state.ready:
        return f"{state.arm} takes no change now"
    if MODE[0] not in state.arm_items:
        return ""
    mode = mode_of(state)
    if mode is None:
        return "its mode was never read"
    return "" if mode in state.idle_modes else f"mode is {mode_name(mode)}"


def idle_warning(state: ArmState, idle_for_s: float, now_us: int, until_us: int) -> Warned:
    """The warning of a change that was accepted and waits; `until_us` is the end of its time to live."""
    mode, why = mode_of(state), unrest(state)
    if mode is None:
        where, wanted = why or f"{state.arm} may be idle", f"{state.arm} to be idle"
    else:
        in_mode = f"mode is {mode_name(mode)}"
        where = f"{state.arm} is in {mode_name(mode)}" if why in ("", in_mode) else why
        wanted = " or ".join(map(mode_name, sorted(state.idle_modes)))
    end = format_time(until_us)
    shown = end[11:19] if until_us - now_us < _DAY_US else end
    return Warned("WAITS_FOR_IDLE", f"{where}; the change waits for {wanted} for {idle_for_s:g} s, until {shown}")
