"""What is counted of answers, refusals and the stages of changes; and what counting costs."""

from pathlib import Path

import pytest

from broker.publish.outbox import TOLD_OF
from broker.record.traffic import FOLD, OTHER, PUBLISH, SEEN_MOST, SHOWN_AFTER, SHOWN_MOST, STAGES, Traffic
from schema.envelope import ErrorBody, Reply, Stage
from tests.virtual_plant import Plant, play

TWIST = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.1}
SET = "SetTwistLinearSoftLimit"


def refused(user: str, traffic: Traffic, kind: str = "out_of_bounds") -> None:
    """Let a user be refused once."""
    error = ErrorBody(1, 1, "", kind, "", "")
    reply = Reply("", "r1", SET, ok=False, stage=Stage.REFUSED, final=True, rev=0, seq=0, at_us=0, error=error)
    traffic.answered(reply, "json", user)


def test_answers_are_counted_by_method_outcome_and_codec(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        traffic = plant.service._ledger.traffic
        assert not traffic.answers
        await plant.call("r1", SET, TWIST)
        await plant.call("r1", "GetGravityVector")
        await plant.call("r1", "NoSuchMethod" * 5)
        await plant.call("r1", SET, {**TWIST, "twist_linear_soft_limit": 99.0}, dry_run=True)
        assert dict(traffic.answers) == {
            (SET, "applied", "json"): 1,
            ("GetGravityVector", "read", "json"): 1,
            (OTHER, "refused", "json"): 1,
            (SET, "refused", "json"): 1,
        }
        assert dict(traffic.refusals) == {(OTHER, "unknown_method"): 1, (OTHER, "out_of_limits"): 1}

    play(tmp_path, scenario)


def test_each_stage_of_a_change_is_timed(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        traffic = plant.service._ledger.traffic
        before = traffic.stages
        assert tuple(before) == STAGES
        await plant.fault("r1", "delay", delay_ms=1500)
        after_fault = traffic.stages
        await plant.call("r1", SET, TWIST)
        await plant.turn(1.0)
        stages = traffic.stages
        for _ in range(TOLD_OF):
            await plant.call("r1", "GetGravityVector")
        await plant.turn(1.0)
        for stage in STAGES[:4]:
            assert stages[stage].below[-1] == after_fault[stage].below[-1] + 1, stage
        assert stages["arm"].sum_s >= 1.0
        assert stages["store"].sum_s < 0.1
        assert traffic.stages[PUBLISH].below[-1] > before[PUBLISH].below[-1]

    play(tmp_path, scenario)


def test_times_are_counted_although_nobody_asks(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        traffic = plant.service._ledger.traffic
        for number in range(FOLD + 10):
            await plant.call("r1", SET, {**TWIST, "twist_linear_soft_limit": 0.1 + number / 10_000})
        assert sum(len(jobs) for _, jobs in traffic._ended) < FOLD
        assert traffic.stages["settle"].below[-1] == FOLD + 10

    play(tmp_path, scenario)


def test_users_of_the_settings_are_told_apart_and_of_others_those_refused_often(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        traffic = plant.service._ledger.traffic
        await plant.call("r1", "NoSuchMethod", user="ann")
        await plant.call("r1", "NoSuchMethod", user="bob")
        assert dict(traffic.refusals) == {("ann", "unknown_method"): 1, (OTHER, "unknown_method"): 1}
        for _ in range(SHOWN_AFTER + 5):
            refused("eve", traffic)
        assert traffic.refusals["eve", "out_of_bounds"] == 5
        assert traffic.refusals[OTHER, "out_of_bounds"] == SHOWN_AFTER

    play(tmp_path, scenario, clients={"ann": {}})


def test_users_are_bounded(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        traffic = plant.service._ledger.traffic
        for number in range(3 * SEEN_MOST):
            refused(f"user-{number}", traffic)
        assert len(traffic._seen) <= SEEN_MOST
        for number in range(100):
            for _ in range(2 * SHOWN_AFTER):
                refused(f"more-{number}", traffic)
        assert len({user for user, _ in traffic.refusals}) == SHOWN_MOST + 1
        assert sum(traffic.refusals.values()) == 3 * SEEN_MOST + 200 * SHOWN_AFTER

    play(tmp_path, scenario)


@pytest.mark.parametrize("user", ["", "u"])
def test_an_outcome_that_nobody_knows_yet_is_open(tmp_path: Path, user: str) -> None:
    async def scenario(plant: Plant) -> None:
        traffic = plant.service._ledger.traffic
        error = ErrorBody(1, 1, "", "outcome_unknown", "", "repeat")
        reply = Reply("", "r1", SET, ok=False, stage=Stage.STORED, final=False, rev=0, seq=0, at_us=0, error=error)
        traffic.answered(reply, "protobuf", user)
        assert dict(traffic.answers) == {(SET, "open", "protobuf"): 1}

    play(tmp_path, scenario)
