"""A rollout: waves of arms, and what keeps the next one from beginning."""

import enum
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from handlers.rpc.plain_params import integer, known_only, listed, quoted, text
from handlers.state.refusals import NOTHING_CHANGED
from schema.errors import BrokerError

DAY_MS, SOAK_MS, ROW_WITHIN_MS = 86_400_000, 60_000, 60_000
CANARY_MOST, WAVES_MOST, FAILED_MOST = 100, 20, 10_000
WHOLE = 100


class Gate(enum.StrEnum):
    """What may go wrong with an arm after its row."""

    FAULT = "fault"
    OFFLINE = "offline"
    TOUCHED = "touched"
    """Somebody else changed a slot of the plan."""
    CLAMPED = "clamped"
    """The arm took less than was asked."""


class WaveState(enum.StrEnum):
    """How far a wave got."""

    WAITING = "waiting"
    RUNNING = "running"
    SOAKING = "soaking"
    ENDED = "ended"


class OnFailure(enum.StrEnum):
    """What becomes of a rollout when arms did not take it."""

    REVERSE = "reverse"
    PAUSE = "pause"


class Spec(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The params of a Rollout beside its method; `canary` is a number of arms or their ids."""

    on_failure: OnFailure
    canary: int | tuple[str, ...] = 1
    waves: tuple[int, ...] = (WHOLE,)
    soak_ms: int = SOAK_MS
    gates: tuple[Gate, ...] = tuple(Gate)
    max_failed: int = 0
    pause_after: tuple[int, ...] = ()
    confirm_within_ms: int = 0
    row_within_ms: int = ROW_WITHIN_MS


NAMES = ("method", "params", *Spec.__struct_fields__)


def spec_of(params: Mapping[str, object]) -> Spec:
    """The params of a Rollout, judged.

    Raises:
        BrokerError: unknown_field, malformed, unknown_enum, out_of_limits.
    """
    known_only(params, NAMES)
    waves = _numbers(params, "waves", WAVES_MOST, 1, WHOLE) or (WHOLE,)
    if any(later <= earlier for earlier, later in itertools.pairwise(waves)) or waves[-1] != WHOLE:
        raise _malformed("waves", f"percents have to rise, and the last has to be {WHOLE}, got {list(waves)}")
    pauses = _numbers(params, "pause_after", WAVES_MOST + 1, 0, len(waves))
    confirm = integer(params, "confirm_within_ms", 0, DAY_MS)
    if "confirm_within_ms" in params:
        confirm = integer(params, "confirm_within_ms", 0, DAY_MS, 60_000)
    return Spec(
        on_failure=OnFailure(_word(params, "on_failure", tuple(OnFailure))),
        canary=_canary(params),
        waves=waves,
        soak_ms=integer(params, "soak_ms", SOAK_MS, DAY_MS),
        gates=_gates(params),
        max_failed=integer(params, "max_failed", 0, FAILED_MOST),
        pause_after=pauses,
        confirm_within_ms=confirm,
        row_within_ms=integer(params, "row_within_ms", ROW_WITHIN_MS, DAY_MS, 1_000),
    )


def _malformed(name: str, why: str) -> BrokerError:
    return BrokerError("malformed", f"params.{name}: {why}. {NOTHING_CHANGED}")


def _word(params: Mapping[str, object], name: str, known: Sequence[str]) -> str:
    if name not in params:
        raise _malformed(name, f"it is needed: {', '.join(known)}")
    word = text(params, name)
    if word not in known:
        raise BrokerError(
            "unknown_enum", f"params.{name}: {word[:60]!r} is none of {listed(word, known)}. {NOTHING_CHANGED}"
        )
    return word


def _list(params: Mapping[str, object], name: str) -> list[Any]:
    value = params.get(name, [])
    if not isinstance(value, list):
        raise _malformed(name, f"a list is needed, got {quoted(value)}")
    return value


def _numbers(params: Mapping[str, object], name: str, most: int, low: int, high: int) -> tuple[int, ...]:
    values = _list(params, name)
    if len(values) > most or (name in params and not values and low):
        raise _malformed(name, f"1 to {most} numbers are taken, got {len(values)}")
    return tuple(integer({name: value}, name, 0, high, low) for value in values)


def _gates(params: Mapping[str, object]) -> tuple[Gate, ...]:
    if "gates" not in params:
        return tuple(Gate)
    return tuple(Gate(_word({"gates": name}, "gates", tuple(Gate))) for name in _list(params, "gates"))


def _canary(params: Mapping[str, object]) -> int | tuple[str, ...]:
    value = params.get("canary", 1)
    if not isinstance(value, list):
        return integer(params, "canary", 1, CANARY_MOST, 1)
    if not 1 <= len(value) <= CANARY_MOST or not all(isinstance(arm, str) for arm in value):
        raise _malformed("canary", f"a number, or 1 to {CANARY_MOST} arms")
    if len(set(value)) != len(value):
        raise _malformed("canary", "an arm stands twice")
    return tuple(value)


def waves_of(spec: Spec, arms: Sequence[str], fit: Collection[str]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The arms in the order of work, and the number of arms in each wave but the last.

    Args:
        spec: what was asked.
        arms: the members that take part, by id.
        fit: those that are online, ready and under `control`.

    Raises:
        BrokerError: arm_away: no arm can be the first; unknown_arm: one that is named is no member.
    """
    if isinstance(spec.canary, int):
        first = tuple([arm for arm in arms if arm in fit][: spec.canary])
        if not first:
            text = "canary: no arm of the group is online, ready and under control"
            raise BrokerError("arm_away", f"{text}. {NOTHING_CHANGED}")
    else:
        strangers = [arm for arm in spec.canary if arm not in arms]
        if strangers:
            raise BrokerError("unknown_arm", f"params.canary: no member: {', '.join(strangers[:8])}. {NOTHING_CHANGED}")
        first = tuple(sorted(spec.canary))
    rest = tuple(arm for arm in arms if arm not in set(first))
    ends = [-(-len(rest) * percent // WHOLE) for percent in spec.waves]
    sizes = [len(first)] + [end - begin for begin, end in zip([0, *ends], ends, strict=False)]
    while len(sizes) > 1 and sizes[-1] == 0:
        sizes.pop()
    return first + rest, tuple(sizes[:-1])


class Trouble(enum.Enum):
    """What a failure asks for."""

    NONE = 0
    PAUSE = 1
    REVERSE = 2


ARMS_OWN = frozenset({"arm_refused", "overwritten", "partial", "outcome_unknown", "late", Gate.CLAMPED, Gate.FAULT})
"""What arms did: kinds of rows that failed, and gates."""


def trouble_of(spec: Spec, failures: Iterable[str]) -> Trouble:
    """What the failures so far ask for; each is the kind of a row that failed, or the gate that opened on its arm."""
    kinds = list(failures)
    own = sum(kind in ARMS_OWN for kind in kinds)
    if own > spec.max_failed:
        return Trouble.REVERSE if spec.on_failure is OnFailure.REVERSE else Trouble.PAUSE
    return Trouble.PAUSE if len(kinds) > spec.max_failed else Trouble.NONE
