"""The policy, asked of requests and of changes that waited; arms and store are real, time is not."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from broker.arms.fleet_check import CheckedFleet
from broker.arms.limit_files import LimitFiles
from broker.clock import BEHIND
from broker.settings.policy_file import load_policy
from broker.settle.rights.policing import Policing
from handlers.policy.rules import Policy
from tests.virtual_plant import Plant, play

TWIST = "SetTwistLinearSoftLimit"
RULES = """\
[roles]
engineer = ["alice", "carol"]
[rates]
"*" = "2/min"
engineer = "100/s"
[[rule]]
name = "slower is for everybody"
roles = ["*"]
allow = ["tighten", "hold"]
[[rule]]
name = "engineers loosen"
roles = ["engineer"]
items = ["twist_linear_soft_limit", "payload_information"]
allow = ["loosen"]
ceilings = { twist_linear = 0.25, payload_mass = 2.0 }
[[rule]]
name = "engineers change modes"
roles = ["engineer"]
arms = ["r1"]
allow = ["mode", "fault", "confirm"]
"""


def twist(limit: float) -> dict[str, object]:
    """The params of a Set of the joystick's limit, m/s."""
    return {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": limit}


def policed(tmp_path: Path, scenario: Callable[[Plant], Awaitable[None]], rules: str = RULES) -> None:
    """Play on a plant with these rules; r1 has 0.2 m/s for the joystick, r2 what it came with."""
    file = tmp_path / "policy.toml"
    file.write_text(rules, encoding="utf-8")

    async def whole(plant: Plant) -> None:
        assert (await plant.call("r1", TWIST, twist(0.2), user="zoe"))["stage"] == "applied"
        await scenario(plant)

    play(tmp_path / "data", whole, policy={"file": str(file)})


def reloaded(plant: Plant, rules: str) -> None:
    """Let other rules count."""
    Path(plant.settings.policy.file).write_text(rules, encoding="utf-8")
    plant.service._settler.policing.follow(load_policy(plant.settings))


def error_of(reply: dict[str, Any], kind: str) -> dict[str, Any]:
    """The error of a reply."""
    assert (reply["ok"], reply["stage"], reply["error"]["kind"]) == (False, "refused", kind), reply
    error: dict[str, Any] = reply["error"]
    return error


def test_who_may_tighten_and_who_may_loosen(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        error = error_of(await plant.call("r1", TWIST, twist(0.22), user="bob"), "not_permitted")
        assert (error["rule"], error["name"]) == ("engineers loosen", "UPDATE_PERMISSION_DENIED")
        assert error["message"] == (
            'bob may not loosen twist_linear_soft_limit of r1: rule "engineers loosen" is for engineer.'
            " Nothing was changed."
        )
        assert (await plant.call("r1", TWIST, twist(0.22), user="alice"))["stage"] == "applied"
        assert (await plant.call("r1", TWIST, twist(0.1), user="bob"))["stage"] == "applied"
        assert (await plant.call("r1", TWIST, twist(0.1), user="bob"))["stage"] == "applied"

    policed(tmp_path, scenario)


def test_what_only_ceilings_bar_is_out_of_limits(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        error = error_of(await plant.call("r1", TWIST, twist(0.4), user="alice"), "out_of_limits")
        (found,) = error["violations"]
        assert error["rule"] == "engineers loosen"
        assert found == {
            "path": "twist_linear_soft_limit", "got": 0.4, "bound": 0.25, "unit": "m/s", "relation": "<=",
            "source": "policy:engineers loosen", "suggest": 0.25,
        }  # fmt: skip
        assert (await plant.call("r1", TWIST, twist(found["suggest"]), user="alice"))["stage"] == "applied"
        payload = {"payload_mass": 2.5}
        found = error_of(await plant.call("r1", "SetPayloadInformation", payload, user="alice"), "out_of_limits")
        assert found["violations"][0]["bound"] == 2.0

    policed(tmp_path, scenario)


def test_resets_and_what_no_rule_names_are_refused(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        mode = {"control_mode": "CARTESIAN_JOYSTICK"}
        error = error_of(await plant.call("r1", "ResetTwistLinearSoftLimit", mode, user="alice"), "not_permitted")
        assert "which value a Reset brings is not known beforehand" in error["message"]
        error_of(await plant.call("r1", "RestoreFactory", {}, user="alice"), "not_permitted")
        gravity = {"x": 0.0, "y": 0.1, "z": -9.81}
        error = error_of(await plant.call("r1", "SetGravityVector", gravity, user="alice"), "not_permitted")
        assert error["rule"] == "engineers loosen"
        error = error_of(
            await plant.call("r1", "SetAuthority", {"authority": "observe"}, user="alice"), "not_permitted"
        )
        assert "no rule allows authority" in error["message"]
        assert "rule" not in error

    policed(tmp_path, scenario)


def test_rights_that_methods_name(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        mode = {"control_mode": "CARTESIAN_JOYSTICK"}
        error = error_of(await plant.call("r1", "SetControlMode", mode, user="bob"), "not_permitted")
        assert error["rule"] == "engineers change modes"
        assert (await plant.call("r1", "SetControlMode", mode, user="alice"))["ok"]
        error_of(await plant.call("r2", "SetControlMode", mode, user="alice"), "not_permitted")
        assert (await plant.call("r2", "HoldArm", {"reason": "x"}, user="bob"))["ok"]
        assert (await plant.call("r2", "ReleaseArm", {}, user="bob"))["ok"]
        assert (await plant.call("r2", "ControlModeTopic", {}, user="bob"))["ok"]

    policed(tmp_path, scenario)


def test_who_may_do_nothing_with_an_item_hears_it_before_the_value_is_looked_at(tmp_path: Path) -> None:
    rules = RULES.replace('roles = ["*"]\nallow = ["tighten", "hold"]', 'roles = ["engineer"]\nallow = ["hold"]')

    async def scenario(plant: Plant) -> None:
        reloaded(plant, rules)
        error = error_of(await plant.call("r1", TWIST, twist(99.0), user="bob"), "not_permitted")
        assert (error["rule"], "bob may not change twist_linear" in error["message"]) == ("engineers loosen", True)
        error_of(await plant.call("r1", TWIST, twist(99.0), user="alice"), "out_of_limits")

    policed(tmp_path, scenario)


def test_dry_runs_are_asked_and_not_counted(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        error_of(await plant.call("r1", TWIST, twist(0.22), user="bob", dry_run=True), "not_permitted")
        for _ in range(4):
            assert (await plant.call("r2", "HoldArm", {"reason": "x"}, user="bob", dry_run=True))["stage"] == "checked"
        assert (await plant.call("r2", "HoldArm", {"reason": "x"}, user="bob"))["ok"]

    policed(tmp_path, scenario)


def with_second(plant: Plant) -> None:
    """Let the rule of engineers ask for a second person."""
    policing = plant.service._settler.policing
    assert policing.policy is not None
    slower, loosen, modes = policing.policy.rules
    roles = {"engineer": ("alice", "carol")}
    policing.follow(Policy((slower, msgspec.structs.replace(loosen, two_person=True), modes), roles=roles, digest="x"))


def test_a_dry_run_tells_that_a_second_person_would_be_asked(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        with_second(plant)
        reply = await plant.call("r1", TWIST, twist(0.22), user="alice", dry_run=True)
        assert (reply["ok"], reply["stage"]) == (True, "checked")
        assert reply["warnings"][-1] == {
            "name": "PROPOSED", "message": 'rule "engineers loosen": it would wait for a second person',
        }  # fmt: skip
        reply = await plant.call("r1", TWIST, twist(0.1), user="alice", dry_run=True)
        assert (reply["stage"], reply["warnings"]) == ("checked", [])
        error_of(await plant.call("r1", TWIST, twist(0.22), user="bob", dry_run=True), "not_permitted")

    policed(tmp_path, scenario)


def test_what_waited_begins_no_more_where_a_second_person_is_needed_now(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        rev = await waiting(plant, 0.24, "alice")
        with_second(plant)
        event = await outcome(plant, rev)
        assert (event["cause"], 'rule "engineers loosen" needs a second person' in event["reason"]) == ("refused", True)

    policed(tmp_path, scenario)


def test_rates_count_what_does_not_tighten(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for n in range(6):
            assert (await plant.call("r1", TWIST, twist(0.19 - 0.01 * n), user="bob"))["stage"] == "applied"
        assert (await plant.call("r2", "HoldArm", {"reason": "x"}, user="bob"))["ok"]
        assert (await plant.call("r2", "ReleaseArm", {}, user="bob"))["ok"]
        reply = await plant.call("r2", "HoldArm", {"reason": "x"}, user="bob", id="again")
        error = error_of(reply, "rate_limited")
        assert (reply["final"], error["retry"], error["retry_after_ms"]) == (
            False,
            "same_id",
            pytest.approx(30_000, abs=500),
        )
        assert (await plant.call("r1", TWIST, twist(0.05), user="bob"))["stage"] == "applied"
        assert (await plant.call("r2", "HoldArm", {"reason": "x"}, user="dora"))["ok"]
        assert (await plant.call("r2", "ReleaseArm", {}, user="dora"))["ok"]
        await plant.turn(error["retry_after_ms"] / 1_000)
        assert (await plant.call("r2", "HoldArm", {"reason": "x"}, user="bob", id="again"))["ok"]

    policed(tmp_path, scenario)


def test_engineers_have_the_rate_of_their_role(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for n in range(10):
            assert (await plant.call("r1", TWIST, twist(0.2 + 0.005 * n), user="alice"))["stage"] == "applied"

    policed(tmp_path, scenario)


def test_reads_are_asked_where_a_rule_names_them(tmp_path: Path) -> None:
    rules = RULES + '[[rule]]\nname = "engineers read"\nroles = ["engineer"]\nallow = ["read"]\n'

    async def scenario(plant: Plant) -> None:
        assert (await plant.call("r1", "GetGravityVector", {}, user="bob"))["ok"]
        reloaded(plant, rules)
        error = error_of(await plant.call("r1", "GetGravityVector", {}, user="bob"), "not_permitted")
        assert (error["name"], error["rule"]) == ("READ_PERMISSION_DENIED", "engineers read")
        assert "bob may not read gravity_vector of r1" in error["message"]
        assert (await plant.call("r1", "GetHistory", {}, user="alice"))["ok"]

    policed(tmp_path, scenario)


def test_who_may_not_read_an_arm_may_not_compare_another_one_with_it(tmp_path: Path) -> None:
    rules = RULES + '[[rule]]\nname = "engineers read r1"\nroles = ["engineer"]\nallow = ["read"]\narms = ["r1"]\n'

    async def scenario(plant: Plant) -> None:
        reloaded(plant, rules)
        assert (await plant.call("r1", "Diff", {"to": {"rev": 1}}, user="alice"))["ok"]
        error = error_of(await plant.call("r1", "Diff", {"to": {"arm": "r2"}}, user="alice"), "not_permitted")
        assert (error["name"], error["rule"]) == ("READ_PERMISSION_DENIED", "engineers read r1")
        reloaded(plant, RULES)
        assert (await plant.call("r1", "Diff", {"to": {"arm": "r2"}}, user="bob"))["ok"]

    policed(tmp_path, scenario)


def test_who_am_i_tells_the_roles(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        assert (await plant.call("nowhere", "WhoAmI", {}, user="alice"))["result"]["roles"] == ["engineer"]
        assert (await plant.call("r1", "WhoAmI", {}, user="bob"))["result"]["roles"] == []

    policed(tmp_path, scenario)


def test_the_policy_is_told_in_meta_service(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        told = await plant.document("meta/service", lambda document: "policy" in document)
        policy = plant.service._settler.policing.policy
        assert policy is not None
        assert told["policy"] == {"digest": policy.digest, "rules": 3}

    policed(tmp_path, scenario)


async def read_again(plant: Plant, rules: str) -> None:
    """What SIGHUP does with other rules."""
    Path(plant.settings.policy.file).write_text(rules, encoding="utf-8")
    policy = load_policy(plant.settings)
    await plant.service.follow_settings(
        CheckedFleet(plant.settings, LimitFiles(plant.clock.now_us()), policy=policy)
    )  # fmt: skip


def test_a_reload_tells_of_another_policy_once(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await read_again(plant, RULES)
        await read_again(plant, RULES + "# other bytes\n")
        policy = plant.service._settler.policing.policy
        assert policy is not None
        told = {"digest": policy.digest, "rules": 3}
        event = await plant.document("evt/@all/settings", lambda _: True)
        assert (event["event"], event["cause"], event["details"], event["seq"]) == (
            "POLICY_CHANGED",
            "reloaded",
            told,
            1,
        )
        assert event["by"]["user"] == "@service"
        await plant.document("meta/service", lambda document: document.get("policy") == told)
        await plant.turn(1.0)
        assert len(plant.events("@all")) == 1

    policed(tmp_path, scenario)


def test_questions_to_a_group_need_to_read_all_of_its_arms(tmp_path: Path) -> None:
    rules = RULES + '[[rule]]\nname = "all"\nroles = ["engineer"]\nallow = ["read"]\n'

    async def scenario(plant: Plant) -> None:
        asked = {"after_seq": 0}
        assert (await plant.call("@all", "GetEvents", asked, user="bob"))["ok"]
        reloaded(plant, rules + 'arms = ["r1"]\n')
        error = error_of(await plant.call("@all", "GetEvents", asked, user="alice"), "not_permitted")
        assert (error["name"], error["rule"]) == ("READ_PERMISSION_DENIED", "all")
        reloaded(plant, rules)
        assert (await plant.call("@all", "GetEvents", asked, user="alice"))["ok"]
        assert (await plant.call("@all", "WhoAmI", {}, user="alice"))["result"]["roles"] == ["engineer"]

    policed(tmp_path, scenario)


async def fault(plant: Plant, name: str) -> None:
    """Let a fault of r1 begin."""
    assert (await plant.call("r1", "SimFault", {"fault": name}, user="carol"))["ok"]


async def waiting(plant: Plant, limit: float, user: str) -> int:
    """A change of a user that waits for r1; its revision."""
    await fault(plant, "offline")
    await plant.document("state/r1/presence", lambda document: document["state"] == "offline")
    reply = await plant.call("r1", TWIST, twist(limit), user=user)
    assert (reply["stage"], reply["final"]) == ("stored", False)
    return int(reply["rev"])


async def outcome(plant: Plant, rev: int) -> dict[str, Any]:
    """Let r1 be there again; the event of a change."""
    await fault(plant, "none")
    found: dict[str, Any] = (await plant.link.take(
        lambda each: each.topic.startswith(("evt/r1/config/", "evt/r1/outcome")) and each.document["rev"] == rev
    )).document  # fmt: skip
    return found


def test_a_change_that_waited_is_asked_again_before_it_begins(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        rev = await waiting(plant, 0.24, "alice")
        reloaded(plant, RULES.replace('["alice", "carol"]', '["carol"]'))
        event = await outcome(plant, rev)
        assert (event["event"], event["cause"]) == ("CHANGE_NOT_APPLIED", "refused")
        asked = {"after_rev": rev - 1, "item": "twist_linear_soft_limit"}
        changes = (await plant.call("r1", "GetHistory", asked))["result"]["changes"]
        assert [(entry["outcome"], entry["after"]) for entry in changes] == [("reverted", 0.2), ("refused", 0.24)]

    policed(tmp_path, scenario)


def test_one_that_may_still_be_goes_out(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        rev = await waiting(plant, 0.24, "alice")
        assert (await outcome(plant, rev))["cause"] == "applied"
        rev = await waiting(plant, 0.1, "bob")
        assert (await outcome(plant, rev))["cause"] == "applied"

    policed(tmp_path, scenario)


def test_what_the_service_itself_does_is_not_asked(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        session, policing = plant.session(), plant.service._settler.policing
        await waiting(plant, 0.24, "alice")
        (job,) = session.unsettled()
        reloaded(plant, "")
        assert policing.refuses(session.state, job) is not None
        author, job.author = job.author, msgspec.structs.replace(job.author, user="@service")
        assert policing.refuses(session.state, job) is None
        job.author, job.method = author, "Reverse"
        assert policing.refuses(session.state, job) is None

    policed(tmp_path, scenario)


HOURS = RULES.replace("payload_mass = 2.0 }\n", 'payload_mass = 2.0 }\nhours = ["Fri 07:00-08:10"]\n', 1)
"""The service begins at 2027-01-15, 08:00 UTC, which is a Friday."""


def test_ruling_22_no_hours_are_open_while_the_clock_is_behind_the_store(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reloaded(plant, HOURS)
        assert (await plant.call("r1", TWIST, twist(0.21), user="alice"))["stage"] == "applied"
        plant.clock.not_before(plant.clock.now_us() + 60_000_000)
        assert plant.clock.told.state == BEHIND
        error = error_of(await plant.call("r1", TWIST, twist(0.22), user="alice"), "not_permitted")
        assert "the clock is behind the store" in error["message"]
        assert (await plant.call("r1", TWIST, twist(0.19), user="alice"))["stage"] == "applied"

    policed(tmp_path, scenario)


def test_hours_count_at_acceptance_and_before_a_change_begins(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reloaded(plant, HOURS)
        rev = await waiting(plant, 0.23, "alice")
        await plant.turn(600.0)
        error = error_of(await plant.call("r1", TWIST, twist(0.24), user="alice"), "not_permitted")
        assert "counts Fri 07:00-08:10 (UTC)" in error["message"]
        assert (await outcome(plant, rev))["cause"] == "refused"

    policed(tmp_path, scenario)


BATCH: dict[str, Any] = {
    "payload_information": {"payload_mass": 1.5},
    "twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.22, "CARTESIAN_TRAJECTORY": 0.1},
}


def test_of_a_batch_each_slot_has_to_be_allowed(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await plant.call("r1", "ApplyConfig", {"items": BATCH}, user="alice")
        assert (reply["stage"], reply["final"]) == ("applied", True)
        tighter = {"twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.1, "CARTESIAN_TRAJECTORY": 0.09}}
        assert (await plant.call("r1", "ApplyConfig", {"items": tighter}, user="bob"))["stage"] == "applied"
        error = error_of(await plant.call("r1", "ApplyConfig", {"items": BATCH}, user="bob"), "not_permitted")
        assert error["rule"] == "engineers loosen"
        assert error["message"].startswith(
            "items.twist_linear_soft_limit.CARTESIAN_JOYSTICK: bob may not loosen twist_linear_soft_limit of r1: rule"
        )
        assert "Also: twist_linear_soft_limit/CARTESIAN_TRAJECTORY not_permitted." in error["message"]
        items = {
            **BATCH,
            "twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.4},
            "payload_information": {"payload_mass": 3},
        }
        error = error_of(await plant.call("r1", "ApplyConfig", {"items": items}, user="alice"), "out_of_limits")
        assert [(one["path"], one["bound"], one["source"]) for one in error["violations"]] == [
            ("items.payload_information.payload_mass", 2.0, "policy:engineers loosen"),
            ("items.twist_linear_soft_limit.CARTESIAN_JOYSTICK", 0.25, "policy:engineers loosen"),
        ]

    policed(tmp_path, scenario)


def test_a_batch_that_takes_parts_leaves_out_what_may_not_be(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        gravity = {"x": 0.0, "y": 0.1, "z": -9.81}
        asked = {"items": {**BATCH, "gravity_vector": gravity}, "partial": True}
        reply = await plant.call("r1", "ApplyConfig", asked, user="alice", dry_run=True)
        assert (reply["stage"], list(reply["result"]["left_out"])) == ("checked", ["gravity_vector"])
        reply = await plant.call("r1", "ApplyConfig", asked, user="alice")
        assert (reply["ok"], reply["stage"]) == (True, "applied")
        assert reply["result"]["left_out"]["gravity_vector"]["kind"] == "not_permitted"
        assert [warning["name"] for warning in reply["warnings"]] == ["LEFT_OUT"]
        error_of(
            await plant.call("r1", "ApplyConfig", {"items": {"gravity_vector": gravity}, "partial": True}, user="bob"),
            "not_permitted",
        )

    policed(tmp_path, scenario)


def test_a_batch_that_loosens_counts_and_one_that_tightens_does_not(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        for number in range(4):
            items = {"twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.19 - 0.01 * number}}
            assert (await plant.call("r1", "ApplyConfig", {"items": items}, user="bob"))["ok"]
        reloaded(plant, RULES.replace('engineer = "100/s"', 'engineer = "1/min"'))
        assert (await plant.call("r1", "ApplyConfig", {"items": BATCH}, user="alice"))["ok"]
        batch = {"items": {"payload_information": {"payload_mass": 1.6}}}
        error_of(await plant.call("r1", "ApplyConfig", batch, user="alice"), "rate_limited")

    policed(tmp_path, scenario)


BY_THE_HOUR = RULES.replace(
    '["twist_linear_soft_limit", "payload_information"]\n', '["twist_linear_soft_limit"]\nat_most = "1h"\n'
).replace("{ twist_linear = 0.25, payload_mass = 2.0 }", "{ twist_linear = 0.45 }")
"""Engineers loosen up to 0.45 m/s, for an hour."""
HOUR_MS = 3_600_000


def test_ruling_09_with_tighten_alone_nobody_raises_the_ground_below_an_override(tmp_path: Path) -> None:
    """Ground 0.1, an engineer's override 0.45: 0.3 for good is tighter than what is reported."""

    async def scenario(plant: Plant) -> None:
        reloaded(plant, BY_THE_HOUR)
        assert (await plant.call("r1", TWIST, twist(0.1), user="bob"))["stage"] == "applied"
        assert (await plant.call("r1", TWIST, twist(0.45), user="alice", valid_for_ms=HOUR_MS))["stage"] == "applied"
        error = error_of(await plant.call("r1", TWIST, twist(0.3), user="bob"), "not_permitted")
        assert error["rule"] == "engineers loosen"
        assert "may not loosen" in error["message"]
        assert (await plant.call("r1", TWIST, twist(0.09), user="bob"))["stage"] == "applied"

    policed(tmp_path, scenario)


def test_ruling_10_the_same_for_one_hour_but_he_may_end_the_override(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reloaded(plant, BY_THE_HOUR)
        assert (await plant.call("r1", TWIST, twist(0.1), user="bob"))["stage"] == "applied"
        reply = await plant.call("r1", TWIST, twist(0.45), user="alice", valid_for_ms=HOUR_MS)
        error_of(await plant.call("r1", TWIST, twist(0.3), user="bob", valid_for_ms=HOUR_MS), "not_permitted")
        ended = await plant.call("r1", "EndOverride", {"rev": reply["rev"]}, user="bob")
        assert (ended["ok"], ended["result"]) == (True, {"ended": [reply["rev"]], "left": []})
        await plant.document(
            "evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED",
            lambda event: event["cause"] == "returned" and event["change"]["after"] == 0.1,
        )

    policed(tmp_path, scenario)


def test_what_is_allowed_for_an_hour_counts_from_its_begin(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reloaded(plant, BY_THE_HOUR)
        error = error_of(await plant.call("r1", TWIST, twist(0.3), user="alice"), "not_permitted")
        assert "allows it as an override of at most 1h only" in error["message"]
        error_of(await plant.call("r1", TWIST, twist(0.3), user="alice", valid_for_ms=HOUR_MS + 1), "not_permitted")
        reply = await plant.call("r1", TWIST, twist(0.3), user="alice", valid_for_ms=HOUR_MS // 2)
        await plant.turn(900.0)
        more = {"rev": reply["rev"], "valid_for_ms": HOUR_MS}
        error = error_of(await plant.call("r1", "ExtendOverride", more, user="alice"), "not_permitted")
        assert "at most 1h" in error["message"]
        more["valid_for_ms"] = HOUR_MS // 2
        assert (await plant.call("r1", "ExtendOverride", more, user="alice"))["ok"]
        error_of(
            await plant.call("r1", "EndOverride", {"rev": reply["rev"], "keep": True}, user="alice"), "not_permitted"
        )
        assert (await plant.call("r1", "EndOverride", {"rev": reply["rev"]}, user="bob"))["ok"]

    policed(tmp_path, scenario)


def test_of_all_overrides_the_sender_ends_what_it_may_and_left_names_the_rest(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reloaded(plant, RULES.replace('["alice", "carol"]', '["alice"]'))
        tight = await plant.call("r1", TWIST, twist(0.1), user="bob", valid_for_ms=HOUR_MS)
        other = {"control_mode": "CARTESIAN_TRAJECTORY", "twist_linear_soft_limit": 0.2}
        assert (await plant.call("r1", TWIST, other, user="bob"))["ok"]
        loose = await plant.call(
            "r1", TWIST, {**other, "twist_linear_soft_limit": 0.24}, user="alice", valid_for_ms=HOUR_MS
        )
        assert (tight["ok"], loose["ok"]) == (True, True)
        error_of(await plant.call("r1", "EndOverride", {"rev": tight["rev"]}, user="zoe"), "not_permitted")
        ended = await plant.call("r1", "EndOverride", {"all": True}, user="zoe")
        assert ended["result"] == {"ended": [loose["rev"]], "left": [tight["rev"]]}
        error_of(await plant.call("r1", "EndOverride", {"all": True}, user="zoe"), "not_permitted")
        more = {"all": True, "valid_for_ms": 2 * HOUR_MS}
        assert (await plant.call("r1", "ExtendOverride", more, user="zoe"))["ok"]

    policed(tmp_path, scenario)


def test_without_a_policy_nothing_is_asked(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        policing = plant.service._settler.policing
        assert policing.policy is None
        with pytest.raises(RuntimeError, match="there is no policy"):
            policing.check(None, None)  # type: ignore[arg-type]
        assert (await plant.call("r1", "WhoAmI", {}))["result"]["roles"] == []

    assert Policing.__doc__
    play(tmp_path, scenario)
