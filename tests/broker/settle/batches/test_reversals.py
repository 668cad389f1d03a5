"""Undoing changes: only what is as they left it, as a change of its own, in somebody's name."""

from pathlib import Path
from typing import Any

import pytest

from broker.life import State
from broker.record.administration import Asked
from broker.settle.batches.reversals import Reversal
from schema.envelope import Author
from schema.errors import BrokerError
from schema.messages import Message
from tests.virtual_plant import Plant, play

TWIST, SLOT = "twist_linear_soft_limit", ("twist_linear_soft_limit", 2)
PATH = f"{TWIST}/CARTESIAN_JOYSTICK"
PAYLOAD = ("payload_information", 0)
BOSS = Author("boss", "desk", proven=True)
ASKED = Asked("SteerPlan", "boss/desk/1", "it vibrates")


def twist(limit: float) -> dict[str, Any]:
    """Items with one soft limit."""
    return {TWIST: {"CARTESIAN_JOYSTICK": limit}}


async def apply(plant: Plant, items: dict[str, Any], **fields: Any) -> int:
    """Apply items; the revision."""
    return int((await plant.call("r1", "ApplyConfig", {"items": items}, **fields))["rev"])


async def undo(plant: Plant, rev: int, by: Author | None = BOSS) -> Reversal:
    """Undo a change, and wait until that is over."""
    found = plant.service._settler.reversals.begin(
        plant.session(), rev, by, ASKED, lambda session, job, _: plant.service._settler.admit(session, job), plan=7
    )
    plant.store.flush_soon()
    await plant.turn(2.0)
    return found


def reported(plant: Plant) -> dict[tuple[str, int], Message]:
    """What the arm has."""
    state = plant.session().state
    assert state.unread == {} or state.unsettled
    return dict(state.reported)


def test_what_took_effect_is_written_back_as_one_change(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await apply(plant, twist(0.2))
        before = reported(plant)
        rev = await apply(plant, twist(0.1) | {"payload_information": {"payload_mass": 1.0}})
        found = await undo(plant, rev)
        assert (found.kept, found.undone) == ({}, True)
        assert found.job is not None
        assert set(found.job.outcomes.values()) == {"applied"}
        assert reported(plant) == before == plant.session().state.desired
        event = plant.events()[-1]
        assert (event["event"], event["by"]["user"], event["request_id"], event["plan"], event["reason"]) == (
            "CONFIG_APPLIED", "boss", "boss/desk/1", 7, "it vibrates",
        )  # fmt: skip
        (entry,) = (await plant.call("r1", "GetHistory", {"after_rev": rev}))["result"]["changes"]
        assert (entry["method"], entry["plan"], entry["rev"]) == ("Reverse", 7, rev + 1)

    play(tmp_path, scenario)


def test_a_single_set_is_undone_in_the_name_of_its_author(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        rev = (await plant.call("r1", "SetPayloadInformation", {"payload_mass": 1.0}))["rev"]
        found = await undo(plant, rev, by=None)
        assert found.undone
        assert found.job is not None
        assert found.job.author.user == "u"
        assert plant.session().state.reported[PAYLOAD].payload_mass == 0.0  # type: ignore[attr-defined]

    play(tmp_path, scenario)


def test_ruling_37_what_somebody_else_set_since_is_kept(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await apply(plant, twist(0.2))
        rev = await apply(plant, twist(0.15) | {"payload_information": {"payload_mass": 1.0}})
        await plant.call("r1", "SetTwistLinearSoftLimit", {"control_mode": "CARTESIAN_JOYSTICK", TWIST: 0.1}, user="v")
        found = await undo(plant, rev)
        assert found.kept == {PATH: f"it was set in revision {rev + 1}"}
        state = plant.session().state
        assert state.reported[PAYLOAD].payload_mass == 0.0  # type: ignore[attr-defined]
        assert state.reported[SLOT].twist_linear_soft_limit == pytest.approx(0.1)  # type: ignore[attr-defined]

    play(tmp_path, scenario)


def test_what_another_writer_changed_is_kept(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        rev = await apply(plant, twist(0.15))
        await plant.fault("r1", "foreign_change", item=TWIST, slot="CARTESIAN_JOYSTICK", value=0.12)
        await plant.turn(1.0)
        assert (await undo(plant, rev)).kept == {PATH: "another writer changed it"}

    play(tmp_path, scenario)


def test_ruling_38_an_arm_that_is_away_gets_what_tightens_on_return_and_old_loosenings_are_held(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await apply(plant, twist(0.1))
        await plant.call("r1", "SetDesiredLinearTwist", {"linear": 0.1})
        rev = await apply(plant, twist(0.2) | {"desired_linear_twist": {"linear": 0.05}})
        await plant.fault("r1", "offline")
        found = await undo(plant, rev)
        assert found.job is not None
        assert found.job.state is State.PENDING
        await plant.turn(1000.0)
        await plant.fault("r1", "none")
        config = await plant.document(
            "state/r1/config", lambda one: [each["state"] for each in one["pending"]] == ["held"]
        )
        assert config["pending"][0]["items"] == ["desired_linear_twist"]
        assert plant.session().state.reported[SLOT].twist_linear_soft_limit == pytest.approx(0.1)  # type: ignore[attr-defined]

    play(tmp_path, scenario)


def test_what_is_pending_is_discarded(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "offline")
        rev = await apply(plant, twist(0.1))
        found = await undo(plant, rev)
        assert (found.discarded, found.job, found.kept) == (True, None, {})
        state = plant.session().state
        assert (state.unsettled, state.desired) == (0, state.reported)
        assert plant.events()[-1]["cause"] == "discarded"

    play(tmp_path, scenario)


def test_what_took_effect_of_a_batch_that_is_held_is_written_back_and_the_rest_discarded(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await apply(plant, twist(0.2) | {"desired_linear_twist": {"linear": 0.05}})
        before = reported(plant)
        await plant.fault("r1", "delay", delay_ms=300)
        plant.send("r1", "ApplyConfig", {"items": twist(0.1) | {"desired_linear_twist": {"linear": 0.1}}})
        await plant.turn(0.5)
        await plant.fault("r1", "offline")
        await plant.turn(1000.0)
        await plant.fault("r1", "none")
        config = await plant.document(
            "state/r1/config", lambda one: [each["state"] for each in one["pending"]] == ["held"]
        )
        (held,) = config["pending"]
        assert held["items"] == ["desired_linear_twist"]
        assert plant.session().state.reported[SLOT].twist_linear_soft_limit == pytest.approx(0.1)  # type: ignore[attr-defined]
        found = await undo(plant, held["rev"])
        assert (found.discarded, found.kept) == (True, {})
        assert found.job is not None
        assert dict(found.job.outcomes) == {SLOT: "applied"}
        state = plant.session().state
        assert (reported(plant), state.unsettled) == (before, 0)
        assert state.desired == state.reported
        entries = (await plant.call("r1", "GetHistory", {"limit": 2}))["result"]["changes"]
        assert [(entry["method"], entry["outcome"]) for entry in entries] == [
            ("Reverse", "applied"), ("ApplyConfig", "partial"),
        ]  # fmt: skip

    play(tmp_path, scenario)


def test_what_is_under_way_cannot_be_undone_yet(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang")
        plant.send("r1", "ApplyConfig", {"items": twist(0.1)})
        await plant.document("state/r1/config", lambda one: len(one["pending"]) == 1)
        with pytest.raises(BrokerError) as caught:
            await undo(plant, 2)
        assert caught.value.kind == "held"
        await plant.fault("r1", "none")

    play(tmp_path, scenario)


@pytest.mark.parametrize("how", ["lock", "authority"])
def test_a_lock_and_the_authority_keep_all_of_it(tmp_path: Path, how: str) -> None:
    async def scenario(plant: Plant) -> None:
        rev = await apply(plant, twist(0.1))
        if how == "lock":
            await plant.call("r1", "HoldArm", {"reason": "mine"}, user="v")
        else:
            await plant.call("r1", "SetAuthority", {"authority": "observe"})
        found = await undo(plant, rev)
        assert (found.job, set(found.kept)) == (None, {PATH})

    play(tmp_path, scenario)


def test_what_no_longer_fits_is_kept_and_the_rest_undone(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        speeds = "joint_speed_soft_limits"
        before = await apply(plant, {speeds: {"ANGULAR_JOYSTICK": [20.0] * 7}})
        rev = await apply(
            plant, {speeds: {"ANGULAR_JOYSTICK": [5.0] * 7}, "payload_information": {"payload_mass": 1.0}}
        )
        await apply(plant, {"joint_limits": {"max_velocity": {"values": [0.1] * 7}}})
        found = await undo(plant, rev)
        assert set(found.kept) == {f"{speeds}/ANGULAR_JOYSTICK"}
        assert plant.session().state.reported[PAYLOAD].payload_mass == 0.0  # type: ignore[attr-defined]
        assert set((await undo(plant, before)).kept) == {f"{speeds}/ANGULAR_JOYSTICK"}
        assert set((await undo(plant, 99)).kept) == {"*"}

    play(tmp_path, scenario)


def test_an_override_is_ended_instead(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await apply(plant, twist(0.1))
        rev = await apply(plant, twist(0.2), valid_for_ms=600_000)
        found = await undo(plant, rev)
        assert (found.ended, found.job) == (True, None)
        assert plant.session().state.reported[SLOT].twist_linear_soft_limit == pytest.approx(0.1)  # type: ignore[attr-defined]
        assert (await undo(plant, rev)).ended

    play(tmp_path, scenario)
