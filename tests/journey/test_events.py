"""Events: what gives one, what it says, and how monitors tell that one is missing."""

from tests.journey.conftest import ClientMaker
from tests.journey.test_methods import SETS

SET = "SetTwistLinearSoftLimit"
MODE = {"control_mode": "CARTESIAN_JOYSTICK"}
VALUE = {**MODE, "twist_linear_soft_limit": 0.25}
TOPIC = "config/TWIST_LINEAR_SOFT_LIMIT_CHANGED"


async def test_an_event_tells_what_changed_and_who_asked(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#", f"state/{arm}/config")
    before = (await client.call(arm, "GetKinematicSoftLimits", MODE))["result"]["twist_linear"]
    reply = await client.change(arm, SET, VALUE, id="c1", reason="tighter")
    message = await client.take_topic(f"evt/{arm}/{TOPIC}")
    assert (message.retained, message.content_type) == (False, "application/json")
    event = message.document
    notification = event.pop("notification")
    assert event.pop("at") <= reply["at"]
    assert event.pop("epoch") == (await client.take_topic(f"state/{arm}/config")).document["epoch"]
    assert event == {
        "arm": arm,
        "seq": 1,
        "prev": 0,
        "rev": 2,
        "cause": "applied",
        "stage": "applied",
        "request_id": f"{client.user}/{client.conn}/c1",
        "by": {"user": client.user, "connection": client.conn, "proven": False},
        "event": "TWIST_LINEAR_SOFT_LIMIT_CHANGED",
        "change": {
            "item": "twist_linear_soft_limit",
            "slot": "CARTESIAN_JOYSTICK",
            "before": before,
            "after": 0.25,
        },
        "reason": "tighter",
    }
    assert notification["event"] == "TWIST_LINEAR_SOFT_LIMIT_CHANGED"
    assert notification["user_handle"]["identifier"] > 0
    assert notification["user_handle"]["permission"] == 3
    assert notification["connection"]["connection_information"] == f"{client.user}/{client.conn}"
    assert notification["connection"]["connection_identifier"] > 0


async def test_the_numbers_of_users_and_connections_stay(connect: ClientMaker, arm: str) -> None:
    one, two = await connect(user="emil"), await connect(user="emil")
    handles: list[tuple[int, int]] = []
    for client in (one, two, one):
        await client.change(arm, SET, VALUE)
        page = await client.call(arm, "GetEvents", {"after_seq": len(handles)})
        notification = page["result"]["events"][0]["notification"]
        assert notification["connection"]["user_handle"] == notification["user_handle"]
        user, connection = notification["user_handle"], notification["connection"]
        handles.append((user["identifier"], connection["connection_identifier"]))
    assert handles[0] == handles[2]
    assert handles[0][0] == handles[1][0]
    assert handles[0][1] != handles[1][1]


async def test_a_mode_change_has_a_topic_and_a_message_of_its_own(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#")
    await client.change(arm, "SetControlMode", {"control_mode": "ANGULAR_JOYSTICK"})
    event = (await client.take_topic(f"evt/{arm}/mode")).document
    assert (event["event"], event["cause"]) == ("CONTROL_MODE_CHANGED", "applied")
    assert event["notification"]["control_mode"] == "ANGULAR_JOYSTICK"
    assert event["change"] == {
        "item": "control_mode",
        "before": {"control_mode": "IDLE"},
        "after": MODE | {"control_mode": "ANGULAR_JOYSTICK"},
    }


async def test_seq_counts_all_events_prev_those_of_the_topic(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#")
    heads: dict[str, int] = {}
    for noun, (params, _, _) in [*SETS.items(), *SETS.items()]:
        await client.change(arm, f"Set{noun}", params)
    for expected in range(1, 2 * len(SETS) + 1):
        message = await client.take(lambda one: one.topic.startswith("evt/"))
        event = message.document
        assert event["seq"] == expected
        assert event["prev"] == heads.get(message.topic, 0)
        heads[message.topic] = event["seq"]


async def test_an_unchanged_change_is_read_back_and_announced_but_no_revision(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#")
    await client.change(arm, SET, VALUE)
    await client.take_topic(f"evt/{arm}/{TOPIC}")
    reply = await client.change(arm, SET, VALUE, id="same")
    assert (reply["stage"], reply["final"], reply["rev"], reply["seq"]) == ("applied", True, 2, 2)
    event = (await client.take_topic(f"evt/{arm}/{TOPIC}")).document
    assert (event["cause"], event["rev"], event["seq"], event["prev"]) == ("unchanged", 2, 2, 1)
    assert event["request_id"] == f"{client.user}/{client.conn}/same"
    assert event["change"]["before"] == event["change"]["after"] == 0.25
    history = (await client.call(arm, "GetHistory"))["result"]["changes"]
    assert [entry["rev"] for entry in history] == [2]


async def test_an_equal_value_is_written_while_another_is_pending(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    await client.change(arm, SET, VALUE)
    await client.change(arm, "SimFault", {"fault": "hang"})
    await client.change(arm, SET, {**MODE, "twist_linear_soft_limit": 0.3}, wait="stored")
    again = await client.change(arm, SET, VALUE, wait="stored")
    assert again["rev"] == 4
    await client.change(arm, "SimFault", {"fault": "none"})


async def test_a_refusal_gives_neither_revision_nor_event(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#")
    reply = await client.call(arm, SET, {**MODE, "twist_linear_soft_limit": 0.51})
    assert (reply["stage"], reply["rev"], reply["seq"]) == ("refused", 1, 0)
    page = await client.call(arm, "GetEvents", {"after_seq": 0})
    assert page["result"] == {"events": [], "first_seq": 0, "head_seq": 0, "more": False, "missing": []}
    assert client.events(arm) == []


async def test_a_foreign_change_takes_a_revision_and_leaves_what_is_desired(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#")
    await client.change(arm, SET, VALUE)
    await client.take_topic(f"evt/{arm}/{TOPIC}")
    slot = {"item": "twist_linear_soft_limit", "slot": "CARTESIAN_JOYSTICK", "value": 0.4}
    await client.change(arm, "SimFault", {"fault": "foreign_change", **slot})
    event = (await client.take_topic(f"evt/{arm}/{TOPIC}")).document
    assert (event["cause"], event["rev"], event["seq"], event["prev"]) == ("foreign", 3, 2, 1)
    assert event["by"]["user"] == "@arm"
    assert "request_id" not in event
    assert (event["change"]["before"], event["change"]["after"]) == (0.25, 0.4)
    history = (await client.call(arm, "GetHistory"))["result"]["changes"]
    assert (history[0]["rev"], history[0]["outcome"], history[0]["by"]["user"]) == (3, "foreign", "@arm")
    read = await client.call(arm, "GetKinematicSoftLimits", MODE)
    assert (read["result"]["twist_linear"], read["desired"]["twist_linear"]) == (0.4, 0.25)


async def test_a_change_that_the_arm_refuses_goes_back(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#")
    await client.change(arm, "SimFault", {"fault": "refuse"})
    reply = await client.call(arm, SET, VALUE, id="no")
    error = reply["error"]
    shown = (reply["ok"], reply["stage"], reply["final"], error["kind"], error["name"], error["retry"])
    assert shown == (False, "refused", True, "arm_refused", "METHOD_FAILED", "new_id")
    event = (await client.take_topic(f"evt/{arm}/outcome")).document
    assert (event["event"], event["cause"], event["notification"]) == ("CHANGE_NOT_APPLIED", "refused", None)
    assert (event["request_id"], event["seq"]) == (f"{client.user}/{client.conn}/no", reply["seq"])
    read = await client.call(arm, "GetKinematicSoftLimits", MODE)
    assert "desired" not in read
    assert read["rev"] == 3
    again = await client.call(arm, SET, VALUE, id="no")
    assert again == {**reply, "duplicate": True, "in_force": False}
    assert client.events(arm) == []


async def test_a_refused_mode_request_gives_one_event_of_its_own(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#")
    await client.change(arm, "SimFault", {"fault": "refuse", "item": "control_mode"})
    reply = await client.call(arm, "SetControlMode", {"control_mode": "ANGULAR_JOYSTICK"})
    assert (reply["error"]["kind"], reply["stage"]) == ("arm_refused", "refused")
    event = (await client.take_topic(f"evt/{arm}/config/CHANGE_CONTROL_MODE_FAILED")).document
    assert (event["cause"], event["rev"], event["seq"]) == ("refused", reply["rev"], reply["seq"])
    assert event["notification"]["event"] == "CHANGE_CONTROL_MODE_FAILED"
    await client.change(arm, SET, VALUE)
    await client.take_topic(f"evt/{arm}/{TOPIC}")
    assert client.events(arm) == []


async def test_a_lost_answer_is_read_back(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    await client.change(arm, "SimFault", {"fault": "lose_answer"})
    reply = await client.call(arm, SET, VALUE)
    assert (reply["ok"], reply["stage"], reply["final"]) == (True, "applied", True), reply


async def test_an_absent_arm_refuses_what_cannot_wait_at_once(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#", f"state/{arm}/presence")
    await client.change(arm, "SimFault", {"fault": "offline"})
    await client.document(f"state/{arm}/presence", lambda one: one["state"] == "offline" and not one["ready"])
    for method, params in (("ResetGravityVector", {}), ("RestoreFactory", {}), ("SetControlMode", MODE)):
        reply = await client.call(arm, method, params)
        shown = (reply["stage"], reply["final"], reply["error"]["kind"], reply["error"]["name"], reply["rev"])
        assert shown == ("refused", True, "arm_away", "DEVICE_DISCONNECTED", 1)
    for method in ("GetGravityVector", "GetKinematicHardLimits", "GetControlMode", "GetDesiredSpeeds"):
        read = await client.call(arm, method)
        assert [warning["name"] for warning in read["warnings"]] == ["DEVICE_DISCONNECTED"]
    await client.change(arm, "SimFault", {"fault": "none"})
    await client.document(f"state/{arm}/presence", lambda one: one["state"] == "online" and one["ready"])
    assert (await client.change(arm, SET, VALUE))["seq"] == 1
    assert len(client.events(arm)) <= 1


async def test_events_keep_their_epoch_and_count_on_over_a_restart(
    connect: ClientMaker, start_service: ClientMaker
) -> None:
    own = start_service("r1")
    client = await connect("evt/#", to=own)
    await client.change("r1", SET, VALUE)
    first = (await client.take_topic(f"evt/r1/{TOPIC}")).document
    own.restart()
    await client.change("r1", SET, {**MODE, "twist_linear_soft_limit": 0.3})
    second = (await client.take_topic(f"evt/r1/{TOPIC}")).document
    assert (second["seq"], second["prev"], second["rev"]) == (2, 1, 3)
    assert second["epoch"] > first["epoch"]
    page = (await client.call("r1", "GetEvents", {"after_seq": 0}))["result"]
    assert page["events"] == [first, second]
    assert client.inbox == []
