"""The parameters of joint limits: `joint_limits.<joint>.<key>`."""

from limits.ros2.validity import NUMBERS, SOFT_FIELDS

ROOT = "joint_limits"
WRAPAROUND = "angle_wraparound"
HAS_SOFT_LIMITS = "has_soft_limits"

HARD_KEYS = (*(key for quantity in NUMBERS for key in (f"has_{quantity}_limits", *NUMBERS[quantity])), WRAPAROUND)
"""The 14 keys of hard limits, in the order in which they are declared."""

SOFT_KEYS = (HAS_SOFT_LIMITS, *SOFT_FIELDS)
"""The 5 keys of soft limits, likewise."""

FLAG_KEYS = frozenset({key for key in HARD_KEYS if key.startswith("has_")} | {WRAPAROUND, HAS_SOFT_LIMITS})
"""The keys that are of type bool; the others are doubles."""


def parameter_name(joint: str, key: str) -> str:
    """Return the full name of a parameter."""
    return f"{ROOT}.{joint}.{key}"


def split_name(name: str) -> tuple[str, str]:
    """Return joint and key of the full name of a parameter."""
    prefix, _, key = name.rpartition(".")
    return prefix.removeprefix(f"{ROOT}."), key
