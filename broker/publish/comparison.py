"""Compares what the MQTT server retains of the arms with what they are: what is right is not sent again."""

from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from broker.arms.arm_session import ArmSession
from broker.publish.contents import CONFIG, EFFECTIVE, MODE, NAMES, PRESENCE, REPORTED
from schema.events import CHANGE_NOT_APPLIED, CONTROL_MODE_CHANGED, EventClass, event_topic

FACTSHEET = "factsheet"
SHEETS = (*NAMES, FACTSHEET)
"""All documents of an arm, in the order in which they are mended."""
_PLACE = {name: place for place, name in enumerate(SHEETS)}
_CHANGING: Mapping[str, frozenset[str]] = {
    PRESENCE: frozenset({"since"}),
    CONFIG: frozenset(),
    MODE: frozenset({"mode_seen_at", "by"}),
    REPORTED: frozenset({"read_at"}),
    EFFECTIVE: frozenset(),
    FACTSHEET: frozenset(),
}
"""What a document may say otherwise and be right all the same: when something was seen, and since which start."""
_SHARED = frozenset({"epoch", "rev", "seq", "at"})
_NUMBERS = 4
_UNREADABLE = -1
_MODE_TOPIC, _OUTCOME_TOPIC = event_topic(CONTROL_MODE_CHANGED), event_topic(CHANGE_NOT_APPLIED)
_CONFIG_TOPICS = f"{EventClass.CONFIG.value}/"
_ENCODER = msgspec.json.Encoder(order="deterministic")


class Key(NamedTuple):
    """One document of one arm."""

    arm: str
    name: str


def digest(name: str, document: Mapping[str, Any]) -> int:
    """A number for what a document says; documents that say the same have the same one, in this process."""
    left_out = _CHANGING[name] | _SHARED
    said = {key: value for key, value in document.items() if key not in left_out}
    if name == CONFIG and isinstance(rows := said.get("overrides"), list):
        said["overrides"] = [{**row, "left_ms": 0} if isinstance(row, dict) else row for row in rows]
    if name == EFFECTIVE and isinstance(rows := said.get("sources"), list):
        said["sources"] = [{**row, "since": ""} if isinstance(row, dict) else row for row in rows]
    return hash(_ENCODER.encode(said))


def _author(document: Mapping[str, Any]) -> int:
    """A number for who a document says set the mode; 0 where it does not say."""
    by = document.get("by")
    return hash(_ENCODER.encode(by)) if by is not None else 0


class Comparison:
    """One reading of what is retained, and how far the documents have been compared with it.

    `take` what the MQTT server has; then `rest` gives the documents that nobody looked at yet. Memory: some 250 bytes
    an arm until `rest` has ended.
    """

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch
        self._retained: dict[str, array[int]] = {}
        self._looked_at: dict[str, int] = {}
        self.right = self.sent = 0
        """Documents that were looked at, and were right, or had to be sent."""

    @property
    def arms(self) -> int:
        """Of how many arms something is retained."""
        return len(self._retained)

    def take(self, key: Key, payload: bytes) -> None:
        """Note what is retained of a document; what is no document is as good as missing."""
        row = self._retained.get(key.arm)
        if row is None:
            row = self._retained[key.arm] = array("q", (_UNREADABLE,)) * (len(SHEETS) * _NUMBERS)
        at = _PLACE[key.name] * _NUMBERS
        try:
            document = msgspec.json.decode(payload, type=dict[str, Any])
            told = [_whole(document.get(field, 0)) for field in ("epoch", "seq", "rev")]
            if told[0] <= self._epoch:
                row[at] = digest(key.name, document) or 1
                row[at + 1] = told[1]
                row[at + 2] = told[2]
                row[at + 3] = _author(document) if key.name == MODE else 0
        except (msgspec.DecodeError, TypeError, OverflowError):
            row[at] = _UNREADABLE

    def looked_at(self, key: Key) -> bool:
        """Whether a document was sent, or found right, since the reading began."""
        return bool(self._looked_at.get(key.arm, 0) >> _PLACE[key.name] & 1)

    def look_at(self, key: Key) -> None:
        """Note that a document is sent, or is right."""
        self._looked_at[key.arm] = self._looked_at.get(key.arm, 0) | 1 << _PLACE[key.name]

    def judge(self, session: ArmSession, name: str, document: Mapping[str, Any]) -> bool:
        """Look at a document; whether the one that is retained is right."""
        self.look_at(Key(session.arm, name))
        right = self.is_right(session, name, document)
        self.right += right
        self.sent += not right
        return right

    def is_right(self, session: ArmSession, name: str, document: Mapping[str, Any]) -> bool:
        """Whether the document that is retained says the same as this one, and is not older than the last event."""
        row = self._retained.get(session.arm)
        if row is None:
            return False
        told, seq, rev, author = row[(at := _PLACE[name] * _NUMBERS) : at + _NUMBERS]
        if told == _UNREADABLE or told != (digest(name, document) or 1):
            return False
        if name == MODE and session.mode_by is not None and author != _author(document):
            return False
        state = session.state
        return name == FACTSHEET or (
            _since(session, name) <= seq <= state.seq and _rev(session, name) <= rev <= state.rev
        )

    def rest(
        self, sessions: Iterable[ArmSession], sheets: tuple[str, ...] = SHEETS
    ) -> Iterator[tuple[ArmSession, str]]:
        """All documents, in the order in which they are mended; some of them may be looked at before they are given."""
        arms = list(sessions)
        return ((session, name) for name in sheets for session in arms)


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(type(value).__name__)
    return value


def _since(session: ArmSession, name: str) -> int:
    """The seq of the last event that a document has to contain."""
    if name == PRESENCE:
        return 0
    heads = session.heads
    if name == MODE:
        return heads.get(_MODE_TOPIC, 0)
    told = [seq for topic, seq in heads.items() if topic == _OUTCOME_TOPIC or topic.startswith(_CONFIG_TOPICS)]
    if name != CONFIG:
        told.append(heads.get(_MODE_TOPIC, 0))
    return max(told, default=0)


def _rev(session: ArmSession, name: str) -> int:
    """The revision that a document has to be of at least."""
    if name != CONFIG:
        return 0
    return max((rev for slot, rev in session.state.last_rev.items() if slot[0] != "control_mode"), default=0)
