"""Words for what is wrong in a document: paths, values and needs."""

import json
import re
from collections.abc import Iterable
from typing import NoReturn

from schema.errors import BrokerError
from schema.nearest import did_you_mean

QUOTED = 60
"""Most characters of a value that a message repeats."""
PATH = 200
"""Most characters of a path in a message."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,59}")
_TYPES: dict[type, str] = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a fraction",
    bytes: "binary data",
    list: "a list",
    dict: "an object",
    type(None): "null",
}
_RANKS = {"not_finite": 1, "unknown_enum": 2}
"""Kinds of faults in the order in which they are told; all others come first."""
_QUOTED_TYPES = frozenset((str, bool, int, float))


class FaultError(Exception):
    """A fault below the place where its path is known; each level puts its own step before `path`."""

    def __init__(self, kind: str, text: str, path: str = "") -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.path = path

    def shown_before(self, other: "FaultError | None") -> bool:
        """Whether this fault, found after `other`, is told in its place: what is wrong with the form comes first."""
        return other is None or _RANKS.get(self.kind, 0) < _RANKS.get(other.kind, 0)

    def below(self, step: str) -> None:
        """Put a field name or `[index]` before the path."""
        dot = "." if self.path and not self.path.startswith("[") else ""
        self.path = f"{step}{dot}{self.path}"

    def as_refusal(self, path: str = "") -> BrokerError:
        """The refusal, with `path`, if any, before the fault's own."""
        if path:
            self.below(path)
        return BrokerError(self.kind, f"{self.path[:PATH] or 'the payload'}: {self.text}")


class FirstFault:
    """Of several faults of a document the one that is told."""

    __slots__ = ("_fault",)

    def __init__(self) -> None:
        self._fault: FaultError | None = None

    def add(self, fault: FaultError, place: str) -> None:
        """A fault below a field name or `[index]`."""
        fault.below(place)
        if fault.shown_before(self._fault):
            self._fault = fault

    def tell(self) -> None:
        """Raise the one that is told, if there is any; it is kept no longer, as the frames that it holds keep this.

        Raises:
            FaultError: there is one.
        """
        fault, self._fault = self._fault, None
        try:
            if fault is not None:
                raise fault
        finally:
            del fault


def quote(value: object) -> str:
    """A value as JSON text in ASCII, cut to `QUOTED` characters."""
    text = json.dumps(value[:QUOTED] if isinstance(value, str) else value)
    return text if len(text) <= QUOTED else f"{text[: QUOTED - 3]}..."


def step(key: str) -> str:
    """A key as a step of a path: as it is, or quoted if it is no plain name."""
    return key if _PLAIN_KEY.fullmatch(key) else quote(key)


def unknown_field(key: str, owner: str, known: Iterable[str]) -> FaultError:
    """The fault of a key that `owner`, which has the `known` ones, does not have."""
    names = tuple(known)
    text = f"{owner} has no such field, only: {', '.join(names) or 'none'}{did_you_mean(key, names)}"
    return FaultError("unknown_field", text, step(key))


def wrong_type(value: object, need: str) -> NoReturn:
    """Refuse a value of the wrong type.

    Raises:
        FaultError: always, `malformed`.
    """
    what = _TYPES.get(type(value), "a value of another kind")
    given = f"{quote(value)} is {what}" if type(value) in _QUOTED_TYPES else f"{what} is given"
    raise FaultError("malformed", f"{given}, {need} is needed")
