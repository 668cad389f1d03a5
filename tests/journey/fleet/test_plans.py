"""Changes of groups over MQTT, in three codecs: the examples of the protocol, and what strangers send."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.journey.conftest import ClientMaker
from tests.journey.forms import CONTENT_TYPES
from tests.journey.running import RunningService

CODECS = tuple(CONTENT_TYPES)
SET, LIMIT = "SetTwistLinearSoftLimit", "twist_linear_soft_limit"
CELL = ("r11", "r12", "r13")
ServiceMaker = Callable[..., Any]


def arm(name: str, *groups: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "adapter": "simulated", "model": "gen3_7dof", "groups": list(groups), **more}


def twist(value: float) -> dict[str, Any]:
    return {"control_mode": "CARTESIAN_JOYSTICK", LIMIT: value}


@pytest.fixture
def cell(start_service: ServiceMaker) -> RunningService:
    """r11 to r13 in `@cell-4`, where r13 goes no faster than 0.2 m/s; 120 arms in `@line-1`."""
    arms = [arm("r11", "cell-4"), arm("r12", "cell-4"), arm("r13", "cell-4", site_caps={"twist_linear": 0.2})]
    line = [arm(f"a{number:04d}", "line-1") for number in range(1, 121)]
    service: RunningService = start_service(arm=[*arms, *line])
    return service


@pytest.mark.parametrize("codec", CODECS)
async def test_the_examples_of_the_protocol(connect: ClientMaker, cell: RunningService, codec: str) -> None:
    client = await connect("evt/#", "state/@all/+", to=cell, codec=codec)
    for name in CELL:
        await client.change(name, SET, twist(0.19))
    reply = await client.call("@cell-4", SET, twist(0.3), id="50")
    assert (reply["ok"], reply["stage"], reply["final"], reply["plan"]) == (False, "refused", True, 1)
    error = {"kind": "partial", "message": "1 of 3 arms did not take it: r13 out_of_limits."}
    assert {name: reply["error"][name] for name in error} == error
    result = reply["result"]
    assert (result["plan"], result["state"], result["outcome"], result["more"]) == (1, "ended", "partial", False)
    assert result["counts"] == {"total": 3, "applied": 2, "refused": 1}
    first, second, third = result["rows"]
    assert first == {"arm": "r11", "state": "applied", "final": True, "rev": 3, "seq": 2}
    assert second == {"arm": "r12", "state": "applied", "final": True, "rev": 3, "seq": 2}
    message = third.pop("message")
    assert third == {
        "arm": "r13", "state": "refused", "final": True, "rev": 2, "seq": 1, "kind": "out_of_limits",
        "name": "VALUE_IS_ABOVE_MAXIMUM",
    }  # fmt: skip
    assert "0.3" in message
    ended = await client.document("evt/@all/plan", lambda event: event["event"] == "PLAN_ENDED")
    assert (ended["arm"], ended["cause"], ended["plan"], ended["rev"]) == ("@all", "partial", 1, 0)
    told = await client.document("evt/r11/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", lambda event: event["rev"] == 3)
    assert (told["plan"], told["request_id"].rpartition("/")[2]) == (1, "50")

    reply = await client.call("@line-1", SET, twist(0.1), id="51")
    assert (reply["ok"], reply["stage"], reply["plan"]) == (True, "applied", 2)
    assert reply["result"]["counts"] == {"total": 120, "applied": 120}
    assert (reply["result"]["rows"], reply["result"]["more"]) == ([], False)
    page = (await client.change("@all", "GetPlan", {"plan": 2, "state": "applied", "limit": 500}))["result"]
    assert (page["kind"], page["state"], page["outcome"], len(page["rows"])) == ("group", "ended", "done", 120)

    reply = await client.call("@cell-9", "SetGravityVector", {"x": 0, "y": 0, "z": -9.81}, id="53")
    assert (reply["error"]["kind"], reply["error"]["name"]) == ("unknown_arm", "ENTITY_NOT_FOUND")
    assert "no group cell-9; groups: cell-4, line-1, all" in reply["error"]["message"]
    reply = await client.call("@cell-4", "SetControlMode", {"control_mode": "IDLE"}, id="54")
    assert reply["error"]["kind"] == "unsupported_option"
    assert "SetControlMode takes one arm, no group" in reply["error"]["message"]


@pytest.mark.parametrize("codec", CODECS)
async def test_ruling_41_a_reply_of_a_group_reads_alike_in_every_codec(
    connect: ClientMaker, cell: RunningService, codec: str
) -> None:
    client = await connect(to=cell, codec=codec)
    group = {"all_or_nothing": True, "away": "refuse", "only": ["r11", "r12"], "parallel": 2}
    reply = await client.call("@cell-4", SET, twist(0.15), id="7", group=group)
    assert (reply["stage"], reply["arm"], reply["method"]) == ("applied", "@cell-4", SET)
    assert [row["arm"] for row in reply["result"]["rows"]] == ["r11", "r12"]
    again = await client.call("@cell-4", SET, twist(0.15), id="7", group=group)
    assert (again["duplicate"], again["in_force"], again["result"]) == (True, True, reply["result"])
    reply = await client.call("@cell-4", SET, twist(0.15), id="8", dry_run=True)
    assert {row["state"] for row in reply["result"]["rows"]} == {"checked"}
    listed = (await client.change("@all", "ListPlans", {"limit": 1}))["result"]
    assert ([plan["plan"] for plan in listed["plans"]], listed["more"]) == ([1], False)


@pytest.mark.parametrize(
    ("target", "method", "params", "fields", "kind", "text"),
    [
        ("@cell-4", SET, twist(0.1), {"group": {"only": ["r99"]}}, "unknown_arm", "no member of @cell-4: r99"),
        ("@cell-4", SET, twist(0.1), {"group": {"only": ["r11", "r11"]}}, "malformed", "r11"),
        ("@cell-4", SET, twist(0.1), {"group": {"parallel": 257}}, "bad_request_field", "group.parallel"),
        ("@cell-4", SET, twist(0.1), {"group": {"fast": True}}, "unknown_field", "fast"),
        ("@cell-4", SET, twist(0.1), {"if_rev": 3}, "unsupported_option", "if_rev"),
        ("@cell-4", SET, {LIMIT: "fast"}, {}, "malformed", LIMIT),
        ("r11", SET, twist(0.1), {"group": {"parallel": 2}}, "unsupported_option", "group"),
        ("@cell-4", "GetGravityVector", {}, {}, "unsupported_option", "takes one arm, no group"),
        ("@all", "GetPlan", {"plan": 99}, {}, "unknown_plan", "plan 99"),
        ("@all", "GetPlan", {}, {}, "malformed", "params.plan"),
        ("@all", "ListPlans", {"state": "soon"}, {}, "unknown_enum", "soon"),
        ("@all", "ListPlans", {"limit": 501}, {}, "out_of_limits", "501 > 500"),
        ("@all", "SteerPlan", {"plan": 99, "action": "pause"}, {}, "unknown_plan", "plan 99"),
        ("@all", "SteerPlan", {"plan": 1}, {}, "malformed", "params.action"),
        ("@cell-4", "SteerPlan", {"plan": 1, "action": "pause"}, {}, "unsupported_option", "@all"),
        ("r11", "GetPlan", {"plan": 1}, {}, "unsupported_option", "@all"),
    ],
)  # fmt: skip
async def test_what_is_wrong_is_named_and_changes_nothing(
    connect: ClientMaker, cell: RunningService, target: str, method: str, params: dict[str, Any],
    fields: dict[str, Any], kind: str, text: str,
) -> None:  # fmt: skip
    client = await connect(to=cell)
    reply = await client.call(target, method, params, **fields)
    assert (reply["ok"], reply["error"]["kind"]) == (False, kind), reply
    assert text in reply["error"]["message"]
    assert (await client.change("@all", "ListPlans"))["result"]["plans"] == []


@pytest.mark.parametrize("codec", CODECS)
async def test_the_example_of_a_rollout(connect: ClientMaker, cell: RunningService, codec: str) -> None:
    client = await connect("evt/@all/plan", "state/@all/+", to=cell, codec=codec)
    items = {LIMIT: {"CARTESIAN_JOYSTICK": 0.15}}
    await client.change("@all", "PutRecipe", {"name": "weld", "items": items})
    asked = {
        "method": "ApplyRecipe", "params": {"recipe": "weld", "version": 1}, "on_failure": "reverse",
        "canary": ["a0001"], "waves": [10, 100], "soak_ms": 1_000, "confirm_within_ms": 3_600_000,
    }  # fmt: skip
    reply = await client.change("@line-1", "Rollout", asked, id="60")
    assert (reply["stage"], reply["final"], reply["plan"], reply["method"]) == ("stored", False, 1, "Rollout")
    result = reply["result"]
    assert (result["kind"], result["state"], result["wave"]) == ("rollout", "running", 0)
    assert [(wave["n"], wave["arms"]) for wave in result["waves"]] == [(0, 1), (1, 12), (2, 107)]
    wave = await client.document("evt/@all/plan", lambda event: event["event"] == "PLAN_WAVE_ENDED")
    assert (wave["arm"], wave["cause"], wave["details"]["wave"]) == ("@all", "soaked", 0)
    assert wave["details"]["counts"] == {"total": 120, "waiting": 119, "applied": 1}
    held = await client.call("@line-1", "Rollout", {**asked, "on_failure": "pause"}, id="62")
    assert held["error"]["kind"] == "held"
    assert "are in rollout 1" in held["error"]["message"]
    confirming = await client.document("state/@all/plan-1", lambda plan: plan["state"] == "confirming")
    assert (confirming["counts"], confirming["failed"]) == ({"total": 120, "applied": 120}, [])
    await client.change("a0005", SET, twist(0.1))
    steered = {"plan": 1, "action": "reverse", "reason": "arms of wave 1 vibrate"}
    reply = await client.call("@all", "SteerPlan", steered, id="61")
    assert reply["result"] == {"plan": 1, "state": "reversing"}
    ended = await client.document("evt/@all/plan", lambda event: event["event"] == "PLAN_ENDED")
    assert (ended["cause"], ended["plan"]) == ("partial", 1)
    assert ended["details"]["counts"] == {"total": 120, "reversed": 119, "kept": 1}
