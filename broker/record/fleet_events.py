"""The events of the fleet itself, on `evt/@all/...`."""

from collections.abc import Callable
from itertools import islice
from typing import Any

from broker.arms.stream import FleetStream
from broker.record.administration import SETTINGS
from broker.record.ledger import Ledger
from broker.settings import Groups
from schema.envelope import Author, Event, Stage
from schema.events import FleetEvent

GROUPS_TOLD = 100
"""Groups that one event names."""


class FleetEvents:
    """Tells of what is of no arm; each event becomes part of the batch that is open now, and is published after it.

    `stream`: their counters, as they were stored.
    """

    def __init__(self, ledger: Ledger, stream: FleetStream) -> None:
        self._ledger = ledger
        self.stream = stream
        self.on_plan: Callable[[], None] = lambda: None
        """Called when something is told of a plan."""

    @property
    def counters(self) -> tuple[int, int]:
        """What replies of the fleet have in the place of an arm's revision and seq."""
        return 0, self.stream.state.seq

    def begin(self) -> None:
        """Publish what the MQTT server may not have, before anything new."""
        self._ledger.backfill.begin(self.stream)

    def groups_changed(self, before: Groups, after: Groups) -> None:
        """Tell which groups have other arms now, if any has."""
        told: dict[str, Any] = {}
        for name in dict.fromkeys((*before.by_name, *after.by_name)):
            was, now = (groups.get(name) for groups in (before, after))
            old, new = (frozenset[str]() if group is None else group.members for group in (was, now))
            if old != new or was is None or now is None:
                told[name] = {"arms": len(new), "added": len(new - old), "removed": len(old - new)}
        if told:
            details: dict[str, Any] = {"groups": dict(islice(told.items(), GROUPS_TOLD)), "count": len(told)}
            self.emit(FleetEvent.GROUPS_CHANGED, cause="reloaded", by=SETTINGS, details=details)

    def emit(
        self,
        name: FleetEvent,
        *,
        cause: str,
        by: Author,
        details: dict[str, Any] | None = None,
        plan: int = 0,
        request_id: str = "",
        reason: str = "",
        trace: str = "",
    ) -> Event:
        """Store an event in the batch that is open; it is published after the commit."""
        event = self._ledger.emit(
            self.stream, name, cause=cause, stage=Stage.STORED, by=by, rev=0, request_id=request_id, reason=reason,
            trace=trace, details=details, plan=plan,
        )  # fmt: skip
        self._ledger.store.flush_soon()
        if plan:
            self.on_plan()
        return event
