"""On which line of a JSON text each key and element stands; of a text that `json` took."""

import json
import re
from bisect import bisect_right

from broker.settings.places import KeyPath

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_OTHER = re.compile(r"[^\s,\]}]+")


def lines_of_json(text: str) -> dict[KeyPath, int]:
    """The line, from 1, of every key of an object and element of a list, by its path."""
    return _Finder(text).lines


class _Finder:
    """Goes through a text once, from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self.lines: dict[KeyPath, int] = {}
        self._value(())

    def _value(self, path: KeyPath) -> None:
        self._skip()
        if self._take("{"):
            while not self._ended("}"):
                self._note(inner := (*path, json.loads(self._found(_STRING))))
                self._skip()
                self._take(":")
                self._value(inner)
        elif self._take("["):
            number = 0
            while not self._ended("]"):
                self._note((*path, number))
                self._value((*path, number))
                number += 1
        elif not self._found(_STRING):
            self._found(_OTHER)

    def _ended(self, end: str) -> bool:
        """Whether an object or list ends here; if not, its next part begins here."""
        self._skip()
        if self._take(","):
            self._skip()
        return self._take(end)

    def _note(self, path: KeyPath) -> None:
        self.lines.setdefault(path, bisect_right(self._starts, self._at))

    def _take(self, what: str) -> bool:
        taken = self._text.startswith(what, self._at)
        self._at += len(what) if taken else 0
        return taken

    def _found(self, pattern: re.Pattern[str]) -> str:
        """What matches here, passed over; empty if nothing does."""
        found = pattern.match(self._text, self._at)
        self._at = found.end() if found is not None else self._at
        return found[0] if found is not None else ""

    def _skip(self) -> None:
        self._found(_SPACE)
