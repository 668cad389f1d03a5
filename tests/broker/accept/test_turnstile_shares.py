"""The fair pick: user by user, connections in order, what tightens first."""

from collections import Counter

import pytest

from broker.accept.arrival import Arrival
from broker.accept.turnstile import LOOKS, QUANTUM, Shares
from broker.link.mqtt_link import InboundMessage
from broker.topics import RequestTopic
from schema.codecs import PRESUMED

TIGHT = "SetTwistLinearSoftLimit"


def arrival(user: str, number: int, conn: str = "c", *, cost: float = 1.0, method: str = "GetGravityVector") -> Arrival:
    message = InboundMessage(str(number), b"", False, False, "", "", b"", None, None)
    made = Arrival(message, RequestTopic(user, conn, "r1", method), 0, PRESUMED[""])
    made.cost = cost
    return made


def by_method(one: Arrival) -> bool:
    return one.topic.method == TIGHT


def order(shares: Shares) -> list[str]:
    taken = []
    while shares:
        (one,) = shares.take(0.1)
        taken.append(f"{one.topic.user}{one.topic.conn}{one.message.topic}")
    return taken


def test_a_user_with_one_message_is_next_whatever_another_sent_before() -> None:
    shares = Shares(by_method)
    for number in range(1000):
        shares.put(arrival("a", number))
    shares.put(arrival("b", 0))
    assert len(shares) == 1001
    assert order(shares).index("bc0") <= QUANTUM


def test_users_have_equal_shares_of_cost() -> None:
    shares = Shares(by_method)
    for number in range(600):
        shares.put(arrival("short", number))
        shares.put(arrival("long", number, cost=10.0))
    spent: Counter[str] = Counter()
    for _ in range(440):
        (one,) = shares.take(0.1)
        spent[one.topic.user] += int(one.cost)
    assert spent["short"] == pytest.approx(spent["long"], abs=20)


def test_a_connection_keeps_its_order_and_connections_take_turns() -> None:
    shares = Shares(by_method)
    for conn, number in (("x", 1), ("x", 2), ("x", 3), ("y", 1), ("y", 2)):
        shares.put(arrival("a", number, conn))
    assert order(shares) == ["ax1", "ay1", "ax2", "ay2", "ax3"]


def test_what_tightens_comes_first_within_a_user_and_never_overtakes_on_its_connection() -> None:
    shares = Shares(by_method)
    shares.put(arrival("a", 1, "x"))
    shares.put(arrival("a", 2, "x", method=TIGHT))
    shares.put(arrival("a", 1, "y"))
    shares.put(arrival("a", 1, "z", method=TIGHT))
    assert order(shares) == ["az1", "ax1", "ax2", "ay1"]


def test_each_message_is_looked_at_once_at_most() -> None:
    looked: Counter[str] = Counter()

    def look(one: Arrival) -> bool:
        looked[f"{one.topic.conn}{one.message.topic}"] += 1
        return False

    shares = Shares(look)
    for number in range(20):
        for conn in range(3 * LOOKS):
            shares.put(arrival("a", number, f"c{conn:02d}-"))
    assert len(order(shares)) == 60 * LOOKS
    assert set(looked.values()) == {1}


def test_nothing_is_left_behind() -> None:
    shares = Shares(by_method)
    shares.put(arrival("a", 1))
    assert order(shares) == ["ac1"]
    assert not shares._shares
    assert shares.take(0.1) == []


def test_what_waits_of_a_user_weighs_what_it_will_cost() -> None:
    shares = Shares(by_method)
    for number in range(3):
        shares.put(arrival("a", number, cost=2.5))
    assert (shares.weight("a"), shares.weight("b")) == (7.5, 0.0)
    shares.take(0.1)
    assert shares.weight("a") == 5.0
