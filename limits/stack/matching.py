"""Which joint of a source is which joint of the arm: by name, once."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from limits.errors import LimitsError
from limits.stack.joints import refuse_twice


class JointMatch(NamedTuple):
    """How the joints of a source fit those of an arm."""

    order: tuple[int | None, ...]
    """For each joint of the arm its index in the source; None where it is missing."""
    missing: tuple[str, ...]
    """Joints of the arm that the source does not have."""
    extra: tuple[str, ...]
    """Joints of the source that the arm does not have."""
    renamed: dict[str, str]
    """Name in the source of each joint of the arm that is called otherwise there."""
    reordered: bool
    """Whether the joints stand in another order."""

    def reports(self, source: str) -> tuple[str, ...]:
        """What does not fit, in words; nothing where all joints have one name and order."""
        lines = [f"{source}: joint {name} is missing; it gives no limits of it" for name in self.missing]
        lines += [f"{source}: joint {name} is no joint of the arm; its limits are not used" for name in self.extra]
        lines += [f"{source}: joint {arm} is called {there}" for arm, there in self.renamed.items()]
        return (*lines, f"{source}: the joints stand in another order") if self.reordered else tuple(lines)


def match_joints(
    arm: Sequence[str], given: Sequence[str], renames: Mapping[str, str] | None = None, *, file: str | None = None
) -> JointMatch:
    """Match the joints of a source to those of an arm.

    First by `renames` (name of the arm to name in the source) and equal names; what is left, by names that differ only
    in case and separators, or in one prefix that is the same for all of them. What fits no single joint stays missing.

    Raises:
        LimitsError: a name stands twice, or `renames` names a joint that the arm or the source does not have.
    """
    refuse_twice(arm)
    refuse_twice(given, file)
    found = dict(renames or {})
    for name, there in found.items():
        if name not in arm:
            raise LimitsError("is no joint of the arm", file=file, joint=name, key="renames", value=there)
        if there not in given:
            raise LimitsError("is no joint of the source", file=file, joint=there, key="renames", value=there)
    refuse_twice(tuple(found.values()), file)
    found |= {name: name for name in arm if name in given and name not in found and name not in found.values()}
    found |= _alike([name for name in arm if name not in found], [name for name in given if name not in found.values()])
    order = tuple(given.index(found[name]) if name in found else None for name in arm)
    matched = [index for index in order if index is not None]
    return JointMatch(
        order=order,
        missing=tuple(name for name in arm if name not in found),
        extra=tuple(name for name in given if name not in found.values()),
        renamed={name: found[name] for name in arm if found.get(name, name) != name},
        reordered=matched != sorted(matched),
    )


def _alike(arm: list[str], given: list[str]) -> dict[str, str]:
    """Pairs of names that are alike, if each is alike one only and all pairs have one prefix."""
    keys = {name: _key(name) for name in given}
    pairs: dict[str, str] = {}
    prefixes = set()
    for name in arm:
        key = _key(name)
        ends = [there for there, its in keys.items() if its.endswith(key)]
        same = [there for there in ends if keys[there] == key]
        chosen = same or ends
        if not key or len(chosen) > 1:
            return {}
        if chosen:
            pairs[name] = chosen[0]
            prefixes.add(keys[chosen[0]].removesuffix(key))
    unique = len(prefixes) == 1 and len(set(pairs.values())) == len(pairs)
    return pairs if unique else {}


def _key(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()
