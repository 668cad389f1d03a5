"""Groups over MQTT, in three codecs: the examples of the protocol, summaries, events of the fleet, refusals."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

from armbroker.client import ArmClient, Resynced, Watched, WatchedDocument, WatchedEvent
from tests.journey.conftest import ClientMaker
from tests.journey.forms import CONTENT_TYPES
from tests.journey.running import RunningService
from tests.links import PATIENCE_S

CODECS = tuple(CONTENT_TYPES)
TWIST, PATH = "SetTwistLinearSoftLimit", "twist_linear_soft_limit/CARTESIAN_JOYSTICK"
CELL = ("r11", "r12", "r13")
ServiceMaker = Callable[..., Any]


def arms(*names: str, groups: tuple[str, ...] = ("cell-4", "gen3")) -> list[dict[str, Any]]:
    return [{"id": name, "adapter": "simulated", "model": "gen3_7dof", "groups": list(groups)} for name in names]


@pytest.fixture
def cell(start_service: ServiceMaker) -> RunningService:
    """r11 to r13 in `@cell-4`, r20 in `@line-1`."""
    service: RunningService = start_service(arm=[*arms(*CELL), *arms("r20", groups=("line-1", "gen3"))])
    return service


def twist(value: float) -> dict[str, Any]:
    return {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": value}


@pytest.mark.parametrize("codec", CODECS)
async def test_the_examples_of_the_protocol(connect: ClientMaker, cell: RunningService, codec: str) -> None:
    client = await connect(to=cell, codec=codec)
    for arm, value in (("r11", 0.2), ("r12", 0.3), ("r13", 0.1), ("r20", 0.3)):
        await client.change(arm, TWIST, twist(value))
    where = {"presence": "online", "model": "gen3_7dof", "value": [{"path": PATH, "op": ">", "than": 0.25}]}
    reply = await client.change("@all", "FindArms", {"where": where, "show": [PATH]}, id="80")
    assert (reply["stage"], reply["final"], reply["rev"]) == ("read", True, 0)
    first = reply["result"]["arms"][0]
    assert first.pop("rev") == 2
    assert first == {
        "arm": "r12", "model": "gen3_7dof", "presence": "online", "ready": True, "activity": "idle",
        "mode": first["mode"], "authority": "control", "differs": False, "pending": False, "override": False,
        "values": {PATH: 0.3},
    }  # fmt: skip
    assert (reply["result"]["count"], reply["result"]["more"]) == (2, False)
    inside = (await client.change("@cell-4", "FindArms", {"where": where}))["result"]
    assert [each["arm"] for each in inside["arms"]] == ["r12"]

    begun = (await client.change("r20", "GetHistory", {"limit": 1}))["result"]["changes"][0]["at"]
    await client.change("r11", "SetPayloadInformation", {"payload_mass": 1.0})
    await client.change("r12", "SetPayloadInformation", {"payload_mass": 1.0})
    params = {"since": begun, "item": "payload_information", "limit": 1}
    page = (await client.change("@cell-4", "GetFleetHistory", params, id="81"))["result"]
    (entry,) = page["changes"]
    assert (entry["arm"], entry["rev"], entry["method"]) == ("r12", 3, "SetPayloadInformation")
    assert (entry["item"], entry["direction"], entry["outcome"]) == ("payload_information", "unordered", "applied")
    assert page["more"]
    assert re.fullmatch("[0-9a-f]{12}", page["cursor"])
    rest = (await client.change("@cell-4", "GetFleetHistory", {**params, "cursor": page["cursor"]}))["result"]
    assert [each["arm"] for each in rest["changes"]] == ["r11"]


@pytest.mark.parametrize("codec", CODECS)
async def test_what_a_group_cannot_be_asked(connect: ClientMaker, cell: RunningService, codec: str) -> None:
    client = await connect(to=cell, codec=codec)
    reply = await client.call("@cell-9", "SetGravityVector", {"x": 0, "y": 0, "z": -9.81}, id="53")
    assert (reply["stage"], reply["error"]["kind"], reply["error"]["name"]) == (
        "refused", "unknown_arm", "ENTITY_NOT_FOUND",
    )  # fmt: skip
    assert reply["error"]["message"] == "no group cell-9; groups: cell-4, gen3, line-1, all. Nothing was changed."
    reply = await client.call("@cell-4", "SetControlMode", {"control_mode": "IDLE"}, id="54")
    assert reply["error"]["kind"] == "unsupported_option"
    assert reply["error"]["message"] == "SetControlMode takes one arm, no group. Nothing was changed."
    reply = await client.call("r11", "FindArms", {})
    assert reply["error"]["message"] == "FindArms takes a group, no single arm. Nothing was changed."
    assert (await client.call("@@all", "FindArms", {}))["error"]["kind"] == "bad_arm_id"
    assert (await client.call("@cell-4", TWIST, twist(0.1), if_rev=1))["error"]["kind"] == "unsupported_option"


@pytest.mark.parametrize("codec", CODECS)
async def test_the_arms_of_a_group_are_compared(connect: ClientMaker, cell: RunningService, codec: str) -> None:
    client = await connect(to=cell, codec=codec)
    for arm in ("r11", "r12"):
        await client.change(arm, "SetPayloadInformation", {"payload_mass": 2.1})
    await client.change("@all", "PutRecipe", {"name": "weld", "items": {"payload_information": {"payload_mass": 2.1}}})
    reply = await client.change("@cell-4", "Diff", {"to": {"recipe": "weld"}}, id="32")
    assert reply["result"] == {
        "rows": [
            {"arm": "r11", "same": True, "count": 0, "paths": []},
            {"arm": "r12", "same": True, "count": 0, "paths": []},
            {"arm": "r13", "same": False, "count": 1, "paths": ["payload_information"]},
        ],
        "counts": {"same": 2, "differ": 1, "failed": 0},
        "more": False,
    }


async def test_a_summary_is_retained_and_follows_its_arms(connect: ClientMaker, cell: RunningService) -> None:
    client = await connect("state/+/fleet", "meta/groups", to=cell)
    groups = await client.document("meta/groups", lambda _: True)
    assert groups == {"groups": {"cell-4": 3, "gen3": 4, "line-1": 1, "all": 4}}
    told = await client.document("state/@cell-4/fleet", lambda each: each["online"] == 3)
    assert (told["arm"], told["rev"], told["attention"]) == ("@cell-4", 0, [])
    await client.change("r12", "SimFault", {"fault": "fault"})
    told = await client.document("state/@cell-4/fleet", lambda each: each["faults"] == 1)
    assert told["attention"] == [{"arm": "r12", "why": "fault"}]
    everybody = await client.document("state/@all/fleet", lambda each: each["faults"] == 1)
    assert (everybody["arms"], everybody["online"]) == (4, 4)


@pytest.mark.parametrize("codec", CODECS)
async def test_events_of_the_fleet_can_be_read_again_after_a_restart(
    connect: ClientMaker, cell: RunningService, codec: str
) -> None:
    client = await connect("evt/@all/#", to=cell, codec=codec)
    await client.change("@all", "PutRecipe", {"name": "weld", "items": {"payload_information": {"payload_mass": 2.1}}})
    told = await client.document("evt/@all/recipe", lambda _: True)
    assert (told["arm"], told["seq"], told["prev"], told["rev"]) == ("@all", 1, 0, 0)
    reply = await client.change("@all", "GetEvents", {"after_seq": 0})
    assert (reply["rev"], reply["seq"]) == (0, 1)
    assert reply["result"]["events"] == [told]
    cell.restart()
    again = await connect("evt/@all/#", to=cell, codec=codec)
    await again.change("@all", "DeleteRecipe", {"name": "weld"})
    gone = await again.document("evt/@all/recipe", lambda each: each["cause"] == "deleted")
    assert (gone["seq"], gone["prev"], gone["epoch"]) == (2, 1, told["epoch"] + 1)
    page = (await again.change("@all", "GetEvents", {"after_seq": 0}))["result"]
    assert page["events"] == [told, gone]


async def test_rights_count_on_each_arm_of_a_group(connect: ClientMaker, start_service: ServiceMaker) -> None:
    clients = {"bob": {"arms": ["r11", "r12"]}, "eve": {"reads": ["r11"]}, "*": {"reads": ["r11"]}}
    service = start_service(arm=[*arms(*CELL[:2]), *arms("r13", groups=("cell-4",))], clients=clients)
    bob, eve = await connect(to=service, user="bob"), await connect(to=service, user="eve")
    refused = (await bob.call("@cell-4", "SetPayloadInformation", {"payload_mass": 1}))["error"]
    assert refused["kind"] == "not_permitted"
    assert (await eve.call("@gen3", "FindArms", {}))["error"]["kind"] == "not_permitted"
    assert (await eve.call("@all", "GetEvents", {}))["error"]["kind"] == "not_permitted"
    assert (await eve.call("r11", "GetGravityVector", {}))["stage"] == "read"


async def test_who_watches_sees_what_the_fleet_tells(connect: ClientMaker, cell: RunningService) -> None:
    client = await connect(to=cell)
    url, root, seen = f"mqtt://127.0.0.1:{cell.port}", cell.settings.root, list[Watched]()
    weld = {"name": "weld", "items": {"gravity_vector": {"z": -9.81}}}
    async with (
        ArmClient(url, root=root, user="carol", conn="screen") as screen,
        asyncio.timeout(PATIENCE_S),
        screen.watch() as watched,
    ):
        async for one in watched:
            seen.append(one)
            if isinstance(one, WatchedDocument) and (one.arm, one.name) == ("@cell-4", "fleet"):
                await client.change("@all", "PutRecipe", weld)
            if isinstance(one, WatchedEvent) and one.arm == "@all":
                assert (one.event["event"], one.event["seq"]) == ("RECIPE_CHANGED", 1)
                break
    assert not [one for one in seen if isinstance(one, Resynced) and one.arm.startswith("@")]
