"""Arms that only the MQTT server knows: what a lost store, or settings of another day, left retained."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

import msgspec
import structlog

from broker.publish.comparison import FACTSHEET
from broker.publish.contents import NAMES
from broker.topics import Topics

log = structlog.get_logger()

KNOWN_MOST = 100_000
"""So many such arms are noted in one reading; the next one finds the rest."""
TOLD_MOST = 20
"""So many are logged one by one."""
NOBODY = ""


class _Told(msgspec.Struct):
    """What a document says of who publishes it, or that of a service of its state."""

    svc: str = NOBODY
    state: str = ""


@dataclass(slots=True)
class _Stranger:
    """Who publishes the documents of an arm that is not ours: one instance, or nobody that could be told."""

    svc: str
    agreed: bool = True


class Strangers:
    """Clears what our own instance left retained of arms it does not serve, and tells of what nobody serves.

    `publish` is the command that publishes on a topic, without the topic.
    """

    def __init__(self, instance: str, topics: Topics, publish: str) -> None:
        self._instance = instance
        self._topics = topics
        self._publish = publish
        self._arms: dict[str, _Stranger] = {}
        self._live: set[str] = set()

    def clear(self) -> None:
        """Another reading begins."""
        self._arms.clear()
        self._live.clear()

    def instance(self, instance: str, payload: bytes) -> None:
        """Note whether another instance is there."""
        if _told(payload).state == "online":
            self._live.add(instance)

    def take(self, arm: str, name: str, payload: bytes) -> None:
        """Note a document of an arm that is not ours; a factsheet does not say whose it is."""
        svc = NOBODY if name == FACTSHEET else _told(payload).svc
        known = self._arms.get(arm)
        if known is None:
            if len(self._arms) < KNOWN_MOST:
                self._arms[arm] = _Stranger(svc, agreed=name != FACTSHEET)
        elif name != FACTSHEET:
            known.agreed = known.agreed and known.svc == svc

    def tell(self, ours: Collection[str], forget: Callable[[str], None]) -> None:
        """Clear what is ours (`forget`), log what is nobody's with the command that clears it, leave the others' be."""
        ghosts, lost = [], []
        for arm, stranger in sorted(self._arms.items()):
            if arm in ours:
                continue
            if stranger.agreed and stranger.svc == self._instance:
                ghosts.append(arm)
                forget(arm)
            elif not stranger.agreed or stranger.svc not in self._live:
                lost.append(arm)
        if ghosts:
            log.warning("ghost_arms_cleared", count=len(ghosts), arms=ghosts[:TOLD_MOST])
        for arm in lost[:TOLD_MOST]:
            svc = self._arms[arm].svc
            log.warning("retained_of_unknown_arm", arm=arm, svc=svc, count=len(lost), clear=self._command(arm))
        self._arms.clear()

    def _command(self, arm: str) -> str:
        topics = (*(self._topics.state(arm, name) for name in NAMES), self._topics.meta(f"{FACTSHEET}/{arm}"))
        return f'for topic in {" ".join(topics)}; do {self._publish} -q 1 -r -n -t "$topic"; done'


def _told(payload: bytes) -> _Told:
    try:
        return msgspec.json.decode(payload, type=_Told)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Told()
