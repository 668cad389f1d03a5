"""The fleet as a screen shows it, kept up to date with what a watch tells. Pure: time is given."""

from collections import deque
from typing import Any, NamedTuple

import msgspec

from armbroker.board.events import EventLine, event_line
from armbroker.board.facts import DOCUMENTS, ArmFacts, ArmRow, text
from armbroker.board.fleet import GROUP_DOCUMENT, GroupRow, PlanRow, group_row, plan_number, plan_row
from armbroker.client import Resynced, Watched, WatchedDocument, WatchedEvent
from broker.presence.document import ONLINE, SILENT_S, SvcDocument, silent_for_s
from schema.codecs.times import format_time

EVENTS_KEPT = 2_000
"""Events that are remembered, of all arms together."""
SETTLED_S = 10.0
"""So long after a connection came back, an arm whose documents did not come again is gone."""


class ServiceRow(msgspec.Struct, frozen=True):
    """A service: `online` is false too where it was not seen for 30 s; its arms' facts are old then."""

    instance: str
    online: bool
    state: str
    since: str
    seen_at: str
    version: str


class LinkRow(msgspec.Struct, frozen=True):
    """The connection to the MQTT server; while it is down, everything is old."""

    up: bool
    why: str = ""


class RowChanged(NamedTuple):
    """Something is known of an arm that was not known before."""

    arm: str


class RowGone(NamedTuple):
    """An arm was removed."""

    arm: str


class GroupChanged(NamedTuple):
    """Something is known of a group that was not known before, or it is gone."""

    name: str


class PlanChanged(NamedTuple):
    """The same of a plan."""

    plan: int


class EventSeen(NamedTuple):
    """An event, or word that some can be missing."""

    line: EventLine


class ServicesChanged(NamedTuple):
    """What is known of the services is another."""


class LinkChanged(NamedTuple):
    """The connection is lost, or back."""


Change = RowChanged | RowGone | GroupChanged | PlanChanged | EventSeen | ServicesChanged | LinkChanged


class _Service:
    """What a service said last, and when that was heard (seconds of a monotonic clock)."""

    def __init__(self, document: dict[str, Any], heard_s: float) -> None:
        self.document = document
        self.heard_s = heard_s

    def row(self, instance: str, now_s: float) -> ServiceRow:
        said, silent = self.document, now_s - self.heard_s > SILENT_S
        return ServiceRow(
            instance=instance,
            online=said.get("state") == ONLINE and not silent,
            state="silent" if silent and said.get("state") == ONLINE else text(said.get("state")),
            since=text(said.get("since")),
            seen_at=text(said.get("seen_at")),
            version=text(said.get("version")),
        )


class Board:
    """The facts of a fleet; each method tells what changed.

    Times are seconds, `now_s` of a monotonic clock, `wall_s` since 1970.
    """

    def __init__(self) -> None:
        self.arms: dict[str, ArmFacts] = {}
        self.groups: dict[str, GroupRow] = {}
        self.plans: dict[int, PlanRow] = {}
        self._seen_in: dict[GroupChanged | PlanChanged, int] = {}
        """The number of the connection that told last of each group and plan."""
        self.events: deque[EventLine] = deque(maxlen=EVENTS_KEPT)
        self.link = LinkRow(up=True)
        self._services: dict[str, _Service] = {}
        self._shown: dict[str, ServiceRow] = {}
        self._connection = 1
        self._settled_s: float | None = None

    @property
    def services(self) -> list[ServiceRow]:
        """The services, as they were told last."""
        return [self._shown[instance] for instance in sorted(self._shown)]

    def rows(self) -> list[ArmRow]:
        """The line of each arm, by id."""
        return [self.arms[arm].row for arm in sorted(self.arms)]

    def is_old(self, row: ArmRow) -> bool:
        """Whether what is known of an arm may no longer hold: no connection, or its service is away."""
        service = self._shown.get(row.svc)
        return not self.link.up or service is None or not service.online

    def take(self, watched: Watched, now_s: float, wall_s: float) -> list[Change]:
        """Take what a watch tells."""
        match watched:
            case Resynced(arm, why):
                return self._missing(arm, why, wall_s)
            case WatchedDocument(instance, "svc", document):
                return [*self._found(now_s), *self._service(instance, document, now_s, wall_s)]
            case WatchedDocument(arm, name, document):
                return [*self._found(now_s), *self._document(arm, name, document)]
            case WatchedEvent(arm, event):
                return [*self._found(now_s), self._event(event_line(arm, event))]

    def tick(self, now_s: float, *, connected: bool) -> list[Change]:
        """Look at the time: services that fell silent, arms that did not come back with the connection."""
        changes = [*(self._found(now_s) if connected else []), *self._judge(now_s)]
        if self._settled_s is not None and now_s >= self._settled_s:
            self._settled_s = None
            gone = [arm for arm, facts in self.arms.items() if facts.seen_in != self._connection]
            for arm in gone:
                del self.arms[arm]
            changes += [RowGone(arm) for arm in gone]
            old = [each for each, connection in self._seen_in.items() if connection != self._connection]
            changes += [self._forget(each) for each in old]
        return changes

    def _found(self, now_s: float) -> list[Change]:
        """Something came: the connection is there."""
        if self.link.up:
            return []
        self.link, self._settled_s = LinkRow(up=True), now_s + SETTLED_S
        return [LinkChanged()]

    def _missing(self, arm: str, why: str, wall_s: float) -> list[Change]:
        """Events can be missing; if of all arms, everything comes anew, and is old until it does."""
        seen = self._event(EventLine(arm=arm, at=format_time(int(wall_s * 1e6)), reason=why))
        if arm:
            return [seen]
        self.link, self._settled_s = LinkRow(up=False, why=why), None
        self._connection += 1
        return [LinkChanged(), seen]

    def _event(self, line: EventLine) -> EventSeen:
        self.events.append(line)
        return EventSeen(line)

    def _document(self, arm: str, name: str, document: dict[str, Any] | None) -> list[Change]:
        if arm.startswith("@"):
            return self._of_fleet(arm[1:], name, document)
        if name not in DOCUMENTS:
            return []
        facts = self.arms.get(arm)
        if document is None:
            if facts is None:
                return []
            if facts.clear(name):
                del self.arms[arm]
                return [RowGone(arm)]
            return [RowChanged(arm)]
        if facts is None:
            facts = self.arms[arm] = ArmFacts(arm)
        facts.seen_in = self._connection
        return [RowChanged(arm)] if facts.take(name, document) else []

    def _of_fleet(self, group: str, name: str, document: dict[str, Any] | None) -> list[Change]:
        plan = plan_number(name)
        about = PlanChanged(plan) if plan else GroupChanged(group)
        if not plan and name != GROUP_DOCUMENT:
            return []
        if document is None:
            return [self._forget(about)] if about in self._seen_in else []
        self._seen_in[about] = self._connection
        if plan:
            before, self.plans[plan] = self.plans.get(plan), plan_row(plan, document)
            return [about] if before != self.plans[plan] else []
        was, self.groups[group] = self.groups.get(group), group_row(group, document)
        return [about] if was != self.groups[group] else []

    def _forget(self, about: GroupChanged | PlanChanged) -> Change:
        del self._seen_in[about]
        if isinstance(about, PlanChanged):
            del self.plans[about.plan]
        else:
            del self.groups[about.name]
        return about

    def _service(self, instance: str, document: dict[str, Any] | None, now_s: float, wall_s: float) -> list[Change]:
        if document is None:
            self._services.pop(instance, None)
        else:
            before = self._services.get(instance)
            silent_s = 0.0 if before else _silence(document, wall_s)
            again = before is not None and before.document.get("seen_at") == document.get("seen_at")
            heard_s = before.heard_s if before is not None and again else now_s - silent_s
            self._services[instance] = _Service(document, heard_s)
        return self._judge(now_s)

    def _judge(self, now_s: float) -> list[Change]:
        """Tell of the services where they are another than was told; that they were seen anew is no news."""
        shown = {instance: service.row(instance, now_s) for instance, service in self._services.items()}
        news = _without_time(shown) != _without_time(self._shown)
        self._shown = shown
        return [ServicesChanged()] if news else []


def _without_time(rows: dict[str, ServiceRow]) -> dict[str, ServiceRow]:
    return {instance: msgspec.structs.replace(row, seen_at="") for instance, row in rows.items()}


def _silence(document: dict[str, Any], wall_s: float) -> float:
    """For how long a service was silent when its document came, by the clocks of both machines."""
    said = SvcDocument(text(document.get("state")), seen_at=text(document.get("seen_at")))
    return silent_for_s(said, int(wall_s * 1e6))
