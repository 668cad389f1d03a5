"""GetEvents, GetHistory, WhoAmI and SimFault."""

from typing import Any

import pytest

from tests.journey.client import Client
from tests.journey.conftest import ClientMaker

SET = "SetTwistLinearSoftLimit"
MODE = {"control_mode": "CARTESIAN_JOYSTICK"}
PAGE_LIMIT = 60 * 1024


async def change_often(client: Client, arm: str, count: int, **fields: Any) -> None:
    """Make `count` applied changes of one slot, many at a time."""
    for number in range(count):
        params = {**MODE, "twist_linear_soft_limit": 0.1 + number % 300 / 1000}
        await client.send(arm, SET, {"id": f"many-{number}", "params": params, **fields})
    for number in range(count):
        reply = await client.reply(f"many-{number}")
        assert reply["stage"] == "applied", reply


async def result(client: Client, arm: str, method: str, **params: Any) -> dict[str, Any]:
    """The result of a query."""
    found: dict[str, Any] = (await client.change(arm, method, params))["result"]
    return found


@pytest.mark.parametrize("codec", ["json", "protobuf"])
async def test_pages_of_events_stay_under_60_kib_and_miss_nothing(connect: ClientMaker, arm: str, codec: str) -> None:
    client = await connect(codec=codec)
    await change_often(client, arm, 100, reason="r" * 200)
    seqs: list[int] = []
    pages = 0
    more = True
    while more:
        request = {"id": f"page-{pages}", "params": {"after_seq": seqs[-1] if seqs else 0}}
        await client.send(arm, "GetEvents", request)
        message = await client.take_topic(f"res/{client.user}/{client.conn}/page-{pages}")
        assert len(message.payload) < PAGE_LIMIT
        client.inbox.append(message)
        page = (await client.reply(f"page-{pages}"))["result"]
        assert (page["first_seq"], page["head_seq"]) == (1, 100)
        seqs += [event["seq"] for event in page["events"]]
        more = page["more"]
        pages += 1
    assert seqs == list(range(1, 101))
    assert pages > 1


async def test_events_can_be_limited(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    await change_often(client, arm, 5)
    page = await result(client, arm, "GetEvents", after_seq=1, limit=2)
    assert ([event["seq"] for event in page["events"]], page["more"]) == ([2, 3], True)
    page = await result(client, arm, "GetEvents", after_seq=3, limit=2)
    assert ([event["seq"] for event in page["events"]], page["more"]) == ([4, 5], False)
    page = await result(client, arm, "GetEvents", after_seq=99)
    assert page == {"events": [], "first_seq": 1, "head_seq": 5, "more": False, "missing": []}


async def test_the_history_is_newest_first_and_can_be_narrowed(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    await change_often(client, arm, 3)
    await client.change(arm, "SetGravityVector", {"x": 9.81}, id="g", reason="wall")
    await client.change(arm, SET, {**MODE, "twist_linear_soft_limit": 0.5})
    everything = await result(client, arm, "GetHistory")
    assert ([entry["rev"] for entry in everything["changes"]], everything["more"]) == ([6, 5, 4, 3, 2], False)
    page = await result(client, arm, "GetHistory", limit=2)
    assert ([entry["rev"] for entry in page["changes"]], page["more"]) == ([6, 5], True)
    page = await result(client, arm, "GetHistory", before_rev=5)
    assert ([entry["rev"] for entry in page["changes"]], page["more"]) == ([4, 3, 2], False)
    page = await result(client, arm, "GetHistory", after_rev=3, before_rev=6)
    assert [entry["rev"] for entry in page["changes"]] == [5, 4]
    [gravity] = (await result(client, arm, "GetHistory", item="gravity_vector"))["changes"]
    assert gravity.pop("at")
    assert gravity == {
        "rev": 5,
        "seq": 4,
        "by": {"user": client.user, "connection": client.conn, "proven": False},
        "request_id": f"{client.user}/{client.conn}/g",
        "method": "SetGravityVector",
        "item": "gravity_vector",
        "slot": "",
        "before": {"x": 0.0, "y": 0.0, "z": -9.81},
        "after": {"x": 9.81, "y": 0.0, "z": 0.0},
        "reason": "wall",
        "outcome": "applied",
        "direction": "unordered",
    }
    limits = (await result(client, arm, "GetHistory", item="twist_linear_soft_limit", limit=1))["changes"]
    assert (limits[0]["slot"], limits[0]["after"]) == ("CARTESIAN_JOYSTICK", 0.5)


@pytest.mark.parametrize(
    ("method", "params", "kind"),
    [
        ("GetHistory", {"limit": 501}, "out_of_limits"),
        ("GetHistory", {"limit": 0}, "out_of_limits"),
        ("GetHistory", {"limit": "5"}, "malformed"),
        ("GetHistory", {"limit": True}, "malformed"),
        ("GetHistory", {"before_rev": 1.5}, "malformed"),
        ("GetHistory", {"item": "no_such_item"}, "unknown_enum"),
        ("GetHistory", {"since": 1}, "unknown_field"),
        ("GetEvents", {"after_seq": -1}, "out_of_limits"),
        ("GetEvents", {"after_seq": 0, "limit": 100_000}, "out_of_limits"),
        ("WhoAmI", {"x": 1}, "unknown_field"),
    ],
)
async def test_wrong_params_of_queries(
    connect: ClientMaker, arm: str, method: str, params: dict[str, Any], kind: str
) -> None:
    client = await connect()
    assert (await client.call(arm, method, params))["error"]["kind"] == kind


async def test_who_am_i_takes_any_arm(connect: ClientMaker) -> None:
    client = await connect()
    for arm in ("-", "@", "", "no-such-arm", "arm-0000"):
        reply = await client.call(arm, "WhoAmI")
        assert (reply["stage"], reply["arm"], reply["result"]["conn"]) == ("read", arm, client.conn)


@pytest.mark.parametrize(
    ("params", "kind"),
    [
        ({}, "unknown_enum"),
        ({"fault": "explode"}, "unknown_enum"),
        ({"fault": "hang", "for": 1}, "unknown_field"),
        ({"fault": "hang", "for_ms": -1}, "out_of_limits"),
        ({"fault": "foreign_change"}, "malformed"),
        ({"fault": "foreign_change", "item": "nothing", "value": 1}, "unknown_enum"),
        ({"fault": "foreign_change", "item": "gravity_vector", "value": {"q": 1}}, "unknown_field"),
    ],
)
async def test_wrong_faults(connect: ClientMaker, arm: str, params: dict[str, Any], kind: str) -> None:
    client = await connect()
    reply = await client.call(arm, "SimFault", params)
    assert (reply["stage"], reply["error"]["kind"]) == ("refused", kind)
    assert (await client.change(arm, SET, {**MODE, "twist_linear_soft_limit": 0.2}))["stage"] == "applied"


async def test_without_leave_there_are_no_faults(connect: ClientMaker, start_service: ClientMaker) -> None:
    own = start_service("r1", sim={"faults": False})
    client = await connect(to=own)
    reply = await client.call("r1", "SimFault", {"fault": "hang"})
    assert (reply["error"]["kind"], reply["error"]["name"]) == ("unknown_method", "UNSUPPORTED_METHOD")


async def test_a_delay_delays_and_a_fault_ends_by_itself(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    await client.change(arm, "SimFault", {"fault": "delay", "delay_ms": 200})
    await client.send(arm, SET, {"id": "slow", "params": {**MODE, "twist_linear_soft_limit": 0.2}})
    assert (await client.call(arm, "GetGravityVector"))["stage"] == "read"
    assert [message.topic for message in client.inbox] == []
    assert (await client.reply("slow"))["stage"] == "applied"
    await client.change(arm, "SimFault", {"fault": "hang", "for_ms": 100})
    assert (await client.change(arm, SET, {**MODE, "twist_linear_soft_limit": 0.3}))["stage"] == "applied"


async def test_a_hanging_arm_delays_nobody_else(connect: ClientMaker, arm: str, arms: Any) -> None:
    client = await connect()
    await client.change(arm, "SimFault", {"fault": "hang"})
    await client.send(arm, SET, {"id": "stuck", "params": {**MODE, "twist_linear_soft_limit": 0.2}})
    await change_often(client, next(arms), 50)
    assert client.inbox == []
    await client.change(arm, "SimFault", {"fault": "none"})
    assert (await client.reply("stuck"))["stage"] == "applied"
