"""Changes of arms that cannot take them: pending, superseded, decided again on return, held, confirmed, discarded."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from broker.service import Service
from broker.store.store import Store
from devices.adapter import LinkState
from schema.arms import Fault
from schema.enums import ControlMode
from schema.messages import TwistLinearSoftLimit
from tests.journey.test_restart import away, journal
from tests.stored import changes
from tests.virtual_plant import START_US, Plant, run

SET, RESET = "SetTwistLinearSoftLimit", "ResetTwistLinearSoftLimit"
ITEM, SLOT = "twist_linear_soft_limit", "CARTESIAN_JOYSTICK"
MODE = {"control_mode": SLOT}
CHANGED = "evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED"
OUTCOME = "evt/r1/outcome"
GRAVITY = {"x": 0.0, "y": 0.0, "z": -9.7}
QUARTER_S = 15 * 60
Scenario = Callable[[Path], Awaitable[None]]


@pytest.fixture
def play(tmp_path: Path) -> Callable[[Scenario], None]:
    """A function that runs a scenario in a directory of its own."""

    def play(scenario: Scenario) -> None:
        async def whole() -> None:
            await scenario(tmp_path)

        run(whole)

    return play


def value(limit: float, slot: str = SLOT) -> dict[str, Any]:
    """Params of the Set."""
    return {"control_mode": slot, ITEM: limit}


def anything(_: Any) -> bool:
    """Any document."""
    return True


def tell(plant: Plant, *, online: bool = True, ready: bool) -> None:
    """The arm says whether it takes changes."""
    adapter: Any = plant.session().adapter
    adapter._sink(LinkState(online, ready, "the arm moves"))


def change_by_another(plant: Plant, limit: float) -> None:
    """Another writer changes arm r1."""
    adapter: Any = plant.session().adapter
    limited = TwistLinearSoftLimit(ControlMode.CARTESIAN_JOYSTICK, limit)
    adapter.inject(Fault("foreign_change", slot=(ITEM, 2), value=limited))


async def pending(plant: Plant, wanted: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
    """What `config.pending` is, once it is as wanted."""
    after = len(plant.link.published) - 1
    latest = plant.service._documents.build(plant.session(), "config")["pending"]
    if not wanted(latest):
        latest = (await plant.document("state/r1/config", lambda one: wanted(one["pending"]), after))["pending"]
    found: list[dict[str, Any]] = latest
    return found


async def offline(plant: Plant) -> None:
    """Let arm r1 be away."""
    await plant.fault("r1", "offline")


async def back(plant: Plant) -> None:
    """Let arm r1 come back, and be read."""
    await plant.fault("r1", "none")
    await plant.turn(1.0)


def stored(reply: dict[str, Any]) -> tuple[Any, ...]:
    """What a reply says of how far a change got."""
    warnings = [one["name"] for one in reply["warnings"]]
    return reply["ok"], reply["stage"], reply["final"], reply["seq"], warnings


def test_a_set_of_an_arm_that_is_away_is_stored_at_once_and_written_on_return(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await offline(plant)
            began_s = plant.loop.time()
            reply = await plant.call("r1", SET, value(0.25), id="a")
            assert plant.loop.time() - began_s < 0.1
            assert stored(reply) == (True, "stored", False, 0, ["DEVICE_DISCONNECTED"])
            assert (reply["rev"], reply["result"]) == (2, {})
            (entry,) = await pending(plant, bool)
            assert (entry["rev"], entry["item"], entry["slot"], entry["state"]) == (2, ITEM, SLOT, "accepted")
            assert entry["why"] == "r1 is not connected"
            again = await plant.call("r1", SET, value(0.25), id="a")
            assert (again["duplicate"], again["in_force"], again["stage"]) == (True, False, "stored")
            read = await plant.call("r1", "GetKinematicSoftLimits", MODE)
            assert (read["desired"]["twist_linear"], read["pending_rev"]) == (0.25, 2)
            await back(plant)
            event = await plant.document(CHANGED, anything)
            assert (event["request_id"], event["rev"], event["cause"]) == ("u/c/a", 2, "applied")
            assert len([one for one in plant.link.published if one.topic == "res/u/c/a"]) == 2
            latest = await plant.call("r1", SET, value(0.25), id="a")
            assert (latest["stage"], latest["in_force"], latest["seq"]) == ("applied", True, 1)
            assert journal(folder, ITEM) == [[1, 1]]

    play(scenario)


@pytest.mark.parametrize("wait", ["stored", "applied"])
def test_an_arm_that_moves_takes_its_changes_when_it_stands(play: Callable[[Scenario], None], wait: str) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            tell(plant, ready=False)
            reply = await plant.call("r1", SET, value(0.25), wait=wait)
            assert stored(reply) == (True, "stored", False, 0, ["DEVICE_NOT_READY"])
            dry = await plant.call("r1", SET, value(0.2), dry_run=True)
            assert (dry["stage"], [one["name"] for one in dry["warnings"]]) == ("checked", ["DEVICE_NOT_READY"])
            for method in (RESET, "SetControlMode"):
                refused = await plant.call("r1", method, MODE)
                assert (refused["error"]["kind"], refused["final"]) == ("arm_not_ready", True)
            assert (await plant.call("r1", "RestoreFactory"))["error"]["kind"] == "arm_not_ready"
            await plant.turn(60.0)
            assert journal(folder, ITEM) == []
            tell(plant, ready=True)
            assert (await plant.document(CHANGED, anything))["cause"] == "applied"

    play(scenario)


def test_a_newer_change_of_the_slot_supersedes_the_older_one(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await offline(plant)
            await plant.call("r1", SET, value(0.25), id="a")
            await plant.call("r1", SET, value(0.3, "CARTESIAN_TRAJECTORY"), id="b")
            await plant.call("r1", SET, value(0.2), id="c")
            event = await plant.document(OUTCOME, anything)
            assert (event["cause"], event["request_id"], event["rev"]) == ("superseded", "u/c/a", 2)
            old = await plant.call("r1", SET, value(0.25), id="a")
            assert (old["ok"], old["stage"], old["final"], old["error"]["kind"]) == (
                False,
                "refused",
                True,
                "overwritten",
            )
            assert "revision 4" in old["error"]["message"]
            assert [one["rev"] for one in await pending(plant, bool)] == [3, 4]
            assert plant.session().state.rev == 4
            await back(plant)
            assert (await plant.call("r1", SET, value(0.2), id="c"))["in_force"] is True
            assert journal(folder, ITEM) == [[1, 1], [1, 2]]
            history = (await plant.call("r1", "GetHistory"))["result"]["changes"]
            assert [(one["rev"], one["outcome"]) for one in history] == [
                (4, "applied"),
                (3, "applied"),
                (2, "superseded"),
            ]

    play(scenario)


def test_a_reachable_arm_gets_every_change_in_order(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await plant.fault("r1", "delay", delay_ms=500)
            requests = [plant.send("r1", SET, value(limit)) for limit in (0.25, 0.2, 0.3)]
            assert [(await plant.reply(one))["stage"] for one in requests] == ["applied"] * 3
            assert len(journal(folder, ITEM)) == 3

    play(scenario)


def test_tightenings_go_first_and_young_loosenings_follow(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await plant.call("r1", SET, value(0.2))
            await offline(plant)
            for request_id, method, params in (
                ("loose", SET, value(0.4)),
                ("gravity", "SetGravityVector", GRAVITY),
                ("tight", SET, value(0.1, "CARTESIAN_TRAJECTORY")),
                ("tighter", "SetDesiredLinearTwist", {"linear": 0.05}),
            ):
                assert (await plant.call("r1", method, params, id=request_id))["stage"] == "stored"
            await asyncio.sleep(QUARTER_S - 10)
            await back(plant)
            asked = [event["request_id"] for event in plant.events()[1:]]
            assert asked == ["u/c/tight", "u/c/tighter", "u/c/loose", "u/c/gravity"]
            assert {event["cause"] for event in plant.events()} == {"applied"}

    play(scenario)


def test_old_loosenings_are_held_until_somebody_decides(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await plant.call("r1", SET, value(0.2))
            await offline(plant)
            await plant.call("r1", SET, value(0.4), id="loose")
            await plant.call("r1", "SetGravityVector", GRAVITY, id="gravity")
            await plant.call("r1", "SetDesiredLinearTwist", {"linear": 0.05}, id="tight")
            await asyncio.sleep(QUARTER_S + 10)
            await back(plant)
            assert [event["request_id"] for event in plant.events()[1:]] == ["u/c/tight"]
            held = await pending(plant, lambda each: [one["state"] for one in each] == ["held", "held"])
            assert [one["rev"] for one in held] == [3, 4]
            assert "older than 900 s" in held[0]["why"]
            assert (await plant.call("r1", SET, value(0.4), id="loose"))["stage"] == "stored"
            assert {one["state"] for one in await pending(plant, bool)} == {"held"}
            for params, kind in (({"rev": 5}, "revision_conflict"), ({}, "malformed"), ({"all": False}, "malformed")):
                assert (await plant.call("r1", "ConfirmPending", params))["error"]["kind"] == kind
            reply = await plant.call("r1", "ConfirmPending", {"rev": 3})
            assert (reply["ok"], reply["stage"], reply["final"], reply["result"]) == (True, "stored", True, {})
            event = await plant.document(CHANGED, lambda one: one["request_id"] == "u/c/loose")
            assert (event["cause"], event["rev"]) == ("applied", 3)
            reply = await plant.call("r1", "DiscardPending", {"rev": 4})
            assert (reply["stage"], reply["final"]) == ("stored", True)
            event = await plant.document(OUTCOME, anything)
            assert (event["cause"], event["request_id"]) == ("discarded", "u/c/gravity")
            end = await plant.call("r1", "SetGravityVector", GRAVITY, id="gravity")
            assert (end["stage"], end["final"], end["error"]["kind"]) == ("refused", True, "held")
            assert "u/c discarded it" in end["error"]["message"]
            config = await plant.document("state/r1/config", lambda one: one["seq"] == event["seq"])
            assert (config["pending"], config["differs"], config["rev"]) == ([], [], 6)
            assert journal(folder, "gravity_vector") == []

    play(scenario)


def test_a_held_change_that_no_longer_fits_is_refused_when_it_is_confirmed(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await plant.call("r1", SET, value(0.2))
            await offline(plant)
            await plant.call("r1", SET, value(0.45), id="loose")
            await asyncio.sleep(QUARTER_S + 10)
            await back(plant)
            session = plant.session()
            session.state.sources = type(session.state.sources)(site_caps={"twist_linear": 0.3})
            await plant.call("r1", "ConfirmPending", {"all": True})
            event = await plant.document(OUTCOME, anything)
            assert (event["cause"], event["request_id"]) == ("refused", "u/c/loose")
            assert (await plant.call("r1", SET, value(0.45), id="loose"))["error"]["kind"] == "out_of_limits"
            assert (session.state.desired[ITEM, 2], session.parked) == (session.state.reported[ITEM, 2], [])

    play(scenario)


def test_a_newer_change_of_a_reachable_arm_supersedes_a_held_one(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await plant.call("r1", SET, value(0.2))
            await offline(plant)
            await plant.call("r1", SET, value(0.4), id="loose")
            await asyncio.sleep(QUARTER_S + 10)
            await back(plant)
            assert (await plant.call("r1", RESET, MODE))["stage"] == "applied"
            assert [event["cause"] for event in plant.events()] == ["applied", "superseded", "reset"]
            assert await pending(plant, lambda each: not each) == []

    play(scenario)


def test_what_was_changed_meanwhile_decides_the_direction(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await offline(plant)
            await plant.call("r1", SET, value(0.3), id="a")
            change_by_another(plant, 0.1)
            await asyncio.sleep(QUARTER_S + 10)
            await back(plant)
            assert [event["cause"] for event in plant.events()] == ["foreign"]
            assert [one["state"] for one in await pending(plant, bool)] == ["held"]

    play(scenario)


def test_a_change_that_expires_while_it_waits_ends(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await offline(plant)
            reply = await plant.call("r1", SET, value(0.25), id="a", ttl_ms=5_000)
            assert reply["stage"] == "stored"
            event = await plant.document(OUTCOME, anything)
            assert (event["cause"], event["request_id"]) == ("expired", "u/c/a")
            assert plant.session().parked == []
            await back(plant)
            assert len(plant.events()) == 1

    play(scenario)


def test_a_change_whose_arm_goes_away_before_it_is_told_waits_too(play: Callable[[Scenario], None]) -> None:
    """The adapter finds out when it is written to, and then only says that it knows the way again."""

    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            link: Any = plant.session().adapter
            link._arm._link.online = False
            reply = await plant.call("r1", SET, value(0.25), id="a")
            assert stored(reply) == (True, "stored", False, 0, ["DEVICE_DISCONNECTED"])
            event = await plant.document(CHANGED, anything)
            assert (event["cause"], event["request_id"]) == ("applied", "u/c/a")
            link._arm._link.online = False
            refused = await plant.call("r1", RESET, MODE)
            assert (refused["error"]["kind"], refused["rev"]) == ("arm_away", 3)
            await plant.turn(5.0)
            assert plant.session().state.online

    play(scenario)


def test_changes_that_wait_in_the_queue_become_pending_when_the_arm_goes(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await plant.fault("r1", "delay", delay_ms=1_000)
            first = plant.send("r1", SET, value(0.25))
            older, newer = (
                plant.send("r1", "SetGravityVector", GRAVITY),
                plant.send("r1", "SetGravityVector", {"z": -9.8}),
            )
            reset = plant.send("r1", "ResetPayloadInformation")
            await plant.turn(0.5)
            tell(plant, ready=False)
            assert (await plant.reply(first))["stage"] == "applied"
            assert (await plant.reply(older))["error"]["kind"] == "overwritten"
            assert stored(await plant.reply(newer)) == (True, "stored", False, 0, ["DEVICE_NOT_READY"])
            assert (await plant.reply(reset))["error"]["kind"] == "arm_not_ready"
            tell(plant, ready=True)
            event = await plant.document("evt/r1/config/GRAVITY_VECTOR_CHANGED", anything)
            assert event["request_id"] == f"u/c/{newer}"

    play(scenario)


def test_a_set_to_what_is_there_already_is_confirmed_on_return(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await plant.call("r1", "SetGravityVector", GRAVITY)
            await offline(plant)
            reply = await plant.call("r1", "SetGravityVector", GRAVITY, id="same")
            assert (reply["stage"], reply["rev"]) == ("stored", 2)
            await asyncio.sleep(QUARTER_S + 10)
            await back(plant)
            assert [event["cause"] for event in plant.events()] == ["applied", "unchanged"]
            assert len(journal(folder, "gravity_vector")) == 1

    play(scenario)


def test_a_set_to_what_was_there_is_an_old_change_if_it_is_not_any_more(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await plant.call("r1", SET, value(0.3))
            await offline(plant)
            await plant.call("r1", SET, value(0.3), id="same")
            change_by_another(plant, 0.1)
            await asyncio.sleep(QUARTER_S + 10)
            await back(plant)
            (held,) = await pending(plant, lambda each: [one["state"] for one in each] == ["held"])
            await plant.call("r1", "ConfirmPending", {"rev": held["rev"]})
            event = await plant.document(CHANGED, lambda one: one.get("request_id") == "u/c/same")
            assert (event["change"]["before"], event["change"]["after"]) == (0.1, 0.3)

    play(scenario)


def test_the_tightest_of_what_is_and_what_waits_counts(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await offline(plant)
            await plant.call("r1", SET, value(0.2))
            state = plant.session().state
            assert [one[0] for one in state.unread[ITEM, 2]] == [
                TwistLinearSoftLimit(ControlMode.CARTESIAN_JOYSTICK, 0.2)
            ]
            await plant.call("r1", "DiscardPending", {"all": True})
            assert state.unread == {}
            assert (state.unsettled, state.open, state.open_rev, state.parked) == (0, {}, {}, {})

    play(scenario)


def test_what_waits_is_counted_and_checked_by_revision(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder, arm_defaults={"queue": 2}) as plant:
            await offline(plant)
            await plant.call("r1", SET, value(0.2))
            stale = await plant.call("r1", SET, value(0.1), if_rev=1)
            assert stale["error"]["kind"] == "revision_conflict"
            assert (await plant.call("r1", "SetGravityVector", GRAVITY, if_rev=2))["rev"] == 3
            busy = await plant.call("r1", SET, value(0.1))
            assert busy["error"]["kind"] == "busy"

    play(scenario)


async def crash_with_waiting(folder: Path, *requests: tuple[str, dict[str, Any]], held: bool = False) -> Path:
    """Send requests a, b, ... to an arm that is away; with `held` it was back for a moment, when they were old."""
    async with Plant(folder / "first") as plant:
        await plant.call("r1", SET, value(0.2))
        await offline(plant)
        for request_id, (method, params) in zip("abcdef", requests, strict=False):
            assert (await plant.call("r1", method, params, id=request_id))["stage"] == "stored"
        if held:
            await asyncio.sleep(QUARTER_S + 10)
            await back(plant)
        await plant.committed()
        return plant.copy(folder / "copy")


def test_what_waited_survives_a_restart(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        data = await crash_with_waiting(folder, (SET, value(0.4)), ("SetDesiredLinearTwist", {"linear": 0.05}))
        async with Plant(data, prepare=away) as plant:
            assert [one["state"] for one in await pending(plant, lambda each: len(each) == 2)] == ["accepted"] * 2
            await plant.turn(1.0)
            newer = await plant.call("r1", SET, value(0.3), id="c")
            assert newer["stage"] == "stored"
            assert (await plant.document(OUTCOME, anything))["request_id"] == "u/c/a"
            await plant.fault("r1", "none")
            await plant.document(CHANGED, anything)
            told = [event["request_id"] for event in plant.events()]
            assert told == ["u/c/a", "u/c/b", "u/c/c"]
            assert [event["cause"] for event in plant.events()] == ["superseded", "applied", "applied"]

    play(scenario)


def test_what_was_held_stays_held_over_restarts(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        data = await crash_with_waiting(folder, (SET, value(0.4)), held=True)
        async with Plant(data) as plant:
            (entry,) = await pending(plant, lambda each: [one["state"] for one in each] == ["held"])
            await plant.turn(60.0)
            assert (await plant.call("r1", "GetHistory"))["result"]["changes"][0]["outcome"] == "held"
            assert plant.events() == []
            await plant.call("r1", "ConfirmPending", {"rev": entry["rev"]})
            assert (await plant.document(CHANGED, anything))["request_id"] == "u/c/a"
            assert (await plant.call("r1", SET, value(0.4), id="a"))["stage"] == "applied"

    play(scenario)


def test_the_age_goes_on_over_a_restart(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        data = await crash_with_waiting(folder, (SET, value(0.4)), ("SetDesiredLinearTwist", {"linear": 0.05}))
        await asyncio.sleep(QUARTER_S + 10)
        async with Plant(data) as plant:
            await plant.document("evt/r1/config/DESIRED_TWIST_LINEAR_SPEED_CHANGED", anything)
            assert [one["state"] for one in await pending(plant, lambda each: len(each) == 1)] == ["held"]

    play(scenario)


def test_nothing_is_written_to_an_arm_that_is_moving_when_it_is_reached(play: Callable[[Scenario], None]) -> None:
    def moving(service: Service) -> None:
        adapter: Any = service.sessions["r1"].adapter
        connect = adapter.connect

        async def connect_moving() -> Any:
            description = await connect()
            adapter._sink(LinkState(online=True, ready=False))
            return description

        adapter.connect = connect_moving

    async def scenario(folder: Path) -> None:
        data = await crash_with_waiting(folder, (SET, value(0.1)))
        async with Plant(data, prepare=moving) as plant:
            await plant.turn(30.0)
            assert plant.session().state.online
            assert [one["why"] for one in await pending(plant, bool)] == ["r1 takes no change now"]
            tell(plant, ready=True)
            assert (await plant.document(CHANGED, anything))["request_id"] == "u/c/a"

    play(scenario)


def test_unclean_ends_are_not_held_against_what_only_waits(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        data = await crash_with_waiting(folder, (SET, value(0.1)))
        assert [one.state for one in changes(data / "store.sqlite3")] == ["settled", "pending"]
        for _ in range(3):
            store = Store.open(data, lambda: START_US)
            store.load()
            store.close(clean=False)
        async with Plant(data) as plant:
            assert (await plant.document(CHANGED, anything))["request_id"] == "u/c/a"

    play(scenario)


def test_a_change_that_may_not_be_written_for_now_waits_without_a_word_each_time(
    play: Callable[[Scenario], None],
) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await offline(plant)
            await plant.call("r1", SET, value(0.1), id="a")
            assert (await plant.call("r1", "SetAuthority", {"authority": "observe"}))["ok"]
            await back(plant)
            (entry,) = await pending(plant, bool)
            assert entry["state"] == "accepted"
            assert [event["event"] for event in plant.events()] == ["AUTHORITY_CHANGED"]
            assert (await plant.call("r1", "SetAuthority", {"authority": "control"}))["ok"]
            assert (await plant.document(CHANGED, anything))["request_id"] == "u/c/a"

    play(scenario)


def test_a_lock_keeps_what_others_wait_for(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await offline(plant)
            await plant.call("r1", SET, value(0.1), id="a")
            hold = {"reason": "gripper change"}
            plant.link.deliver("req/ann/hmi/r1/HoldArm", json.dumps({"id": "1", "params": hold}).encode())
            await plant.turn(0.1)
            await back(plant)
            why = await pending(plant, lambda each: "held by ann" in each[0]["why"])
            assert why[0]["state"] == "accepted"
            plant.link.deliver("req/ann/hmi/r1/ReleaseArm", json.dumps({"id": "2"}).encode())
            assert (await plant.document(CHANGED, anything))["request_id"] == "u/c/a"

    play(scenario)


def test_the_faults_of_simulated_arms_show_all_of_it(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await plant.fault("r1", "moving", for_ms=5_000)
            reply = await plant.call("r1", SET, value(0.25))
            assert stored(reply) == (True, "stored", False, 0, ["DEVICE_NOT_READY"])
            assert (await plant.document(CHANGED, anything))["cause"] == "applied"
            await plant.fault("r1", "swap_serial", for_ms=1_000)
            await plant.document("state/r1/presence", lambda one: one["state"] == "held")
            waiting = await plant.call("r1", SET, value(0.2), id="a")
            assert stored(waiting) == (True, "stored", False, 0, ["DEVICE_NOT_READY"])
            await plant.turn(5.0)
            assert (await plant.call("r1", "ConfirmArm"))["ok"]
            assert (await plant.document(OUTCOME, anything))["cause"] == "discarded"
            await plant.turn(1.0)
            assert (await plant.call("r1", SET, value(0.2)))["stage"] == "applied"

    play(scenario)
