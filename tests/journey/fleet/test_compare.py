"""Diff and Blame over MQTT, in three codecs: the examples of the protocol, and what is refused."""

import asyncio
from typing import Any

import pytest

from tests.journey.client import Client
from tests.journey.conftest import ClientMaker
from tests.journey.forms import CONTENT_TYPES

CODECS = tuple(CONTENT_TYPES)
TWIST, JOYSTICK = "SetTwistLinearSoftLimit", {"control_mode": "CARTESIAN_JOYSTICK"}
PATH = "twist_linear_soft_limit/CARTESIAN_JOYSTICK"


async def result(client: Client, arm: str, method: str, **params: Any) -> dict[str, Any]:
    reply = await client.change(arm, method, {name.rstrip("_"): value for name, value in params.items()})
    assert (reply["stage"], reply["final"]) == ("read", True)
    found: dict[str, Any] = reply["result"]
    return found


async def twist(client: Client, arm: str, value: float, **fields: Any) -> int:
    reply = await client.change(arm, TWIST, {**JOYSTICK, "twist_linear_soft_limit": value}, **fields)
    return int(reply["rev"])


@pytest.mark.parametrize("codec", CODECS)
async def test_the_examples_of_the_protocol_on_history(start_service: Any, connect: ClientMaker, codec: str) -> None:
    client = await connect(user="alice", conn="plc-3", codec=codec, to=start_service("r12"))
    for number in range(2, 42):
        assert await twist(client, "r12", 0.25 if number % 2 else 0.24) == number
    items = {
        "tool_configuration": {"tool_mass": 0.8}, "payload_information": {"payload_mass": 2.1},
        "twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.2},
    }  # fmt: skip
    assert (await client.change("r12", "ApplyConfig", {"items": items}, id="1"))["rev"] == 42
    for number in range(43, 53):
        assert await twist(client, "r12", 0.24 if number % 2 else 0.25) == number
    restored = await client.call("r12", "RestoreRevision", {"rev": 41}, id="40")
    assert (restored["ok"], restored["stage"], restored["rev"]) == (True, "applied", 53)
    outcomes = {"tool_configuration": "applied", "payload_information": "applied", PATH: "unchanged"}
    assert outcomes.items() <= restored["result"]["items"].items()
    diff = await client.call(
        "r12", "Diff", {"from": {"rev": 41}, "to": {"rev": 42}, "items": ["payload_information"]}, id="41"
    )
    assert (diff["ok"], diff["stage"]) == (True, "read")
    (difference,) = diff["result"].pop("differences")
    assert diff["result"] == {"same": False, "count": 1, "only_from": [], "only_to": []}
    assert (difference["from"]["payload_mass"], difference["to"]["payload_mass"]) == (0.0, 2.1)
    assert (difference["path"], difference["direction"]) == ("payload_information", "unordered")
    blame = await client.call("r12", "Blame", {"items": ["payload_information"]}, id="42")
    (entry,) = blame["result"]["values"]
    assert entry.pop("at")
    assert entry.pop("value")["payload_mass"] == 0.0
    assert entry == {
        "path": "payload_information",
        "rev": 53,
        "by": "alice/plc-3",
        "method": "RestoreRevision",
        "request_id": "alice/plc-3/40",
    }
    beyond = await client.call("r12", "RestoreRevision", {"rev": 900}, id="43")
    assert (beyond["ok"], beyond["stage"], beyond["error"]["kind"]) == (False, "refused", "out_of_limits")
    assert beyond["error"]["name"] == "VALUE_IS_ABOVE_MAXIMUM"
    assert beyond["error"]["message"] == "params.rev: 900 > 53, the present revision of r12. Nothing was changed."


@pytest.mark.parametrize("codec", CODECS)
async def test_revisions_of_an_arm_are_compared(connect: ClientMaker, arm: str, codec: str) -> None:
    client = await connect(codec=codec)
    reply = await client.change(arm, "SetPayloadInformation", {"payload_mass": 2.1})
    rev = reply["rev"]
    found = await result(client, arm, "Diff", from_={"rev": rev - 1}, to={"rev": rev}, items=["payload_information"])
    (difference,) = found.pop("differences")
    assert found == {"same": False, "count": 1, "only_from": [], "only_to": []}
    assert difference["path"] == "payload_information"
    assert difference["direction"] == "unordered"
    assert (difference["from"]["payload_mass"], difference["to"]["payload_mass"]) == (0.0, 2.1)
    assert (await result(client, arm, "Diff", from_={"rev": rev}, to={}))["same"] is True


@pytest.mark.parametrize("codec", CODECS)
async def test_a_difference_tells_which_way_the_second_source_goes(connect: ClientMaker, arms: Any, codec: str) -> None:
    client, (one, two) = await connect(codec=codec), (next(arms), next(arms))
    await twist(client, one, 0.2)
    await twist(client, two, 0.1)
    found = await result(client, one, "Diff", to={"arm": two})
    assert found["differences"] == [{"path": PATH, "from": 0.2, "to": 0.1, "direction": "tightening"}]
    back = await result(client, one, "Diff", from_={"arm": two, "view": "desired"}, to={"view": "ground"})
    assert back["differences"] == [{"path": PATH, "from": 0.1, "to": 0.2, "direction": "loosening"}]
    items = {"twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.1}}
    assert (await result(client, two, "Diff", to={"items": items}))["same"] is True
    assert (await result(client, one, "Diff", to={"items": items}))["count"] == 1


@pytest.mark.parametrize("codec", CODECS)
async def test_a_recipe_is_compared_in_what_it_names(connect: ClientMaker, arm: str, codec: str) -> None:
    client, name = await connect(codec=codec), f"compared-{codec}"
    items = {"payload_information": {"payload_mass": 2.0}, "twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.2}}
    await client.change("@all", "PutRecipe", {"name": name, "items": items})
    await twist(client, arm, 0.2)
    found = await result(client, arm, "Diff", to={"recipe": name})
    assert [one["path"] for one in found["differences"]] == ["payload_information"]
    assert (found["only_from"], found["only_to"]) == ([], [])
    await client.change(arm, "SetPayloadInformation", {"payload_mass": 2})
    assert (await result(client, arm, "Diff", to={"recipe": name, "version": 1}))["same"] is True
    for source, kind in (
        ({"recipe": name, "version": 9}, "unknown_recipe"),
        ({"recipe": "no-such-recipe"}, "unknown_recipe"),
        ({"recipe": "#/+"}, "malformed"),
    ):
        reply = await client.call(arm, "Diff", {"to": source})
        assert reply["error"]["kind"] == kind, reply


@pytest.mark.parametrize("codec", CODECS)
async def test_a_batch_is_one_revision_to_diff_and_blame(connect: ClientMaker, arm: str, codec: str) -> None:
    client = await connect(codec=codec)
    items = {"payload_information": {"payload_mass": 2.1}, "twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.2}}
    rev = (await client.change(arm, "ApplyConfig", {"items": items}, id="batch", reason="tool 7"))["rev"]
    await twist(client, arm, 0.1)
    found = await result(client, arm, "Diff", from_={"rev": rev - 1}, to={"rev": rev})
    assert [one["path"] for one in found["differences"]] == ["payload_information", PATH]
    assert found["differences"][1]["to"] == 0.2
    mass, limit = (await result(client, arm, "Blame", items=["payload_information", PATH]))["values"]
    assert (mass["rev"], mass["method"], mass["reason"]) == (rev, "ApplyConfig", "tool 7")
    assert mass["request_id"] == f"{client.user}/{client.conn}/batch"
    assert (limit["rev"], limit["method"]) == (rev + 1, TWIST)


@pytest.mark.parametrize("codec", CODECS)
async def test_a_value_tells_who_set_it(connect: ClientMaker, arm: str, codec: str) -> None:
    client = await connect(codec=codec)
    (before,) = (await result(client, arm, "Blame", items=[PATH]))["values"]
    assert (before["by"], before["rev"], before["method"], before["path"]) == ("@adopted", 1, "", PATH)
    rev = await twist(client, arm, 0.2, id="b-1", reason="new gripper")
    refused = await client.call(arm, TWIST, {**JOYSTICK, "twist_linear_soft_limit": 99})
    assert refused["ok"] is False
    (entry,) = (await result(client, arm, "Blame", items=[PATH]))["values"]
    assert entry.pop("at")
    assert entry == {
        "path": PATH,
        "value": 0.2,
        "rev": rev,
        "by": f"{client.user}/{client.conn}",
        "method": TWIST,
        "reason": "new gripper",
        "request_id": f"{client.user}/{client.conn}/b-1",
    }
    everything = (await result(client, arm, "Blame"))["values"]
    assert {one["by"] for one in everything} == {"@adopted", f"{client.user}/{client.conn}"}
    assert len({one["path"] for one in everything}) == len(everything)


@pytest.mark.parametrize("codec", CODECS)
async def test_a_value_of_a_recipe_tells_its_name_and_version(connect: ClientMaker, arm: str, codec: str) -> None:
    client, name = await connect(codec=codec), f"glue-{codec}"
    items = {"payload_information": {"payload_mass": 2.0}, "twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.2}}
    await client.change("@all", "PutRecipe", {"name": name, "items": items})
    rev = (await client.change(arm, "ApplyRecipe", {"recipe": name}))["rev"]
    await twist(client, arm, 0.1)
    mass, limit = (await result(client, arm, "Blame", items=["payload_information", PATH]))["values"]
    assert (mass["rev"], mass["recipe"], mass["method"]) == (rev, f"{name}@1", "ApplyRecipe")
    assert "recipe" not in limit
    newer, older = (await result(client, arm, "GetHistory"))["changes"]
    assert ("recipe" in newer, older["recipe"]) == (False, f"{name}@1")


async def test_an_override_that_is_kept_is_what_was_there(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    await twist(client, arm, 0.2)
    over = await twist(client, arm, 0.3, valid_for_ms=600_000)
    (before,) = (await result(client, arm, "Blame", items=[PATH]))["values"]
    extended = (await client.change(arm, "ExtendOverride", {"rev": over, "valid_for_ms": 1_200_000}))["result"]
    (entry,) = (await result(client, arm, "Blame", items=[PATH]))["values"]
    assert entry["until"] == extended["overrides"][0]["until"] != before["until"]
    await client.change(arm, "EndOverride", {"rev": over, "keep": True}, id="keep", reason="it runs well")
    (entry,) = (await result(client, arm, "Blame", items=[PATH]))["values"]
    assert (entry["rev"], entry["value"], "until" in entry) == (over, 0.3, False)
    kept, made, *_ = (await result(client, arm, "GetHistory"))["changes"]
    assert (made["rev"], made["method"], made["after"]) == (over, TWIST, 0.3)
    assert (kept["rev"], kept["method"], kept["before"], kept["after"]) == (over, "EndOverride", 0.2, 0.3)
    assert (kept["request_id"], kept["reason"]) == (f"{client.user}/{client.conn}/keep", "it runs well")
    await twist(client, arm, 0.1)
    found = await result(client, arm, "Diff", from_={"rev": over}, to={})
    assert found["differences"] == [{"path": PATH, "from": 0.3, "to": 0.1, "direction": "tightening"}]


async def test_ruling_46_nobody_reaches_back_beyond_another_arm(start_service: Any, connect: ClientMaker) -> None:
    service = start_service("r1")
    client = await connect("state/r1/presence", to=service)
    rev = await twist(client, "r1", 0.2)
    await client.change("r1", "SimFault", {"fault": "swap_serial", "for_ms": 1})
    await client.document("state/r1/presence", lambda document: document["state"] == "held")
    confirmed = (await client.change("r1", "ConfirmArm"))["rev"]
    assert confirmed > rev
    reply = await client.call("r1", "Diff", {"to": {"rev": rev}})
    assert (reply["error"]["kind"], reply["error"]["name"]) == ("out_of_limits", "VALUE_IS_BELOW_MINIMUM")
    assert f"params.to.rev: {rev} < {confirmed}, the revision at which r1 was adopted" in reply["error"]["message"]
    assert (await result(client, "r1", "Diff", from_={"rev": confirmed}, to={}))["same"] is True
    (entry,) = (await result(client, "r1", "Blame", items=[PATH]))["values"]
    assert (entry["by"], entry["rev"]) == ("@adopted", confirmed)


@pytest.mark.parametrize("codec", CODECS)
async def test_an_override_is_told_with_its_end_and_lies_on_its_ground(
    connect: ClientMaker, arm: str, codec: str
) -> None:
    topic = "config/TWIST_LINEAR_SOFT_LIMIT_CHANGED"
    client = await connect(f"evt/{arm}/{topic}", codec=codec)
    rev = await twist(client, arm, 0.2)
    over = await twist(client, arm, 0.3, valid_for_ms=600_000)
    found = await result(client, arm, "Diff", to={"view": "ground"})
    assert found["differences"] == [{"path": PATH, "from": 0.3, "to": 0.2, "direction": "tightening"}]
    assert (await result(client, arm, "Diff", from_={"rev": rev}, to={"rev": over}))["same"] is True
    (entry,) = (await result(client, arm, "Blame", items=[PATH]))["values"]
    (told, *_) = (await result(client, arm, "GetHistory"))["changes"]
    assert (entry["rev"], entry["value"], entry["until"]) == (over, 0.3, told["until"])
    assert "returned_from" not in told
    await client.change(arm, "EndOverride", {"rev": over})
    await client.document(f"evt/{arm}/{topic}", lambda event: event["cause"] == "returned")
    (entry,) = (await result(client, arm, "Blame", items=[PATH]))["values"]
    (told, *_) = (await result(client, arm, "GetHistory"))["changes"]
    assert (told["rev"], told["returned_from"], told["direction"]) == (entry["rev"], over, "tightening")
    assert (entry["by"], entry["method"], entry["value"]) == ("@service", "EndOverride", 0.2)
    assert (await result(client, arm, "Diff", from_={"rev": entry["rev"]}, to={"view": "ground"}))["same"] is True


async def test_numbers_of_two_authors_are_told_apart(connect: ClientMaker, arm: str) -> None:
    alice, other = await connect(), await connect()
    limits = (await alice.change(arm, "GetJointLimits"))["result"]
    names = [joint["name"] for joint in (await factsheet(alice, arm))["joints"]]
    velocity = limits["max_velocity"]["values"]
    one = await alice.change(
        arm, "SetJointLimit", {"joint": names[0], "update": {"max_velocity": velocity[0] / 2}}, id="part-1"
    )
    two = await other.change(
        arm, "SetJointLimit", {"joint": names[2], "update": {"max_velocity": velocity[2] / 2}}, reason="near the wall"
    )
    values = (await result(alice, arm, "Blame", items=["joint_limits"]))["values"]
    by_part = {entry["part"]: entry for entry in values}
    assert by_part["max_velocity[0]"]["rev"] == one["rev"]
    assert by_part["max_velocity[0]"]["request_id"] == f"{alice.user}/{alice.conn}/part-1"
    assert by_part["max_velocity[2]"]["rev"] == two["rev"]
    assert by_part["max_velocity[2]"]["by"] == f"{other.user}/{other.conn}"
    assert by_part["max_velocity[2]"]["reason"] == "near the wall"
    assert (by_part["max_velocity[1]"]["by"], by_part["max_velocity[1]"]["method"]) == ("@adopted", "")


async def factsheet(client: Client, arm: str) -> dict[str, Any]:
    await client.subscribe(f"meta/factsheet/{arm}")
    return await client.document(f"meta/factsheet/{arm}", lambda document: bool(document.get("joints")))


async def test_a_foreign_change_is_of_the_arm(connect: ClientMaker, arm: str) -> None:
    client = await connect(f"evt/{arm}/#")
    await twist(client, arm, 0.2)
    fault = {"fault": "foreign_change", "item": "twist_linear_soft_limit", "slot": "CARTESIAN_JOYSTICK", "value": 0.1}
    await client.change(arm, "SimFault", fault)
    told = await client.document(
        f"evt/{arm}/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", lambda event: event["cause"] == "foreign"
    )
    (entry,) = (await result(client, arm, "Blame", items=[PATH]))["values"]
    assert (entry["by"], entry["rev"], entry["value"]) == ("@arm", told["rev"], 0.1)
    found = await result(client, arm, "Diff", from_={"rev": told["rev"] - 1}, to={"rev": told["rev"]})
    assert found["differences"] == [{"path": PATH, "from": 0.2, "to": 0.1, "direction": "tightening"}]
    differing = await result(client, arm, "Diff", to={"view": "desired"})
    assert differing["differences"] == [{"path": PATH, "from": 0.1, "to": 0.2, "direction": "loosening"}]


@pytest.mark.parametrize(
    ("method", "params", "kind"),
    [
        ("Diff", {}, "malformed"),
        ("Diff", {"to": []}, "malformed"),
        ("Diff", {"to": "r13"}, "malformed"),
        ("Diff", {"to": {"rev": 1, "view": "reported"}}, "malformed"),
        ("Diff", {"to": {"arm": "a", "items": {"gravity_vector": {}}}}, "malformed"),
        ("Diff", {"to": {"rev": 900}}, "out_of_limits"),
        ("Diff", {"to": {"rev": 0}}, "out_of_limits"),
        ("Diff", {"to": {"rev": "1"}}, "malformed"),
        ("Diff", {"to": {"view": "effective"}}, "unknown_enum"),
        ("Diff", {"to": {"arm": "no-such-arm"}}, "unknown_arm"),
        ("Diff", {"to": {"arm": "../#"}}, "unknown_arm"),
        ("Diff", {"to": {"items": {"payload": {}}}}, "unknown_field"),
        ("Diff", {"to": {"items": {"control_mode": {}}}}, "unsupported_option"),
        ("Diff", {"to": {"items": {"gravity_vector": {"x": "NaN"}}}}, "malformed"),
        ("Diff", {"to": {}, "items": ["gravity"]}, "unknown_enum"),
        ("Diff", {"to": {}, "items": ["gravity_vector"] * 300}, "out_of_limits"),
        ("Diff", {"to": {}, "items": [["gravity_vector"]]}, "malformed"),
        ("Diff", {"to": {}, "before": "r12"}, "unknown_field"),
        ("Blame", {"items": {}}, "malformed"),
        ("Blame", {"items": ["control_mode"]}, "unknown_enum"),
        ("Blame", {"rev": 3}, "unknown_field"),
    ],
)
@pytest.mark.parametrize("codec", CODECS)
async def test_wrong_questions_are_refused_by_name(
    connect: ClientMaker, arm: str, codec: str, method: str, params: dict[str, Any], kind: str
) -> None:
    client = await connect(codec=codec)
    reply = await client.call(arm, method, params)
    assert (reply["ok"], reply["error"]["kind"]) == (False, kind), reply


async def test_numbers_that_are_none_are_refused(connect: ClientMaker, arm: str) -> None:
    client = await connect()
    topic = f"req/{client.user}/{client.conn}/{arm}/Diff"
    for number in (b"NaN", b"Infinity", b"1e999"):
        body = b'{"id":"nan","params":{"to":{"items":{"gravity_vector":{"x":' + number + b"}}}}}"
        await client.publish(topic, body, content_type="application/json")
        reply = await client.reply("nan")
        assert reply["error"]["kind"] in ("malformed", "not_finite"), reply


@pytest.mark.parametrize(("method", "params"), [("Diff", {"to": {}}), ("Blame", {})])
@pytest.mark.parametrize("option", [{"if_rev": 1}, {"valid_for_ms": 5000}, {"group": {}}, {"when": "idle"}])
async def test_questions_take_no_options_of_changes(
    connect: ClientMaker, arm: str, method: str, params: dict[str, Any], option: dict[str, Any]
) -> None:
    client = await connect()
    reply = await client.call(arm, method, params, **option)
    if "if_rev" in option:
        assert reply["ok"], reply
    else:
        assert reply["error"]["kind"] in ("unsupported_option", "unimplemented"), reply


async def test_what_was_compared_before_a_restart_is_the_same_after_it(
    start_service: Any, connect: ClientMaker
) -> None:
    service = start_service("r1")
    client = await connect(to=service)
    await twist(client, "r1", 0.2, id="x", reason="why")
    await twist(client, "r1", 0.3)
    asked = {"from_": {"rev": 1}, "to": {"rev": 2}}
    before = await result(client, "r1", "Diff", **asked)
    blamed = await result(client, "r1", "Blame", items=[PATH])
    await asyncio.to_thread(service.restart)
    again = await connect(to=service)
    assert await result(again, "r1", "Diff", **asked) == before
    assert await result(again, "r1", "Blame", items=[PATH]) == blamed
    assert [one["to"] for one in before["differences"]] == [0.2]


async def test_who_may_not_read_an_arm_compares_nothing_with_it(start_service: Any, connect: ClientMaker) -> None:
    clients = {"*": {"rights": ["write"], "reads": []}, "eve": {"arms": ["r1"], "reads": ["r1"]}}
    service = start_service("r1", "r2", clients=clients)
    eve = await connect(user="eve", to=service)
    assert (await eve.call("r1", "Diff", {"to": {}}))["ok"] is True
    for source in ({"arm": "r2"}, {"arm": "r2", "rev": 1}, {"arm": "no-such-arm"}):
        reply = await eve.call("r1", "Diff", {"to": source})
        assert reply["error"]["kind"] == "not_permitted", reply
