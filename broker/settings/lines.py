"""On which line of a TOML text each key stands; of a text that `tomllib` took, so that nothing in it is wrong."""

import re
import tomllib
from bisect import bisect_right

from broker.settings.places import KeyPath

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_STRING = re.compile(
    r'"""(?:[^\\"]|\\.|"(?!"")|""(?!"))*"{3,5}'
    r"|'''(?:[^']|'(?!'')|''(?!'))*'{3,5}"
    r'|"(?:[^\\"\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN = re.compile(r"[^,\]}#\r\n]*")


def lines_of(text: str) -> dict[KeyPath, int]:
    """The line, from 1, of every table, key and element of a list, by its path.

    A table stands where it is named first, an element of an array of tables at its own header.
    """
    return _Finder(text).lines


class _Finder:
    """Goes through a text once, from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._elements: dict[KeyPath, int] = {}
        """How many elements each array of tables has so far."""
        self.lines: dict[KeyPath, int] = {}
        self._document()

    def _document(self) -> None:
        table: KeyPath = ()
        while self._skip(_BLANK) < len(self._text):
            if self._take("[["):
                table = self._header(array=True)
                self._take("]]")
            elif self._take("["):
                table = self._header(array=False)
                self._take("]")
            else:
                self._pair(table)

    def _header(self, *, array: bool) -> KeyPath:
        """The path of the table that a header opens."""
        line = self._line()
        path: KeyPath = ()
        *names, last = self._key()
        for name in names:
            path = self._current((*path, name), line)
        path = (*path, last)
        if not array:
            return self._current(path, line)
        number = self._elements.get(path, 0)
        self._elements[path] = number + 1
        self._note(path, line)
        self._note((*path, number), line)
        return (*path, number)

    def _current(self, path: KeyPath, line: int) -> KeyPath:
        """The path itself, or that of the last element if it is an array of tables."""
        self._note(path, line)
        return (*path, self._elements[path] - 1) if path in self._elements else path

    def _pair(self, table: KeyPath) -> None:
        """`key = value` in a table."""
        line, path = self._line(), table
        for name in self._key():
            path = (*path, name)
            self._note(path, line)
        self._take("=")
        self._skip(_SPACE)
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        if self._take("["):
            self._list(path)
        elif self._take("{"):
            while not self._ended("}"):
                self._pair(path)
        elif not self._found(_STRING):
            self._found(_PLAIN)

    def _list(self, path: KeyPath) -> None:
        number = 0
        while not self._ended("]"):
            self._note((*path, number), self._line())
            self._value((*path, number))
            number += 1

    def _ended(self, end: str) -> bool:
        """Whether a list or inline table ends here; if not, its next part does begin here."""
        self._skip(_BLANK)
        if self._take(","):
            self._skip(_BLANK)
        return self._take(end)

    def _key(self) -> list[str]:
        """The names of a dotted key."""
        names: list[str] = []
        while not names or self._take("."):
            self._skip(_SPACE)
            bare = self._found(_BARE_KEY)
            names.append(bare or _unquoted(self._found(_STRING)))
            self._skip(_SPACE)
        return names

    def _note(self, path: KeyPath, line: int) -> None:
        self.lines.setdefault(path, line)

    def _line(self) -> int:
        return bisect_right(self._starts, self._at)

    def _take(self, what: str) -> bool:
        taken = self._text.startswith(what, self._at)
        if taken:
            self._at += len(what)
        return taken

    def _found(self, pattern: re.Pattern[str]) -> str:
        """What matches here, passed over; empty if nothing does."""
        found = pattern.match(self._text, self._at)
        if found is None:
            return ""
        self._at = found.end()
        return found[0]

    def _skip(self, pattern: re.Pattern[str]) -> int:
        self._found(pattern)
        return self._at


def _unquoted(text: str) -> str:
    """The name that a quoted key stands for."""
    return next(iter(tomllib.loads(f"{text} = 0")))
