"""Joint limits as parameters of a ROS node: `joint_limits.<joint>.<key>`."""

import math
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from typing import NamedTuple, overload

from msgspec.structs import replace

from limits.errors import LimitsError
from limits.formats.diagnostics import Weight, did_you_mean
from limits.ros2.keys import (
    FLAG_KEYS,
    HARD_KEYS,
    HAS_SOFT_LIMITS,
    ROOT,
    SOFT_KEYS,
    WRAPAROUND,
    parameter_name,
)
from limits.ros2.records import JointLimits, SoftJointLimits
from limits.ros2.store import ParameterStore, ParameterValue
from limits.ros2.validity import NUMBERS, SOFT_FIELDS, check_limits, check_soft_limits

KNOWN_KEYS = frozenset(HARD_KEYS + SOFT_KEYS)


def declare_parameters(joint_name: str, store: ParameterStore) -> bool:
    """Declare the 19 parameters of a joint; flags default to false, numbers to NaN.

    Returns False when one is there with another type; those before it stay declared, and the reason is a diagnostic.
    """
    for key in HARD_KEYS + SOFT_KEYS:
        try:
            store.declare(parameter_name(joint_name, key), default=False if key in FLAG_KEYS else math.nan)
        except LimitsError as error:
            store.doubt(joint_name, key, error.value, error.reason)
            return False
    return True


@overload
def get_joint_limits(joint_name: str, store: ParameterStore, limits: JointLimits) -> tuple[bool, JointLimits]: ...
@overload
def get_joint_limits(
    joint_name: str, store: ParameterStore, limits: SoftJointLimits
) -> tuple[bool, SoftJointLimits]: ...
def get_joint_limits(
    joint_name: str, store: ParameterStore, limits: JointLimits | SoftJointLimits
) -> tuple[bool, JointLimits | SoftJointLimits]:
    """Return whether the store specifies limits of this joint, and `limits` with what it specifies.

    The kind of `limits` chooses the form, hard or soft; the record itself is not changed. By default only what
    was given counts; with `store.compat` what was declared counts too, and nothing is checked but the types.

    Raises:
        LimitsError: a value of a wrong type or, by default, limits that are incomplete or make no sense.
    """
    if isinstance(limits, SoftJointLimits):
        return _get_soft(joint_name, store, limits)
    return _get_hard(joint_name, store, limits)


def _get_hard(joint: str, store: ParameterStore, limits: JointLimits) -> tuple[bool, JointLimits]:
    names = {key: parameter_name(joint, key) for key in HARD_KEYS}
    if not any(store.has(name) for name in names.values()):
        store.doubt(joint, ROOT, None, "no limits are given for this joint")
        return False, limits
    changes: dict[str, bool | float] = {}
    for quantity, keys in NUMBERS.items():
        flag = f"has_{quantity}_limits"
        if not store.has(names[flag]):
            _doubt_numbers_alone(joint, store, keys, flag)
            continue
        missing = [key for key in keys if not store.has(names[key])]
        changes[flag] = store.flag(names[flag]) and not missing
        if store.flag(names[flag]) and missing and not store.compat:
            raise _missing(joint, store, flag, missing[0])
        if changes[flag]:
            changes |= {key: store.number(names[key]) for key in keys}
    if changes.get("has_position_limits") is False and store.has(names[WRAPAROUND]):
        changes[WRAPAROUND] = store.flag(names[WRAPAROUND])
    elif store.has(names[WRAPAROUND]) and not store.compat:
        store.doubt(joint, WRAPAROUND, None, "counts only where has_position_limits is given as false")
    result = replace(limits, **changes)
    _doubt_unknown_keys(joint, store)
    if not store.compat:
        check_limits(result, joint, store.file)
    return True, result


def _get_soft(joint: str, store: ParameterStore, limits: SoftJointLimits) -> tuple[bool, SoftJointLimits]:
    given = {key: store.has(parameter_name(joint, key)) for key in SOFT_KEYS}
    flag = parameter_name(joint, HAS_SOFT_LIMITS)
    missing = [key for key in SOFT_FIELDS if not given[key]]
    if not any(given.values()) or (given[HAS_SOFT_LIMITS] and not store.flag(flag)):
        return False, limits
    if not given[HAS_SOFT_LIMITS]:
        if store.compat:
            return False, limits
        if missing:
            for key in SOFT_FIELDS:
                if given[key]:
                    value = store.value(parameter_name(joint, key))
                    reason = f"does not count, because {' and '.join(missing)} of the soft limits are not given"
                    store.doubt(joint, key, value, reason, Weight.LOSS)
            return False, limits
        store.doubt(joint, HAS_SOFT_LIMITS, None, "is not given; the complete set counts all the same")
    elif missing:
        if store.compat:
            return False, limits
        raise _missing(joint, store, HAS_SOFT_LIMITS, missing[0])
    result = SoftJointLimits(**{field: store.number(parameter_name(joint, key)) for key, field in SOFT_FIELDS.items()})
    if not store.compat:
        check_soft_limits(result, joint, store.file)
    return True, result


def _missing(joint: str, store: ParameterStore, flag: str, key: str) -> LimitsError:
    """A flag without its number, and the name that may have been meant for it."""
    unknown = [one for one in store.keys_of(joint) if one not in KNOWN_KEYS]
    meant = get_close_matches(key, unknown, 1, cutoff=0.8)
    hint = f"; {meant[0]} is, and is not known" if meant else ""
    return LimitsError(f"{flag} is true, but this is not given{hint}", file=store.file, joint=joint, key=key)


def _doubt_numbers_alone(joint: str, store: ParameterStore, keys: Sequence[str], flag: str) -> None:
    for key in keys:
        if store.has(parameter_name(joint, key)):
            value = store.value(parameter_name(joint, key))
            store.doubt(joint, key, value, f"does not count, because {flag} is not given", Weight.LOSS)


def _doubt_unknown_keys(joint: str, store: ParameterStore) -> None:
    for key in store.keys_of(joint):
        if key not in KNOWN_KEYS:
            value = store.value(parameter_name(joint, key))
            store.doubt(joint, key, value, f"is not known and was not read{did_you_mean(key, KNOWN_KEYS)}", Weight.NOTE)


class LoadedLimits(NamedTuple):
    """What a store says about one joint; `soft` is None where it gives no soft limits."""

    joint: str
    found: bool
    limits: JointLimits
    soft: SoftJointLimits | None


def load_joint_limits(joints: Sequence[str], store: ParameterStore) -> tuple[LoadedLimits, ...]:
    """Return the limits of these joints; joints that only one side knows become diagnostics.

    In compat the parameters are declared first and soft limits are not read, as an initialisation from a node does.

    Raises:
        LimitsError: a joint is named twice, a value has a wrong type, or the limits make no sense.
    """
    for joint, count in Counter(joints).items():
        if count > 1:
            raise LimitsError("is named twice", file=store.file, joint=joint, value=count, bound=1)
    known = frozenset(joints)
    for joint in joint_names(store):
        if joint not in known:
            store.doubt(joint, ROOT, None, "has limits, but is no joint of the robot")
    return tuple(_load(joint, store) for joint in joints)


def _load(joint: str, store: ParameterStore) -> LoadedLimits:
    if store.compat:
        if not declare_parameters(joint, store):
            doubt = store.diagnostics[-1]
            raise LimitsError(doubt.reason, file=store.file, joint=joint, key=doubt.key, value=doubt.value)
        return LoadedLimits(joint, *get_joint_limits(joint, store, JointLimits()), None)
    found, limits = get_joint_limits(joint, store, JointLimits())
    has_soft, soft = get_joint_limits(joint, store, SoftJointLimits())
    return LoadedLimits(joint, found, limits, soft if has_soft else None)


def joint_names(store: ParameterStore) -> tuple[str, ...]:
    """Return the joints that the store gives limits of, in the order in which they first appear."""
    return tuple(joint for joint in store.joints() if not KNOWN_KEYS.isdisjoint(store.keys_of(joint)))


def as_parameters(joint: str, limits: JointLimits, soft: SoftJointLimits | None = None) -> dict[str, ParameterValue]:
    """Return the parameters that give these limits: all flags, and every number that is not NaN."""
    values: dict[str, ParameterValue] = {
        key: getattr(limits, key) for key in HARD_KEYS if key != WRAPAROUND or not limits.has_position_limits
    }
    if soft is not None:
        values |= {HAS_SOFT_LIMITS: True, **{key: getattr(soft, field) for key, field in SOFT_FIELDS.items()}}
    return {parameter_name(joint, key): value for key, value in values.items() if not _is_nan(value)}


def _is_nan(value: ParameterValue) -> bool:
    return isinstance(value, float) and math.isnan(value)
