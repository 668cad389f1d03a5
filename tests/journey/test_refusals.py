"""What is refused, by which kind, and which of several defects shows first."""

import math
from typing import Any

import msgpack
import pytest

from tests.journey.conftest import GRANTED, ClientMaker
from tests.journey.forms import CONTENT_TYPES
from tests.journey.running import RunningService

SET = "SetTwistLinearSoftLimit"
MODE = {"control_mode": "CARTESIAN_JOYSTICK"}
VALUE = {**MODE, "twist_linear_soft_limit": 0.25}
SPEEDS, ANGULAR = "SetJointSpeedSoftLimits", {"control_mode": "ANGULAR_JOYSTICK"}


def names(reply: dict[str, Any]) -> list[str]:
    """The names of the warnings."""
    return [warning["name"] for warning in reply["warnings"]]


async def first_shown(client: Any, arm: str, method: str, request: dict[str, Any], **defects: Any) -> str:
    """Kind of the refusal of a request, sent as MessagePack with further defects of the message."""
    payload = msgpack.packb(request)
    properties = {"content_type": CONTENT_TYPES["msgpack"], **defects}
    if properties.pop("too_large", False):
        payload += bytes(65_536)
    topic = f"req/{client.user}/{client.conn}/{arm}/{method}"
    retained = properties.get("retain", False)
    await client.publish(topic, payload, response_topic=f"{client.root}/res/{client.user}/x/order", **properties)
    if retained:
        await client.publish(topic, b"", retain=True)
    message = await client.take_topic(f"res/{client.user}/x/order")
    document = msgpack.unpackb(message.payload) if message.payload[:1] != b"{" else message.document
    return str(document["error"]["kind"]) if "error" in document else ""


async def test_several_defects_show_in_the_order_of_the_protocol(connect: ClientMaker, arm: str) -> None:
    client = await connect(user="bob")
    envelope = {"params": {**VALUE, "wrong": math.nan}, "group": {}, "nonsense": 1}
    request: dict[str, Any] = dict(envelope)
    defects: dict[str, Any] = {"too_large": True, "retain": True, "content_type": "text/plain"}
    bad_arm, method = "a b", "NoSuchMethod"
    for name, kind in (("too_large", "too_large"), ("retain", "retained_request")):
        assert await first_shown(client, bad_arm, method, request, **defects) == kind
        del defects[name]
    assert await first_shown(client, bad_arm, method, request, **defects) == "bad_arm_id"
    assert await first_shown(client, "no-arm", method, request, **defects) == "unsupported_codec"
    assert await first_shown(client, "no-arm", method, request) == "unknown_field"
    del request["nonsense"]
    assert await first_shown(client, "no-arm", SET, request) == "id_missing"
    await client.call(GRANTED, "SetGravityVector", {"z": -9.81}, id="used")
    late = {"issued_at": "2020-01-01T00:00:00Z", "ttl_ms": 1}
    assert await first_shown(client, "no-arm", method, {**request, **late, "id": "used"}) == "id_reused"
    assert await first_shown(client, "no-arm", method, {**request, **late, "id": "1"}) == "expired"
    assert await first_shown(client, "no-arm", method, {**request, "id": "2"}) == "unknown_arm"
    assert await first_shown(client, arm, method, {**request, "id": "3"}) == "unknown_method"
    assert await first_shown(client, arm, SET, {**request, "id": "4"}) == "unknown_field"
    request["params"] = {**MODE, "twist_linear_soft_limit": math.nan}
    assert await first_shown(client, arm, SET, {**request, "id": "5"}) == "unsupported_option"
    del request["group"]
    assert await first_shown(client, arm, SET, {**request, "id": "6"}) == "not_permitted"
    assert await first_shown(client, GRANTED, SET, {**request, "id": "7"}) == "not_finite"


async def test_a_full_queue_shows_after_policy_and_before_the_values(
    connect: ClientMaker, start_service: ClientMaker
) -> None:
    own = start_service("r1", arm_defaults={"queue": 1}, clients={"bob": {"arms": []}})
    client, bob = await connect(to=own), await connect(to=own, user="bob")
    await client.change("r1", "SimFault", {"fault": "hang"})
    await client.change("r1", SET, VALUE, wait="stored")
    wrong = {**MODE, "twist_linear_soft_limit": math.nan}
    assert await first_shown(bob, "r1", SET, {"id": "1", "params": wrong}) == "not_permitted"
    assert await first_shown(client, "r1", SET, {"id": "1", "params": wrong}) == "busy"
    unknown = {"control_mode": "NO_SUCH_MODE"}
    assert await first_shown(client, "r1", SET, {"id": "2", "params": unknown}) == "busy"
    malformed = {"control_mode": 7}
    assert await first_shown(client, "r1", SET, {"id": "3", "params": malformed}) == "malformed"
    await client.change("r1", "SimFault", {"fault": "none"})


@pytest.mark.parametrize(
    ("params", "kind"),
    [
        ({"control_mode": "NO_SUCH_MODE", "joint_speed_soft_limits": [math.nan, "x"]}, "malformed"),
        ({"control_mode": "NO_SUCH_MODE", "joint_speed_soft_limits": [math.nan], "other": 1}, "unknown_field"),
        ({"control_mode": "NO_SUCH_MODE", "joint_speed_soft_limits": [math.inf]}, "not_finite"),
        ({"control_mode": "NO_SUCH_MODE", "joint_speed_soft_limits": [999.0]}, "unknown_enum"),
        ({"control_mode": "UNSPECIFIED_CONTROL_MODE", "joint_speed_soft_limits": [999.0]}, "unknown_enum"),
        ({"control_mode": "CARTESIAN_ADMITTANCE", "joint_speed_soft_limits": [999.0]}, "mode_without_limit"),
        ({**ANGULAR, "joint_speed_soft_limits": [999.0]}, "wrong_joint_count"),
        ({**ANGULAR, "joint_speed_soft_limits": [-1.0] + [0.5] * 6}, "out_of_limits"),
        ({**ANGULAR, "joint_speed_soft_limits": [0.5] * 7}, "implausible_value"),
    ],
)
async def test_item_checks_show_in_order(
    connect: ClientMaker, strict_service: RunningService, strict_arm: str, params: dict[str, Any], kind: str
) -> None:
    client = await connect(to=strict_service)
    assert await first_shown(client, strict_arm, SPEEDS, {"id": "1", "params": params}) == kind


@pytest.mark.parametrize("method", ["SetGravityvector", "setGravityVector", "GetGravityVector ", "Foo"])
async def test_unknown_methods(connect: ClientMaker, arm: str, method: str) -> None:
    client = await connect()
    reply = await client.call(arm, method, {"z": -9.81})
    assert (reply["error"]["kind"], reply["error"]["name"]) == ("unknown_method", "UNSUPPORTED_METHOD")
    assert (reply["method"], reply["rev"]) == (method, 1)


@pytest.mark.parametrize("group", ["@", "@ b", "@-a", "@@all", "@" + "x" * 64])
async def test_what_names_no_group_is_no_arm(connect: ClientMaker, group: str) -> None:
    client = await connect()
    reply = await client.call(group, "SetGravityVector", {"z": -9.81})
    assert (reply["error"]["kind"], reply["error"]["retry"]) == ("bad_arm_id", "new_id")
    assert (reply["arm"], reply["rev"], reply["seq"]) == (group, 0, 0)


async def test_arms_are_compared_byte_for_byte(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    reply = await client.call(arm.upper(), "GetGravityVector")
    assert (reply["error"]["kind"], reply["error"]["name"]) == ("unknown_arm", "ENTITY_NOT_FOUND")


async def test_a_retained_request_is_refused(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    await client.send(arm, SET, {"id": "1", "params": VALUE}, retain=True)
    reply = await client.reply("1")
    assert (reply["error"]["kind"], reply["error"]["retry"], reply["rev"]) == ("retained_request", "new_id", 1)
    await client.publish(f"req/{client.user}/{client.conn}/{arm}/{SET}", b"", retain=True)
    assert (await client.change(arm, SET, VALUE, id="2"))["rev"] == 2
    assert not any(message.topic.endswith("/_") for message in client.inbox)


async def test_violations_are_exact(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    values = [80.0, 80.0, 80.0, 80.0, 80.0, 70.0, 75.5]
    reply = await client.call(arm, SPEEDS, {**ANGULAR, "joint_speed_soft_limits": values})
    error = reply["error"]
    assert (error["code"], error["sub_code"], error["name"]) == (3, 48, "VALUE_IS_ABOVE_MAXIMUM")
    common = {"bound": 70.0, "unit": "deg/s", "source": "hard:device", "suggest": [80.0] * 4 + [70.0] * 3}
    shown = [
        {key: value for key, value in one.items() if key not in ("relation", "joint_name")}
        for one in error["violations"]
    ]
    assert shown == [
        {"path": "joint_speed_soft_limits[4]", "joint": 5, "got": 80.0, **common},
        {"path": "joint_speed_soft_limits[6]", "joint": 7, "got": 75.5, **common},
    ]
    assert error["message"] == (
        f"joint_speed_soft_limits[4] (joint 5): 80 deg/s > 70 deg/s, hard limit read from {arm}. "
        "Nearest legal: [80, 80, 80, 80, 70, 70, 70]. Nothing was changed."
    )
    assert (await client.change(arm, SPEEDS, {**ANGULAR, "joint_speed_soft_limits": common["suggest"]}))["ok"]


async def test_a_twist_limit_of_zero_is_below_the_minimum(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    error = (await client.call(arm, SET, {**MODE, "twist_linear_soft_limit": 0}))["error"]
    assert (error["kind"], error["name"], error["sub_code"]) == ("out_of_limits", "VALUE_IS_BELOW_MINIMUM", 49)


async def test_soft_limits_of_a_mode_that_takes_none_cannot_be_read(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    reply = await client.call(arm, "GetKinematicSoftLimits", {"control_mode": "FORCE_CONTROL"})
    assert reply["error"]["kind"] == "mode_without_limit"


DOUBTFUL = [
    (SPEEDS, {**ANGULAR, "joint_speed_soft_limits": [0.8727] * 7}, "UNIT_SUSPECT"),
    (
        "SetToolConfiguration",
        {"tool_transform": {"theta_z": math.pi / 2}, "tool_mass": 1.0},
        "UNIT_SUSPECT",
    ),
    ("SetToolConfiguration", {"tool_transform": {"z": 0.2}}, "TOOL_MASS_DROPPED"),
]


@pytest.mark.parametrize(("method", "params", "warning"), DOUBTFUL)
async def test_what_is_doubtful_is_warned_about(
    connect: ClientMaker, arm: str, method: str, params: dict[str, Any], warning: str
) -> None:
    client = await connect()
    await client.change(arm, "SetToolConfiguration", {"tool_mass": 0.5})
    reply = await client.change(arm, method, params)
    assert (reply["stage"], [name for name in names(reply) if name != "ROUNDED"]) == ("applied", [warning])


@pytest.mark.parametrize(("method", "params", "warning"), DOUBTFUL)
async def test_what_is_doubtful_is_refused_when_strict(
    connect: ClientMaker,
    strict_service: RunningService,
    strict_arm: str,
    method: str,
    params: dict[str, Any],
    warning: str,
) -> None:
    client = await connect(to=strict_service)
    await client.change(strict_arm, "SetToolConfiguration", {"tool_mass": 0.5})
    reply = await client.call(strict_arm, method, params)
    assert (reply["stage"], reply["error"]["kind"]) == ("refused", "implausible_value"), warning


async def test_an_overloaded_arm_is_warned_about(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    reply = await client.change(arm, "SetPayloadInformation", {"payload_mass": 50.0})
    assert names(reply) == ["PAYLOAD_OVER_RATING"]


async def test_what_the_arm_rounds_is_told(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    reply = await client.change(arm, "SetTwistAngularSoftLimit", {**MODE, "twist_angular_soft_limit": 33.3333})
    assert (reply["stage"], names(reply)) == ("applied", ["ROUNDED"])


async def test_padding_is_cut_with_a_warning(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    topic = f"req/{client.user}/{client.conn}/{arm}/GetGravityVector"
    await client.publish(topic, b' \n\r\t{"id":"p"} \n\x00\x00\r\t')
    assert names(await client.reply("p")) == ["PADDED"]


async def test_control_modes_that_the_arm_does_not_take(connect: ClientMaker, arm: str) -> None:
    client = await connect("meta/#")
    sheet = await client.document(f"meta/factsheet/{arm}", lambda one: bool(one["modes_settable"]))
    for mode, kind in (
        ("FORCE_CONTROL", "unknown_method"),
        ("UNSPECIFIED_CONTROL_MODE", "unknown_enum"),
        ("NO_SUCH_MODE", "unknown_enum"),
    ):
        assert mode not in sheet["modes_settable"]
        reply = await client.call(arm, "SetControlMode", {"control_mode": mode})
        assert reply["error"]["kind"] == kind
    for mode in sheet["modes_settable"]:
        assert (await client.change(arm, "SetControlMode", {"control_mode": mode}))["stage"] == "applied"
