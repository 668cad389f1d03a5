"""Several changes of a prompt arm are numbered ahead, share one commit, and survive a kill in the middle of them."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from devices.adapter import ArmAwayError, ArmTimeoutError, Command
from devices.guard import GuardedFaultyArm
from schema.enums import ControlMode
from schema.floats import as_float32
from schema.messages import GravityVector, Message, TwistLinearSoftLimit
from tests.broker.settle.killed_pass import CHANGES, send_all, send_all_behind
from tests.broker.settle.test_settler import commands
from tests.virtual_plant import Plant, play, run

GRAVITY = {"x": 0.0, "y": 0.1, "z": -9.8}
ROOT = Path(__file__).parents[3]


def outcome(reply: dict[str, Any]) -> str:
    """What a reply says came of a change."""
    return str(reply["stage"] if reply["ok"] else reply["error"]["kind"])


class OddArm(GuardedFaultyArm):
    """One whose first answer at once is lost, or tells the value before, or that is away just then."""

    first: Exception | Message | None = None

    def exchange_now(self, command: Command) -> Message | None:
        """See `PromptArm.exchange_now`."""
        found, self.first = self.first, None
        if isinstance(found, ArmAwayError):
            raise found
        read = super().exchange_now(command)
        if isinstance(found, Exception):
            raise found
        return read if found is None else found


def kill_in_pass(data: Path, after: int, refused: int = 0, *, behind: bool = False) -> None:
    """Run a service that is killed after the arm took so many commands; from `refused` on it took nothing."""
    numbers = (str(after), str(refused), str(int(behind)))
    command = (sys.executable, "-m", "tests.broker.settle.killed_pass", str(data), *numbers)
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == -signal.SIGKILL


def test_changes_of_one_read_share_the_commit_of_their_ends(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.committed()
        before = plant.store._writer.commits
        send_all(plant)
        assert [outcome(await plant.reply(name)) for name, _, _ in CHANGES] == ["applied"] * len(CHANGES)
        assert plant.store._writer.commits == before + 2
        assert [event["request_id"] for event in plant.events()] == [f"u/c/{name}" for name, _, _ in CHANGES]

    play(tmp_path, scenario)


def test_changes_behind_another_job_of_their_arm_share_the_commit_of_their_ends(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await send_all_behind(plant)
        before = plant.store._writer.commits
        assert [outcome(await plant.reply(name)) for name, _, _ in CHANGES] == ["applied"] * len(CHANGES)
        assert plant.store._writer.commits == before + 3  # the first one's number, its end, those of all others
        assert commands(tmp_path, "twist_linear_soft_limit") == [[1, 1 + n] for n in range(len(CHANGES))]

    play(tmp_path, scenario)


def test_a_change_of_nothing_lets_those_behind_it_share_their_commits(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        await plant.call("r1", "SetGravityVector", GRAVITY, id="first")
        before = plant.store._writer.commits
        plant.send("r1", "SetGravityVector", GRAVITY, id="same")
        send_all(plant)
        assert [outcome(await plant.reply(name)) for name, _, _ in CHANGES] == ["applied"] * len(CHANGES)
        assert plant.store._writer.commits <= before + 5

    play(tmp_path, scenario)


@pytest.mark.parametrize(
    ("after", "behind"),
    [*((one, False) for one in range(1, len(CHANGES) + 1)), *((one, True) for one in range(2, len(CHANGES) + 1))],
)
def test_a_kill_in_the_pass_loses_nothing_and_does_nothing_twice(tmp_path: Path, after: int, behind: bool) -> None:
    kill_in_pass(tmp_path, after, behind=behind)

    async def next_run() -> None:
        async with Plant(tmp_path) as plant:
            description = plant.session().state.description
            assert description is not None
            assert description.fence == (1, after)
            ends = {name: outcome(await plant.reply(name)) for name, _, _ in CHANGES}
            last_sent = {mode: name for name, mode, _ in CHANGES[:after]}
            passed = CHANGES[behind:after]  # the end of the first of those behind another job stands before the pass
            overtaken = {name for name, _, _ in passed} - set(last_sent.values())
            assert ends == {name: "overwritten" if name in overtaken else "applied" for name, _, _ in CHANGES}
            told = {event["request_id"].rpartition("/")[2]: event["cause"] for event in plant.events()}
            assert told == {name: "superseded" if name in overtaken else "applied" for name, _, _ in CHANGES}
            assert len(plant.events()) == len(CHANGES)
            reported = plant.session().state.reported
            limits = [reported["twist_linear_soft_limit", mode] for mode in (2, 5)]
            assert limits == [
                TwistLinearSoftLimit(ControlMode.CARTESIAN_JOYSTICK, as_float32(0.14)),
                TwistLinearSoftLimit(ControlMode.CARTESIAN_TRAJECTORY, as_float32(0.22)),
            ]
            assert plant.session().state.desired == reported

    run(next_run)


def test_what_is_found_of_an_overtaken_change_is_ours_where_the_arm_refused_the_next_one(tmp_path: Path) -> None:
    kill_in_pass(tmp_path, after=3, refused=3)

    async def next_run() -> None:
        async with Plant(tmp_path) as plant:
            ends = {name: outcome(await plant.reply(name)) for name, _, _ in CHANGES}
            assert ends == dict.fromkeys(ends, "applied") | {"j1": "overwritten", "j2": "arm_refused"}
            causes = [event["cause"] for event in plant.events()]
            assert "foreign" not in causes
            state = plant.session().state
            assert state.desired == state.reported

    run(next_run)


@pytest.mark.parametrize("first", [ArmTimeoutError("no answer"), GravityVector(0.0, 0.0, -9.81), None])
def test_what_is_not_known_at_once_is_read_without_a_second_write(tmp_path: Path, first: Any) -> None:
    async def scenario(plant: Plant) -> None:
        adapter: Any = plant.session().adapter
        adapter.__class__, adapter.first = OddArm, first
        plant.send("r1", "SetGravityVector", GRAVITY, id="g")
        send_all(plant)
        assert outcome(await plant.reply("g")) == "applied"
        assert [outcome(await plant.reply(name)) for name, _, _ in CHANGES] == ["applied"] * len(CHANGES)
        assert commands(tmp_path, "gravity_vector") == [[1, 1]]
        assert plant.session().cmd_seq == 1 + len(CHANGES)

    play(tmp_path, scenario)


def test_an_arm_that_is_away_just_then_is_reached_again(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        adapter: Any = plant.session().adapter
        adapter.__class__, adapter.first = OddArm, ArmAwayError("the link is down")
        after = len(plant.link.published)
        plant.send("r1", "SetGravityVector", GRAVITY, id="g")
        send_all(plant)
        assert outcome(await plant.reply("g")) == "stored"
        ends = {name: outcome(await plant.reply(name, after)) for name, _, _ in CHANGES}
        assert ends == dict.fromkeys(ends, "overwritten") | {"t2": "stored", "j4": "stored"}
        await plant.document("state/r1/config", lambda document: not document["pending"], len(plant.link.published))
        assert plant.session().state.desired == plant.session().state.reported

    play(tmp_path, scenario)
