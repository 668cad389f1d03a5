"""Refusals by the rights of users: told to monitors at once, and then by the minute, however many there are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from broker.arms.arm_session import ArmSession
from broker.record.administration import Administration, Asked
from broker.topics import RequestTopic
from schema.envelope import Author, Denied
from schema.errors import BrokerError

EVERY_S = 60.0
"""How often refusals of one user and kind are told at most."""
KNOWN_MOST = 1_000
"""Pairs of user and kind known at once; what comes beyond is told as one user's."""
OTHERS = "@others"


@dataclass(slots=True)
class _Tally:
    """What was refused since it was told last (seconds of the monotonic clock), and the last request of it."""

    told_s: float
    count: int
    arm: str
    by: Author
    asked: Asked


class Denials:
    """Gathers refusals by user and kind.

    Args:
        administration: tells of them.
        sessions: the arms.
        monotonic: seconds of the monotonic clock.
    """

    def __init__(
        self, administration: Administration, sessions: Mapping[str, ArmSession], monotonic: Callable[[], float]
    ) -> None:
        self._administration = administration
        self._sessions = sessions
        self._monotonic = monotonic
        self._tallies: dict[tuple[str, str], _Tally] = {}

    def add(self, topic: RequestTopic, bare_id: str, error: BrokerError, *, proven: bool) -> None:
        """Take a refusal; the first of a user and kind is told at once."""
        by, now_s = Author(topic.user, topic.conn, proven), self._monotonic()
        name = f"{topic.user}/{topic.conn}/{bare_id}" if bare_id else ""
        key = (topic.user, error.kind)
        if key not in self._tallies and len(self._tallies) >= KNOWN_MOST:
            key, by = (OTHERS, error.kind), Author(OTHERS, "", proven=False)
        tally = self._tallies.get(key)
        if tally is None:
            tally = self._tallies[key] = _Tally(now_s - EVERY_S, 0, "", by, Asked())
        tally.count += 1
        tally.arm, tally.by, tally.asked = topic.arm, by, Asked(topic.method, name, error.message)
        self._tell(key, tally, now_s)

    def tell(self) -> None:
        """Tell what the last minute gathered, and forget who was refused nothing in it; to be called now and then."""
        now_s = self._monotonic()
        for key, tally in list(self._tallies.items()):
            if not tally.count and now_s - tally.told_s >= EVERY_S:
                del self._tallies[key]
            else:
                self._tell(key, tally, now_s)

    def _tell(self, key: tuple[str, str], tally: _Tally, now_s: float) -> None:
        session = self._sessions.get(tally.arm)
        if not tally.count or now_s - tally.told_s < EVERY_S or session is None:
            return
        self._administration.tell_denial(session, tally.by, tally.asked, Denied(key[1], tally.count))
        tally.told_s, tally.count = now_s, 0
