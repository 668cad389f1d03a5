"""What happened to the service, counted where people can see it: in `svc/<instance>`, and in the log by the minute."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import structlog

log = structlog.get_logger()

COUNTERS: Mapping[str, str] = MappingProxyType(
    {
        "request_dropped": "messages below req/ with a wrong number of levels, or a user or connection that is no name;"
        " there is nowhere to answer them",
        "rate_limited": "requests of users that sent more than they may; answered with rate_limited",
        "rate_limited_unanswered": "requests beyond the answered ones of such users; acknowledged, nothing else",
        "request_failed": "requests on which the service itself failed; answered with internal",
        "request_refused": "requests that were answered with a refusal, of whatever kind",
        "row_damaged": "rows of the store that were not what was written; none was used",
        "publication_refused": "replies, events and documents that the MQTT server did not take, or that are too large;"
        " logged by reason",
        "command_refused": "commands to arms that speak MQTT which the MQTT server did not take; logged by arm",
        "message_unreadable": "messages that the MQTT server passed on and that could not be read; acknowledged",
        "packet_out_of_place": "other packets that could not be read, or that no MQTT server sends; passed over",
    }
)
"""Name of each counter, and what it counts."""
LOG_EVERY_S = 60.0
"""How often one counter of one user is logged at most."""
USERS_MOST = 1_000
"""Pairs of counter and user known at once; what comes beyond is logged without the user."""
USER_LONGEST = 64
"""Characters of a user that are kept."""


@dataclass(slots=True)
class _Tally:
    """What was counted since it was logged last, and when that was (seconds of the monotonic clock)."""

    count: int
    logged_s: float


class Counters:
    """Counts by name since the start of the process; the first of a name and user is logged at once.

    Args:
        monotonic: seconds of the monotonic clock.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._totals: Counter[str] = Counter(dict.fromkeys(COUNTERS, 0))
        self._tallies: dict[tuple[str, str], _Tally] = {}

    def add(self, name: str, user: str = "", n: int = 1) -> None:
        """Count `n` of `name`, caused by `user` where one is known.

        Raises:
            KeyError: `name` is none of `COUNTERS`.
        """
        if name not in COUNTERS:
            raise KeyError(name)
        self._totals[name] += n
        key = (name, user[:USER_LONGEST])
        if key not in self._tallies and len(self._tallies) >= USERS_MOST:
            key = (name, "")
        now_s = self._monotonic()
        tally = self._tallies.get(key)
        if tally is None:
            self._tallies[key] = _Tally(0, now_s)
            _log(key, n)
        elif now_s - tally.logged_s >= LOG_EVERY_S:
            _log(key, tally.count + n)
            tally.count, tally.logged_s = 0, now_s
        else:
            tally.count += n

    def totals(self) -> dict[str, int]:
        """How often each was counted, every name included."""
        return dict(self._totals)

    def tell(self) -> None:
        """Log what a minute has gathered, and forget who was quiet for a minute; to be called now and then."""
        now_s = self._monotonic()
        for key, tally in list(self._tallies.items()):
            if now_s - tally.logged_s < LOG_EVERY_S:
                continue
            if not tally.count:
                del self._tallies[key]
                continue
            _log(key, tally.count)
            tally.count, tally.logged_s = 0, now_s


def _log(key: tuple[str, str], count: int) -> None:
    name, user = key
    log.warning("counted", counter=name, user=user, count=count)
