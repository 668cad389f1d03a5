"""Notification handles."""

from collections.abc import Iterator

import pytest

from tests.journey.conftest import ClientMaker

SET = "SetTwistLinearSoftLimit"
MODE = {"control_mode": "CARTESIAN_JOYSTICK"}


def value(number: float) -> dict[str, object]:
    """Params of a Set."""
    return {**MODE, "twist_linear_soft_limit": number}


async def test_each_handle_gets_each_event_of_its_topic_with_its_own_prev(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    await client.change(arm, SET, value(0.1))
    handles = [
        (await client.change(arm, method, {"type": kind}))["result"]["identifier"]
        for method, kind in (
            ("ControlConfigurationTopic", "NOTIFICATION_TYPE_UNSPECIFIED"),
            ("ControlConfigurationTopic", "NOTIFICATION_TYPE_EVENT"),
            ("ControlModeTopic", "NOTIFICATION_TYPE_EVENT"),
        )
    ]
    assert len(set(handles)) == 3
    await client.change(arm, SET, value(0.2))
    await client.change(arm, "SetGravityVector", {"x": 9.81})
    await client.change(arm, "SetControlMode", {"control_mode": "ANGULAR_JOYSTICK"})
    for handle in handles[:2]:
        topic = f"ntf/{client.user}/{client.conn}/{handle}"
        messages = [await client.take_topic(topic) for _ in range(2)]
        assert 0 < messages[0].expiry_s <= 3600
        first, second = (message.document for message in messages)
        assert (first["event"], first["seq"], first["prev"]) == ("TWIST_LINEAR_SOFT_LIMIT_CHANGED", 2, 0)
        assert (second["event"], second["seq"], second["prev"]) == ("GRAVITY_VECTOR_CHANGED", 3, 2)
    mode = (await client.take_topic(f"ntf/{client.user}/{client.conn}/{handles[2]}")).document
    assert (mode["event"], mode["seq"], mode["prev"]) == ("CONTROL_MODE_CHANGED", 4, 0)
    assert client.inbox == []


async def test_a_notice_is_the_event(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#")
    handle = (await client.change(arm, "ControlConfigurationTopic", {}))["result"]["identifier"]
    await client.change(arm, SET, value(0.1))
    event = (await client.take_topic(f"evt/{arm}/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED")).document
    notice = (await client.take_topic(f"ntf/{client.user}/{client.conn}/{handle}")).document
    assert notice == event


async def test_handles_outlive_a_restart(connect: ClientMaker, start_service: ClientMaker) -> None:
    own = start_service("r1")
    client = await connect(to=own)
    handle = (await client.change("r1", "ControlConfigurationTopic", {}))["result"]["identifier"]
    assert handle == 1
    await client.change("r1", SET, value(0.1))
    own.restart()
    await client.change("r1", SET, value(0.2))
    topic = f"ntf/{client.user}/{client.conn}/{handle}"
    notices = [(await client.take_topic(topic)).document for _ in range(2)]
    assert [(notice["seq"], notice["prev"]) for notice in notices] == [(1, 0), (2, 1)]
    assert (await client.change("r1", "ControlModeTopic", {}))["result"]["identifier"] == 2


async def test_another_connection_of_the_user_ends_a_handle_another_user_does_not(
    connect: ClientMaker, arm: str, arms: Iterator[str]
) -> None:
    owner, other, stranger = await connect(), await connect(), await connect(user="carol")
    handle = (await owner.change(arm, "ControlConfigurationTopic", {}))["result"]
    refused = await stranger.call(arm, "Unsubscribe", handle)
    assert (refused["error"]["kind"], refused["error"]["name"]) == ("unknown_handle", "ENTITY_NOT_FOUND")
    wrong_arm = await owner.call(next(arms), "Unsubscribe", handle)
    assert wrong_arm["error"]["kind"] == "unknown_handle"
    assert (await other.change(arm, "Unsubscribe", handle))["stage"] == "stored"
    assert (await owner.call(arm, "Unsubscribe", handle))["error"]["kind"] == "unknown_handle"
    await owner.change(arm, SET, value(0.1))
    assert not any(message.topic.startswith("ntf/") for message in owner.inbox)


async def test_a_repeat_of_a_subscription_gives_the_same_handle(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    first = await client.change(arm, "ControlConfigurationTopic", {}, id="h")
    again = await client.change(arm, "ControlConfigurationTopic", {}, id="h")
    assert (again["result"], again["duplicate"]) == (first["result"], True)


async def test_a_connection_has_at_most_32_handles(connect: ClientMaker, arm: str) -> None:
    client, other = await connect(), await connect()
    handles = [(await client.change(arm, "ControlModeTopic", {}))["result"] for _ in range(32)]
    refused = await client.call(arm, "ControlConfigurationTopic", {})
    assert (refused["error"]["kind"], refused["error"]["name"]) == ("unsupported_option", "UNSUPPORTED_OPTION")
    assert (await other.change(arm, "ControlModeTopic", {}))["ok"]
    await client.change(arm, "Unsubscribe", handles[0])
    assert (await client.change(arm, "ControlConfigurationTopic", {}))["ok"]


@pytest.mark.parametrize("kind", ["NOTIFICATION_TYPE_THRESHOLD", "NOTIFICATION_TYPE_FIX_RATE"])
async def test_other_kinds_of_notification_are_refused_by_name(connect: ClientMaker, arm: str, kind: str) -> None:
    client = await connect()
    reply = await client.call(arm, "ControlConfigurationTopic", {"type": kind})
    assert reply["error"]["kind"] == "unimplemented"
    assert kind in reply["error"]["message"]
