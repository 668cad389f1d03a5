"""Whose message is decided next: a fair pick from what was read ahead."""

from collections import deque
from collections.abc import Callable
from itertools import islice

from broker.accept.arrival import Arrival

QUANTUM = 4.0
"""What a user may have decided in its turn, in units of cost: an ordinary request costs 1."""

LOOKS = 8
"""Connections of a user that are looked at for a message that tightens."""

Lane = deque[Arrival]
"""Messages of one connection, in the order of arrival."""


class _Share:
    """What waits of one user: a lane for each connection, and what it may still have in this turn."""

    __slots__ = ("cost", "credit", "lanes", "user")

    def __init__(self, user: str) -> None:
        self.user = user
        self.credit = QUANTUM
        self.cost = 0.0
        self.lanes: dict[str, Lane] = {}


class Shares:
    """Deficit round robin over users; a connection's messages keep their order.

    Of several connections of one user, one whose next message tightens comes first; else they take turns.

    Args:
        tightens: whether a message would tighten limits if it were decided now.
    """

    def __init__(self, tightens: Callable[[Arrival], bool]) -> None:
        self._tightens = tightens
        self._shares: dict[str, _Share] = {}
        self._turn: deque[_Share] = deque()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def put(self, arrival: Arrival) -> None:
        """Let a message wait for its turn."""
        topic = arrival.topic
        share = self._shares.get(topic.user)
        if share is None:
            self._shares[topic.user] = share = _Share(topic.user)
            self._turn.append(share)
        lane = share.lanes.get(topic.conn)
        if lane is None:
            share.lanes[topic.conn] = lane = deque()
        lane.append(arrival)
        share.cost += arrival.cost
        self._count += 1

    def weight(self, user: str) -> float:
        """What all that waits of a user will cost."""
        share = self._shares.get(user)
        return 0.0 if share is None else share.cost

    def take(self) -> Arrival:
        """The message whose turn it is.

        Raises:
            IndexError: none waits.
        """
        while True:
            share = self._turn[0]
            lane = self._next_lane(share)
            if lane[0].cost <= share.credit:
                return self._taken(share, lane)
            share.credit += QUANTUM
            self._turn.rotate(-1)

    def _next_lane(self, share: _Share) -> Lane:
        """The lane of a user that goes first: one that tightens, else the one that was not served for longest."""
        lanes = share.lanes
        if len(lanes) > 1:
            for lane in islice(lanes.values(), LOOKS):
                if self._is_tightening(lane[0]):
                    return lane
        return next(iter(lanes.values()))

    def _is_tightening(self, arrival: Arrival) -> bool:
        if arrival.tightens is None:
            arrival.tightens = self._tightens(arrival)
        return arrival.tightens

    def _taken(self, share: _Share, lane: Lane) -> Arrival:
        arrival = lane.popleft()
        conn = arrival.topic.conn
        share.credit -= arrival.cost
        share.cost -= arrival.cost
        self._count -= 1
        del share.lanes[conn]
        if lane:
            share.lanes[conn] = lane
        elif not share.lanes:
            del self._shares[share.user]
            self._turn.popleft()
        return arrival
