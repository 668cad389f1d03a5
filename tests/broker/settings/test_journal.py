"""Whether the journal reads along."""

import os
import sys

from broker.settings.journal import reads_along


def test_the_journal_reads_the_stream_that_systemd_made() -> None:
    found = os.fstat(sys.stderr.fileno())
    assert reads_along({"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino}"})
    assert not reads_along({"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino + 1}"})
    assert not reads_along({})
