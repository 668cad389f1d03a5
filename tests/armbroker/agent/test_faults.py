"""The lines that let agents misbehave."""

import json
from pathlib import Path
from typing import Any

import pytest

from armbroker.agent.faults import Bender, Misbehaviour
from armbroker.agent.session import Said
from devices.simulated import SimulatedArm, SimulatedStore
from schema.messages import TwistLinearSoftLimit

SLOT = ("twist_linear_soft_limit", 2)


class Bench:
    """One arm that can be told to misbehave."""

    def __init__(self, directory: Path) -> None:
        self.arm = SimulatedArm("r12", "gen3_7dof", SimulatedStore(directory), latency_s=0.0)
        self.bender = Bender()
        self.said: list[tuple[str, Said]] = []
        self.misbehaviour = Misbehaviour(
            {"r12": self.arm}, {"r12": self.bender}, lambda name, said: self.said.append((name, said))
        )

    def obey(self, **line: Any) -> str:
        return self.misbehaviour.obey(json.dumps({"arm": "r12", **line}).encode())


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_a_simulated_fault_begins(bench: Bench) -> None:
    await bench.arm.connect()
    value = {"item": SLOT[0], "slot": "CARTESIAN_JOYSTICK", "value": 0.25}
    assert bench.obey(fault="foreign_change", **value) == "ok"
    read = await bench.arm.read(SLOT)
    assert isinstance(read, TwistLinearSoftLimit)
    assert read.twist_linear_soft_limit == 0.25


def test_messages_are_garbled_and_swallowed(bench: Bench) -> None:
    said = Said("ack", b"{}")
    assert bench.bender.bend(said) == said
    assert bench.obey(garble="ack", swallow="report", count=2) == "ok"
    assert [bench.bender.bend(said) == said for _ in range(3)] == [False, False, True]
    report = Said("report", b"{}")
    assert [bench.bender.bend(report) for _ in range(3)] == [None, None, report]


def test_anything_can_be_said(bench: Bench) -> None:
    assert bench.obey(say="death", payload='{"session":1}', retain=True) == "ok"
    assert bench.said == [("r12", Said("death", b'{"session":1}', retain=True))]


@pytest.mark.parametrize(
    "line",
    [
        {"arm": "r13", "fault": "hang"},
        {"fault": "no_such_fault"},
        {"fault": "foreign_change", "item": "no_item", "value": 1},
        {"fault": "foreign_change", "item": SLOT[0], "slot": "CARTESIAN_JOYSTICK", "value": 99},
        {"wish": 1},
    ],
)
def test_a_line_that_cannot_be_obeyed_is_answered(bench: Bench, line: dict[str, Any]) -> None:
    assert bench.obey(**line) != "ok"
