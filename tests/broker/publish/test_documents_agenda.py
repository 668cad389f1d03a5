"""The agenda: each document once, in order, never while it is under way."""

from broker.publish.comparison import Key
from broker.publish.documents import Agenda

A, B, C = Key("r1", "config"), Key("r1", "effective"), Key("r2", "presence")


def given(agenda: Agenda, now: float) -> list[Key]:
    """What may be sent now, each taken by the MQTT server at once."""
    found = []
    while (key := agenda.take(now)) is not None:
        found.append(key)
        agenda.taken(key)
    return found


def test_the_order_is_that_of_due_times_and_of_what_stands_behind() -> None:
    agenda = Agenda()
    assert agenda.add(B, 1.0, 1.0)
    assert agenda.add(A, 1.5)
    assert agenda.add(C, 1.6, -3600.0)
    assert not agenda.add(A, 9.0)
    assert (len(agenda), agenda.next_due()) == (3, 1.0)
    assert given(agenda, 0.9) == []
    assert given(agenda, 1.7) == [C, A, B]
    assert (len(agenda), agenda.next_due()) == (0, None)


def test_what_is_under_way_comes_again_only_once_it_was_taken() -> None:
    agenda = Agenda()
    agenda.add(A, 1.0)
    assert agenda.take(1.0) == A
    agenda.add(A, 2.0)
    assert A in agenda
    assert agenda.take(2.0) is None
    assert agenda.next_due() is None
    assert agenda.taken(A)
    assert agenda.next_due() == 2.0
    assert given(agenda, 2.0) == [A]
    assert A not in agenda


def test_what_nobody_marked_may_be_under_way_too() -> None:
    agenda = Agenda()
    agenda.start(A)
    agenda.add(A, 1.0)
    assert agenda.take(1.0) is None
    agenda.forget("r1")
    assert not agenda.taken(A)
    assert given(agenda, 9.0) == []


def test_a_forgotten_arm_leaves_the_others() -> None:
    agenda = Agenda()
    for key in (A, B, C):
        agenda.add(key, 1.0)
    agenda.forget("r1")
    assert given(agenda, 1.0) == [C]
    agenda.add(A, 2.0)
    assert given(agenda, 2.0) == [A]
