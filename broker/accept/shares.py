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
        self.count = 0
        """Messages that wait."""

    def __len__(self) -> int:
        return self.count

    def put(self, arrival: Arrival) -> None:
        """Let a message wait for its turn."""
        topic = arrival.topic
        user, conn = topic.user, topic.conn
        if user in self._shares:
            share = self._shares[user]
        else:
            self._shares[user] = share = _Share(user)
            self._turn.append(share)
        if conn in share.lanes:
            lane = share.lanes[conn]
        else:
            share.lanes[conn] = lane = deque()
        lane.append(arrival)
        share.cost += arrival.cost
        self.count += 1

    def weight(self, user: str) -> float:
        """What all that waits of a user will cost."""
        share = self._shares.get(user)
        return 0.0 if share is None else share.cost

    def take(self, most: float) -> list[Arrival]:
        """The messages whose turn it is, until they cost so much; nothing may be put in between."""
        turn, taken, cost = self._turn, list[Arrival](), 0.0
        while turn and cost < most:
            share = turn[0]
            alone, lane = len(share.lanes) == 1, self._next_lane(share)
            while lane and cost < most and lane[0].cost <= share.credit:
                arrival = lane.popleft()
                taken.append(arrival)
                share.credit -= arrival.cost
                share.cost -= arrival.cost
                cost += arrival.cost
                if not alone:
                    lane = self._turned(share, lane, arrival.topic.conn)
            if not lane:
                del self._shares[share.user]
                turn.popleft()
            elif cost < most:
                share.credit += QUANTUM
                turn.rotate(-1)
        self.count -= len(taken)
        return taken

    def _turned(self, share: _Share, lane: Lane, conn: str) -> Lane:
        """The lane that is next of several, of which this one just had its turn; an empty one when all are."""
        del share.lanes[conn]
        if lane:
            share.lanes[conn] = lane
        return self._next_lane(share) if share.lanes else lane

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
