"""The service as the campaign of power cuts records it: `python -m tests.campaigns.recorded run ...`.

It is `armbroker run ...`, with a defect of `tests.campaigns.defects` if one is named, and every change of the anchor is
written to a file, too: it happens in memory, which no system call shows. The write-ahead log is copied often.
"""

import os
import sys
from pathlib import Path

from armbroker.__main__ import main
from broker.store import checkpoints
from broker.store.anchor import AnchorFile
from tests.campaigns.defects import DEFECTS, VARIABLE
from tests.campaigns.powerlog import ANCHOR_LOG, PAGE

LONG, LOOK_S = 60, 0.01
"""Frames of a log that is copied here, and how often it is looked at: some copies are under way at the cuts."""


def copy_often() -> None:
    """Let the log be long early."""
    checkpoints.LONG, checkpoints.LOOK = LONG, checkpoints.Rest(LOOK_S, listens=False)


def record() -> None:
    """Write down each anchor after it was kept."""
    honest = AnchorFile.keep
    logs: dict[Path, int] = {}

    def keep(anchors: AnchorFile, anchor: object) -> None:
        honest(anchors, anchor)  # type: ignore[arg-type]
        place = anchors._path.with_name(ANCHOR_LOG)
        if place not in logs:
            logs[place] = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        slot = anchors._generation % 2
        os.write(logs[place], bytes((slot,)) + anchors._memory[slot * PAGE : (slot + 1) * PAGE])

    setattr(AnchorFile, "keep", keep)  # noqa: B010 - from outside


if __name__ == "__main__":
    if defect := os.environ.get(VARIABLE, ""):
        DEFECTS[defect]()
    record()
    copy_often()
    sys.argv[0] = "armbroker"
    main()
