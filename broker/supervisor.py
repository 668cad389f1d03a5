"""What the service tells the supervisor that started it: the messages of systemd's sd_notify, on a socket."""

import socket
import time
from collections.abc import Callable

import structlog

log = structlog.get_logger()

TELL_S = 1.0
"""How long a message may take to be handed over."""


class Supervisor:
    """Hears on a datagram socket how the service is; without an address there is none, and nothing is told.

    Args:
        address: path of the socket, `@name` of an abstract one, or empty.
        watchdog_s: within which time it has to hear again that requests are served; 0 where it does not care.
        monotonic_ns: of the machine since its start.
    """

    def __init__(
        self, address: str = "", watchdog_s: float = 0.0, monotonic_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self.watchdog_s = watchdog_s
        self._monotonic_ns = monotonic_ns
        self._ready = self._was_ready = self._reloading = False

    @property
    def there(self) -> bool:
        """Whether anybody is told."""
        return bool(self._address)

    def waits(self, status: str, within_s: float) -> None:
        """Something is waited for, or done in one piece; within so many seconds more is told."""
        self._reloading = False
        within = f"{round(within_s * 1e6)}"
        self._tell(f"STATUS={_line(status)}", f"EXTEND_TIMEOUT_USEC={within}")
        if self._was_ready and self.watchdog_s:
            self._ready = False
            self._tell(f"WATCHDOG_USEC={within}", "WATCHDOG=1")

    def served(self, status: str = "") -> None:
        """What a request passes was gone through. READY the first time and after each wait, not during a reload."""
        lines = ["WATCHDOG=1"]
        if status:
            lines.append(f"STATUS={_line(status)}")
        if not self._ready and not self._reloading:
            lines.append("READY=1")
            if self._was_ready and self.watchdog_s:
                lines.append(f"WATCHDOG_USEC={round(self.watchdog_s * 1e6)}")
        if self._tell(*lines) and not self._reloading:
            self._ready = self._was_ready = True

    def reloads(self) -> None:
        """The settings are being read again, until `reloaded`."""
        self._ready, self._reloading = False, True
        self._tell("RELOADING=1", f"MONOTONIC_USEC={self._monotonic_ns() // 1000}", "STATUS=reading the settings again")

    def reloaded(self, status: str) -> None:
        """What came of reading the settings again; they are followed, or refused."""
        self._reloading = False
        self.served(status)

    def stops(self, status: str) -> None:
        """The process is ending; nothing more is told."""
        self._tell("STOPPING=1", f"STATUS={_line(status)}")
        self._address = ""

    def _tell(self, *lines: str) -> bool:
        """Send one message; whether it could be handed over."""
        if not self._address:
            return False
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.settimeout(TELL_S)
                sender.sendto("\n".join(lines).encode(), self._address)
        except OSError as error:
            log.warning("supervisor_not_told", address=self._address, message=lines, why=str(error))
            return False
        return True


def _line(text: str) -> str:
    """A text as one line."""
    return " ".join(text.split())
