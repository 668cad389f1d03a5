"""Reaching arms, adopting them, and following what they change by themselves."""

from pathlib import Path
from typing import Any

import pytest

from broker.arms.jobs import ContactJob, FollowJob
from broker.store.way import MANY
from devices.adapter import ArmChange, LinkState
from schema.arms import Activity, Fault
from schema.enums import ControlConfigurationEvent, ControlMode
from schema.messages import TwistLinearSoftLimit
from tests.virtual_plant import Plant, play

ITEM, SLOT = "twist_linear_soft_limit", "CARTESIAN_JOYSTICK"
MODE = ControlMode.CARTESIAN_JOYSTICK
CHANGED = "evt/r1/config/TWIST_LINEAR_SOFT_LIMIT_CHANGED"


def change_by_another(plant: Plant, limit: float) -> None:
    """Another writer changes arm r1."""
    adapter: Any = plant.session().adapter
    value = TwistLinearSoftLimit(MODE, limit)
    adapter.inject(Fault("foreign_change", slot=(ITEM, int(MODE)), value=value))


def test_first_contact_adopts_without_a_write_or_an_event(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        state = plant.session().state
        assert (state.adopted, state.rev, state.seq) == (True, 1, 0)
        assert state.desired == state.reported
        assert set(state.desired_rev.values()) == {1}
        assert plant.session().cmd_seq == 0
        assert plant.events() == []

    play(tmp_path, scenario)


def test_a_change_told_while_an_earlier_one_is_read_is_read_too(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.fault("r1", "hang")
        change_by_another(plant, 0.3)
        await plant.turn()
        assert plant.session().running
        for _ in range(3):
            change_by_another(plant, 0.2)
        assert [type(job) for job in plant.session().waiting()] == [FollowJob]
        await plant.fault("r1", "none")
        event = await plant.document(CHANGED, lambda _: True)
        assert event["change"]["after"] == 0.2
        await plant.turn(5.0)
        assert len(plant.events()) == 1

    play(tmp_path, scenario)


def test_events_without_a_value_are_forwarded_and_some_make_us_read_everything(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        adapter: Any = plant.session().adapter
        for event in (
            ControlConfigurationEvent.CONTROL_CONFIGURATION_FACTORY_RESTORED,
            ControlConfigurationEvent.ANGLE_UNIT_CHANGED,
            4711,
        ):
            adapter._sink(ArmChange(int(event), None, ours=False))
        assert [type(job) for job in plant.session().jobs].count(ContactJob) == 1
        await plant.turn(1.0)
        told = plant.events()
        assert [event["change"] for event in told] == [None] * 3
        assert told[-1]["event"] == "4711"

    play(tmp_path, scenario)


def test_an_arm_with_another_serial_number_is_held(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        plant.session().serial = "ANOTHER"
        await plant.fault("r1", "offline", for_ms=1000)
        presence = await plant.document("state/r1/presence", lambda document: document["state"] == "held")
        assert presence["ready"] is False
        assert "ANOTHER" in presence["why"]
        reply = await plant.call("r1", "ResetGravityVector")
        assert (reply["error"]["kind"], reply["error"]["retry"]) == ("held", "new_id")

    play(tmp_path, scenario)


def test_an_arm_that_cannot_be_reached_is_tried_again_and_again(tmp_path: Path) -> None:
    def away(service: Any) -> None:
        service.sessions["r1"].adapter.inject(Fault("offline", for_ms=3600_000))

    async def scenario(plant: Plant) -> None:
        presence = await plant.document("state/r1/presence", lambda _: True)
        assert (presence["state"], presence["joints"]) == ("offline", 0)
        reply = await plant.call("r1", "GetGravityVector")
        assert reply["error"]["kind"] == "arm_not_read"
        assert (await plant.call("r1", "SetGravityVector", {"z": -9.8}))["error"]["kind"] == "arm_not_read"
        assert (await plant.call("r2", "SetGravityVector", {"z": -9.8}))["ok"]
        await plant.turn(3600 + 60)
        assert plant.session().state.online
        assert (await plant.call("r1", "SetGravityVector", {"z": -9.8}))["ok"]

    play(tmp_path, scenario, prepare=away)


def test_an_arm_that_moves_is_not_ready_until_it_says_so_also_over_a_reconnect(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        async def presence(*, online: bool, ready: bool, after: int) -> None:
            state = "online" if online else "offline"
            await plant.document(
                "state/r1/presence", lambda each: (each["state"], each["ready"]) == (state, ready), after
            )

        for fault, online, ready in (
            ("moving", True, False),
            ("offline", False, False),
            ("none", True, True),
        ):
            after = len(plant.link.published)
            await plant.fault("r1", fault)
            await presence(online=online, ready=ready, after=after)
        after = len(plant.link.published)
        await plant.fault("r1", "offline", for_ms=2_000)
        await plant.fault("r1", "moving")
        await presence(online=True, ready=False, after=after)
        await plant.turn(60.0)
        assert (plant.session().state.online, plant.session().state.ready) == (True, False)

    play(tmp_path, scenario)


def test_presence_says_what_an_arm_does_as_far_as_it_is_known(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        async def presence(activity: str, after: int) -> None:
            await plant.document("state/r1/presence", lambda each: each["activity"] == activity, after)

        assert plant.session().state.activity is Activity.IDLE
        for fault, activity in (
            ("moving", "moving"),
            ("local", "local"),
            ("fault", "fault"),
            ("offline", "unknown"),
            ("none", "idle"),
        ):
            after = len(plant.link.published)
            await plant.fault("r1", fault)
            await presence(activity, after)

    play(tmp_path, scenario)


def test_an_arm_that_begins_to_move_and_still_takes_changes_says_so(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        session = plant.session()
        since = session.since_us
        plant.service._reconciler.on_notice(session, LinkState(online=True, ready=True, activity=Activity.MOVING))
        await plant.document("state/r1/presence", lambda each: (each["activity"], each["ready"]) == ("moving", True))
        assert session.since_us == since

    play(tmp_path, scenario)


def test_a_swapped_arm_is_held_also_after_the_fault(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        serial = plant.session().serial
        await plant.fault("r1", "swap_serial")
        held = await plant.document("state/r1/presence", lambda each: each["state"] == "held")
        await plant.fault("r1", "none")
        await plant.turn(60.0)
        assert plant.session().state.distrust
        assert plant.session().serial == serial
        assert not held["ready"]

    play(tmp_path, scenario)


def test_a_rebooted_arm_is_read_again_and_what_it_lost_is_a_foreign_change(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        default = plant.session().state.reported[ITEM, int(MODE)]
        await plant.call("r1", "SetTwistLinearSoftLimit", {"control_mode": SLOT, ITEM: 0.2})
        await plant.fault("r1", "reboot", for_ms=500)
        event = await plant.document(CHANGED, lambda each: each["cause"] == "foreign")
        assert event["change"]["before"] == 0.2
        assert plant.session().state.reported[ITEM, int(MODE)] == default

    play(tmp_path, scenario)


def test_a_change_of_an_arm_that_is_there_does_not_wait_for_arms_that_are_to_be_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.settle.contact.reconciler.CONTACTS_AT_ONCE", 1)

    async def scenario(plant: Plant) -> None:
        await plant.fault("r2", "hang", for_ms=3_600_000)
        reconciler = plant.service._reconciler
        reconciler.contact_soon(plant.session("r2"), "test")
        await plant.turn()
        assert reconciler._contacts.locked()
        reconciler.compare_soon(plant.session("r1"))
        began_s = plant.loop.time()
        assert (await plant.call("r1", "SetGravityVector", {"z": -9.8}))["stage"] == "applied"
        assert plant.loop.time() - began_s < 0.1

    play(tmp_path, scenario)


def test_an_arm_is_not_compared_while_as_many_are_read_as_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.settle.contact.reconciler.CONTACTS_AT_ONCE", 1)

    async def scenario(plant: Plant) -> None:
        await plant.fault("r2", "hang", for_ms=3_600_000)
        reconciler = plant.service._reconciler
        reconciler.compare_soon(plant.session("r2"))
        await plant.turn()
        assert reconciler._reads.locked()
        reconciler.compare_soon(plant.session("r1"))
        assert not plant.session("r1").jobs

    play(tmp_path, scenario)


def test_many_arms_are_adopted_in_commits_of_few_rows(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.committed()
        rows = len(plant.session("r0").state.reported) + 1
        entries = plant.store._writer._connection.execute("SELECT entries FROM audit").fetchall()
        adopted = [each.count(b'"adopted"') for (each,) in entries]
        assert sum(adopted) == len(plant.service.sessions)
        assert 1 < max(adopted) <= MANY / rows + 1

    play(tmp_path, scenario, arms=[f"r{number}" for number in range(100)])
