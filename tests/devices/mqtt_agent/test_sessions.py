"""Births and deaths in every order."""

from itertools import permutations

import pytest

from devices.mqtt_agent.birth import Birth, read_birth
from devices.mqtt_agent.documents import write_document
from devices.mqtt_agent.sessions import Sessions
from tests.devices.mqtt_agent.messages import birth


def born(session: int) -> Birth:
    return read_birth(write_document(birth(session)))


@pytest.mark.parametrize("order", tuple(permutations([("birth", 4), ("death", 4), ("birth", 5), ("death", 3)])))
def test_the_highest_session_counts_in_whatever_order_it_is_told(order: tuple[tuple[str, int], ...]) -> None:
    sessions = Sessions()
    for what, session in order:
        if what == "birth":
            sessions.born(born(session))
        else:
            sessions.died(session)
    assert sessions.living is not None
    assert sessions.living.session == 5
    sessions.died(5)
    assert sessions.living is None


def test_a_lower_session_is_refused_until_the_arm_is_forgotten() -> None:
    sessions = Sessions()
    assert sessions.born(born(5))
    assert sessions.born(born(5))
    assert not sessions.born(born(4))
    sessions.await_birth()
    assert sessions.living is None
    assert not sessions.born(born(4))
    sessions.died(5)
    sessions.forget()
    assert sessions.born(born(1))
    assert sessions.living is not None
