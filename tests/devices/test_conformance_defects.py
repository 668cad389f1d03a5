"""The suite fails on an adapter that does not do what it must: each defect by the behaviours that find it."""

import asyncio
import itertools
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import pytest

from armbroker.conformance import service_behaviours
from devices.adapter import (
    ArmAdapter,
    ArmChange,
    ArmRefusedError,
    ArmTimeoutError,
    ArmUnreadableError,
    Command,
    FleetContext,
    LinkState,
    Notice,
    Setting,
    Snapshot,
)
from devices.conformance import BEHAVIOURS, Rig, Verdict, run_one
from devices.conformance.adapter_rig import AdapterRig
from devices.conformance.kinova import KINOVA
from devices.simulated import SimulatedArm, SimulatedStore
from schema.arms import Description, Fault, Slot, Verb
from schema.messages import GravityVector, Message
from tests.devices.rigs import SUITE
from tests.virtual_plant import PatientLoop

GRAVITY: Slot = ("gravity_vector", 0)


class ChangesItsName(SimulatedArm):
    async def connect(self) -> Description:
        self.__dict__.setdefault("counter", itertools.count())
        described = await super().connect()
        return msgspec.structs.replace(described, serial=f"S{next(self.__dict__['counter'])}")


class ForgetsASlot(SimulatedArm):
    async def read_all(self) -> Snapshot:
        items = dict((await super().read_all()).items)
        del items[GRAVITY]
        return Snapshot(items)


class ReadsOldValues(SimulatedArm):
    async def read(self, slot: Slot) -> Message:
        self.__dict__.setdefault("old", {})
        found: Message = self.__dict__["old"].setdefault(slot, await super().read(slot))
        return found


class BlamesOthers(SimulatedArm):
    def watch(self, sink: Callable[[Notice], None]) -> None:
        def hear(notice: Notice) -> None:
            sink(msgspec.structs.replace(notice, ours=False) if isinstance(notice, ArmChange) else notice)

        super().watch(hear)


class TellsNothing(SimulatedArm):
    def watch(self, sink: Callable[[Notice], None]) -> None:
        del sink


class TellsNoLink(SimulatedArm):
    def watch(self, sink: Callable[[Notice], None]) -> None:
        super().watch(lambda notice: None if isinstance(notice, LinkState) else sink(notice))


class AnswersNoReset(SimulatedArm):
    async def write(self, command: Command) -> Message | None:
        await super().write(command)
        return None


class HidesRefusals(SimulatedArm):
    async def write(self, command: Command) -> Message | None:
        try:
            return await super().write(command)
        except ArmRefusedError:
            return None


class HopesForTheBest(SimulatedArm):
    async def write(self, command: Command) -> Message | None:
        try:
            return await super().write(command)
        except ArmTimeoutError:
            return None


class WaitsTooLong(SimulatedArm):
    async def read(self, slot: Slot) -> Message:
        try:
            return await super().read(slot)
        except ArmTimeoutError:
            await asyncio.sleep(60)
            raise


class ReadsGarbage(SimulatedArm):
    async def read(self, slot: Slot) -> Message:
        try:
            return await super().read(slot)
        except ArmUnreadableError:
            return GravityVector(1.0, 2.0, 3.0)


class FencesNothing(SimulatedArm):
    async def write(self, command: Command) -> Message | None:
        pairs = self.__dict__.setdefault("pairs", itertools.count(1_000_000))
        return await super().write(msgspec.structs.replace(command, epoch=99, cmd_seq=next(pairs)))


class IsNeverClosed(SimulatedArm):
    async def close(self) -> None:
        pass


class KeepsItsSerial(SimulatedArm):
    async def connect(self) -> Description:
        return msgspec.structs.replace(await super().connect(), serial="S1")


class LosesNothing(SimulatedArm):
    def inject(self, fault: Fault) -> None:
        super().inject(Fault("offline", for_ms=500) if fault.name == "reboot" else fault)


class Breaks(SimulatedArm):
    async def write(self, command: Command) -> Message | None:
        if command.verb is Verb.SET:
            raise ZeroDivisionError("a bug")
        return await super().write(command)


class Workshop:
    """The fleet and the adapter of one defective class."""

    def __init__(self, defective: type[SimulatedArm]) -> None:
        self._defective = defective
        self.about = SimulatedArm.about

    def open_fleet(self, context: FleetContext) -> "Workshop":
        self._store = SimulatedStore(context.directory)
        return self

    def arm(self, name: str, model: str, options: Mapping[str, Setting]) -> ArmAdapter:
        del options
        return self._defective(name, model, self._store)

    def close(self) -> None:
        self._store.close()


FOUND_BY: dict[type[SimulatedArm], tuple[str, ...]] = {
    ChangesItsName: ("connect", "restart of the service", "reboot with old config"),
    ForgetsASlot: ("read all",),
    ReadsOldValues: ("write each item", "foreign change"),
    BlamesOthers: ("write each item", "control modes"),
    TellsNothing: ("foreign change", "away and back", "moving or local control", "service: foreign change"),
    TellsNoLink: ("away and back", "moving or local control", "service: moving or local control"),
    AnswersNoReset: ("reset", "same reset answered"),
    HidesRefusals: ("refused by the arm", "refusal takes nothing", "older command refused", "same refusal again"),
    HopesForTheBest: ("timeout, then read-back", "hang", "link lost in a write", "shutdown in a write"),
    WaitsTooLong: ("hang",),
    ReadsGarbage: ("garbage",),
    FencesNothing: ("older command refused", "same command answered", "restart of the service"),
    IsNeverClosed: ("shutdown", "shutdown in a write", "service: shutdown"),
    KeepsItsSerial: ("other serial number", "service: other serial number"),
    LosesNothing: ("reboot with old config", "service: reboot with old config"),
    Breaks: ("write each item", "service: applied", "service: clamped", "service: rounded"),
}
"""What finds each defect, at least."""


@pytest.mark.parametrize(
    ("defective", "behaviour"),
    [(defective, behaviour) for defective, found_by in FOUND_BY.items() for behaviour in found_by],
)
def test_a_defect_is_found(defective: type[SimulatedArm], behaviour: str, tmp_path: Path) -> None:
    async def make(directory: Path) -> Rig:
        return AdapterRig(Workshop(defective), directory, KINOVA, model="gen3_7dof")

    with asyncio.Runner(loop_factory=PatientLoop) as runner:
        result = runner.run(run_one(behaviour, SUITE[behaviour], make, tmp_path))
    assert (result.verdict, bool(result.why)) == (Verdict.FAIL, True)


def test_what_a_rig_cannot_bring_about_is_not_applicable_with_the_reason(tmp_path: Path) -> None:
    class Plain:
        def __init__(self, inner: SimulatedArm) -> None:
            self.inner = inner

        def __getattr__(self, name: str) -> object:
            if name == "inject":
                raise AttributeError(name)
            return getattr(self.inner, name)

    class Shop(Workshop):
        def arm(self, name: str, model: str, options: Mapping[str, Setting]) -> ArmAdapter:
            arm: ArmAdapter = Plain(super().arm(name, model, options))  # type: ignore[arg-type, assignment]  # one
            return arm

    async def make(directory: Path) -> Rig:
        traits = msgspec.structs.replace(KINOVA, cannot={"rounded": "keeps doubles", "modes": "has no modes"})
        return AdapterRig(Shop(SimulatedArm), directory, traits, model="gen3_7dof")

    for name, why in (
        ("rounded", "keeps doubles"),
        ("control modes", "has no modes"),
        ("service: rounded", "keeps doubles"),
        ("hang", "the adapter has no faults to inject"),
    ):
        with asyncio.Runner(loop_factory=PatientLoop) as runner:
            result = runner.run(run_one(name, SUITE[name], make, tmp_path / name))
        assert result == (name, Verdict.NOT_APPLICABLE, why)


def test_the_service_adds_its_behaviours_to_those_of_the_adapter() -> None:
    assert SUITE.keys() == BEHAVIOURS.keys() | service_behaviours().keys()
    assert not BEHAVIOURS.keys() & service_behaviours().keys()
