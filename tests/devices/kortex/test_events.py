from collections.abc import Callable

import pytest

from devices.kortex.events import OURS_S, Events
from schema.codecs.protobuf import encode_message
from schema.items import slots_of
from schema.messages import Connection, ControlConfigurationNotification, ControlModeNotification, Message

CONFIG, MODE = "ControlConfigurationTopic", "ControlModeTopic"
SPEEDS = ("joint_speed_soft_limits", 4)
OURS, OTHER = Connection(None, "10.0.0.2:4000", 3), Connection(None, "10.0.0.9:4711", 4)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def events(clock: Clock) -> Events:
    return Events("r12", clock)


def event(number: int, connection: Connection | None) -> bytes:
    return encode_message(ControlConfigurationNotification(number, None, None, connection))


def ours(events: Events, number: int, connection: Connection | None) -> list[bool]:
    return [change.ours for change in events.read(CONFIG, event(number, connection))]


def test_our_address_tells_our_changes(events: Events) -> None:
    events.forget(OURS.connection_information)
    with events.writing(SPEEDS):
        (change,) = events.read(CONFIG, event(16, OURS))
        assert (change.event, change.slot, change.ours, change.connection) == (16, SPEEDS, True, "10.0.0.2:4000")
        assert ours(events, 16, OTHER) == [False] * 5
    assert ours(events, 2, OURS) == [True]


def test_where_no_address_fits_the_first_echo_tells_our_connection(events: Events, clock: Clock) -> None:
    events.forget("192.168.0.7:1")
    assert ours(events, 16, OTHER) == [False] * 5
    with events.writing(SPEEDS):
        assert ours(events, 16, OTHER) == [False] * 5
        assert ours(events, 16, OURS) == [True]
    clock.now = 2 * OURS_S
    assert ours(events, 2, OURS) == [True]
    assert ours(events, 2, OTHER) == [False]
    events.forget("192.168.0.7:2")
    assert ours(events, 2, OURS) == [False]


@pytest.mark.parametrize("connection", [None, Connection()])
def test_without_a_connection_the_time_tells(events: Events, clock: Clock, connection: Connection | None) -> None:
    with events.writing(("gravity_vector", 0)):
        assert ours(events, 2, connection) == [True]
        assert ours(events, 11, connection) == [False]
    clock.now = OURS_S
    assert ours(events, 2, connection) == [True]
    clock.now = 1.1 * OURS_S
    assert ours(events, 2, connection) == [False]


def test_a_foreign_event_tells_of_every_mode_of_its_item(events: Events) -> None:
    changes = events.read(CONFIG, event(18, OTHER))
    assert tuple(change.slot for change in changes) == slots_of("twist_angular_soft_limit")


@pytest.mark.parametrize("number", [1, 4, 9, 10, 14, 99])
def test_events_without_a_value_of_ours_are_handed_on(events: Events, number: int) -> None:
    (change,) = events.read(CONFIG, event(number, OTHER))
    assert (change.event, change.slot, change.ours) == (number, None, False)


def test_a_control_mode_is_never_ours(events: Events) -> None:
    told: Callable[[Message], bytes] = encode_message
    (change,) = events.read(MODE, told(ControlModeNotification(13, None, None, Connection(None, "", 9))))
    assert (change.event, change.slot, change.ours, change.connection) == (
        0,
        ("control_mode", 0),
        False,
        "connection 9",
    )


def test_what_cannot_be_read_tells_nothing(events: Events) -> None:
    assert events.read(CONFIG, b"\xff") == []
    assert events.read("NoSuchTopic", b"") == []
    assert events.read(CONFIG, event(0, OTHER)) == []
