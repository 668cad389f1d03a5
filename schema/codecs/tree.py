"""The rules that hold for a plain document as a whole, whatever it means."""

from math import isfinite
from typing import Any

from schema.codecs.faults import FaultError, wrong_type

DEPTH_LIMIT = 16
"""Most containers within each other, the outermost included."""

_LEAVES = frozenset((int, bool, type(None)))


def _check_text(text: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise FaultError("malformed", "a string holds a lone surrogate") from None


def _children(value: Any) -> Any:
    """What a container holds; checks the keys of an object."""
    if type(value) is list:
        return value
    for key in value:
        _check_text(key)
    return value.values()


def check_tree(document: object, *, finite: bool = False) -> None:
    """Check depth, types and texts of a whole document; keys are known to be strings. With `finite` the numbers too.

    Raises:
        FaultError: `malformed` or `not_finite`, without a path.
    """
    level: list[Any] = [document]
    for depth in range(DEPTH_LIMIT + 1):
        containers: list[Any] = []
        for value in level:
            kind = type(value)
            if kind is dict or kind is list:
                containers.append(value)
            elif kind is str:
                _check_text(value)
            elif kind is float:
                if finite and not isfinite(value):
                    raise FaultError("not_finite", f"{value} is not finite")
            elif kind not in _LEAVES:
                wrong_type(value, "a number, a string, a boolean, a list or an object")
        if not containers:
            return
        if depth == DEPTH_LIMIT:
            break
        level = [child for container in containers for child in _children(container)]
    raise FaultError("malformed", f"nested deeper than {DEPTH_LIMIT}")
