"""Changes with `when: idle`: they wait until their arm is idle, whatever happens meanwhile."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from broker.arms.fleet_check import CheckedFleet
from broker.arms.limit_files import LimitFiles
from devices.adapter import LinkState
from schema.arms import Activity, Fault
from schema.enums import ControlMode
from schema.messages import ControlModeInformation
from tests.journey.test_restart import journal
from tests.virtual_plant import START_US, Plant, run

SET, ITEM, SLOT = "SetTwistLinearSoftLimit", "twist_linear_soft_limit", "CARTESIAN_JOYSTICK"
PAYLOAD = "payload_information"
CHANGED = "evt/r1/config/PAYLOAD_CONFIGURATION_CHANGED"
OUTCOME = "evt/r1/outcome"
HOUR_S = 3_600.0
Scenario = Callable[[Path], Awaitable[None]]


@pytest.fixture
def play(tmp_path: Path) -> Callable[[Scenario], None]:
    """A function that runs a scenario in a directory of its own."""

    def play(scenario: Scenario) -> None:
        async def whole() -> None:
            await scenario(tmp_path)

        run(whole)

    return play


def value(limit: float) -> dict[str, Any]:
    """Params of the Set of a limit."""
    return {"control_mode": SLOT, ITEM: limit}


async def mode(plant: Plant, name: str) -> None:
    """Let arm r1 be in a control mode."""
    reply = await plant.call("r1", "SetControlMode", {"control_mode": name}, ttl_ms=2_000)
    assert reply["ok"], reply


def mode_by_another(plant: Plant, name: str) -> None:
    """Another writer changes the mode of arm r1."""
    adapter: Any = plant.session().adapter
    adapter.inject(Fault("foreign_change", slot=("control_mode", 0), value=ControlModeInformation(ControlMode[name])))


def entries(plant: Plant) -> list[dict[str, Any]]:
    """What `config.pending` of arm r1 says now."""
    found: list[dict[str, Any]] = plant.service._documents.build(plant.session(), "config")["pending"]
    return found


def payload_of(plant: Plant) -> float:
    """The payload that arm r1 reports."""
    message: Any = plant.session().state.reported[PAYLOAD, 0]
    return float(message.payload_mass)


async def wait_for_payload(plant: Plant, mass: float = 1.2, **fields: Any) -> dict[str, Any]:
    """Ask for a payload, when the arm is idle."""
    return await plant.call("r1", "SetPayloadInformation", {"payload_mass": mass}, when="idle", **fields)


def test_a_change_waits_until_its_arm_was_idle_for_long_enough(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await mode(plant, "ANGULAR_TRAJECTORY")
            reply = await wait_for_payload(plant, ttl_ms=3_600_000, id="a")
            assert (reply["ok"], reply["stage"], reply["final"], reply["seq"]) == (True, "stored", False, 0)
            (warned,) = reply["warnings"]
            assert warned["name"] == "WAITS_FOR_IDLE"
            assert warned["message"].startswith(
                "r1 is in ANGULAR_TRAJECTORY; the change waits for IDLE for 2 s, until "
            )
            (entry,) = entries(plant)
            assert (entry["item"], entry["when"], entry["state"]) == (PAYLOAD, "idle", "accepted")
            assert entry["why"] == "waits for idle: mode is ANGULAR_TRAJECTORY"
            shown = await plant.document("state/r1/config", lambda one: bool(one["pending"]))
            assert shown["pending"] == [entry]
            await plant.turn(HOUR_S / 2)
            assert payload_of(plant) == 0
            await mode(plant, "IDLE")
            await plant.turn(1.9)
            assert payload_of(plant) == 0
            assert entries(plant)[0]["why"] == "waits for idle: it was not idle for 2 s yet"
            event = await plant.document(CHANGED, lambda one: one["cause"] == "applied")
            assert (event["request_id"], event["rev"]) == ("u/c/a", reply["rev"])
            assert (payload_of(plant), entries(plant)) == (1.2, [])
            again = await wait_for_payload(plant, ttl_ms=3_600_000, id="a")
            assert (again["duplicate"], again["stage"], again["final"]) == (True, "applied", True)
            assert journal(folder, PAYLOAD) == [[1, 3]]

    play(scenario)


async def reload(plant: Plant, idle_for: str, *modes: str) -> None:
    """Let the service follow settings with these times and modes."""
    settings = replace(
        plant.settings,
        arm=tuple(replace(arm, idle_modes=modes) for arm in plant.settings.arm),
        arm_defaults=replace(plant.settings.arm_defaults, idle_for=idle_for),
    )
    plant.settings = await plant.service.follow_settings(CheckedFleet(settings, LimitFiles(START_US)))


def test_a_reload_changes_what_counts_as_idle_for_what_waits_already(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder, ("r1",)) as plant:
            await mode(plant, "ANGULAR_TRAJECTORY")
            await wait_for_payload(plant)
            after = len(plant.link.published)
            await reload(plant, "30s", "IDLE", "ANGULAR_TRAJECTORY")
            sheet = await plant.document("meta/factsheet/r1", lambda _: True, after)
            assert sheet["idle_modes"] == ["ANGULAR_TRAJECTORY", "IDLE"]
            await plant.turn(29.0)
            assert (payload_of(plant), entries(plant)[0]["why"]) == (
                0,
                "waits for idle: it was not idle for 30 s yet",
            )
            await reload(plant, "60s", "IDLE", "ANGULAR_TRAJECTORY")
            await plant.turn(29.0)
            assert payload_of(plant) == 0
            await reload(plant, "1s", "IDLE")
            await plant.turn(10.0)
            assert (payload_of(plant), entries(plant)[0]["why"]) == (0, "waits for idle: mode is ANGULAR_TRAJECTORY")
            await reload(plant, "1s", "ANGULAR_TRAJECTORY")
            await plant.document(CHANGED, lambda one: one["cause"] == "applied")
            assert (payload_of(plant), entries(plant)) == (1.2, [])

    play(scenario)


def test_an_arm_that_is_idle_is_read_first(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await mode(plant, "IDLE")
            await plant.turn(HOUR_S)
            reply = await wait_for_payload(plant)
            assert (reply["stage"], reply["final"]) == ("stored", False)
            assert reply["warnings"][0]["message"].startswith(
                "r1 is in IDLE; the change waits for IDLE for 2 s, until "
            )
            reads: list[float] = []
            adapter: Any = plant.session().adapter
            read_all = adapter._arm.read_all

            async def counted() -> Any:
                reads.append(plant.loop.time())
                return await read_all()

            adapter._arm.read_all = counted
            await plant.document(CHANGED, lambda one: one["cause"] == "applied")
            assert len(reads) == 1

    play(scenario)


def test_ruling_44_a_change_that_never_finds_its_arm_idle_expires(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await mode(plant, "ANGULAR_TRAJECTORY")
            reply = await wait_for_payload(plant, id="a")
            began_us = plant.clock.now_us()
            await plant.turn(7.99 * HOUR_S)
            assert len(entries(plant)) == 1
            event = await plant.document(OUTCOME, lambda one: one["cause"] == "expired")
            assert plant.clock.now_us() - began_us == pytest.approx(28_800_000_000, rel=1e-4)
            assert (event["event"], event["rev"], event["request_id"]) == ("CHANGE_NOT_APPLIED", reply["rev"], "u/c/a")
            await mode(plant, "IDLE")
            await plant.turn(60.0)
            assert payload_of(plant) == 0
            assert plant.service._settler.idle._rests == {}

    play(scenario)


def test_ruling_44_an_arm_that_flickers_between_two_programs_is_not_idle(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await mode(plant, "ANGULAR_TRAJECTORY")
            await wait_for_payload(plant)
            for _ in range(20):
                mode_by_another(plant, "IDLE")
                await plant.turn(1.5)
                mode_by_another(plant, "ANGULAR_TRAJECTORY")
                mode_by_another(plant, "IDLE")
                await plant.turn(1.5)
                mode_by_another(plant, "ANGULAR_TRAJECTORY")
                await plant.turn(1.0)
                assert payload_of(plant) == 0
            mode_by_another(plant, "IDLE")
            await plant.turn(2.1)
            assert payload_of(plant) == 1.2

    play(scenario)


def test_ruling_44_the_mode_is_read_before_the_write(play: Callable[[Scenario], None]) -> None:
    """The arm left its mode and its event was lost: what is read right before the write counts."""

    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await mode(plant, "IDLE")
            await wait_for_payload(plant)
            adapter: Any = plant.session().adapter
            sink, adapter._arm._sink = adapter._arm._sink, None
            mode_by_another(plant, "ANGULAR_TRAJECTORY")
            adapter._arm._sink = sink
            await plant.turn(10.0)
            assert payload_of(plant) == 0
            assert entries(plant)[0]["why"] == "waits for idle: mode is ANGULAR_TRAJECTORY"
            assert journal(folder, PAYLOAD) == []

    play(scenario)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("moving", "its activity is moving"),
        ("local", "its activity is local"),
        ("fault", "its activity is fault"),
        ("offline", "r1 is not connected"),
    ],
)
def test_an_arm_that_does_something_or_is_away_is_not_idle(
    play: Callable[[Scenario], None], fault: str, why: str
) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await mode(plant, "IDLE")
            await wait_for_payload(plant)
            await plant.fault("r1", fault)
            await plant.turn(5 * HOUR_S)
            assert payload_of(plant) == 0
            assert entries(plant)[0]["why"] == f"waits for idle: {why}"
            late = await wait_for_payload(plant, 1.3)
            assert why in late["warnings"][0]["message"]
            await plant.fault("r1", "none")
            await plant.turn(60.0)
            assert payload_of(plant) == pytest.approx(1.3)

    play(scenario)


def test_an_arm_that_moves_and_takes_changes_is_not_idle_and_one_that_tells_nothing_is(
    play: Callable[[Scenario], None],
) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            adapter: Any = plant.session().adapter
            await mode(plant, "IDLE")
            await wait_for_payload(plant)
            adapter._sink(LinkState(online=True, ready=True, activity=Activity.MOVING))
            await plant.turn(10.0)
            assert payload_of(plant) == 0
            adapter._sink(LinkState(online=True, ready=True))
            await plant.turn(2.1)
            assert payload_of(plant) == 1.2

    play(scenario)


def test_a_loosening_within_its_time_to_live_has_no_age_over_an_absence_and_a_restart(
    play: Callable[[Scenario], None],
) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder / "a") as plant:
            await plant.call("r1", SET, value(0.1))
            await mode(plant, "IDLE")
            await plant.fault("r1", "offline")
            reply = await plant.call("r1", SET, value(0.25), when="idle", id="a", ttl_ms=604_800_000)
            assert [one["name"] for one in reply["warnings"]] == ["WAITS_FOR_IDLE", "DEVICE_DISCONNECTED"]
            await plant.turn(3 * HOUR_S)
            copy = plant.copy(folder / "b")
        now_us = START_US + int(10 * HOUR_S * 1e6)
        async with Plant(copy, start_us=now_us) as plant:
            (entry,) = entries(plant)
            assert (entry["rev"], entry["when"], entry["state"]) == (reply["rev"], "idle", "accepted")
            event = await plant.document(
                "evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED", lambda one: one["request_id"] == "u/c/a"
            )
            assert (event["cause"], event["rev"]) == ("applied", reply["rev"])

    play(scenario)


def test_a_change_that_expired_while_the_service_was_down_ends_so(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder / "a") as plant:
            await mode(plant, "ANGULAR_TRAJECTORY")
            await wait_for_payload(plant, id="a", ttl_ms=60_000)
            await plant.committed()
            copy = plant.copy(folder / "b")
        async with Plant(copy, start_us=START_US + int(HOUR_S * 1e6)) as plant:
            await plant.turn(5.0)
            again = await wait_for_payload(plant, id="a", ttl_ms=60_000)
            assert (again["ok"], again["error"]["kind"]) == (False, "expired")
            assert payload_of(plant) == 0

    play(scenario)


def test_a_newer_change_of_the_slot_takes_its_place(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await mode(plant, "ANGULAR_TRAJECTORY")
            await wait_for_payload(plant, 1.2, id="a")
            assert (await wait_for_payload(plant, 1.4, id="b"))["stage"] == "stored"
            ended = await plant.document(OUTCOME, lambda one: one["request_id"] == "u/c/a")
            assert ended["cause"] == "superseded"
            assert (await plant.call("r1", "SetPayloadInformation", {"payload_mass": 0.5}))["stage"] == "applied"
            ended = await plant.document(OUTCOME, lambda one: one["request_id"] == "u/c/b")
            assert ended["cause"] == "superseded"
            assert entries(plant) == []

    play(scenario)


@pytest.mark.parametrize("params", [{"all": True}, {}])
def test_confirm_pending_lets_it_go_now(play: Callable[[Scenario], None], params: dict[str, Any]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await mode(plant, "ANGULAR_TRAJECTORY")
            reply = await wait_for_payload(plant, id="a")
            named = params or {"rev": reply["rev"]}
            assert (await plant.call("r1", "ConfirmPending", named))["ok"]
            event = await plant.document(CHANGED, lambda one: one["request_id"] == "u/c/a")
            assert event["cause"] == "applied"
            assert entries(plant) == []

    play(scenario)


def test_a_change_that_was_confirmed_while_its_arm_was_away_goes_out_on_its_return_also_over_a_restart(
    play: Callable[[Scenario], None],
) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder / "a") as plant:
            await mode(plant, "ANGULAR_TRAJECTORY")
            await plant.fault("r1", "offline")
            reply = await wait_for_payload(plant, id="a")
            assert (await plant.call("r1", "ConfirmPending", {"rev": reply["rev"]}))["ok"]
            await plant.turn(1.0)
            (entry,) = entries(plant)
            assert (entry["why"], "when" in entry) == ("r1 is not connected", False)
            await plant.committed()
            copy = plant.copy(folder / "b")
        async with Plant(copy, start_us=START_US + int(60e6)) as plant:
            await plant.turn(1.0)
            assert payload_of(plant) == 1.2

    play(scenario)


def test_discard_pending_ends_it(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await mode(plant, "ANGULAR_TRAJECTORY")
            reply = await wait_for_payload(plant, id="a")
            assert (await plant.call("r1", "DiscardPending", {"rev": reply["rev"]}))["ok"]
            assert (await plant.document(OUTCOME, lambda one: one["request_id"] == "u/c/a"))["cause"] == "discarded"
            await mode(plant, "IDLE")
            await plant.turn(60.0)
            assert (payload_of(plant), plant.service._settler.idle._rests) == (0, {})

    play(scenario)


def test_what_the_service_holds_waits_too(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await mode(plant, "ANGULAR_TRAJECTORY")
            limits = {"max_velocity": {"values": [0.5] * 7}}
            reply = await plant.call("r1", "SetJointLimits", limits, when="idle", id="a")
            assert reply["stage"] == "stored", reply
            (entry,) = entries(plant)
            assert entry["when"] == "idle"
            await mode(plant, "IDLE")
            event = await plant.document("evt/r1/config/JOINT_LIMITS_CHANGED", lambda one: one["request_id"] == "u/c/a")
            assert event["cause"] == "applied"

    play(scenario)


def test_its_tighter_components_count_from_its_acceptance(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await mode(plant, "ANGULAR_TRAJECTORY")
            await plant.call("r1", SET, value(0.3))

            async def bound() -> Any:
                explained = await plant.call("r1", "Explain", {"quantity": "twist_linear", "mode": SLOT})
                return explained["result"]["numbers"][0]["value"]

            assert await bound() == pytest.approx(0.3)
            await plant.call("r1", SET, value(0.2), when="idle")
            assert await bound() == pytest.approx(0.2)
            await plant.call("r1", SET, value(0.4), when="idle")
            assert await bound() == pytest.approx(0.3)

    play(scenario)


def test_a_lock_by_another_keeps_it_until_its_end_and_the_arm_is_read_again(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await mode(plant, "IDLE")
            await wait_for_payload(plant, id="a")
            assert (await plant.call("r1", "HoldArm", {"reason": "service"}, user="v"))["ok"]
            await plant.turn(HOUR_S)
            assert payload_of(plant) == 0
            seen_us = plant.session().state.mode_seen_at_us
            assert (await plant.call("r1", "ReleaseArm", {}, user="v"))["ok"]
            await plant.turn(1.0)
            assert payload_of(plant) == 1.2
            assert plant.session().state.mode_seen_at_us > seen_us

    play(scenario)


def test_a_dry_run_waits_for_nothing(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            reply = await wait_for_payload(plant, dry_run=True)
            assert (reply["stage"], entries(plant)) == ("checked", [])

    play(scenario)


def test_a_change_that_is_no_longer_legal_is_refused_when_its_turn_comes(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await mode(plant, "ANGULAR_TRAJECTORY")
            await plant.call("r1", SET, value(0.45), when="idle", id="a")
            state = plant.session().state
            assert state.description is not None
            hard = replace(state.description.hard_limits, twist_linear=0.4)
            state.description, state.limits = replace(state.description, hard_limits=hard), None
            await mode(plant, "IDLE")
            ended = await plant.document(OUTCOME, lambda one: one["request_id"] == "u/c/a")
            assert ended["cause"] == "refused"

    play(scenario)


def test_a_settings_change_counts_for_what_waits(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        arm = {"id": "r1", "adapter": "simulated", "model": "gen3_7dof"}
        async with Plant(
            folder, arm=[{**arm, "idle_modes": ["ANGULAR_JOYSTICK"]}], arm_defaults={"idle_for": "30s"}
        ) as plant:
            await mode(plant, "IDLE")
            reply = await wait_for_payload(plant)
            assert "waits for ANGULAR_JOYSTICK for 30 s" in reply["warnings"][0]["message"]
            await mode(plant, "ANGULAR_JOYSTICK")
            await plant.turn(29.0)
            assert payload_of(plant) == 0
            await plant.turn(1.5)
            assert payload_of(plant) == 1.2

    play(scenario)


@pytest.mark.parametrize(
    ("method", "params", "fields", "kind"),
    [
        ("SetControlMode", {"control_mode": "IDLE"}, {}, "unsupported_option"),
        ("ResetPayloadInformation", {}, {}, "unsupported_option"),
        ("RestoreFactory", {}, {}, "unsupported_option"),
        ("GetPayloadInformation", {}, {}, "unsupported_option"),
        ("HoldArm", {"reason": "x"}, {}, "unsupported_option"),
        ("SetPayloadInformation", {"payload_mass": 1.0}, {"ttl_ms": 604_800_001}, "bad_request_field"),
        ("SetPayloadInformation", {"payload_mass": 1.0}, {"when": "noon"}, "bad_request_field"),
        (SET, value(0.9), {}, "out_of_limits"),
    ],
)
def test_what_cannot_wait_is_refused_by_name(
    play: Callable[[Scenario], None], method: str, params: dict[str, Any], fields: dict[str, Any], kind: str
) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            reply = await plant.call("r1", method, params, **{"when": "idle", **fields})
            assert reply["error"]["kind"] == kind, reply
            assert entries(plant) == []

    play(scenario)


def overrides(plant: Plant) -> list[dict[str, Any]]:
    """What `config.overrides` of arm r1 says now."""
    found: list[dict[str, Any]] = plant.service._documents.build(plant.session(), "config").get("overrides", [])
    return found


def test_ruling_45_an_override_that_waits_for_idle_expires_unwritten_and_arms_nothing(
    play: Callable[[Scenario], None],
) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await mode(plant, "ANGULAR_TRAJECTORY")
            reply = await wait_for_payload(plant, id="a", valid_for_ms=60_000)
            assert (reply["stage"], reply["final"]) == ("stored", False)
            began_us = plant.clock.now_us()
            ended = await plant.document(OUTCOME, lambda one: one["request_id"] == "u/c/a")
            assert ended["cause"] == "expired"
            assert plant.clock.now_us() - began_us == pytest.approx(60e6, rel=0.01)
            await mode(plant, "IDLE")
            await plant.turn(HOUR_S)
            assert (payload_of(plant), overrides(plant), journal(folder, PAYLOAD)) == (0, [], [])

    play(scenario)


def test_ruling_45_the_end_of_an_override_that_waited_for_idle_counts_from_its_acceptance(
    play: Callable[[Scenario], None],
) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await mode(plant, "ANGULAR_TRAJECTORY")
            await wait_for_payload(plant, id="a", valid_for_ms=60_000)
            await plant.turn(40.0)
            await mode(plant, "IDLE")
            await plant.turn(5.0)
            (one,) = overrides(plant)
            assert (payload_of(plant), one["paths"], one["state"]) == (1.2, [PAYLOAD], "live")
            await plant.turn(16.0)
            assert (payload_of(plant), overrides(plant)) == (0, [])

    play(scenario)


def test_a_batch_waits_as_one(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await mode(plant, "ANGULAR_TRAJECTORY")
            items = {PAYLOAD: {"payload_mass": 1.2}, ITEM: {SLOT: 0.2}}
            reply = await plant.call("r1", "ApplyConfig", {"items": items}, when="idle", id="a")
            assert (reply["stage"], reply["final"]) == ("stored", False)
            assert reply["warnings"][0]["name"] == "WAITS_FOR_IDLE"
            (entry,) = entries(plant)
            assert (entry["item"], entry["when"]) == ("control_configuration", "idle")
            await plant.turn(HOUR_S)
            assert payload_of(plant) == 0
            await mode(plant, "IDLE")
            event = await plant.document("evt/r1/config/CONFIG_APPLIED", lambda one: one["request_id"] == "u/c/a")
            assert (event["rev"], event["cause"]) == (reply["rev"], "applied")
            assert payload_of(plant) == 1.2

    play(scenario)


def test_a_batch_that_waits_goes_on_over_a_restart(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder / "a") as plant:
            await mode(plant, "ANGULAR_TRAJECTORY")
            items = {PAYLOAD: {"payload_mass": 1.2}, ITEM: {SLOT: 0.25}}
            await plant.call("r1", "ApplyConfig", {"items": items}, when="idle", id="a")
            await plant.committed()
            copy = plant.copy(folder / "b")
        async with Plant(copy, start_us=START_US + int(2 * HOUR_S * 1e6)) as plant:
            await plant.turn(10.0)
            assert (payload_of(plant), entries(plant)[0]["when"]) == (0, "idle")
            await mode(plant, "IDLE")
            event = await plant.document("evt/r1/config/CONFIG_APPLIED", lambda one: one["request_id"] == "u/c/a")
            assert event["cause"] == "applied"

    play(scenario)


def counted_readings(plant: Plant) -> list[float]:
    """When arm r1 is read whole from now on."""
    readings: list[float] = []
    adapter: Any = plant.session().adapter
    read_all = adapter._arm.read_all

    async def counted() -> Any:
        readings.append(plant.loop.time())
        return await read_all()

    adapter._arm.read_all = counted
    return readings


def test_what_may_go_later_than_another_change_is_read_for_once_more(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await mode(plant, "IDLE")
            await wait_for_payload(plant)
            gravity = {"x": 0.0, "y": 0.0, "z": -9.7}
            assert (await plant.call("r1", "SetGravityVector", gravity, user="v", when="idle"))["stage"] == "stored"
            assert (await plant.call("r1", "HoldArm", {"reason": "service"}, user="v"))["ok"]
            readings = counted_readings(plant)
            await plant.turn(10.0)
            assert (len(readings), payload_of(plant)) == (1, 0)
            assert len(entries(plant)) == 1
            assert (await plant.call("r1", "ReleaseArm", {}, user="v"))["ok"]
            await plant.turn(1.0)
            assert (len(readings), payload_of(plant)) == (2, 1.2)

    play(scenario)


def test_a_reading_before_an_arm_is_idle_for_long_enough_lets_nothing_go(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await mode(plant, "IDLE")
            readings = counted_readings(plant)
            await plant.turn(2 * HOUR_S)
            apart_s = readings[-1] - readings[-2]
            await plant.turn(readings[-1] + apart_s - 1.0 - plant.loop.time())
            await wait_for_payload(plant)
            before = len(readings)
            while len(readings) == before:
                await plant.turn(0.1)
            await plant.turn(0.5)
            assert payload_of(plant) == 0
            await plant.turn(2.0)
            assert payload_of(plant) == 1.2

    play(scenario)


def test_a_new_change_is_read_for_though_its_arm_is_idle_for_long_already(play: Callable[[Scenario], None]) -> None:
    async def scenario(folder: Path) -> None:
        async with Plant(folder) as plant:
            await mode(plant, "IDLE")
            await wait_for_payload(plant)
            assert (await plant.call("r1", "HoldArm", {"reason": "service"}, user="v"))["ok"]
            await plant.turn(10.0)
            readings = counted_readings(plant)
            gravity = {"x": 0.0, "y": 0.0, "z": -9.7}
            reply = await plant.call("r1", "SetGravityVector", gravity, user="v", when="idle")
            assert reply["stage"] == "stored"
            await plant.turn(1.0)
            assert len(readings) == 1
            assert journal(folder, "gravity_vector") != []

    play(scenario)
