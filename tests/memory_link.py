"""The MQTT link in memory, its topics without what all of them begin with."""

from armbroker.conformance import memory_link
from armbroker.conformance.memory_link import PATIENCE_S, Published

__all__ = ["BASE", "PATIENCE_S", "MemoryLink", "MirrorLink", "Published"]

BASE = "armbroker/v1"


class MemoryLink(memory_link.MemoryLink):
    """See `armbroker.conformance.memory_link.MemoryLink`."""

    prefix = f"{BASE}/"


class MirrorLink(memory_link.MirrorLink):
    """See `armbroker.conformance.memory_link.MirrorLink`."""

    prefix = f"{BASE}/"
