"""Counts the calls of Python and C functions of a thread, by the room of the function or of its caller."""

import asyncio
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parent.parent
OUTSIDE = (f"{ROOT}/tests/", f"{ROOT}/armbroker/conformance/", f"{ROOT}/broker/conformance/")
"""What is done in here, and below, is none of the service's work."""
ASYNCIO = f"{Path(asyncio.__file__).parent}/"
"""What an event loop does by itself depends on the moment; counted is what the service asks of it, and how often."""


class CallCounter:
    """Counts from `start` to `stop` on the thread that calls them; what `OUTSIDE` calls is left out.

    `rooms` has the calls by folder (a function of a library by its first folder), `modules` the files that were walked,
    `asked` what was asked of asyncio, by function.
    """

    def __init__(self) -> None:
        self.rooms: Counter[str] = Counter()
        self.modules: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self._files: Counter[str] = Counter()
        self._outside: FrameType | None = None

    def start(self) -> None:
        """Count from now on."""
        sys.setprofile(self._hear)

    def stop(self) -> None:
        """Count no more, and sort what was counted."""
        sys.setprofile(None)
        for name, count in self._files.items():
            self.rooms[_room(name)] += count
            if name.startswith(f"{ROOT}/") and "site-packages" not in name:
                self.modules[name.removeprefix(f"{ROOT}/")] += count
        self._files.clear()

    @property
    def total(self) -> int:
        """All calls."""
        return self.rooms.total()

    def _hear(self, frame: FrameType, event: str, argument: Any) -> None:
        """What `sys.setprofile` tells."""
        del argument
        if self._outside is not None:
            if event == "return" and frame is self._outside:
                self._outside = None
            return
        name = frame.f_code.co_filename
        if name.startswith(OUTSIDE):
            if event == "call":
                self._outside = frame
            return
        if event not in ("call", "c_call"):
            return
        if name.startswith(ASYNCIO):
            back = frame.f_back
            if event == "c_call" or back is None or not back.f_code.co_filename.startswith(f"{ROOT}/"):
                return
            self.asked[frame.f_code.co_name] += 1
        self._files[name] += 1


def _room(name: str) -> str:
    if "site-packages/" in name:
        return name.partition("site-packages/")[2].partition("/")[0]
    if name.startswith(f"{ROOT}/"):
        return str(Path(name.removeprefix(f"{ROOT}/")).parent)
    return f"lib/{'asyncio' if '/asyncio/' in name else Path(name).name}"
