"""What a monitor makes of events and documents: each once, in order, and knowing what it missed. Pure."""

from collections import deque
from typing import Any, NamedTuple

from broker.topics import is_group
from schema.arms import FLEET

HELD_EVENTS = 1_000
"""Events of one arm that may wait for its first document; of more, the oldest show as a gap."""
PLAN_DOCUMENT = "plan-"
"""How the names of the documents of plans begin."""


class WatchedEvent(NamedTuple):
    """An event of an arm, as published."""

    arm: str
    event: dict[str, Any]


class WatchedDocument(NamedTuple):
    """A document of an arm: `name` is `config`, `reported`, `mode`, `effective` or `presence`.

    Of a group (`@cell-4` in the place of an arm) it is `fleet`, of all arms (`@all`) `plan-<n>` for each plan, too.
    `document` is None when it was cleared: the arm was removed. With `name` `svc`, `arm` is the service's instance.
    A document can come more than once.
    """

    arm: str
    name: str
    document: dict[str, Any] | None


class Resynced(NamedTuple):
    """Events of `arm` (empty: of every arm) can be missing here; `why` says why. Documents stay complete."""

    arm: str
    why: str


class Gap(NamedTuple):
    """To be fetched: the events of an arm after `after`, up to `upto`."""

    arm: str
    after: int
    upto: int


class Again(NamedTuple):
    """To be taken again, after what stands before it: an event of an arm."""

    arm: str
    topic: str
    event: dict[str, Any]


Watched = WatchedEvent | WatchedDocument | Resynced
Step = Watched | Gap | Again
Mark = tuple[int, int]
"""(epoch, seq)"""


class _Arm:
    """What was seen of one arm; `start` and `highest` are set by its first document."""

    def __init__(self) -> None:
        self.started = False
        self.settled = False
        """Whether a lost connection was told since: what is ahead of what was seen then was missed, it is no start."""
        self.start = 0
        self.highest: Mark = (0, 0)
        self.on_topic: dict[str, Mark] = {}
        self.held: deque[Again] = deque(maxlen=HELD_EVENTS)


def _mark(document: dict[str, Any]) -> Mark:
    return document["epoch"], document["seq"]


def _restored(mark: Mark, highest: Mark) -> bool:
    """True if a newer epoch counts lower than an older one did: the store went back to a copy."""
    return mark[0] > highest[0] and mark[1] < highest[1]


class Monitor:
    """Follows arms by the protocol's recipe for monitors; every method returns the steps to do, in order."""

    def __init__(self) -> None:
        self._arms: dict[str, _Arm] = {}

    def reset(self) -> None:
        """Forget everything."""
        self._arms.clear()

    def lost(self) -> None:
        """The connection was lost: what the next documents are ahead of what was seen has been missed."""
        for state in self._arms.values():
            state.settled = state.started

    def service(self, epoch: int) -> bool:
        """Whether a service counts below what was seen: its store is another one, and everything begins anew."""
        if any(state.started and epoch < state.highest[0] for state in self._arms.values()):
            self._arms.clear()
            return True
        return False

    def document(self, arm: str, name: str, document: dict[str, Any] | None, *, retained: bool) -> list[Step]:
        """Take a document; `retained` if it was stored before we subscribed, so that it belongs to the start.

        Those of plans have no place among the events, and a group but that of all arms has no events: each is told by
        itself.
        """
        seen = WatchedDocument(arm, name, document)
        if name.startswith(PLAN_DOCUMENT) or (is_group(arm) and arm != FLEET):
            return [seen]
        if document is None:
            self._arms.pop(arm, None)
            return [seen]
        steps: list[Step] = []
        mark, state = _mark(document), self._arms.setdefault(arm, _Arm())
        if state.started and _restored(mark, state.highest):
            steps = [] if state.settled else [Resynced(arm, f"its store went back to seq {mark[1]}")]
            state = self._arms[arm] = _Arm()
        if not state.started or (retained and not state.settled and mark[1] > state.highest[1]):
            state.started, state.start = True, mark[1]
        elif mark[1] > state.highest[1]:
            steps = [Gap(arm, state.highest[1], mark[1])]
        state.highest = max(state.highest, mark)
        held, state.held = state.held, deque(maxlen=HELD_EVENTS)
        return [*steps, seen, *held]

    def event(self, arm: str, topic: str, event: dict[str, Any]) -> list[Step]:
        """Take an event; `topic` is what stands below the arm in its topic. It waits for the first document."""
        state = self._arms.setdefault(arm, _Arm())
        if state.started and _restored(_mark(event), state.highest):
            state = self._arms[arm] = _Arm()
            state.held.append(Again(arm, topic, event))
            return [Resynced(arm, f"its store went back to seq {event['seq']}")]
        if not state.started:
            state.held.append(Again(arm, topic, event))
            return []
        known = max(state.on_topic.get(topic, (0, 0))[1], state.start)
        if event["prev"] > known:
            return [Gap(arm, known, max(event["prev"], event["seq"] - 1)), Again(arm, topic, event)]
        return [*self.fetched(arm, topic, event)]

    def fetched(self, arm: str, topic: str, event: dict[str, Any]) -> list[Watched]:
        """Take an event that fills a gap, oldest first."""
        state, mark = self._arms.setdefault(arm, _Arm()), _mark(event)
        if mark <= state.on_topic.get(topic, (0, 0)):
            return []
        state.on_topic[topic] = mark
        state.highest = max(state.highest, mark)
        return [WatchedEvent(arm, event)]

    def filled(self, gap: Gap) -> None:
        """Take a gap as closed, whether or not all its events could be had."""
        state = self._arms.setdefault(gap.arm, _Arm())
        state.start = max(state.start, gap.upto)
