"""Who supervises the process."""

import os

import pytest

from broker.settings.supervision import Supervision, supervision


def test_it_is_read_once_and_no_process_of_an_arm_inherits_it() -> None:
    environment = {
        "NOTIFY_SOCKET": "/run/n",
        "WATCHDOG_USEC": "30000000",
        "WATCHDOG_PID": str(os.getpid()),
        "HOME": "/",
    }
    assert supervision(environment) == Supervision("/run/n", 30.0)
    assert environment == {"HOME": "/"}
    assert supervision(environment) == Supervision("", 0.0)


@pytest.mark.parametrize(
    ("told", "watchdog_s"),
    [
        ({"WATCHDOG_USEC": "5000000"}, 5.0),
        ({"WATCHDOG_USEC": "5000000", "WATCHDOG_PID": "1"}, 0.0),
        ({"WATCHDOG_USEC": "soon"}, 0.0),
        ({}, 0.0),
    ],
)
def test_the_watchdog_counts_where_it_is_meant_for_this_process(told: dict[str, str], watchdog_s: float) -> None:
    assert supervision({"NOTIFY_SOCKET": "@n", **told}) == Supervision("@n", watchdog_s)


def test_an_address_that_no_socket_has_counts_as_none() -> None:
    assert supervision({"NOTIFY_SOCKET": "vsock:2:1", "WATCHDOG_USEC": "5000000"}) == Supervision()
