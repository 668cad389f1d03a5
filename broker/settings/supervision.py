"""Who supervises the process, as systemd tells it by the environment."""

import os
from collections.abc import MutableMapping
from typing import NamedTuple


class Supervision(NamedTuple):
    """Where the supervisor listens, and within how many seconds it has to hear again that requests are served.

    An empty address: there is none. 0 s: it does not care.
    """

    address: str = ""
    watchdog_s: float = 0.0


def supervision(environment: MutableMapping[str, str] | None = None) -> Supervision:
    """The supervisor of this process; taken out of the environment, for the processes of arms do not speak for it."""
    found = os.environ if environment is None else environment
    address = found.pop("NOTIFY_SOCKET", "")
    every_us, pid = found.pop("WATCHDOG_USEC", ""), found.pop("WATCHDOG_PID", "")
    meant = pid in {"", str(os.getpid())} and every_us.isascii() and every_us.isdigit()
    if not address.startswith(("/", "@")):
        return Supervision()
    return Supervision(address, int(every_us) / 1e6 if meant else 0.0)
