"""Which services are silent: what `armbroker watch` tells of them beside their documents."""

import time
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from broker.presence.document import ONLINE, SILENT_S, SvcDocument, silent_for_s


class Timer(Protocol):
    """What `later` gives."""

    def cancel(self) -> None:
        """Do not call."""
        ...


class Silence:
    """Tells of each service that was not seen for 30 s, once, and when it is there again.

    The first document of a service is judged by the clocks of both machines, further ones by when they come: `later`
    calls back after some seconds, `now_us` is the time in µs since 1970.
    """

    def __init__(
        self,
        tell: Callable[[str], None],
        later: Callable[[float, Callable[[], None]], Timer],
        now_us: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self._tell = tell
        self._later = later
        self._now_us = now_us
        self._seen: dict[str, str] = {}
        self._timers: dict[str, Timer] = {}
        self._silent: set[str] = set()

    def see(self, instance: str, document: dict[str, Any] | None) -> None:
        """Take the document of a service; what does not say when it was seen tells nothing."""
        try:
            said = msgspec.convert(document, SvcDocument)
        except msgspec.ValidationError:
            said = SvcDocument("")
        if said.state != ONLINE or not said.seen_at:
            self._forget(instance)
            return
        if self._seen.get(instance) == said.seen_at:
            return
        silent_s = 0.0 if instance in self._seen else silent_for_s(said, self._now_us())
        self._seen[instance] = said.seen_at
        if instance in self._silent:
            self._silent.discard(instance)
            self._tell(f"service {instance} is there again")
        self._stop(instance)
        if silent_s > SILENT_S:
            self._fall_silent(instance)
        else:
            self._timers[instance] = self._later(SILENT_S - silent_s, lambda: self._fall_silent(instance))

    def close(self) -> None:
        """Tell nothing more."""
        for instance in list(self._timers):
            self._stop(instance)

    def _fall_silent(self, instance: str) -> None:
        self._timers.pop(instance, None)
        self._silent.add(instance)
        self._tell(
            f"service {instance} says online, but was not seen for {SILENT_S:g} s (last {self._seen[instance]}): "
            "take it for offline"
        )

    def _forget(self, instance: str) -> None:
        """It says itself how it is."""
        self._stop(instance)
        self._seen.pop(instance, None)
        self._silent.discard(instance)

    def _stop(self, instance: str) -> None:
        if (timer := self._timers.pop(instance, None)) is not None:
            timer.cancel()
