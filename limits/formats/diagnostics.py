"""What a reader points out in a file that it reads all the same, and how grave that is."""

import enum
from collections.abc import Iterable
from difflib import get_close_matches
from typing import NamedTuple

MOST_JOINTS = 4
"""Joints that one line names."""


class Weight(enum.IntEnum):
    """How grave something is that was found in a file."""

    DOUBT = 0
    """Legal but doubtful: told where a file is checked."""
    NOTE = 1
    """Read past, or read otherwise than some other reader does: told whenever the file is read."""
    LOSS = 2
    """A limit that stands there and does not count: told likewise, and a conversion loses it."""


class Diagnostic(NamedTuple):
    """One thing that was found in a file."""

    joint: str | None
    key: str
    value: object
    reason: str
    weight: Weight = Weight.DOUBT

    def __str__(self) -> str:
        """Return it in words."""
        return _words([self])


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about a name that is not known, with the one that was likely meant; empty without one."""
    meant = get_close_matches(name, sorted(known), 1, cutoff=0.8)
    return f"; did you mean {meant[0]}?" if meant else ""


def diagnostic_lines(found: Iterable[Diagnostic]) -> tuple[str, ...]:
    """Put findings into words: what several joints share is one line, unless it is a loss."""
    groups: dict[object, list[Diagnostic]] = {}
    for one in found:
        alone = one.weight is Weight.LOSS or one.joint is None
        groups.setdefault(len(groups) if alone else (one.key, one.reason, one.weight), []).append(one)
    return tuple(map(_words, groups.values()))


def _words(alike: list[Diagnostic]) -> str:
    first = alike[0]
    joints = [one.joint for one in alike if one.joint is not None]
    place = first.key
    if joints:
        shown = ", ".join(joints[:MOST_JOINTS])
        more = f" and {len(joints) - MOST_JOINTS} more" if len(joints) > MOST_JOINTS else ""
        place = f"joint{'s' if len(joints) > 1 else ''} {shown}{more}, {first.key}"
    values = dict.fromkeys(repr(one.value) for one in alike if one.value is not None)
    shown = ", ".join([*values][:MOST_JOINTS]) + (", ..." if len(values) > MOST_JOINTS else "")
    return f"{place}: {first.reason}" + (f" (got {shown})" if values else "")
