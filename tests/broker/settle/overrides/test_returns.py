"""The end of an override of several slots leads back as one change: one revision, one end, what tightens first."""

from pathlib import Path
from typing import Any

import pytest

from schema.arms import Slot
from schema.messages import Message
from tests.broker.settle.overrides.test_overriding import MINUTE, is_clean, limit, overrides, payload, states
from tests.broker.test_groups import follow
from tests.virtual_plant import START_US, Plant, play

TWIST, TURN, LOAD = "twist_linear_soft_limit", "twist_angular_soft_limit", "payload_information"
JOYSTICK = "CARTESIAN_JOYSTICK"
TWIST_PATH, TURN_PATH = f"{TWIST}/{JOYSTICK}", f"{TURN}/{JOYSTICK}"
SLOTS: dict[str, Slot] = {TWIST: (TWIST, 2), TURN: (TURN, 2), LOAD: (LOAD, 0)}
SEVERAL = {TWIST: {JOYSTICK: 0.4}, TURN: {JOYSTICK: 10.0}, LOAD: {"payload_mass": 2.0}}
"""Looser than the ground, tighter than it, and without an order."""
GROUND = {TWIST: 0.25, TURN: 20.0, LOAD: 1.0}
GIVEN = {TWIST: 0.4, TURN: 10.0, LOAD: 2.0}


def number(message: Message) -> float:
    """The number of a value of the items."""
    found = next(getattr(message, name) for name in (TWIST, TURN, "payload_mass") if hasattr(message, name))
    return round(float(found), 2)


def has(plant: Plant) -> dict[str, float]:
    """What is reported."""
    return {item: number(plant.session().state.reported[slot]) for item, slot in SLOTS.items()}


def wants(plant: Plant) -> dict[str, float]:
    """What is desired."""
    return {item: number(plant.session().state.desired[slot]) for item, slot in SLOTS.items()}


async def prepare(plant: Plant, ms: int = 10 * MINUTE, items: dict[str, Any] | None = None) -> dict[str, Any]:
    """Set the ground, then override it; the reply."""
    ground = {TWIST: {JOYSTICK: 0.25}, TURN: {JOYSTICK: 20.0}, LOAD: {"payload_mass": 1.0}}
    assert (await plant.call("r1", "ApplyConfig", {"items": ground}))["ok"]
    reply = await plant.call("r1", "ApplyConfig", {"items": items or SEVERAL}, valid_for_ms=ms)
    assert (reply["ok"], reply["rev"]) == (True, 3), reply
    return reply


async def angular(plant: Plant, degrees: float, **more: Any) -> dict[str, Any]:
    """Set the angular limit."""
    params = {"control_mode": JOYSTICK, TURN: degrees}
    return await plant.call("r1", "SetTwistAngularSoftLimit", params, **more)


async def foreign(plant: Plant, item: str, value: Any) -> None:
    """Somebody at the pendant changes a value."""
    slot = {} if item == LOAD else {"slot": JOYSTICK}
    await plant.fault("r1", "foreign_change", item=item, value=value, **slot)
    await plant.turn(0.1)


def told(plant: Plant, rev: int) -> list[tuple[str, str]]:
    """Name and cause of the events of a revision, without those of administration."""
    return [
        (event["event"], event["cause"])
        for event in plant.events()
        if event["rev"] == rev and not event["event"].startswith(("AUTHORITY", "ARM_"))
    ]


def pending(plant: Plant) -> list[dict[str, Any]]:
    """What the config document shows."""
    found: list[dict[str, Any]] = plant.service._documents.build(plant.session(), "config").get("pending", [])
    return found


RETURNED = [
    ("TWIST_LINEAR_SOFT_LIMIT_CHANGED", "returned"),
    ("PAYLOAD_CONFIGURATION_CHANGED", "returned"),
    ("TWIST_ANGULAR_SOFT_LIMIT_CHANGED", "returned"),
    ("CONFIG_APPLIED", "applied"),
]


def test_an_override_of_several_slots_returns_in_one_revision_and_tightens_first(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        reply = await prepare(plant)
        assert has(plant) == GIVEN
        await plant.turn(601.0)
        assert (has(plant), wants(plant)) == (GROUND, GROUND)
        assert told(plant, 3)[-1] == ("OVERRIDE_ENDED", "expired")
        assert told(plant, 4) == RETURNED
        whole = plant.events()[-1]
        assert whole["by"] == {"user": "@service", "connection": "", "proven": True}
        assert (whole["request_id"], whole["reason"]) == (f"u/c/{reply['id']}", "override 3 is over")
        assert whole["details"] == {
            "items": {TWIST_PATH: "applied", LOAD: "applied", TURN_PATH: "applied"},
        }
        assert plant.session().state.rev == 4
        await plant.committed()
        assert is_clean(plant)
        entry = (await plant.call("r1", "GetHistory", {"limit": 1}))["result"]["changes"][0]
        assert (entry["rev"], entry["method"], entry["item"], entry["returned_from"], entry["outcome"]) == (
            4, "EndOverride", "control_configuration", 3, "applied",
        )  # fmt: skip
        assert entry["before"] == {
            TWIST_PATH: 0.4,
            TURN_PATH: pytest.approx(10.0, rel=1e-3),
            LOAD: entry["before"][LOAD],
        }
        assert entry["after"] == {
            TWIST_PATH: 0.25,
            TURN_PATH: pytest.approx(20.0, rel=1e-3),
            LOAD: entry["after"][LOAD],
        }
        assert set(entry["outcomes"].values()) == {"applied"}

    play(tmp_path, scenario)


def test_a_slot_that_is_covered_returns_with_its_own_override(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await prepare(plant)
        assert (await limit(plant, 0.3, 20 * MINUTE))["rev"] == 4
        await plant.turn(601.0)
        assert has(plant) == GROUND | {TWIST: 0.3}
        assert told(plant, 5) == RETURNED[1:]
        await plant.turn(601.0)
        assert has(plant) == GROUND
        assert told(plant, 6) == RETURNED[:1]
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_one_slot_that_is_left_is_a_change_of_its_own(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await prepare(plant)
        await limit(plant, 0.2)
        await payload(plant, 1.5)
        assert overrides(plant)[0]["paths"] == [TURN_PATH]
        await plant.turn(601.0)
        assert has(plant) == {TWIST: 0.2, TURN: 20.0, LOAD: 1.5}
        assert told(plant, 6) == RETURNED[2:3]
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_an_end_that_is_moved_or_asked_for_returns_as_one(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await prepare(plant)
        await plant.turn(300.0)
        assert (await plant.call("r1", "ExtendOverride", {"rev": 3, "valid_for_ms": 10 * MINUTE}))["ok"]
        await plant.turn(400.0)
        assert has(plant) == GIVEN
        assert (await plant.call("r1", "EndOverride", {"rev": 3}, user="v"))["ok"]
        await plant.turn(1.0)
        assert (has(plant), told(plant, 4)) == (GROUND, RETURNED)
        assert told(plant, 3)[-1] == ("OVERRIDE_ENDED", "ended")
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_what_is_kept_of_several_slots_returns_nothing(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await prepare(plant)
        assert (await plant.call("r1", "EndOverride", {"rev": 3, "keep": True}))["ok"]
        await plant.turn(700.0)
        assert (has(plant), plant.session().state.rev) == (GIVEN, 3)
        assert told(plant, 3)[-1] == ("OVERRIDE_ENDED", "kept")
        assert is_clean(plant)

    play(tmp_path, scenario)


@pytest.mark.parametrize(
    ("item", "value", "left"),
    [
        (TURN, 15.0, {TURN: 15.0}),
        (LOAD, {"payload_mass": 3.0}, {LOAD: 3.0}),
        (TWIST, 0.1, {TWIST: 0.1}),
        (TWIST, 0.45, {}),
    ],
    ids=["what would loosen", "what has no order", "it is tighter than the ground", "what tightens all the same"],
)
def test_ruling_14_a_slot_that_another_writer_changed_is_left_and_the_others_return(
    tmp_path: Path, item: str, value: Any, left: dict[str, float]
) -> None:
    async def scenario(plant: Plant) -> None:
        await prepare(plant)
        await foreign(plant, item, value)
        await plant.turn(601.0)
        assert (has(plant), wants(plant)) == (GROUND | left, GROUND)
        returned = [event for event in plant.events() if event["cause"] == "returned"]
        assert len({event["rev"] for event in returned}) == 1
        assert len(returned) == 3 - len(left)
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_a_slot_that_another_writer_changed_behind_a_lock_ends_the_return_of_that_slot_alone(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await prepare(plant)
        await plant.call("r1", "HoldArm", {"reason": "work"}, user="bob")
        await plant.turn(601.0)
        assert has(plant) == GROUND | {TURN: 10.0, LOAD: 2.0}
        await foreign(plant, TURN, 15.0)
        await plant.call("r1", "ReleaseArm", {}, user="bob")
        await plant.turn(1.0)
        assert (has(plant), wants(plant)) == (GROUND | {TURN: 15.0}, GROUND)
        events = [event for event in plant.events() if event["rev"] == 4]
        assert [(event["event"], event["cause"]) for event in events] == [
            *RETURNED[:2], ("CONFIG_APPLIED", "partial"), ("CHANGE_NOT_APPLIED", "overwritten"),
        ]  # fmt: skip
        assert events[-1]["details"] == {"items": {TURN_PATH: "overwritten"}}
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_rulings_15_and_17_an_arm_that_was_away_for_days_gets_what_tightens_and_the_rest_is_held(
    tmp_path: Path,
) -> None:
    async def scenario(plant: Plant) -> None:
        await prepare(plant)
        await plant.fault("r1", "offline")
        await plant.turn(2 * 86_400.0)
        assert states(plant) == [(3, "loosening", "returning")]
        (waiting,) = pending(plant)
        assert (waiting["rev"], waiting["item"], len(waiting["items"])) == (4, "control_configuration", 3)
        await plant.fault("r1", "none")
        await plant.turn(60.0)
        assert has(plant) == GROUND | {TURN: 10.0, LOAD: 2.0}
        (waiting,) = pending(plant)
        assert (waiting["rev"], waiting["state"], sorted(waiting["items"])) == (4, "held", [LOAD, TURN_PATH])
        assert sorted(overrides(plant)[0]["paths"]) == [LOAD, TURN_PATH]
        assert (await plant.call("r1", "ConfirmPending", {"rev": 4}))["ok"]
        await plant.turn(1.0)
        assert (has(plant), told(plant, 4)) == (GROUND, RETURNED)
        assert is_clean(plant)

    play(tmp_path, scenario)


@pytest.mark.parametrize("params", [{"rev": 4}, {"all": True}], ids=["by revision", "all"])
def test_of_a_return_that_waits_only_what_tightens_cannot_be_discarded(tmp_path: Path, params: dict[str, Any]) -> None:
    async def scenario(plant: Plant) -> None:
        await prepare(plant)
        await plant.fault("r1", "offline")
        await plant.turn(700.0)
        assert (await plant.call("r1", "DiscardPending", params, user="bob"))["ok"]
        (waiting,) = pending(plant)
        assert waiting["items"] == [TWIST_PATH]
        again = await plant.call("r1", "DiscardPending", {"rev": 4}, user="bob")
        assert again["error"]["kind"] == "revision_conflict"
        await plant.fault("r1", "none")
        await plant.turn(60.0)
        assert has(plant) == wants(plant) == GROUND | {TURN: 10.0, LOAD: 2.0}
        assert told(plant, 4) == [
            RETURNED[0], ("CONFIG_APPLIED", "partial"), ("CHANGE_NOT_APPLIED", "refused"),
        ]  # fmt: skip
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_a_return_of_which_nothing_tightens_is_discarded_whole(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await prepare(plant, items={TURN: {JOYSTICK: 10.0}, LOAD: {"payload_mass": 2.0}})
        await plant.fault("r1", "offline")
        await plant.turn(700.0)
        assert (await plant.call("r1", "DiscardPending", {"rev": 4}, user="bob"))["ok"]
        assert has(plant) == wants(plant) == GROUND | {TURN: 10.0, LOAD: 2.0}
        assert told(plant, 4) == [("CHANGE_NOT_APPLIED", "discarded")]
        await plant.committed()
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_ruling_20_what_tightens_passes_a_lock_and_the_rest_of_the_revision_waits(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await prepare(plant)
        await plant.call("r1", "HoldArm", {"reason": "work"}, user="bob")
        await plant.turn(601.0)
        assert has(plant) == GROUND | {TURN: 10.0, LOAD: 2.0}
        (waiting,) = pending(plant)
        assert (waiting["rev"], waiting["state"], sorted(waiting["items"])) == (4, "accepted", [LOAD, TURN_PATH])
        assert states(plant) == [(3, "unordered", "returning")]
        await plant.call("r1", "ReleaseArm", {}, user="bob")
        await plant.turn(1.0)
        assert (has(plant), told(plant, 4)) == (GROUND, RETURNED)
        assert is_clean(plant)

    play(tmp_path, scenario)


@pytest.mark.parametrize("authority", ["observe", "advise"])
def test_ruling_19_nothing_of_it_is_written_below_control(tmp_path: Path, authority: str) -> None:
    async def scenario(plant: Plant) -> None:
        await prepare(plant)
        await plant.call("r1", "SetAuthority", {"authority": authority})
        await plant.turn(601.0)
        assert (has(plant), states(plant)) == (GIVEN, [(3, "loosening", "overdue")])
        await plant.call("r1", "SetAuthority", {"authority": "control"})
        await plant.turn(1.0)
        assert (has(plant), told(plant, 4)) == (GROUND, RETURNED)
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_ruling_08_a_slot_that_somebody_sets_is_left_to_him(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await prepare(plant)
        await plant.fault("r1", "offline")
        await plant.turn(1.0)
        assert (await limit(plant, 0.3, user="v"))["stage"] == "stored"
        assert (await angular(plant, 5.0, user="v"))["stage"] == "stored"
        await plant.turn(601.0)
        assert wants(plant) == {TWIST: 0.3, TURN: 5.0, LOAD: 1.0}
        (*_, waiting) = pending(plant)
        assert (waiting["rev"], sorted(waiting["items"])) == (6, [LOAD, TWIST_PATH])
        await plant.fault("r1", "none")
        await plant.turn(60.0)
        assert has(plant) == {TWIST: 0.3, TURN: 5.0, LOAD: 1.0}
        revs = [event["rev"] for event in plant.events() if event["event"] == RETURNED[0][0]][-2:]
        assert revs == [6, 4], "what tightens at the end goes before what the person wants"
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_a_slot_that_somebody_sets_while_the_return_waits_leaves_it(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await prepare(plant)
        await plant.fault("r1", "offline")
        await plant.turn(700.0)
        assert (await payload(plant, 1.5, user="v"))["stage"] == "stored"
        assert (await limit(plant, 0.2, user="v"))["stage"] == "stored"
        assert [sorted(one.get("items", [one["item"]])) for one in pending(plant)] == [
            [TURN_PATH, TWIST_PATH], [LOAD], [TWIST],
        ]  # fmt: skip
        await plant.fault("r1", "none")
        await plant.turn(60.0)
        assert has(plant) == {TWIST: 0.2, TURN: 20.0, LOAD: 1.5}
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_ruling_18_a_slot_that_the_arm_refuses_is_tried_again_and_the_others_return(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await prepare(plant)
        await plant.fault("r1", "refuse", item=TWIST, slot=JOYSTICK)
        await plant.turn(601.0)
        assert has(plant) == GROUND | {TWIST: 0.4}
        assert states(plant) == [(3, "loosening", "overdue")]
        assert told(plant, 4) == [*RETURNED[1:3], ("CONFIG_APPLIED", "partial"), ("CHANGE_NOT_APPLIED", "refused")]
        await plant.turn(60.0)
        assert told(plant, 5) == [("CHANGE_NOT_APPLIED", "refused")], "alone, and after a minute"
        await plant.fault("r1", "none")
        await plant.turn(119.0)
        assert has(plant) == GROUND | {TWIST: 0.4}
        await plant.turn(2.0)
        assert (has(plant), told(plant, 6)) == (GROUND, RETURNED[:1])
        assert is_clean(plant)

    play(tmp_path, scenario)


TIGHTER_BELOW = {TWIST: {JOYSTICK: 0.4}, TURN: {JOYSTICK: 30.0}, LOAD: {"payload_mass": 2.0}}


def test_ruling_18_several_slots_that_the_arm_refuses_are_tried_again_as_one(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await prepare(plant, items=TIGHTER_BELOW)
        await plant.fault("r1", "refuse")
        await plant.turn(601.0)
        assert has(plant) == {TWIST: 0.4, TURN: 30.0, LOAD: 2.0}
        assert sorted(overrides(plant)[0]["paths"]) == [TURN_PATH, TWIST_PATH], "what has no order is given up"
        await plant.turn(60.0 + 120.0 + 240.0)
        assert [told(plant, rev) for rev in (4, 5, 6, 7)] == [[("CHANGE_NOT_APPLIED", "refused")]] * 4
        await plant.fault("r1", "none")
        await plant.turn(480.0)
        assert has(plant) == GROUND | {LOAD: 2.0}
        assert [name for name, _ in told(plant, 8)] == [RETURNED[0][0], RETURNED[2][0], "CONFIG_APPLIED"]
        assert is_clean(plant)

    play(tmp_path, scenario)


LISTS = "joint_speed_soft_limits"


def test_ruling_16_the_rest_of_a_list_follows_in_the_same_revision(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        state = plant.session().state

        def speeds() -> tuple[float, ...]:
            found: Any = state.reported[LISTS, 1]
            return tuple(round(one, 1) for one in found.joint_speed_soft_limits[:3])

        async def apply(mass: float, *degrees: float, **more: Any) -> None:
            items = {LISTS: {"ANGULAR_JOYSTICK": [*degrees, 10, 10, 10, 10]}, LOAD: {"payload_mass": mass}}
            assert (await plant.call("r1", "ApplyConfig", {"items": items}, **more))["ok"]

        await apply(1.0, 20, 20, 10)
        await apply(2.0, 40, 10, 10, valid_for_ms=10 * MINUTE)
        await plant.call("r1", "HoldArm", {"reason": "work"}, user="bob")
        await plant.turn(601.0)
        assert (speeds(), state.rev) == ((20, 10, 10), 4)
        (waiting,) = pending(plant)
        assert (waiting["rev"], sorted(waiting["items"])) == (4, [f"{LISTS}/ANGULAR_JOYSTICK", LOAD])
        await plant.call("r1", "ReleaseArm", {}, user="bob")
        await plant.turn(1.0)
        assert (speeds(), has(plant)[LOAD], state.rev) == ((20, 20, 10), 1.0, 4)
        values = [event["change"]["after"] for event in plant.events() if event["cause"] == "returned"]
        assert [value[:2] for value in values if isinstance(value, list)] == [
            pytest.approx([20, 10], rel=1e-3), pytest.approx([20, 20], rel=1e-3),
        ]  # fmt: skip
        await plant.committed()
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_a_list_that_another_writer_tightened_is_not_loosened_after_what_tightens(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        rest = (10, 10, 10, 10)

        async def speeds(*degrees: float, **more: Any) -> None:
            params = {"control_mode": "ANGULAR_JOYSTICK", LISTS: [*degrees, *rest]}
            assert (await plant.call("r1", "SetJointSpeedSoftLimits", params, **more))["ok"]

        await speeds(20, 20, 10)
        await speeds(40, 10, 10, valid_for_ms=10 * MINUTE)
        await plant.fault("r1", "foreign_change", item=LISTS, slot="ANGULAR_JOYSTICK", value=[30, 5, 10, *rest])
        await plant.turn(601.0)
        found: Any = plant.session().state.reported[LISTS, 1]
        assert [round(one) for one in found.joint_speed_soft_limits[:3]] == [20, 5, 10]
        assert is_clean(plant)

    play(tmp_path, scenario)


# ------------------------------------------------------------------ an end in the midst of the change, or of the return


async def begin_slowly(plant: Plant, ms: int = 10 * MINUTE) -> None:
    """Override the ground while each step takes the arm 2 s: one took effect, and the second is under way."""
    await prepare(plant)
    assert (await plant.call("r1", "EndOverride", {"rev": 3}))["ok"]
    await plant.turn(1.0)
    assert (has(plant), plant.session().state.rev) == (GROUND, 4)
    await plant.fault("r1", "delay", delay_ms=1_000)
    plant.send("r1", "ApplyConfig", {"items": SEVERAL}, valid_for_ms=ms, id="slow")
    await plant.turn(2.5)
    assert has(plant) == GROUND | {TURN: 10.0}
    assert [one["paths"] for one in overrides(plant)] == [[TURN_PATH]]


async def check_slow(plant: Plant, expected: dict[str, float]) -> None:
    """Everything is led back, and nothing is told twice."""
    await plant.turn(30.0)
    await plant.fault("r1", "none")
    await plant.turn(30.0)
    assert (has(plant), wants(plant)) == (expected, expected)
    await plant.turn(700.0)
    assert has(plant) == expected
    ended = [event["details"]["paths"] for event in plant.events() if event["event"] == "OVERRIDE_ENDED"]
    assert sorted(path for paths in ended[1:] for path in paths) == [LOAD, TURN_PATH]
    await plant.committed()
    assert is_clean(plant)


OUTCOMES = {TURN_PATH: "rounded", LOAD: "applied", TWIST_PATH: "expired"}


def test_an_override_that_is_ended_in_the_midst_of_its_change_takes_nothing_more_in(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await begin_slowly(plant)
        assert (await plant.call("r1", "EndOverride", {"rev": 5}))["result"] == {"ended": [5], "left": []}
        reply = await plant.reply("slow")
        assert (reply["ok"], reply["result"]["items"], reply["error"]["kind"]) == (False, OUTCOMES, "partial")
        await check_slow(plant, GROUND)

    play(tmp_path, scenario)


def test_an_override_that_is_over_in_the_midst_of_its_change_takes_nothing_more_in(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await begin_slowly(plant, 3_000)
        assert (await plant.reply("slow"))["result"]["items"] == OUTCOMES
        await check_slow(plant, GROUND)

    play(tmp_path, scenario)


def test_what_is_kept_in_the_midst_of_the_change_is_what_took_effect(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await begin_slowly(plant)
        assert (await plant.call("r1", "EndOverride", {"rev": 5, "keep": True}))["ok"]
        assert (await plant.reply("slow"))["result"]["items"] == OUTCOMES
        await check_slow(plant, GROUND | {TURN: 10.0})

    play(tmp_path, scenario)


def test_an_end_that_is_moved_in_the_midst_of_the_change_is_that_of_all_its_slots(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await begin_slowly(plant)
        assert (await plant.call("r1", "ExtendOverride", {"rev": 5, "valid_for_ms": 20 * MINUTE}))["ok"]
        assert (await plant.reply("slow"))["ok"]
        await plant.fault("r1", "none")
        await plant.turn(900.0)
        assert (has(plant), states(plant)) == (GIVEN, [(5, "loosening", "live")])
        await plant.turn(310.0)
        assert (has(plant), told(plant, 6)) == (GROUND, RETURNED)
        assert is_clean(plant)

    play(tmp_path, scenario)


@pytest.mark.parametrize("wait_s", [0.0, 1.0, 2.0, 4.0])
def test_a_kill_after_an_end_in_the_midst_of_the_change_brings_nothing_back(tmp_path: Path, wait_s: float) -> None:
    copy = tmp_path / "copy"

    async def scenario(plant: Plant) -> None:
        await begin_slowly(plant)
        assert (await plant.call("r1", "EndOverride", {"rev": 5}))["ok"]
        await plant.turn(wait_s)
        await plant.committed()
        plant.copy(copy)

    async def again(plant: Plant) -> None:
        await plant.turn(60.0)
        assert (has(plant), wants(plant)) == (GROUND, GROUND)
        await plant.committed()
        assert is_clean(plant)

    play(tmp_path / "first", scenario)
    play(copy, again, start_us=START_US + 10_000_000)


def test_an_arm_that_goes_away_in_the_midst_is_led_back_when_it_returns(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await begin_slowly(plant)
        await plant.fault("r1", "offline")
        await plant.turn(10.0)
        assert (await plant.call("r1", "EndOverride", {"rev": 5}))["ok"]
        await plant.turn(10.0)
        await plant.fault("r1", "none")
        await plant.turn(60.0)
        assert (has(plant), wants(plant)) == (GROUND, GROUND)
        await plant.committed()
        assert is_clean(plant)

    play(tmp_path, scenario)


@pytest.mark.parametrize("after_s", [0.0, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5])
def test_a_kill_in_the_midst_of_a_return_leaves_one_revision_that_goes_on(tmp_path: Path, after_s: float) -> None:
    copy = tmp_path / "copy"

    async def scenario(plant: Plant) -> None:
        await prepare(plant)
        await plant.turn(599.0)
        await plant.fault("r1", "delay", delay_ms=1_000)
        await plant.turn(1.1 + after_s)
        await plant.committed()
        plant.copy(copy)

    async def again(plant: Plant) -> None:
        await plant.turn(60.0)
        assert (has(plant), wants(plant)) == (GROUND, GROUND)
        returned = (await plant.call("r1", "GetEvents", {"after_seq": 0}))["result"]["events"]
        told_of = [(event["event"], event["cause"], event["rev"]) for event in returned if event["rev"] == 4]
        assert sorted(told_of) == sorted((*one, 4) for one in RETURNED)
        assert plant.session().state.rev == 4
        await plant.committed()
        assert is_clean(plant)

    play(tmp_path / "first", scenario)
    play(copy, again, start_us=START_US + 610_000_000)


def test_a_return_that_waits_is_known_again_after_a_restart(tmp_path: Path) -> None:
    async def first(plant: Plant) -> None:
        await prepare(plant)
        await plant.call("r1", "HoldArm", {"reason": "work"}, user="bob")
        await plant.turn(601.0)
        assert has(plant) == GROUND | {TURN: 10.0, LOAD: 2.0}
        await plant.committed()

    async def again(plant: Plant) -> None:
        await plant.turn(5.0)
        (waiting,) = pending(plant)
        assert (waiting["rev"], sorted(waiting["items"])) == (4, [LOAD, TURN_PATH])
        assert (has(plant), wants(plant)) == (GROUND | {TURN: 10.0, LOAD: 2.0}, GROUND)
        await plant.call("r1", "ReleaseArm", {}, user="bob")
        await plant.turn(1.0)
        assert (has(plant), [name for name, _ in told(plant, 4)]) == (GROUND, [name for name, _ in RETURNED])
        await plant.committed()
        assert is_clean(plant)

    play(tmp_path, first)
    play(tmp_path, again, start_us=START_US + 620_000_000)


def test_an_end_while_the_service_is_down_returns_as_one_at_the_start(tmp_path: Path) -> None:
    async def first(plant: Plant) -> None:
        await prepare(plant)
        await plant.committed()

    async def late(plant: Plant) -> None:
        await plant.turn(60.0)
        assert has(plant) == GROUND | {TURN: 20.0}
        assert told(plant, 4) == RETURNED
        assert is_clean(plant)

    play(tmp_path, first)
    play(tmp_path, late, start_us=START_US + 700_000_000)


def test_ruling_28_of_a_return_that_waits_when_its_arm_is_removed_what_tightens_is_owed_on(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await prepare(plant)
        await plant.fault("r1", "offline", for_ms=720_000)
        await plant.turn(610.0)
        assert states(plant) == [(3, "loosening", "returning")]
        await follow(plant, r2=[])
        await plant.turn(100.0)
        assert told(plant, 4) == [("CHANGE_NOT_APPLIED", "discarded")]
        await follow(plant, r1=[], r2=[])
        await plant.turn(120.0)
        assert has(plant) == wants(plant) == GROUND | {TURN: 10.0, LOAD: 2.0}
        assert told(plant, 5) == RETURNED[:1]
        await plant.committed()
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_another_arm_that_is_confirmed_is_led_back_to_nothing(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await prepare(plant)
        await plant.fault("r1", "swap_serial")
        await plant.turn(700.0)
        assert pending(plant)
        assert (await plant.call("r1", "ConfirmArm", {}))["ok"]
        await plant.turn(60.0)
        assert pending(plant) == []
        assert [event for event in plant.events() if event["cause"] == "returned"] == []
        await plant.committed()
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_two_overrides_that_end_while_the_arm_is_away_lead_to_the_ground(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await prepare(plant, 20 * MINUTE)
        above = {TWIST: {JOYSTICK: 0.45}, TURN: {JOYSTICK: 5.0}}
        assert (await plant.call("r1", "ApplyConfig", {"items": above}, valid_for_ms=10 * MINUTE))["rev"] == 4
        await plant.fault("r1", "offline")
        await plant.turn(601.0)
        assert [sorted(one["items"]) for one in pending(plant)] == [[TURN_PATH, TWIST_PATH]]
        await plant.turn(600.0)
        assert [sorted(one.get("items", [one["item"]])) for one in pending(plant)] == [[TURN_PATH, TWIST_PATH], [LOAD]]
        assert [(rev, state) for rev, _, state in states(plant)] == [(3, "returning"), (4, "returning")]
        assert [sorted(one["paths"]) for one in overrides(plant)] == [[LOAD], [TURN_PATH, TWIST_PATH]]
        await plant.fault("r1", "none")
        await plant.turn(60.0)
        assert (has(plant), wants(plant)) == (GROUND, GROUND)
        await plant.committed()
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_a_lock_and_two_ends_lead_to_the_ground_when_it_is_released(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await prepare(plant, 20 * MINUTE)
        above = {TWIST: {JOYSTICK: 0.1}, TURN: {JOYSTICK: 5.0}}
        assert (await plant.call("r1", "ApplyConfig", {"items": above}, valid_for_ms=10 * MINUTE))["rev"] == 4
        await plant.call("r1", "HoldArm", {"reason": "work"}, user="bob")
        await plant.turn(1_201.0)
        assert has(plant) == {TWIST: 0.1, TURN: 5.0, LOAD: 2.0}
        await plant.call("r1", "ReleaseArm", {}, user="bob")
        await plant.turn(1.0)
        assert (has(plant), wants(plant)) == (GROUND, GROUND)
        await plant.committed()
        assert is_clean(plant)

    play(tmp_path, scenario)


LIMITS: Slot = ("joint_limits", 0)


def velocities(plant: Plant) -> tuple[float, ...]:
    """What is reported of the application limits of the joints."""
    found: Any = plant.session().state.reported[LIMITS]
    return tuple(round(one, 3) for one in found.max_velocity.values)


async def limit_joints(plant: Plant, *speeds: float) -> None:
    """Override the ground of a limit, a payload and the velocities of joints, which is 0.5."""

    def items(twist: float, mass: float, *speeds: float) -> dict[str, Any]:
        limits = {"max_velocity": {"values": speeds}}
        return {TWIST: {JOYSTICK: twist}, "joint_limits": limits, LOAD: {"payload_mass": mass}}

    assert (await plant.call("r1", "ApplyConfig", {"items": items(0.25, 1.0, *[0.5] * 7)}))["ok"]
    over = {"items": items(0.4, 2.0, *speeds)}
    assert (await plant.call("r1", "ApplyConfig", over, valid_for_ms=10 * MINUTE))["rev"] == 3


def test_ruling_23_parts_of_joint_items_return_with_the_other_slots(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await limit_joints(plant, 0.6, *[0.4] * 6)
        await plant.call("r1", "HoldArm", {"reason": "work"}, user="bob")
        await plant.turn(601.0)
        assert velocities(plant) == (0.5, *[0.4] * 6)
        assert (has(plant)[TWIST], has(plant)[LOAD]) == (0.25, 2.0)
        (waiting,) = pending(plant)
        assert (waiting["rev"], sorted(waiting["items"])) == (4, ["joint_limits", LOAD])
        await plant.call("r1", "ReleaseArm", {}, user="bob")
        await plant.turn(1.0)
        assert (velocities(plant), has(plant)[LOAD]) == ((0.5,) * 7, 1.0)
        assert plant.session().state.rev == 4
        await plant.committed()
        assert is_clean(plant)

    play(tmp_path, scenario)


def test_what_the_service_holds_is_tightened_before_the_arm_is_back(tmp_path: Path) -> None:
    async def first(plant: Plant) -> None:
        await limit_joints(plant, *[0.6] * 7)
        await plant.fault("r1", "offline", for_ms=660_000)
        await plant.turn(601.0)
        assert velocities(plant) == (0.5,) * 7
        (waiting,) = pending(plant)
        assert (waiting["rev"], sorted(waiting["items"])) == (4, [LOAD, TWIST_PATH])
        await plant.committed()

    async def again(plant: Plant) -> None:
        await plant.turn(60.0)
        assert (velocities(plant), has(plant)[TWIST], has(plant)[LOAD]) == ((0.5,) * 7, 0.25, 1.0)
        assert {event["rev"] for event in plant.events() if event["cause"] == "returned"} == {4}
        await plant.committed()
        assert is_clean(plant)

    play(tmp_path, first)
    play(tmp_path, again, start_us=START_US + 620_000_000)
