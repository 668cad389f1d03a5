"""Which joint of a source is which joint of the arm: by name, once."""

import re
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
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

    @property
    def nothing_fits(self) -> bool:
        """Whether the source has joints and not one of them is one of the arm's."""
        return bool(self.extra) and all(index is None for index in self.order)

    def reports(self, source: str, fixed: Collection[str] = ()) -> tuple[str, ...]:
        """What does not fit, in words; nothing where all joints have one name and order.

        `fixed` are joints that the arm has and that do not move.
        """
        lines = [f"{source}: joint {name} is missing; it gives no limits of it" for name in self.missing]
        for name in self.extra:
            what = "fixed" if name in fixed else "no joint of the arm"
            lines.append(f"{source}: joint {name} is {what}; its limits are not used")
        lines += [f"{source}: joint {arm} is called {there}" for arm, there in self.renamed.items()]
        return (*lines, f"{source}: the joints stand in another order") if self.reordered else tuple(lines)


def match_joints(
    arm: Sequence[str], given: Sequence[str], renames: Mapping[str, str] | None = None, *, file: str | None = None
) -> JointMatch:
    """Match the joints of a source to those of an arm.

    First by `renames` (name of the arm to name in the source) and equal names; what is left, by names that differ only
    in case and separators, or in one prefix that is the same for all of them and stands on either side. What fits no
    single joint stays missing.

    Raises:
        LimitsError: a name stands twice, or `renames` names a joint that the arm or the source does not have.
    """
    refuse_twice(arm)
    refuse_twice(given, file)
    places = {name: index for index, name in enumerate(given)}
    ours = frozenset(arm)
    found = dict(renames or {})
    for name, there in found.items():
        if name not in ours:
            raise LimitsError("is no joint of the arm", file=file, joint=name, key="renames", value=there)
        if there not in places:
            raise LimitsError("is no joint of the source", file=file, joint=there, key="renames", value=there)
    refuse_twice(tuple(found.values()), file)
    taken = frozenset(found.values())
    found |= {name: name for name in arm if name in places and name not in found and name not in taken}
    taken = frozenset(found.values())
    found |= _alike([name for name in arm if name not in found], [name for name in given if name not in taken])
    taken = frozenset(found.values())
    order = tuple(places[found[name]] if name in found else None for name in arm)
    matched = [index for index in order if index is not None]
    return JointMatch(
        order=order,
        missing=tuple(name for name in arm if name not in found),
        extra=tuple(name for name in given if name not in taken),
        renamed={name: found[name] for name in arm if found.get(name, name) != name},
        reordered=matched != sorted(matched),
    )


def match_in_order(arm: Sequence[str], given: Sequence[str]) -> JointMatch:
    """Match joints without names: one by one if there are as many as the arm has, else none."""
    if len(arm) == len(given):
        return JointMatch(tuple(range(len(arm))), (), (), {}, reordered=False)
    return JointMatch((None,) * len(arm), tuple(arm), tuple(given), {}, reordered=False)


def _alike(arm: list[str], given: list[str]) -> dict[str, str]:
    """Pairs of names that are alike: the prefix, if any, stands before those of the source, or else of the arm."""
    return _with_prefix(arm, given) or {name: there for there, name in _with_prefix(given, arm).items()}


def _with_prefix(plain: list[str], prefixed: list[str]) -> dict[str, str]:
    """Pairs of a name and the one that ends alike, by the one prefix that fits every name that has such a one.

    No prefix goes before any; where several fit, or two names are alike, nothing is paired.
    """
    backwards = sorted((_key(name)[::-1], name) for name in prefixed)
    ends = [key for key, _ in backwards]
    candidates: dict[str, dict[str, str]] = {}
    for name in plain:
        key = _key(name)[::-1]
        if not key:
            return {}
        at = bisect_left(ends, key)
        while at < len(ends) and ends[at].startswith(key):
            prefix = ends[at][len(key) :]
            if prefix in candidates.setdefault(name, {}):
                return {}
            candidates[name][prefix] = backwards[at][1]
            at += 1
    if not candidates:
        return {}
    first, *others = candidates.values()
    fitting = [prefix for prefix in first if all(prefix in other for other in others)]
    if (len(fitting) > 1 and "" not in fitting) or not fitting:
        return {}
    chosen = "" if "" in fitting else fitting[0]
    pairs = {name: found[chosen] for name, found in candidates.items()}
    return pairs if len(set(pairs.values())) == len(pairs) else {}


def _key(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()
