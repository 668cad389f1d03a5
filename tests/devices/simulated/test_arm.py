import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devices.adapter import AdapterSettingError, ArmTimeoutError, Command, Deadlines, FaultyArm, FleetContext, Setting
from devices.simulated import SimulatedArm, SimulatedFleet, SimulatedStore
from limits.kinova_models import MODELS
from schema.arms import Fault, Slot, Verb
from schema.messages import GravityVector

GRAVITY: Slot = ("gravity_vector", 0)


def command(number: int, x: float = 1.0) -> Command:
    return Command(1, number, Verb.SET, GRAVITY, GravityVector(x))


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[SimulatedFleet]:
    fleet = SimulatedArm.open_fleet(FleetContext(tmp_path))
    yield fleet
    fleet.close()


async def connected(fleet: SimulatedFleet, name: str = "r12", **options: Setting) -> SimulatedArm:
    arm = fleet.arm(name, "gen3_7dof", options)
    await arm.connect()
    return arm


@pytest.mark.parametrize("model", MODELS)
async def test_each_model_tells_its_joints_and_limits(fleet: SimulatedFleet, model: str) -> None:
    description = await fleet.arm("r12", model, {}).connect()
    assert description.model == model
    assert len(description.joints) == len(MODELS[model].joints)
    assert description.hard_limits == MODELS[model].hard
    assert set(MODELS[model].notes) < set(description.notes)


async def test_another_model_under_the_same_name_is_another_arm(fleet: SimulatedFleet) -> None:
    seven, six = fleet.arm("r12", "gen3_7dof", {}), fleet.arm("r12", "gen3_6dof", {})
    assert (await seven.connect()).serial != (await six.connect()).serial
    await seven.write(command(1))
    assert await six.read(GRAVITY) == MODELS["gen3_6dof"].gravity


async def test_arms_of_a_fleet_are_apart(fleet: SimulatedFleet) -> None:
    left, right = await connected(fleet, "left"), await connected(fleet, "right")
    told: list[str] = []
    left.watch(lambda _: told.append("left"))
    right.watch(lambda _: told.append("right"))
    left.inject(Fault("hang"))
    await right.write(command(1))
    assert told == ["right"]
    await left.close()


async def test_without_latency_nothing_is_suspended(fleet: SimulatedFleet) -> None:
    arm = fleet.arm("r12", "gen3_7dof", {"latency_ms": 0})
    for call in (arm.connect(), arm.write(command(1)), arm.read(GRAVITY), arm.read_all()):
        with pytest.raises(StopIteration):
            call.send(None)


async def test_without_latency_a_hang_keeps_the_order_and_is_over_when_all_is_done(fleet: SimulatedFleet) -> None:
    arm = await connected(fleet, latency_ms=0)
    arm.inject(Fault("hang"))
    first = asyncio.create_task(arm.write(command(1, 1.0)))
    await asyncio.sleep(0.1)
    arm.inject(Fault("none"))
    await arm.write(command(2, 2.0))
    await first
    assert await arm.read(GRAVITY) == GravityVector(2.0)


async def test_without_latency_it_writes_and_reads_back_at_once(fleet: SimulatedFleet) -> None:
    arm = await connected(fleet, latency_ms=0)
    told = [arm.prompt]
    assert arm.exchange_now(command(1, 0.5)) == arm.read_now(GRAVITY) == await arm.read(GRAVITY)
    for fault in ("hang", "lose_answer", "garbage"):
        arm.inject(Fault(fault))
        told.append(arm.prompt)
        assert arm.exchange_now(command(2)) is arm.read_now(GRAVITY) is None
        arm.inject(Fault("none"))
    told.append(arm.prompt)
    assert not (await connected(fleet, "slow", latency_ms=5)).prompt
    await arm.close()
    told.append(arm.prompt)
    assert told == [True, False, False, False, True, False]


async def test_latency_and_deadline_run_on_the_injected_clock(tmp_path: Path) -> None:
    asked: list[float] = []

    async def sleep(seconds: float) -> None:
        asked.append(seconds)
        await asyncio.sleep(seconds)

    store = SimulatedStore(tmp_path)
    arm = SimulatedArm("r12", "gen3_7dof", store, sleep=sleep)
    await arm.connect()
    assert sorted(asked) == [0.025, arm.deadlines.connect_s]
    store.close()


async def test_deadlines_are_those_of_the_class(tmp_path: Path) -> None:
    class HastyArm(SimulatedArm):
        deadlines = Deadlines(0.1, 0.2, 0.3)

    store = SimulatedStore(tmp_path)
    arm = HastyArm("r12", "gen3_7dof", store)
    await arm.connect()
    arm.inject(Fault("hang"))
    loop = asyncio.get_running_loop()
    for call, deadline_s in ((arm.connect(), 0.1), (arm.read(GRAVITY), 0.2), (arm.write(command(1)), 0.3)):
        start = loop.time()
        with pytest.raises(ArmTimeoutError, match=f"{deadline_s:g} s"):
            await call
        assert loop.time() - start == pytest.approx(deadline_s)
    assert SimulatedArm.deadlines == Deadlines(2, 2, 5)
    await arm.close()
    store.close()


async def test_a_fault_ends_by_itself(fleet: SimulatedFleet) -> None:
    arm = await connected(fleet)
    arm.inject(Fault("delay", delay_ms=500, for_ms=10_000))
    await asyncio.sleep(10.001)
    start = asyncio.get_running_loop().time()
    await arm.write(command(1))
    assert asyncio.get_running_loop().time() - start == pytest.approx(0.025)


async def test_a_fault_begun_anew_replaces_the_old_one_and_its_end(fleet: SimulatedFleet) -> None:
    arm = await connected(fleet)
    arm.inject(Fault("hang", for_ms=100))
    arm.inject(Fault("hang"))
    await asyncio.sleep(1)
    with pytest.raises(ArmTimeoutError):
        await arm.read(GRAVITY)
    await arm.close()


async def test_none_ends_the_timers_too(fleet: SimulatedFleet) -> None:
    arm = await connected(fleet)
    arm.inject(Fault("offline", for_ms=100))
    arm.inject(Fault("none"))
    arm.inject(Fault("hang"))
    await asyncio.sleep(1)
    with pytest.raises(ArmTimeoutError):
        await arm.read(GRAVITY)
    await arm.close()


async def test_a_fault_before_the_first_connection_waits_for_it(fleet: SimulatedFleet) -> None:
    arm = fleet.arm("r12", "gen3_7dof", {})
    arm.inject(Fault("offline", for_ms=1_000))
    with pytest.raises(Exception, match="the link is down"):
        await arm.connect()
    await asyncio.sleep(2)
    await arm.connect()
    assert await arm.read(GRAVITY) == MODELS["gen3_7dof"].gravity


async def test_an_unsubscribed_arm_works(fleet: SimulatedFleet) -> None:
    arm = await connected(fleet)
    await arm.write(command(1))
    arm.inject(Fault("offline"))
    arm.inject(Fault("none"))
    assert await arm.read(GRAVITY) == GravityVector(1.0)


async def test_an_arm_can_be_opened_again_after_closing(fleet: SimulatedFleet) -> None:
    arm = await connected(fleet)
    await arm.write(command(1))
    await arm.close()
    await arm.connect()
    assert await arm.read(GRAVITY) == GravityVector(1.0)


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (Fault("dance"), "fault dance is not simulated"),
        (Fault("foreign_change", slot=GRAVITY), "needs a slot and a value"),
        (Fault("foreign_change", value=GravityVector()), "needs a slot and a value"),
    ],
)
async def test_a_fault_that_cannot_be_is_refused(fleet: SimulatedFleet, fault: Fault, text: str) -> None:
    arm = await connected(fleet)
    assert isinstance(arm, FaultyArm)
    with pytest.raises(Exception, match=text):
        arm.inject(fault)


@pytest.mark.parametrize(
    ("model", "options", "text"),
    [
        ("gen4", {}, r"arm r12: model 'gen4' is none of gen3_7dof, gen3_6dof, gen3_lite"),
        ("gen3_lite", {"latency": 3}, r"arm r12: option latency: unknown; known: latency_ms"),
        ("gen3_lite", {"latency_ms": -1}, r"arm r12: option latency_ms: -1: expected `float` >= 0"),
        ("gen3_lite", {"latency_ms": "5"}, r"option latency_ms: '5': expected `float`, got `str`"),
        ("gen3_lite", {"latency_ms": True}, r"option latency_ms: True: expected `float`, got `bool`"),
        ("gen3_lite", {"latency_ms": float("nan")}, r"option latency_ms: nan: expected `float` >= 0"),
    ],
)
async def test_a_bad_setting_names_arm_setting_and_value(
    fleet: SimulatedFleet, model: str, options: dict[str, Setting], text: str
) -> None:
    with pytest.raises(AdapterSettingError, match=text):
        fleet.arm("r12", model, options)
