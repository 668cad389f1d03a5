"""The name that somebody may have meant."""

import difflib
from collections.abc import Iterable
from itertools import islice

LONGEST = 64
"""Characters of a wrong name that are looked at."""
MOST, COMPARED_MOST = 1_000, 40
"""Names that are looked at, and compared letter by letter, at most: a refusal must not cost much."""
_LONGER = 3
_ALIKE = 0.6


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is most like this one, whatever its case; empty if none is alike."""
    wanted = name[:LONGEST].lower()
    letters = set(wanted)
    lower: dict[str, str] = {}
    for each in islice(known, MOST):
        if abs(len(each) - len(wanted)) <= _LONGER:
            lower.setdefault(each.lower(), each)
    if wanted in lower:
        return lower[wanted]
    near = sorted(lower, key=lambda each: len(letters ^ set(each)))[:COMPARED_MOST]
    matcher = difflib.SequenceMatcher(b=wanted)
    best, alike = "", _ALIKE
    for each in near:
        matcher.set_seq1(each)
        if (ratio := matcher.ratio()) > alike:
            best, alike = lower[each], ratio
    return best


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Words that follow a refusal: `; did you mean 'r12'?`, or nothing."""
    found = nearest(name, known)
    return f"; did you mean {found!r}?" if found else ""
