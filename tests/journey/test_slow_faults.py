"""Arms that leave the service without an answer for seconds or hours, in virtual time."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.virtual_plant import Plant
from tests.virtual_plant import play as play_in

SET = "SetTwistLinearSoftLimit"
ITEM, SLOT = "twist_linear_soft_limit", "CARTESIAN_JOYSTICK"
MODE = {"control_mode": SLOT}
CHANGED = "evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED"
OUTCOME = "evt/r1/outcome"
MODE_FAILED = "evt/r1/config/CHANGE_CONTROL_MODE_FAILED"
JOYSTICK = {"control_mode": "CARTESIAN_JOYSTICK"}

Scenario = Callable[[Plant], Awaitable[None]]


def value(limit: float) -> dict[str, Any]:
    """Params of the Set."""
    return {**MODE, ITEM: limit}


@pytest.fixture
def play(tmp_path: Path) -> Callable[[Scenario], None]:
    """A function that runs a scenario on a plant of its own."""

    def play(scenario: Scenario) -> None:
        play_in(tmp_path / "data", scenario)

    return play


def anything(_: Any) -> bool:
    """Any document."""
    return True


def test_a_lost_answer_is_found_by_reading_back(play: Callable[[Scenario], None]) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "lose_answer")
        began_s = plant.loop.time()
        reply = await plant.call("r1", SET, value(0.25))
        assert (reply["ok"], reply["stage"], reply["final"]) == (True, "applied", True)
        assert plant.loop.time() - began_s == pytest.approx(5.0, abs=0.1)

    play(scenario)


def test_a_lost_answer_to_a_reset_gives_the_value_read(play: Callable[[Scenario], None]) -> None:
    async def scenario(plant: Plant) -> None:
        default = (await plant.call("r1", "GetKinematicSoftLimits", MODE))["result"]["twist_linear"]
        await plant.call("r1", SET, value(0.25))
        await plant.fault("r1", "lose_answer")
        reply = await plant.call("r1", "ResetTwistLinearSoftLimit", MODE)
        assert (reply["stage"], reply["result"][ITEM]) == ("applied", pytest.approx(default))

    play(scenario)


def test_what_another_writer_overwrote_is_told_twice(play: Callable[[Scenario], None]) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "lose_answer")
        request = plant.send("r1", SET, value(0.25))
        await plant.document("state/r1/config", lambda document: bool(document["pending"]))
        await plant.fault("r1", "foreign_change", item=ITEM, slot=SLOT, value=0.3)
        reply = await plant.reply(request)
        assert (reply["ok"], reply["stage"], reply["final"]) == (False, "refused", True)
        assert (reply["error"]["kind"], reply["error"]["name"]) == ("overwritten", "METHOD_FAILED")
        foreign, outcome = plant.events()
        assert (foreign["cause"], foreign["by"]["user"], foreign["change"]["after"]) == ("foreign", "@arm", 0.3)
        assert (outcome["event"], outcome["cause"]) == ("CHANGE_NOT_APPLIED", "overwritten")
        assert (outcome["request_id"], outcome["seq"]) == (f"u/c/{request}", reply["seq"])
        config = await plant.document("state/r1/config", lambda document: document["seq"] == outcome["seq"])
        assert (config["items"][ITEM][SLOT], config["differs"], config["pending"]) == (0.3, [], [])

    play(scenario)


def test_without_any_answer_the_outcome_is_unknown_until_it_is_read(play: Callable[[Scenario], None]) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang")
        began_s = plant.loop.time()
        first, second = plant.send("r1", SET, value(0.25)), plant.send("r1", SET, value(0.2))
        reply = await plant.reply(first)
        assert plant.loop.time() - began_s == pytest.approx(10.0, abs=0.1)
        assert (reply["ok"], reply["stage"], reply["final"]) == (False, "stored", False)
        assert (reply["error"]["kind"], reply["error"]["retry"]) == ("outcome_unknown", "repeat")
        behind = await plant.reply(second)
        assert (behind["ok"], behind["stage"], behind["final"]) == (True, "stored", False)
        config = await plant.document(
            "state/r1/config", lambda document: any(entry["state"] == "unknown" for entry in document["pending"])
        )
        assert [entry["state"] for entry in config["pending"]] == ["unknown", "accepted"]
        assert config["items"][ITEM][SLOT] == 0.2
        again = await plant.call("r1", SET, value(0.25), id=first)
        assert (again["error"]["kind"], again["duplicate"], again["stage"]) == ("outcome_unknown", True, "stored")
        await plant.fault("r1", "none")
        one = await plant.document(CHANGED, lambda event: event["request_id"] == f"u/c/{first}")
        two = await plant.document(CHANGED, lambda event: event["request_id"] == f"u/c/{second}")
        assert (one["seq"], one["cause"], two["seq"]) == (1, "applied", 2)
        assert (await plant.call("r1", SET, value(0.25), id=first))["in_force"] is False
        latest = await plant.call("r1", SET, value(0.2), id=second)
        assert (latest["stage"], latest["final"], latest["in_force"]) == ("applied", True, True)
        assert len([each for each in plant.link.published if each.topic == f"res/u/c/{first}"]) == 3

    play(scenario)


def test_a_refusal_nobody_heard_is_found_by_reading_twice(play: Callable[[Scenario], None]) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang", for_ms=20_000)
        await plant.fault("r1", "refuse")
        request = plant.send("r1", SET, value(0.25))
        assert (await plant.reply(request))["error"]["kind"] == "outcome_unknown"
        event = await plant.document(OUTCOME, anything)
        assert (event["cause"], event["request_id"]) == ("refused", f"u/c/{request}")
        latest = await plant.call("r1", SET, value(0.25), id=request)
        assert (latest["error"]["kind"], latest["final"], latest["duplicate"]) == ("arm_refused", True, True)
        config = await plant.document("state/r1/config", lambda document: document["seq"] == 1)
        assert config["differs"] == []

    play(scenario)


def test_a_mode_left_unanswered_and_not_taken_fails(play: Callable[[Scenario], None]) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang", for_ms=20_000)
        await plant.fault("r1", "refuse")
        request = plant.send("r1", "SetControlMode", JOYSTICK)
        assert (await plant.reply(request))["error"]["kind"] == "outcome_unknown"
        event = await plant.document(MODE_FAILED, anything)
        assert event["request_id"] == f"u/c/{request}"
        mode = await plant.document("state/r1/mode", lambda document: document["seq"] == event["seq"])
        assert (mode["control_mode"], mode.get("desired")) == ("IDLE", None)

    play(scenario)


def test_a_mode_expires_behind_a_hanging_change(play: Callable[[Scenario], None]) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang")
        plant.send("r1", SET, value(0.25))
        began_s = plant.loop.time()
        reply = await plant.call("r1", "SetControlMode", JOYSTICK)
        assert reply["error"]["kind"] == "expired"
        assert plant.loop.time() - began_s == pytest.approx(2.0, abs=0.1)
        await plant.fault("r1", "none")
        await plant.document(CHANGED, anything)
        assert (await plant.call("r1", "GetControlMode"))["result"] == {"control_mode": "IDLE"}

    play(scenario)


def test_an_arm_that_went_away_with_a_command_is_read_when_it_is_back(play: Callable[[Scenario], None]) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "lose_answer")
        request = plant.send("r1", SET, value(0.25))
        await plant.document("state/r1/config", lambda document: bool(document["pending"]))
        await plant.fault("r1", "offline", for_ms=3_600_000)
        assert (await plant.reply(request))["error"]["kind"] == "outcome_unknown"
        behind = await plant.call("r1", SET, value(0.2), ttl_ms=60_000)
        assert (behind["stage"], [one["name"] for one in behind["warnings"]]) == ("stored", ["DEVICE_DISCONNECTED"])
        gone = len(plant.link.published)
        event = await plant.document(CHANGED, anything)
        assert (event["request_id"], event["cause"]) == (f"u/c/{request}", "applied")
        presence = [each.document["state"] for each in plant.link.published if each.topic == "state/r1/presence"]
        assert "offline" in presence
        await plant.document("state/r1/presence", lambda document: document["state"] == "online", gone)

    play(scenario)


def test_the_queue_stands_until_a_read_succeeds(play: Callable[[Scenario], None]) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang")
        first, second = plant.send("r1", SET, value(0.25)), plant.send("r1", "SetGravityVector", {"z": -9.8})
        await plant.reply(first)
        assert plant.session().busy_with is not None
        assert [job.state for job in plant.session().unsettled()] == ["unknown", "accepted"]
        await plant.fault("r1", "none")
        await plant.document("evt/r1/config/GRAVITY_VECTOR_CHANGED", lambda event: event["request_id"].endswith(second))
        assert [event["seq"] for event in plant.events()] == [1, 2]

    play(scenario)


def test_a_stored_reply_does_not_wait(play: Callable[[Scenario], None]) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang")
        reply = await plant.call("r1", SET, value(0.25), wait="stored", id="s1")
        assert (reply["ok"], reply["stage"], reply["final"], reply["seq"]) == (True, "stored", False, 0)
        await plant.fault("r1", "none")
        event = await plant.document(CHANGED, anything)
        assert (event["request_id"], event["rev"]) == ("u/c/s1", reply["rev"])
        latest = await plant.call("r1", SET, value(0.25), wait="stored", id="s1")
        assert (latest["stage"], latest["seq"], latest["in_force"]) == ("applied", 1, True)
        replies = [each for each in plant.link.published if each.topic == "res/u/c/s1"]
        assert len(replies) == 2

    play(scenario)


def test_repeats_wait_for_the_first_reply_but_not_without_bound(play: Callable[[Scenario], None]) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang")
        for _ in range(64):
            plant.send("r1", SET, value(0.25), id="w1")
        refused = await plant.call("r1", SET, value(0.25), id="w1")
        assert (refused["error"]["kind"], refused["error"]["retry"]) == ("busy", "same_id")
        after = len(plant.link.published)
        await plant.fault("r1", "none")
        await plant.document(CHANGED, anything)
        await plant.call("r2", "GetGravityVector")
        replies = [each.document for each in plant.link.published[after:] if each.topic == "res/u/c/w1"]
        assert [reply.get("duplicate", False) for reply in replies] == [False] + [True] * 63
        assert {reply["stage"] for reply in replies} == {"applied"}

    play(scenario)


def test_expired_changes_leave_a_hanging_queue(play: Callable[[Scenario], None]) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang")
        plant.send("r1", SET, value(0.25))
        for number in range(300):
            reply = await plant.call("r1", SET, value(0.1), ttl_ms=10, id=f"x{number}")
            assert reply["error"]["kind"] == "expired"
        assert len(plant.session().jobs) == 1

    play(scenario)


def test_an_expired_wish_gives_way_to_the_one_before_it(play: Callable[[Scenario], None]) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang")
        plant.send("r1", "SetGravityVector", {"z": -9.8})
        reset = plant.send("r1", "ResetTwistLinearSoftLimit", MODE, ttl_ms=1000)
        later = plant.send("r1", SET, value(0.2), ttl_ms=2000)
        assert (await plant.reply(later))["error"]["kind"] == "expired"
        assert (await plant.reply(reset))["error"]["kind"] == "expired"
        config = await plant.document("state/r1/config", lambda document: document["seq"] == 2)
        assert config["differs"] == ["gravity_vector"]

    play(scenario)
