"""Which services say that they serve the root, and whether they are there."""

import time
from typing import NamedTuple

from broker.presence.document import ONLINE, SILENT_S, SvcDocument, silent_for_s


class ServiceSeen(NamedTuple):
    """What a service says of itself: `online` is false too where it was not seen for 30 s, by this machine's clock."""

    instance: str
    online: bool
    text: str
    """The same for people."""


def judged(instance: str, document: SvcDocument) -> ServiceSeen:
    """Whether the service of a document is there."""
    silent_s = silent_for_s(document, time.time_ns() // 1000)
    if document.state != ONLINE:
        return ServiceSeen(instance, False, f"service {instance} is {document.state}, last seen {_last(document)}")
    if silent_s > SILENT_S:
        return ServiceSeen(instance, False, f"service {instance} was not seen for {silent_s:.0f} s ({_last(document)})")
    return ServiceSeen(instance, True, f"service {instance} is online")


def _last(document: SvcDocument) -> str:
    return document.seen_at or document.since or "at an unknown time"
