import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from devices.adapter import ArmError, ArmRefusedError, Command
from devices.simulated.firmware import Firmware
from devices.simulated.store import JOURNAL, Entry, SimulatedStore, StoreError
from schema.arms import Slot, Verb
from schema.enums import ControlMode
from schema.messages import (
    CartesianTransform,
    GravityVector,
    Message,
    Position,
    ToolConfiguration,
    TwistLinearSoftLimit,
)

GRAVITY: Slot = ("gravity_vector", 0)
TWIST: Slot = ("twist_linear_soft_limit", 5)

WRITER = """
import sys
from pathlib import Path

from devices.adapter import Command
from devices.simulated.firmware import Firmware
from devices.simulated.store import SimulatedStore
from schema.arms import Verb
from schema.messages import TwistLinearSoftLimit

store = SimulatedStore(Path(sys.argv[1]))
arms = [Firmware(name, "gen3_7dof", store, lambda change: None) for name in ("a", "b")]
number = 0
while True:
    number += 1
    value = TwistLinearSoftLimit(5, (number % 400 + 1) / 1000)
    arms[number % 2].execute(Command(1, number, Verb.SET, ("twist_linear_soft_limit", 5), value))
    print(number, flush=True)
"""


def firmware(store: SimulatedStore, name: str = "r12") -> Firmware:
    return Firmware(name, "gen3_7dof", store, lambda _: None)


def gravity(number: int) -> Command:
    return Command(1, number, Verb.SET, GRAVITY, GravityVector(float(number)))


def test_what_was_answered_survives_a_kill(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(300):
            answered = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        answered = max([answered, *(int(line) for line in process.stdout.read().split(b"\n")[:-1])])
    store = SimulatedStore(tmp_path)
    memories = [store.memory(firmware(store, name).serial) for name in ("a", "b")]
    last = {memory.last.pair[1]: memory for memory in memories if memory.last and memory.last.pair}
    assert max(last) in (answered, answered + 1)
    assert min(last) == max(last) - 1
    for number, memory in last.items():
        assert memory.items[TWIST] == TwistLinearSoftLimit(ControlMode(5), (number % 400 + 1) / 1000)
    store.close()


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_torn_tail_is_ignored(tmp_path: Path, cut: int) -> None:
    store = SimulatedStore(tmp_path)
    arm = firmware(store)
    arm.execute(gravity(1))
    arm.execute(gravity(2))
    store.close()
    journal = tmp_path / JOURNAL
    journal.write_bytes(journal.read_bytes()[:-cut])
    store = SimulatedStore(tmp_path)
    arm = firmware(store)
    assert arm.read(GRAVITY) == GravityVector(1.0)
    arm.execute(gravity(2))
    store.close()
    store = SimulatedStore(tmp_path)
    assert firmware(store).read(GRAVITY) == GravityVector(2.0)
    store.close()


@pytest.mark.parametrize(
    "line",
    [
        "not JSON",
        "[1]",
        '["S","no_such_item",0,{},null,null]',
        '["S","gravity_vector",0,{"x":1},null,null]',
        '["S","gravity_vector",0,3,null,null]',
        '["S","control_mode",0,{"control_mode":99},null,null]',
    ],
)
def test_an_unreadable_line_is_an_error_that_names_it(tmp_path: Path, line: str) -> None:
    good = '["S","gravity_vector",0,{"x":1.0,"y":0.0,"z":0.0},[1,1],null]'
    (tmp_path / JOURNAL).write_text(f"{good}\n{line}\n{good}\n")
    with pytest.raises(StoreError, match=r"simulated_arms.jsonl, line 2: "):
        SimulatedStore(tmp_path)
    assert issubclass(StoreError, ArmError)
    (tmp_path / JOURNAL).write_text(f"{good}\n")
    SimulatedStore(tmp_path).close()


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    store = SimulatedStore(tmp_path)
    with pytest.raises(StoreError, match="in use by another process"):
        SimulatedStore(tmp_path)
    store.close()
    store.close()
    SimulatedStore(tmp_path).close()


def test_a_directory_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be used"):
        SimulatedStore(tmp_path / "file")
    (tmp_path / JOURNAL).with_suffix(".new").mkdir()
    with pytest.raises(StoreError, match="cannot be used"):
        SimulatedStore(tmp_path)


def test_every_kind_of_record_is_read_again_as_it_was(tmp_path: Path) -> None:
    store = SimulatedStore(tmp_path)
    arm = firmware(store)
    tool: Message = ToolConfiguration(CartesianTransform(z=0.12), 0.9, None)
    arm.change_by_another(("tool_configuration", 0), tool)
    for slot, value in arm.read_all().items.items():
        if slot[0] != "tool_configuration":
            arm.change_by_another(slot, value)
    before = arm.read_all()
    store.close()
    store = SimulatedStore(tmp_path)
    assert firmware(store).read_all() == before
    assert before.items["tool_configuration", 0] == tool
    assert before.items["payload_information", 0] != Position()
    store.close()


def test_opening_compacts(tmp_path: Path) -> None:
    store = SimulatedStore(tmp_path)
    arm = firmware(store)
    for number in range(1, 50):
        arm.execute(gravity(number))
    arm.change_by_another(GRAVITY, GravityVector(0.5))
    store.close()
    SimulatedStore(tmp_path).close()
    lines = [json.loads(line) for line in (tmp_path / JOURNAL).read_text().splitlines()]
    assert len(lines) == 2
    store = SimulatedStore(tmp_path)
    arm = firmware(store)
    assert arm.read(GRAVITY) == GravityVector(0.5)
    assert arm.execute(gravity(49)) is None
    assert arm.read(GRAVITY) == GravityVector(0.5)
    store.close()


def test_a_journal_that_grows_is_compacted_while_open(tmp_path: Path) -> None:
    store = SimulatedStore(tmp_path, growth=2_000)
    arm = firmware(store)
    for number in range(1, 500):
        arm.execute(gravity(number))
        assert (tmp_path / JOURNAL).stat().st_size < 2_500
    store.close()
    store = SimulatedStore(tmp_path)
    assert firmware(store).read(GRAVITY) == GravityVector(499.0)
    store.close()


def test_when_compaction_fails_the_present_journal_goes_on(tmp_path: Path) -> None:
    store = SimulatedStore(tmp_path, growth=2_000)
    (tmp_path / JOURNAL).with_suffix(".new").mkdir()
    arm = firmware(store)
    for number in range(1, 100):
        arm.execute(gravity(number))
    assert (tmp_path / JOURNAL).stat().st_size > 2_500
    store.close()
    (tmp_path / JOURNAL).with_suffix(".new").rmdir()
    store = SimulatedStore(tmp_path)
    assert firmware(store).read(GRAVITY) == GravityVector(99.0)
    store.close()


FULL_DISK = """
import resource, signal, sys
from pathlib import Path

from devices.adapter import ArmRefusedError, Command
from devices.simulated.firmware import Firmware
from devices.simulated.store import SimulatedStore
from schema.arms import Verb
from schema.messages import GravityVector

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = SimulatedStore(Path(sys.argv[1]))
arm = Firmware("r12", "gen3_7dof", store, lambda change: None)
slot = ("gravity_vector", 0)
arm.execute(Command(1, 1, Verb.SET, slot, GravityVector(1.0)))
limit = store.path.stat().st_size + 20
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
for _ in range(2):
    try:
        arm.execute(Command(1, 2, Verb.SET, slot, GravityVector(2.0)))
    except ArmRefusedError as error:
        print(error.sub_code, error.name)
print(arm.read(slot).x)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.getrlimit(resource.RLIMIT_FSIZE)[1],) * 2)
arm.execute(Command(1, 2, Verb.SET, slot, GravityVector(3.0)))
"""


def test_an_arm_whose_memory_is_full_refuses_and_changes_nothing(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["134 NVRAM_WRITE_FAIL", "134 NVRAM_WRITE_FAIL", "1.0", ""]
    store = SimulatedStore(tmp_path)
    assert firmware(store).read(GRAVITY) == GravityVector(3.0)
    store.close()


def test_a_refusal_is_remembered(tmp_path: Path) -> None:
    store = SimulatedStore(tmp_path)
    bad = Command(1, 1, Verb.SET, TWIST, TwistLinearSoftLimit(ControlMode(5), 9.0))
    with pytest.raises(ArmRefusedError, match="above"):
        firmware(store).execute(bad)
    store.close()
    store = SimulatedStore(tmp_path)
    with pytest.raises(ArmRefusedError, match="above"):
        firmware(store).execute(bad)
    store.close()


def test_an_entry_takes_one_line(tmp_path: Path) -> None:
    store = SimulatedStore(tmp_path)
    store.record(Entry("S\n1", "gravity_vector", 0, GravityVector(), None))
    store.close()
    assert (tmp_path / JOURNAL).read_bytes().count(b"\n") == 1
