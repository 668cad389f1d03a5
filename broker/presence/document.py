"""The document `svc/<instance>`: which service serves a root, and when it was seen last. Pure."""

import msgspec

from schema.codecs.times import parse_time

STARTING, ONLINE, OFFLINE = "starting", "online", "offline"
HEARTBEAT_S = 10.0
"""How often `seen_at` is told anew."""
SILENT_S = 30.0
"""A service whose `seen_at` is older is taken for offline, whatever its document says."""


class SvcDocument(msgspec.Struct, frozen=True):
    """What is read of a document `svc/<instance>`; documents of earlier versions have no `start` and no `seen_at`.

    `passed` and `take_over` stand in those of services that are starting: whether it made sure that nobody else serves
    the root, and whether it ends who does.
    """

    state: str
    since: str = ""
    seen_at: str = ""
    version: str = ""
    epoch: int = 0
    start: str = ""
    passed: bool = False
    take_over: bool = False

    @property
    def live(self) -> bool:
        """Whether it claims that the service runs."""
        return self.state in (STARTING, ONLINE)

    @property
    def rank(self) -> tuple[int, str, str]:
        """Of two that serve one root, the one with the lower rank stays: the higher epoch, else the earlier start."""
        return -self.epoch, self.since, self.start


_DECODER = msgspec.json.Decoder(SvcDocument)


def read_document(payload: bytes) -> SvcDocument | None:
    """The document in a payload; None if it was cleared, or is none."""
    try:
        return _DECODER.decode(payload)
    except msgspec.DecodeError:
        return None


def silent_for_s(document: SvcDocument, now_us: int) -> float:
    """Seconds since the service was seen last, by its own clock and ours; 0 where the document does not say."""
    try:
        seen_us = parse_time(document.seen_at)
    except ValueError:
        return 0.0
    return max(0.0, (now_us - seen_us) / 1e6)
