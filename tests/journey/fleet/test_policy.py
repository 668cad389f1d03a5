"""The policy over MQTT: the examples of the protocol in every codec, and a reload of the whole service."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.journey.client import Client
from tests.journey.conftest import ClientMaker
from tests.journey.processes import ServiceProcess, online
from tests.journey.running import RunningService
from tests.links import PATIENCE_S
from tests.mosquitto import Mosquitto

CODECS = ("json", "msgpack", "protobuf")
TWIST = "SetTwistLinearSoftLimit"
RULES = """\
[roles]
engineer = ["alice"]
[rates]
"*" = "30/min"
[[rule]]
name = "slower is for everybody"
roles = ["*"]
allow = ["tighten", "hold"]
[[rule]]
name = "engineers loosen"
roles = ["engineer"]
items = ["twist_linear_soft_limit"]
allow = ["loosen"]
ceilings = { twist_linear = 0.25 }
"""
_numbers = count()


def twist(limit: float) -> dict[str, Any]:
    """The params of a Set of the joystick's limit, m/s."""
    return {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": limit}


@pytest.fixture
def policed(start_service: Callable[..., RunningService], tmp_path: Path) -> RunningService:
    """A service with rules."""
    file = tmp_path / "policy.toml"
    file.write_text(RULES, encoding="utf-8")
    return start_service("r12", "r13", policy={"file": str(file)})


async def tightened(connect: ClientMaker, policed: RunningService, codec: str) -> Client:
    """Bob, who set r12 to 0.2 m/s."""
    bob: Client = await connect(user="bob", to=policed, codec=codec)
    assert (await bob.change("r12", TWIST, twist(0.2)))["stage"] == "applied"
    return bob


@pytest.mark.parametrize("codec", CODECS)
async def test_the_rule_that_came_furthest_is_named(connect: ClientMaker, policed: RunningService, codec: str) -> None:
    bob = await tightened(connect, policed, codec)
    reply = await bob.call("r12", TWIST, twist(0.4), id="72")
    assert (reply["ok"], reply["stage"], reply["final"]) == (False, "refused", True)
    error = reply["error"]
    assert (error["kind"], error["name"], error["retry"]) == ("not_permitted", "UPDATE_PERMISSION_DENIED", "never")
    assert error["rule"] == "engineers loosen"
    assert error["message"] == (
        'bob may not loosen twist_linear_soft_limit of r12: rule "engineers loosen" is for engineer.'
        " Nothing was changed."
    )
    again = await bob.call("r12", TWIST, twist(0.4), id="72")
    assert (again["duplicate"], again["error"]["rule"]) == (True, "engineers loosen")


@pytest.mark.parametrize("codec", CODECS)
async def test_above_a_ceiling_the_nearest_value_is_told(
    connect: ClientMaker, policed: RunningService, codec: str
) -> None:
    await tightened(connect, policed, codec)
    alice = await connect(to=policed, codec=codec)
    reply = await alice.call("r12", TWIST, twist(0.4), id="73")
    error = reply["error"]
    assert (reply["stage"], error["kind"], error["name"]) == ("refused", "out_of_limits", "VALUE_IS_ABOVE_MAXIMUM")
    (found,) = error["violations"]
    told = {name: found[name] for name in ("path", "got", "bound", "unit", "relation", "source")}
    assert told == {
        "path": "twist_linear_soft_limit", "got": 0.4, "bound": 0.25, "unit": "m/s", "relation": "<=",
        "source": "policy:engineers loosen",
    }  # fmt: skip
    assert (await alice.change("r12", TWIST, twist(0.25)))["stage"] == "applied"


@pytest.mark.parametrize("codec", CODECS)
async def test_more_than_the_rate_is_told_when_to_come_again(
    connect: ClientMaker, policed: RunningService, codec: str
) -> None:
    await tightened(connect, policed, codec)
    alice = await connect(to=policed, codec=codec)
    asked = [await alice.change("r12", TWIST, twist(0.21 + 0.001 * number)) for number in range(30)]
    assert {reply["stage"] for reply in asked} == {"applied"}
    requests = (twist(0.24 + 0.0001 * number) for number in range(100))
    async with asyncio.timeout(PATIENCE_S):  # what the rate gives back meanwhile is used up, too
        while (reply := await alice.call("r12", TWIST, next(requests)))["ok"]:
            pass
    error = reply["error"]
    assert (reply["stage"], reply["final"], error["kind"], error["retry"]) == (
        "refused", False, "rate_limited", "same_id",
    )  # fmt: skip
    assert 0 < error["retry_after_ms"] <= 2_000
    assert (await alice.change("r12", TWIST, twist(0.15)))["stage"] == "applied"


@pytest.mark.parametrize("codec", CODECS)
async def test_who_one_is_and_which_policy_counts(connect: ClientMaker, policed: RunningService, codec: str) -> None:
    alice = await connect("meta/service", to=policed, codec=codec)
    assert (await alice.change("r12", "WhoAmI"))["result"]["roles"] == ["engineer"]
    told = await alice.document("meta/service", lambda document: "policy" in document)
    assert (len(told["policy"]["digest"]), told["policy"]["rules"]) == (16, 2)


async def test_a_policy_over_a_restart(connect: ClientMaker, policed: RunningService) -> None:
    """A change that waited is decided by the policy of the start."""
    bob = await tightened(connect, policed, "json")
    assert (await bob.change("r12", TWIST, twist(0.19)))["stage"] == "applied"
    policed.restart()
    again = await connect(user="bob", to=policed)
    assert (await again.call("r12", TWIST, twist(0.22)))["error"]["rule"] == "engineers loosen"


CONTRACT = """\
timezone = "Europe/Berlin"
[roles]
operator = ["bob", "hmi-*"]
engineer = ["alice", "carol"]
[rates]
"*" = "2/min"
[[rule]]
name = "slower is for everybody"
roles = ["*"]
allow = ["tighten", "hold"]
[[rule]]
name = "engineers loosen"
roles = ["engineer"]
groups = ["cell-4"]
items = ["twist_linear_soft_limit"]
allow = ["loosen"]
ceilings = { twist_linear = 0.25, payload_mass = 2.0 }
at_most = "1h"
two_person = true
[[rule]]
name = "engineers approve"
roles = ["engineer"]
allow = ["approve", "steer"]
"""
"""The rules of the examples of the protocol, at all hours."""


@pytest.fixture
def two_person(start_service: Callable[..., RunningService], tmp_path: Path) -> RunningService:
    """A service with the rules of the examples, on a server that proves users."""
    file = tmp_path / "policy.toml"
    file.write_text(CONTRACT, encoding="utf-8")
    arms = [{"id": "r12", "adapter": "simulated", "model": "gen3_7dof", "groups": ["cell-4"]}]
    return start_service("r12", policy={"file": str(file)}, mqtt={"identity": "server-acl"}, arm=arms)


@pytest.mark.parametrize("codec", CODECS)
async def test_the_examples_of_the_protocol(connect: ClientMaker, two_person: RunningService, codec: str) -> None:
    bob = await tightened(connect, two_person, codec)
    alice = await connect("evt/#", to=two_person, codec=codec)
    carol = await connect(user="carol", to=two_person, codec=codec)
    half_an_hour = {"valid_for_ms": 1_800_000}

    reply = await alice.call("r12", TWIST, twist(0.22), id="70", **half_an_hour)
    assert (reply["ok"], reply["stage"], reply["final"], reply["rev"]) == (True, "stored", False, 2)
    (warning,) = reply["warnings"]
    assert warning["name"] == "PROPOSED"
    assert warning["message"].startswith('rule "engineers loosen": plan 1 waits for a second person until ')
    plan = (await carol.change("@all", "GetPlan", {"plan": 1}))["result"]

    refused = await bob.call("r12", TWIST, twist(0.4), id="72")
    error = refused["error"]
    assert (error["kind"], error["name"]) == ("not_permitted", "UPDATE_PERMISSION_DENIED")
    assert error["rule"] == "engineers loosen"
    assert error["message"] == (
        'bob may not loosen twist_linear_soft_limit of r12: rule "engineers loosen" is for engineer.'
        " Nothing was changed."
    )

    refused = await alice.call("r12", TWIST, twist(0.4), id="73", **half_an_hour)
    assert (refused["stage"], refused["error"]["kind"]) == ("refused", "out_of_limits")
    (found,) = refused["error"]["violations"]
    assert (found["path"], found["got"], found["bound"], found["source"]) == (
        "twist_linear_soft_limit", 0.4, 0.25, "policy:engineers loosen",
    )  # fmt: skip
    if codec != "protobuf":
        assert found["suggest"] == 0.25

    digest = {"digest": plan["digest"]}
    approved = await carol.change("@all", "SteerPlan", {"plan": 1, "action": "approve"} | digest, id="71")
    assert (approved["stage"], approved["final"]) == ("stored", True)
    assert approved["result"] == {"plan": 1, "state": "checking"}
    event = await alice.document("evt/@all/plan", lambda each: each["event"] == "PLAN_ENDED")
    assert (event["cause"], event["details"]["approved_by"]) == ("done", "carol")
    changed = await alice.document(
        "evt/r12/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", lambda each: each["request_id"].endswith("/70")
    )
    assert (changed["plan"], changed["change"]["after"], "until" in changed) == (1, pytest.approx(0.22), True)
    again = await alice.call("r12", TWIST, twist(0.22), id="70", **half_an_hour)
    assert (again["duplicate"], again["stage"], again["in_force"]) == (True, "applied", True)

    assert (await alice.call("r12", TWIST, twist(0.23), **half_an_hour))["stage"] == "stored"
    refused = await alice.call("r12", TWIST, twist(0.24), id="74", valid_for_ms=60_000)
    error = refused["error"]
    assert (refused["stage"], refused["final"], error["kind"], error["retry"]) == (
        "refused", False, "rate_limited", "same_id",
    )  # fmt: skip
    assert 0 < error["retry_after_ms"] <= 30_000


@pytest.fixture
def process(mosquitto: Mosquitto, tmp_path: Path) -> Iterator[ServiceProcess]:
    """A service of two arms, not yet started."""
    one = ServiceProcess(mosquitto, tmp_path, f"policy{next(_numbers)}", ("r12", "r13"), latency_ms=0)
    yield one
    one.kill()


async def test_sighup_reads_the_rules_again_whole_or_not_at_all(process: ServiceProcess) -> None:
    rules = process.config.with_name("policy.toml")
    rules.write_text(RULES, encoding="utf-8")
    process.config.write_text(process.config.read_text() + '\n[policy]\nfile = "policy.toml"\n', encoding="utf-8")
    process.start()
    async with Client(process.port, process.root, "bob", "bob-1") as bob:
        await bob.subscribe("svc/+", "evt/@all/settings", "meta/service")
        await online(bob, 1)
        first = (await bob.document("meta/service", lambda document: "policy" in document))["policy"]
        assert (await bob.change("r12", TWIST, twist(0.2)))["stage"] == "applied"
        assert (await bob.call("r12", TWIST, twist(0.22)))["error"]["rule"] == "engineers loosen"

        rules.write_text(RULES.replace('"loosen"', '"losen"'), encoding="utf-8")
        process.signal(signal.SIGHUP)
        await until_logged(process, "reload_refused")
        assert f"{rules}:13: rule" in process.log
        assert "allow[0]: no such name 'losen'" in process.log
        assert (await bob.call("r12", TWIST, twist(0.22)))["error"]["rule"] == "engineers loosen"

        rules.write_text(RULES.replace('["alice"]', '["alice", "bob"]'), encoding="utf-8")
        process.signal(signal.SIGHUP)
        event = await bob.document("evt/@all/settings", lambda each: each["event"] == "POLICY_CHANGED")
        assert (event["cause"], event["details"]["rules"]) == ("reloaded", 2)
        assert event["details"]["digest"] != first["digest"]
        await bob.document("meta/service", lambda document: document["policy"] == event["details"])
        assert (await bob.change("r12", TWIST, twist(0.22)))["stage"] == "applied"
    await process.stop()


async def until_logged(process: ServiceProcess, event: str) -> None:
    """Wait until the service logged something."""
    while f'"event": "{event}"' not in process.log:  # noqa: ASYNC110 - a log announces nothing
        await asyncio.sleep(0.02)
