"""Whether standard error goes to systemd's journal."""

import os
import sys
from collections.abc import Mapping


def reads_along(environment: Mapping[str, str] | None = None) -> bool:
    """Whether the journal reads standard error, as systemd tells: device and inode of the stream it has made."""
    told = (os.environ if environment is None else environment).get("JOURNAL_STREAM", "")
    try:
        found = os.fstat(sys.stderr.fileno())
    except (OSError, ValueError):
        return False
    return told == f"{found.st_dev}:{found.st_ino}"
