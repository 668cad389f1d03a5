import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from devices.adapter import ArmError, ArmRefusedError, ArmTimeoutError, Command
from devices.fence import Answered, Fence, FenceError
from schema.arms import Slot, Verb
from schema.messages import GravityVector, Message

GRAVITY: Slot = ("gravity_vector", 0)
DEFAULT = GravityVector(0.0, 0.0, 9.81)
REFUSAL = ArmRefusedError(3, 48, "VALUE_IS_ABOVE_MAXIMUM", "too much")


def command(cmd_seq: int, epoch: int = 7, verb: Verb = Verb.SET) -> Command:
    return Command(epoch, cmd_seq, verb, GRAVITY, None if verb is Verb.RESET else GravityVector(1.0))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "r12.fence"


def test_a_new_arm_was_given_nothing(path: Path) -> None:
    assert Fence(path).last == (0, 0)
    assert not path.exists()


@pytest.mark.parametrize("reopened", [False, True])
def test_a_lower_pair_is_refused_and_both_are_named(path: Path, *, reopened: bool) -> None:
    fence = Fence(path)
    assert fence.begin(command(5)) is None
    fence = Fence(path) if reopened else fence
    assert fence.last == (7, 5)
    for lower in (command(4), command(99, epoch=6)):
        with pytest.raises(ArmRefusedError, match=r"older than \(7, 5\)") as refusal:
            fence.begin(lower)
        assert (refusal.value.code, refusal.value.sub_code, refusal.value.name) == (3, 1, "METHOD_FAILED")
        assert str((lower.epoch, lower.cmd_seq)) in str(refusal.value)
    assert fence.last == (7, 5)
    assert fence.begin(command(1, epoch=8)) is None
    assert fence.last == (8, 1)


@pytest.mark.parametrize("reopened", [False, True])
@pytest.mark.parametrize("answer", [None, DEFAULT])
def test_the_same_pair_is_answered_again(path: Path, *, answer: Message | None, reopened: bool) -> None:
    fence = Fence(path)
    fence.begin(command(1))
    fence.answered(command(1), answer)
    fence = Fence(path) if reopened else fence
    assert fence.begin(command(1)) == Answered(answer)


@pytest.mark.parametrize("reopened", [False, True])
def test_the_same_pair_is_refused_again(path: Path, *, reopened: bool) -> None:
    fence = Fence(path)
    fence.begin(command(1))
    fence.answered(command(1), REFUSAL)
    fence = Fence(path) if reopened else fence
    with pytest.raises(ArmRefusedError, match="too much") as refusal:
        fence.begin(command(1))
    assert (refusal.value.code, refusal.value.sub_code, refusal.value.name) == (3, 48, "VALUE_IS_ABOVE_MAXIMUM")


@pytest.mark.parametrize("reopened", [False, True])
def test_a_command_without_an_answer_is_carried_out_again(path: Path, *, reopened: bool) -> None:
    fence = Fence(path)
    assert fence.begin(command(1)) is None
    fence = Fence(path) if reopened else fence
    assert fence.begin(command(1)) is None


def test_an_answer_that_comes_after_a_later_command_is_not_kept(path: Path) -> None:
    fence = Fence(path)
    fence.begin(command(1))
    fence.begin(command(2))
    fence.answered(command(1), None)
    assert fence.begin(command(2)) is None


WRITER = """
import sys
from pathlib import Path

from devices.adapter import Command
from devices.fence import Fence
from schema.arms import Verb
from schema.messages import GravityVector

fence = Fence(Path(sys.argv[1]))
number = 0
while True:
    number += 1
    command = Command(1, number, Verb.RESET, ("gravity_vector", 0), None)
    fence.begin(command)
    print("begun", number, flush=True)
    fence.answered(command, GravityVector(float(number)))
    print("answered", number, flush=True)
"""


def test_what_begin_and_answered_returned_from_survives_a_kill(path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline().split() for _ in range(21)]
        process.send_signal(signal.SIGKILL)
        lines += [line.split() for line in process.stdout.read().splitlines()]
    said, number = lines[-1][0], int(lines[-1][1])
    fence = Fence(path)
    assert fence.last in ((1, number), (1, number + 1))
    last = Command(*fence.last, Verb.RESET, GRAVITY, None)
    known = fence.begin(last)
    if said == "answered" and fence.last == (1, number):
        assert known is not None
    assert known in (None, Answered(GravityVector(float(fence.last[1]))))


KILLED_BETWEEN = """
import os, signal, sys
from pathlib import Path

from devices.adapter import Command
from devices.fence import Fence
from schema.arms import Verb

Fence(Path(sys.argv[1])).begin(Command(7, 5, Verb.RESET, ("gravity_vector", 0), None))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_killed_between_begin_and_answered_carries_out_the_same_pair_only(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED_BETWEEN, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    fence = Fence(path)
    assert fence.last == (7, 5)
    with pytest.raises(ArmRefusedError):
        fence.begin(command(4))
    assert fence.begin(command(5, verb=Verb.RESET)) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[[7,5],",
        b'[[7],"gravity_vector",true,null,null]',
        b'[[7,5],"no_such_item",true,{},null]',
        b'[[7,5],"gravity_vector",true,{"x":1.0},null]',
        b'[[7,5],"gravity_vector",true,3,null]',
    ],
)
def test_a_file_that_is_cut_off_or_damaged_is_an_error_that_names_it(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(FenceError, match=r"r12\.fence cannot be used"):
        Fence(path)
    assert issubclass(FenceError, ArmError)
    assert path.read_bytes() == content


def test_a_new_file_that_was_cut_off_by_a_kill_is_not_looked_at(path: Path) -> None:
    fence = Fence(path)
    fence.begin(command(1))
    path.with_name("r12.fence.new").write_bytes(b"[[7")
    assert Fence(path).last == (7, 1)
    Fence(path).begin(command(2))
    assert Fence(path).last == (7, 2)


def test_a_command_that_cannot_be_remembered_is_refused(path: Path) -> None:
    fence = Fence(path)
    fence.begin(command(1))
    path.with_name("r12.fence.new").mkdir()
    with pytest.raises(ArmRefusedError) as refusal:
        fence.begin(command(2))
    assert refusal.value.name == "DATABASE_ERROR"
    with pytest.raises(OSError, match="directory"):
        fence.answered(command(1), None)
    assert fence.last == (7, 1)
    assert fence.begin(command(1)) is None


def test_the_file_is_one_small_line(path: Path) -> None:
    fence = Fence(path)
    for number in range(1, 4):
        fence.begin(command(number))
    fence.answered(command(3), DEFAULT)
    assert json.loads(path.read_bytes()) == [[7, 3], "gravity_vector", True, {"x": 0.0, "y": 0.0, "z": 9.81}, None]


class Arm:
    """Does what it is told, one outcome after the other."""

    def __init__(self, *outcomes: Message | ArmError | None) -> None:
        self.outcomes = list(outcomes)
        self.commands: list[Command] = []

    async def write(self, command: Command) -> Message | None:
        self.commands.append(command)
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, ArmError):
            raise outcome
        return outcome


def test_a_command_is_carried_out_once(path: Path) -> None:
    async def scenario() -> None:
        arm, reset = Arm(DEFAULT), command(1, verb=Verb.RESET)
        for _ in range(2):
            assert await Fence(path).carry_out(reset, arm.write) == DEFAULT
        assert arm.commands == [reset]

    asyncio.run(scenario())


def test_a_command_whose_answer_was_lost_is_carried_out_again(path: Path) -> None:
    async def scenario() -> None:
        arm, fence = Arm(ArmTimeoutError("no answer"), REFUSAL), Fence(path)
        with pytest.raises(ArmTimeoutError):
            await fence.carry_out(command(1), arm.write)
        for _ in range(2):
            with pytest.raises(ArmRefusedError, match="too much"):
                await fence.carry_out(command(1), arm.write)
        assert arm.commands == [command(1)] * 2

    asyncio.run(scenario())


def test_an_answer_that_cannot_be_remembered_is_given_all_the_same(path: Path) -> None:
    class FullDisk(Arm):
        async def write(self, command: Command) -> Message | None:
            path.with_name("r12.fence.new").mkdir()
            return await super().write(command)

    async def scenario() -> None:
        fence = Fence(path)
        assert await fence.carry_out(command(1), FullDisk(DEFAULT).write) == DEFAULT
        assert fence.begin(command(1)) is None

    asyncio.run(scenario())
