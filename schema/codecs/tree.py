"""The rules that hold for a plain document as a whole, whatever it means."""

from math import isfinite
from typing import Any

from schema.codecs.faults import FaultError, step, wrong_type

DEPTH_LIMIT = 16
"""Most containers within each other, the outermost included."""

_LEAVES = frozenset((int, bool, type(None)))


def check_tree(document: object, *, finite: bool = False) -> None:
    """Check depth and texts of a whole document, whose keys are strings; with `finite` numbers and types too.

    Raises:
        FaultError: `malformed` or `not_finite`.
    """
    _check(document, 1, finite=finite)


def _check(value: Any, depth: int, *, finite: bool) -> None:
    kind = type(value)
    if kind is dict or kind is list:
        if depth > DEPTH_LIMIT:
            raise FaultError("malformed", f"nested deeper than {DEPTH_LIMIT}")
        if kind is dict:
            _check_object(value, depth + 1, finite=finite)
        else:
            _check_list(value, depth + 1, finite=finite)
    elif kind is str:
        _check_text(value)
    elif finite:
        _check_leaf(value)


def _check_object(value: dict[str, Any], depth: int, *, finite: bool) -> None:
    for key, child in value.items():
        try:
            _check_text(key)
            _check(child, depth, finite=finite)
        except FaultError as fault:
            fault.below(step(key))
            raise


def _check_list(value: list[Any], depth: int, *, finite: bool) -> None:
    for index, child in enumerate(value):
        try:
            _check(child, depth, finite=finite)
        except FaultError as fault:
            fault.below(f"[{index}]")
            raise


def _check_text(text: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise FaultError("malformed", "a lone surrogate") from None


def _check_leaf(value: object) -> None:
    if type(value) is float:
        if not isfinite(value):
            raise FaultError("not_finite", f"{value} is not finite")
    elif type(value) not in _LEAVES:
        wrong_type(value, "a number, a string, a boolean, a list or an object")
