"""What the demo prints: colours on a terminal, plain lines elsewhere."""

from typing import Any

from rich.console import Console

from armbroker.cli.lines import compact, error_lines, reply_line, warning_lines, watched_line
from armbroker.client import ReplyDocument, WatchedEvent

LONGEST_RESULT = 160
"""A longer result is left to what the step itself shows of it."""


class Screen:
    """Prints requests, replies, events and limits, one line each."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, markup=False, soft_wrap=True, emoji=False)

    def say(self, text: str) -> None:
        """Something that is no message."""
        self._console.print(text, style="dim")

    def title(self, number: int, text: str) -> None:
        """The beginning of a step."""
        self._console.print(f"\n{number}. {text}", style="bold")

    def request(self, arm: str, method: str, params: dict[str, Any], options: dict[str, Any]) -> None:
        """A request on its way."""
        more = "".join(f" {name}={compact(value)}" for name, value in options.items())
        self._console.print(f"  -> {arm} {method} {compact(params)}{more}", style="cyan")

    def reply(self, reply: ReplyDocument) -> None:
        """A reply."""
        self._console.print(f"  <- {reply_line(reply)}", style="green" if reply["ok"] else "yellow")
        for line in (*([] if reply["ok"] else error_lines(reply)), *warning_lines(reply)):
            self._console.print(f"     {line}")
        for name in ("result", "desired"):
            text = compact(reply.get(name) or None)
            if len(text) <= LONGEST_RESULT and text != "-":
                self._console.print(f"     {name} {text}")

    def event(self, event: WatchedEvent) -> None:
        """An event."""
        self._console.print(f"  ** {watched_line(event)}", style="magenta")

    def limits(self, arm: str, limits: dict[str, Any]) -> None:
        """The limits of one mode, in the units of the protocol."""
        mode = limits["control_mode"]
        twists = f"twist {limits['twist_linear']:g} m/s {limits['twist_angular']:g} deg/s"
        joints = ", ".join(f"{value:g}" for value in limits["joint_speed_limits"])
        self._console.print(f"     {arm} {mode:<30} {twists}, joints [{joints}] deg/s")

    def fault(self, text: str) -> None:
        """What did not go as it should."""
        self._console.print(f"  !! {text}", style="bold red")
