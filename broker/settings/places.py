"""Where a setting stands, and what is wrong with it."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from broker.server_url import masked
from broker.settings.records import SettingsError

KeyPath = tuple[str | int, ...]
"""The way to a setting: names of keys, and indexes from 0 in lists."""
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


class Fault(NamedTuple):
    """One thing that is wrong with a setting; the text names it."""

    path: KeyPath
    text: str


def dotted(path: KeyPath) -> str:
    """A path as it is written: `arm[0].options.latency_ms`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if _BARE.match(part) else f'"{part}"'
            text += f".{name}" if text else name
    return text


class Places(NamedTuple):
    """Where settings stand: lines of a file, or variables of the environment, which come first."""

    source: str = ""
    lines: Mapping[KeyPath, int] = {}
    variables: Mapping[KeyPath, str] = {}

    def of(self, path: KeyPath) -> str:
        """File and line of a setting, or of the innermost table around it; empty where there is no file."""
        for length in range(len(path), 0, -1):
            if (variable := self.variables.get(path[:length])) is not None:
                return variable
            if (line := self.lines.get(path[:length])) is not None:
                return f"{self.source}:{line}"
        return self.source

    def error(self, faults: Iterable[Fault]) -> SettingsError:
        """One error of all faults, in the order of the file."""
        ordered = sorted(faults, key=lambda fault: self._line(fault.path))
        return SettingsError(
            "\n".join(masked(f"{where}: {text}" if (where := self.of(path)) else text) for path, text in ordered)
        )

    def _line(self, path: KeyPath) -> int:
        return next((self.lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.lines), 0)


NOWHERE = Places()
"""Settings that stand in no file."""
