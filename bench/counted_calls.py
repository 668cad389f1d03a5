#!/usr/bin/env python3
"""Run `armbroker` and count the calls of its main thread: `counted_calls.py FILE run --config ...`.

At SIGUSR1 it writes to FILE how many calls of Python and C functions there were so far.
"""

import signal
import sys
from pathlib import Path
from types import FrameType

from armbroker.__main__ import main

CALLS = ("call", "c_call")


class Counter:
    """Counts calls; writes them to a file when told to."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._count = 0

    def hear(self, frame: FrameType, event: str, argument: object) -> None:
        """What `sys.setprofile` tells."""
        del frame, argument
        self._count += event in CALLS

    def write(self, number: int, frame: FrameType | None) -> None:
        """Write the count; a handler of signals."""
        del number, frame
        self._file.write_text(str(self._count))


if __name__ == "__main__":
    counter = Counter(Path(sys.argv.pop(1)))
    signal.signal(signal.SIGUSR1, counter.write)
    sys.setprofile(counter.hear)
    main()
