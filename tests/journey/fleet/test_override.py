"""Changes with an end over MQTT: the examples of the protocol in every codec, and what strangers send."""

import time
from typing import Any

import pytest

from schema.codecs.times import format_time
from tests.journey.client import Client
from tests.journey.conftest import ClientMaker

CODECS = ("json", "msgpack", "protobuf")
SET, ITEM = "SetTwistLinearSoftLimit", "twist_linear_soft_limit"
PATH = f"{ITEM}/CARTESIAN_JOYSTICK"
CHANGED = "TWIST_LINEAR_SOFT_LIMIT_CHANGED"


def value(number: float) -> dict[str, Any]:
    """Params of the Set."""
    return {"control_mode": "CARTESIAN_JOYSTICK", ITEM: number}


def items(number: float, mass: float) -> dict[str, Any]:
    """Params of an ApplyConfig."""
    return {"items": {ITEM: {"CARTESIAN_JOYSTICK": number}, "payload_information": {"payload_mass": mass}}}


def tomorrow_ms() -> int:
    """This time tomorrow, ms since 1970."""
    return int((time.time() + 86_400) * 1_000)


def end_of(reply: dict[str, Any]) -> str:
    """When a reply says that it is over; in protobuf times are microseconds."""
    return str(reply["until"]) if "until" in reply else format_time(int(reply["until_us"]))


async def config(client: Client, arm: str, wanted: int) -> list[dict[str, Any]]:
    """The overrides of the config document once there are so many."""
    document = await client.document(f"state/{arm}/config", lambda each: len(each.get("overrides", [])) == wanted)
    found: list[dict[str, Any]] = document.get("overrides", [])
    return found


@pytest.mark.parametrize("codec", CODECS)
async def test_the_examples_of_the_protocol(connect: ClientMaker, arm: str, codec: str) -> None:
    client = await connect(f"evt/{arm}/#", f"state/{arm}/config", codec=codec)
    await client.change(arm, SET, value(0.25))
    reply = await client.change(arm, SET, value(0.4), valid_for_ms=600_000, reason="teaching")
    assert (reply["stage"], reply["rev"]) == ("applied", 3)
    (live,) = await config(client, arm, 1)
    assert (live["rev"], live["until"], live["state"], live["ground"]) == (3, end_of(reply), "live", {PATH: 0.25})
    assert 0 < live["left_ms"] <= 600_000
    event = await client.document(f"evt/{arm}/config/{CHANGED}", lambda each: each["rev"] == 3)
    assert event["until"] == end_of(reply)
    extended = await client.change(arm, "ExtendOverride", {"rev": 3, "valid_for_ms": 300_000})
    (one,) = extended["result"]["overrides"]
    assert (extended["stage"], one["rev"]) == ("stored", 3)
    told = await client.document(f"evt/{arm}/override", lambda each: each["event"] == "OVERRIDE_EXTENDED")
    assert (told["rev"], told["until"], told["cause"]) == (3, one["until"], "extended")
    assert told["details"] == {
        "rev": 3, "paths": [PATH], "since": told["details"]["since"], "until": one["until"],
        "direction": "loosening", "ground": {PATH: 0.25},
    }  # fmt: skip
    reply = await client.change(arm, "GetKinematicSoftLimits", {"control_mode": "CARTESIAN_JOYSTICK"})
    assert (end_of(reply), round(reply["result"]["twist_linear"], 6)) == (one["until"], 0.4)
    asked = {"control_mode": "CARTESIAN_JOYSTICK"}
    reply = await client.call(arm, "GetKinematicSoftLimits", asked, view="ground")
    assert round(reply["result"]["twist_linear"], 6) == 0.25
    assert (await client.change(arm, "EndOverride", {"rev": 3}))["result"] == {"ended": [3], "left": []}
    returned = await client.document(f"evt/{arm}/config/{CHANGED}", lambda each: each["cause"] == "returned")
    assert (returned["rev"], returned["by"]["user"]) == (4, "@service")
    assert {name: returned["change"][name] for name in ("item", "slot", "before", "after")} == {
        "item": ITEM, "slot": "CARTESIAN_JOYSTICK", "before": 0.4, "after": 0.25,
    }  # fmt: skip
    refused = await client.call(arm, "EndOverride", {"rev": 3, "keep": True})
    assert (refused["ok"], refused["stage"], refused["error"]["kind"]) == (False, "refused", "revision_conflict")
    text = f"params.rev: 3 is no live override of {arm}; live: none. Nothing was changed."
    assert refused["error"]["message"] == text
    await config(client, arm, 0)


@pytest.mark.parametrize("codec", CODECS)
async def test_an_end_as_a_time_and_its_return_by_the_clock(connect: ClientMaker, arm: str, codec: str) -> None:
    client = await connect(f"evt/{arm}/#", codec=codec)
    handle = (await client.change(arm, "ControlConfigurationTopic", {}))["result"]["identifier"]
    assert handle
    await client.change(arm, "SetPayloadInformation", {"payload_mass": 1.0})
    reply = await client.change(arm, "SetPayloadInformation", {"payload_mass": 2.0}, valid_for_ms=1_000)
    until = end_of(reply)
    ended = await client.document(f"evt/{arm}/override", lambda each: each["event"] == "OVERRIDE_ENDED")
    assert (ended["cause"], ended["until"], ended["rev"]) == ("expired", until, reply["rev"])
    topic = f"evt/{arm}/config/PAYLOAD_CONFIGURATION_CHANGED"
    returned = await client.document(topic, lambda each: each["cause"] == "returned")
    assert returned["change"]["after"]["payload_mass"] == 1.0
    history = (await client.change(arm, "GetHistory", {"limit": 2}))["result"]["changes"]
    assert [(one["method"], one.get("returned_from"), one.get("until")) for one in history] == [
        ("EndOverride", reply["rev"], None), ("SetPayloadInformation", None, until),
    ]  # fmt: skip
    at_ms = tomorrow_ms()
    named: dict[str, Any] = {"until_ms": at_ms} if codec == "protobuf" else {"until": format_time(at_ms * 1_000)}
    far = await client.change(arm, "SetPayloadInformation", {"payload_mass": 2.0}, **named)
    assert end_of(far) == format_time(at_ms * 1_000)


@pytest.mark.parametrize("codec", CODECS)
async def test_several_values_that_were_restored_for_a_time_go_back_as_one(
    connect: ClientMaker, arm: str, codec: str
) -> None:
    client = await connect(f"evt/{arm}/#", f"state/{arm}/config", codec=codec)
    load = "payload_information"
    rev = (await client.change(arm, "ApplyConfig", items(0.4, 1.0)))["rev"]
    await client.change(arm, "ApplyConfig", items(0.2, 2.0))
    over = await client.change(arm, "RestoreRevision", {"rev": rev, "items": [PATH, load]}, valid_for_ms=60_000)
    (live,) = await config(client, arm, 1)
    assert (live["rev"], sorted(live["paths"]), live["until"]) == (over["rev"], [load, PATH], end_of(over))
    await client.change(arm, "EndOverride", {"rev": over["rev"]})
    whole = await client.document(f"evt/{arm}/config/CONFIG_APPLIED", lambda each: each["rev"] > over["rev"])
    assert (whole["cause"], whole["by"]["user"]) == ("applied", "@service")
    assert whole["details"] == {"items": {PATH: "applied", load: "applied"}}
    for name in (CHANGED, "PAYLOAD_CONFIGURATION_CHANGED"):
        told = await client.document(f"evt/{arm}/config/{name}", lambda each: each["cause"] == "returned")
        assert (told["rev"], told["request_id"]) == (whole["rev"], whole["request_id"])
    (entry, *_) = (await client.change(arm, "GetHistory", {"limit": 2}))["result"]["changes"]
    assert (entry["rev"], entry["returned_from"], entry["after"][PATH]) == (whole["rev"], over["rev"], 0.2)
    values = (await client.change(arm, "Blame", {"items": [PATH, load]}))["result"]["values"]
    assert {(one["rev"], one["method"]) for one in values} == {(whole["rev"], "EndOverride")}


@pytest.mark.parametrize(
    ("method", "params", "options", "kind"),
    [
        (SET, value(0.4), {"valid_for_ms": 999}, "bad_request_field"),
        (SET, value(0.4), {"valid_for_ms": 2_592_000_001}, "bad_request_field"),
        (SET, value(0.4), {"until": "2020-01-01T00:00:00Z"}, "bad_request_field"),
        (SET, value(0.4), {"until": "2126-01-01T00:00:00Z"}, "bad_request_field"),
        (SET, value(0.4), {"until": "soon"}, "bad_request_field"),
        (SET, value(9.0), {"valid_for_ms": 1_000}, "out_of_limits"),
        ("SetControlMode", {"control_mode": "IDLE"}, {"valid_for_ms": 1_000}, "unsupported_option"),
        ("ResetTwistLinearSoftLimit", {"control_mode": "IDLE"}, {"valid_for_ms": 1_000}, "unsupported_option"),
        ("RestoreFactory", {}, {"valid_for_ms": 1_000}, "unsupported_option"),
        ("ClearJointSafety", {"joints": ["joint_1"]}, {"valid_for_ms": 1_000}, "unsupported_option"),
        ("ResetJointLimits", {}, {"valid_for_ms": 1_000}, "unsupported_option"),
        ("ExtendOverride", {"all": True, "valid_for_ms": 1_000}, {}, "revision_conflict"),
        ("ExtendOverride", {"rev": "x", "valid_for_ms": 1_000}, {}, "malformed"),
        ("EndOverride", {"rev": 1, "plan": 1}, {}, "malformed"),
        ("EndOverride", {"all": True, "because": "so"}, {}, "unknown_field"),
    ],
)
async def test_what_cannot_be_is_refused_and_changes_nothing(
    connect: ClientMaker, arm: str, method: str, params: dict[str, Any], options: dict[str, Any], kind: str
) -> None:
    client = await connect()
    before = (await client.call(arm, "GetHistory"))["rev"]
    reply = await client.call(arm, method, params, **options)
    assert (reply["ok"], reply["error"]["kind"]) == (False, kind), reply
    assert (await client.call(arm, "GetHistory"))["rev"] == before


async def test_both_ends_at_once_are_refused(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    reply = await client.call(arm, SET, value(0.2), valid_for_ms=60_000, until=format_time(tomorrow_ms() * 1_000))
    assert reply["error"]["kind"] == "bad_request_field"


async def test_a_repeat_with_another_end_is_another_request(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    await client.change(arm, SET, value(0.2), valid_for_ms=600_000, id="one")
    again = await client.call(arm, SET, value(0.2), valid_for_ms=600_000, id="one")
    assert (again["ok"], again["duplicate"], again["in_force"]) == (True, True, True)
    other = await client.call(arm, SET, value(0.2), valid_for_ms=600_001, id="one")
    assert other["error"]["kind"] == "id_reused"


@pytest.mark.parametrize("codec", CODECS)
async def test_ruling_23_an_end_of_one_joint_leaves_what_is_set_for_good_of_another_one(
    connect: ClientMaker, arm: str, codec: str
) -> None:
    client = await connect(f"evt/{arm}/#", f"state/{arm}/config", codec=codec)
    for joint in ("joint_1", "joint_2"):
        await client.change(arm, "SetJointLimit", {"joint": joint, "update": {"max_velocity": 0.5}})
    first = {"joint": "joint_1", "update": {"max_velocity": 0.2}}
    reply = await client.change(arm, "SetJointLimit", first, valid_for_ms=600_000)
    (live,) = await config(client, arm, 1)
    assert (live["rev"], live["until"], live["paths"]) == (reply["rev"], end_of(reply), ["joint_limits"])
    assert live["ground"] == {"joint_limits": {"max_velocity[0]": 0.5}}
    beside = await client.change(arm, "SetJointLimit", {"joint": "joint_2", "update": {"max_velocity": 0.4}})
    assert await speeds(client, arm) == [0.2, 0.4]
    assert await speeds(client, arm, view="ground") == [0.5, 0.4]
    blame = (await client.change(arm, "Blame", {"items": ["joint_limits"]}))["result"]["values"]
    until = {one["part"]: one.get("until") for one in blame if one["part"].startswith("max_velocity")}
    assert (until["max_velocity[0]"], until["max_velocity[1]"]) == (live["until"], None)
    assert (await client.change(arm, "EndOverride", {"rev": reply["rev"]}))["result"]["ended"] == [reply["rev"]]
    returned = await client.document(f"evt/{arm}/config/JOINT_LIMITS_CHANGED", lambda each: each["cause"] == "returned")
    assert (returned["rev"], returned["by"]["user"]) == (beside["rev"] + 1, "@service")
    assert await speeds(client, arm) == [0.5, 0.4]
    await config(client, arm, 0)
    await client.change(arm, "SetJointLimit", {"joint": "joint_1", "update": {"max_velocity": 0.3}})
    restored = await client.change(arm, "RestoreRevision", {"rev": beside["rev"], "items": ["joint_limits"]})
    assert restored["result"]["items"] == {"joint_limits": "applied"}
    assert await speeds(client, arm) == [0.5, 0.4]


async def speeds(client: Client, arm: str, **options: Any) -> list[float]:
    """The limits of the speeds of the first two joints."""
    reply = await client.call(arm, "GetJointLimits", {}, **options)
    assert reply["ok"], reply
    return [round(number, 6) for number in reply["result"]["max_velocity"]["values"][:2]]
