import pytest

from handlers.methods.notifications import HANDLE_LIFE_US, HANDLES_PER_CONNECTION
from handlers.rpc.outcome import CloseHandle, OpenHandle
from handlers.state.arm_state import ArmState, HandleEntry
from schema.enums import NotificationType
from schema.errors import BrokerError
from schema.messages import NotificationHandle, NotificationOptions
from tests.handlers.builders import arm, decide, never_read

TOPICS = [("ControlConfigurationTopic", "config"), ("ControlModeTopic", "mode")]


def entry(identifier: int, user: str = "alice", conn: str = "plc-3", arm_id: str = "r12") -> HandleEntry:
    return HandleEntry(identifier, user, conn, arm_id, "config", 0, 0)


def holding(*entries: HandleEntry) -> ArmState:
    return arm(handles={held.identifier: held for held in entries})


def test_a_connection_holds_thirty_two_handles_and_each_lives_for_a_day() -> None:
    assert (HANDLES_PER_CONNECTION, HANDLE_LIFE_US) == (32, 86_400_000_000)


@pytest.mark.parametrize(("method", "topic"), TOPICS)
def test_each_topic_opens_a_handle_of_its_own(method: str, topic: str) -> None:
    for options in (None, NotificationOptions(), NotificationOptions(NotificationType.NOTIFICATION_TYPE_EVENT)):
        assert decide(arm(), method, options) == OpenHandle(topic)


def test_a_handle_needs_no_arm_that_was_read() -> None:
    assert decide(never_read(), "ControlModeTopic") == OpenHandle("mode")


@pytest.mark.parametrize("method", [method for method, _ in TOPICS])
@pytest.mark.parametrize("number", [1, 2])
def test_thresholds_and_fixed_rates_are_not_there(method: str, number: int) -> None:
    options = NotificationOptions(NotificationType(number))
    with pytest.raises(BrokerError) as caught:
        decide(arm(), method, options)
    assert caught.value.kind == "unimplemented"
    assert NotificationType(number).name in caught.value.message


def test_the_thirty_third_handle_of_a_connection_is_refused() -> None:
    others = [entry(number, arm_id=f"r{number}") for number in range(1, 32)]
    assert decide(holding(*others), "ControlModeTopic") == OpenHandle("mode")
    with pytest.raises(BrokerError) as caught:
        decide(holding(*others, entry(32)), "ControlModeTopic")
    assert caught.value.kind == "unsupported_option"


def test_handles_of_other_users_and_connections_do_not_count() -> None:
    strangers = [entry(number, user="bob") for number in range(1, 40)]
    elsewhere = [entry(number, conn="hmi-1") for number in range(40, 80)]
    assert decide(holding(*strangers, *elsewhere), "ControlModeTopic") == OpenHandle("mode")


def test_any_connection_of_the_user_may_end_a_handle() -> None:
    state = holding(entry(7, conn="hmi-1"))
    assert decide(state, "Unsubscribe", NotificationHandle(7)) == CloseHandle(7)


@pytest.mark.parametrize("held", [entry(7, user="bob"), entry(7, arm_id="r13"), entry(8)])
def test_a_handle_of_another_user_or_arm_is_unknown(held: HandleEntry) -> None:
    with pytest.raises(BrokerError) as caught:
        decide(holding(held), "Unsubscribe", NotificationHandle(7))
    assert (caught.value.kind, caught.value.name) == ("unknown_handle", "ENTITY_NOT_FOUND")


def test_absent_params_name_no_handle() -> None:
    with pytest.raises(BrokerError) as caught:
        decide(holding(entry(7)), "Unsubscribe")
    assert caught.value.kind == "unknown_handle"
