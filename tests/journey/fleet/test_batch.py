"""ApplyConfig over MQTT, in three codecs: the examples of the protocol, and what is refused."""

from typing import Any

import pytest

from tests.journey.client import Client
from tests.journey.conftest import ClientMaker
from tests.journey.forms import CONTENT_TYPES

CODECS = tuple(CONTENT_TYPES)
PATH = "twist_linear_soft_limit/CARTESIAN_JOYSTICK"


def twist(limit: float) -> dict[str, Any]:
    return {"twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": limit}}


async def apply(client: Client, arm: str, items: dict[str, Any], **fields: Any) -> dict[str, Any]:
    params = {"items": items} | {name: fields.pop(name) for name in ("partial", "on_failure") if name in fields}
    return await client.call(arm, "ApplyConfig", params, **fields)


@pytest.mark.parametrize("codec", CODECS)
async def test_several_items_are_one_change(connect: ClientMaker, arm: str, codec: str) -> None:
    client = await connect(f"evt/{arm}/#", codec=codec)
    items = {"tool_configuration": {"tool_mass": 0.8}, "payload_information": {"payload_mass": 2.1}} | twist(0.2)
    reply = await apply(client, arm, items)
    assert (reply["ok"], reply["stage"], reply["final"]) == (True, "applied", True), reply
    assert reply["result"] == {
        "items": {"tool_configuration": "applied", "payload_information": "applied", PATH: "applied"}
    }
    event = (await client.take_topic(f"evt/{arm}/config/CONFIG_APPLIED")).document
    assert (event["rev"], event["seq"], event["cause"]) == (reply["rev"], reply["seq"], "applied")
    assert (event["change"], event["notification"], event["details"]) == (None, None, reply["result"])
    got = await client.call(arm, "GetPayloadInformation")
    assert got["result"]["payload_mass"] == pytest.approx(2.1)


@pytest.mark.parametrize("codec", CODECS)
async def test_one_refused_slot_refuses_all(connect: ClientMaker, arm: str, codec: str) -> None:
    client = await connect(codec=codec)
    items = {"gravity_vector": {"x": 0, "y": 0, "z": -9.81}} | twist(0.9)
    reply = await apply(client, arm, items)
    error = reply["error"]
    assert (reply["ok"], reply["stage"], error["kind"], error["name"]) == (
        False, "refused", "out_of_limits", "VALUE_IS_ABOVE_MAXIMUM",
    )  # fmt: skip
    (violation,) = error["violations"]
    assert violation["path"] == "items.twist_linear_soft_limit.CARTESIAN_JOYSTICK"
    assert (violation["got"], violation["bound"]) == (0.9, 0.5)
    left = await apply(client, arm, {"payload_information": {"payload_mass": 1.5}} | twist(0.9), partial=True)
    assert (left["ok"], left["result"]["items"]) == (True, {"payload_information": "applied"})
    assert left["result"]["left_out"][PATH]["kind"] == "out_of_limits"
    assert [one["name"] for one in left["warnings"]] == ["LEFT_OUT"]


@pytest.mark.parametrize("codec", CODECS)
async def test_a_slot_that_the_arm_refuses_is_told_beside_the_others(
    connect: ClientMaker, arm: str, codec: str
) -> None:
    client = await connect(f"evt/{arm}/#", codec=codec)
    await client.change(arm, "SimFault", {"fault": "refuse", "item": "payload_information"})
    reply = await apply(client, arm, {"payload_information": {"payload_mass": 3}} | twist(0.1))
    assert (reply["ok"], reply["stage"], reply["final"], reply["error"]["kind"]) == (False, "refused", True, "partial")
    told = reply["error"]["message"]
    assert told.startswith(f"{arm}: 1 of 2 slots took effect; not: payload_information refused (METHOD_FAILED)."), told
    assert reply["result"]["items"] == {PATH: "applied", "payload_information": "refused"}
    outcome = (await client.take_topic(f"evt/{arm}/outcome")).document
    assert (outcome["seq"], outcome["cause"], outcome["details"]) == (
        reply["seq"], "refused", {"items": {"payload_information": "refused"}},
    )  # fmt: skip


@pytest.mark.parametrize("codec", CODECS)
async def test_a_dry_run_tells_the_order(connect: ClientMaker, arm: str, codec: str) -> None:
    client = await connect(codec=codec)
    await apply(client, arm, {"payload_information": {"payload_mass": 2.1}} | twist(0.1))
    items = {"payload_information": {"payload_mass": 1}} | twist(0.05)
    reply = await apply(client, arm, items, dry_run=True)
    assert (reply["ok"], reply["stage"]) == (True, "checked")
    told = reply["result"]["items"]
    assert {path: (one["direction"], one["step"]) for path, one in told.items()} == {
        PATH: ("tightening", 1), "payload_information": ("unordered", 2),
    }  # fmt: skip
    assert (told[PATH]["after"], told["payload_information"]["before"]["payload_mass"]) == (0.05, pytest.approx(2.1))


@pytest.mark.parametrize(
    ("params", "fields", "kind"),
    [
        ({"items": {"control_mode": {"control_mode": "IDLE"}}}, {}, "unsupported_option"),
        ({"items": {}}, {}, "malformed"),
        ({"items": {"gravity_vector": {"x": 0, "y": 0, "z": "Infinity"}}}, {}, "malformed"),
        ({"items": {"gravity_vector": {"w": 0}}}, {}, "unknown_field"),
        ({"items": twist(0.1), "partly": True}, {}, "unknown_field"),
        ({"items": twist(0.1)}, {"unit": "deg"}, "unit_mismatch"),
        ({"items": twist(0.1)}, {"if_rev": 0}, "revision_conflict"),
    ],
)
async def test_what_is_no_batch_is_refused(
    connect: ClientMaker, arm: str, params: dict[str, Any], fields: dict[str, Any], kind: str
) -> None:
    client = await connect()
    await client.change(
        arm, "SetTwistLinearSoftLimit", {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.2}
    )
    reply = await client.call(arm, "ApplyConfig", params, **fields)
    assert (reply["ok"], reply["error"]["kind"]) == (False, kind), reply


@pytest.mark.parametrize("codec", CODECS)
async def test_a_revision_is_restored(connect: ClientMaker, arm: str, codec: str) -> None:
    client = await connect(codec=codec)
    first = await apply(client, arm, twist(0.2) | {"payload_information": {"payload_mass": 0.0}})
    await apply(client, arm, {"tool_configuration": {"tool_mass": 0.8}, "payload_information": {"payload_mass": 2.1}})
    await client.change(arm, "SetPayloadInformation", {"payload_mass": 1.1})
    reply = await client.call(arm, "RestoreRevision", {"rev": first["rev"]})
    assert (reply["ok"], reply["stage"], reply["rev"]) == (True, "applied", first["rev"] + 3), reply
    assert reply["result"] == {"items": {"tool_configuration": "applied", "payload_information": "applied"}}
    blamed = await client.call(arm, "Blame", {"items": ["payload_information"]})
    (value,) = blamed["result"]["values"]
    assert (value["method"], value["rev"], value["value"]["payload_mass"]) == ("RestoreRevision", reply["rev"], 0.0)
    beyond = await client.call(arm, "RestoreRevision", {"rev": 900})
    assert (beyond["error"]["kind"], beyond["error"]["name"]) == ("out_of_limits", "VALUE_IS_ABOVE_MAXIMUM")
    text = f"params.rev: 900 > {reply['rev']}, the present revision of {arm}. Nothing was changed."
    assert beyond["error"]["message"] == text
