"""Who else serves our root, by the documents `svc/+`, and which of two has to end. Pure.

A service claims the root with a document that is retained and comes back to itself: of two claims the MQTT server's
order decides, because whoever is second reads the first one's before its own comes back. A service that is there
answers every claim and every document of another, so a document that nobody stands behind any more is known by the
silence.
"""

import enum
from dataclasses import dataclass

from broker.presence.document import OFFLINE, ONLINE, SvcDocument
from broker.presence.identity import Identity


class SecondServiceError(Exception):
    """Another service serves the same root; this one has to end."""


class Answer(enum.Enum):
    """What a document asks of us."""

    NOTHING = "nothing"
    TELL = "tell"
    """Say again that we are here."""
    END = "end"
    """Another service stays."""


@dataclass(slots=True)
class Rival:
    """Another start on the root: where it is told of, its latest document, and whether it was heard itself."""

    instance: str
    document: SvcDocument
    earlier: bool
    """Whether its document was there before our claim came back."""
    at_s: float
    """When its document came last, on the monotonic clock."""
    heard: bool = False
    """Whether a document of it came while we listened; one that was retained may be all that is left of it."""

    def __str__(self) -> str:
        """Who it is, for people."""
        found = self.document
        return f"instance {self.instance}, start {found.start}, since {found.since}, epoch {found.epoch}"


class Rivals:
    """What is known of other starts than `own`; `known` are those on our store: it is ours, so they have ended."""

    def __init__(self, own: Identity, known: frozenset[str] = frozenset()) -> None:
        self._own = own
        self._known = known
        self._claimed = False
        self._found: dict[str, Rival] = {}
        self.stronger: Rival | None = None
        """The one that we end for."""
        self.highest_epoch = 0
        """The highest epoch in any document, our own excluded."""
        self.nameless: set[str] = set()
        """Instances that are online and say no start: services of an earlier version, if they live."""

    def __len__(self) -> int:
        return len(self._found)

    def listen_anew(self) -> None:
        """The documents come again: what was known is what is retained, or nothing."""
        self._found.clear()
        self._claimed = self._own.passed

    def hear(self, instance: str, document: SvcDocument | None, now_s: float, *, retained: bool) -> Answer:
        """Take a document, `retained` if it was there before we listened; what it asks of us."""
        if document is None:
            return self._answer(instance)
        if document.start == self._own.start:
            self._claimed = self._claimed or not retained
            return Answer.NOTHING if document.live else self._answer(instance)
        self.highest_epoch = max(self.highest_epoch, document.epoch)
        if not document.start:
            (self.nameless.add if document.live else self.nameless.discard)(instance)
            return self._answer(instance)
        if document.state == OFFLINE or document.start in self._known:
            self._found.pop(document.start, None)
            return self._answer(instance)
        rival = self._found.get(document.start)
        if rival is None:
            rival = self._found[document.start] = Rival(instance, document, not self._claimed, now_s)
        rival.document, rival.at_s = document, now_s
        rival.heard = rival.heard or not retained
        if self._has_to_end(rival):
            self.stronger = rival
            return Answer.END
        return Answer.TELL

    def forget(self, rival: Rival) -> None:
        """Nobody stands behind its document."""
        self._found.pop(rival.document.start, None)

    def first(self) -> Rival | None:
        """One that may be there, and that we have to wait for or end for."""
        return next((rival for rival in self._found.values() if self._counts(rival)), None)

    def _answer(self, instance: str) -> Answer:
        """Our own topic has to say that we are here."""
        return Answer.TELL if instance == self._own.instance and self._own.passed else Answer.NOTHING

    def _counts(self, rival: Rival) -> bool:
        """Whether it may serve the root, or claimed it before us."""
        found = rival.document
        if self._own.passed:
            return found.state == ONLINE
        return found.state == ONLINE or found.passed or rival.earlier

    def _has_to_end(self, rival: Rival) -> bool:
        """Whether we end because of it."""
        found = rival.document
        if not rival.heard:
            return False
        own = self._own
        if own.passed:
            document = SvcDocument(ONLINE, own.since, epoch=own.epoch, start=own.start)
            return found.take_over or (found.state == ONLINE and found.rank < document.rank)
        if own.take_over:
            return found.take_over and not rival.earlier
        return found.take_over or self._counts(rival)
