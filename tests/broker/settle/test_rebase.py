"""What becomes of changes of single parameters when one before them takes no effect."""

from pathlib import Path
from typing import Any

from broker.service import Service
from handlers.stack.limit_layers import PARAMETERS_SLOT
from handlers.state.provenance import Stamp
from schema.codecs.json_codec import unpack
from schema.joint_items import JointParameterMap
from tests.stored import changes
from tests.virtual_plant import Plant, play

SET = "SetJointParameters"
NUMBERS = {f"joint_limits.joint_{number}.max_velocity": 0.1 * number for number in (1, 2, 3)}
FIRST, SECOND, THIRD = NUMBERS


def params(*names: str) -> dict[str, Any]:
    """Params that limit the speed of some joints."""
    flags = {name.replace("max_velocity", "has_velocity_limits"): True for name in names}
    return {"parameters": flags | {name: NUMBERS[name] for name in names}}


def parameters(*names: str) -> JointParameterMap:
    """The value that these params make of no parameters."""
    return JointParameterMap(params(*names)["parameters"])


def hold_by_arm(plant: Plant) -> None:
    """From now on the arm holds the parameters; the simulated one knows none, and refuses each change of them."""
    plant.session().state.arm_items |= {PARAMETERS_SLOT[0]}


def test_newer_changes_go_on_without_what_was_refused(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        hold_by_arm(plant)
        state = plant.session().state
        await plant.fault("r1", "delay", delay_ms=300)
        for id_, names in (("a", (FIRST,)), ("b", (SECOND,)), ("c", (FIRST, THIRD))):
            plant.send("r1", SET, params(*names), id=id_)
        assert (await plant.reply("a"))["error"]["kind"] == "arm_refused"
        second, third = plant.session().unsettled()
        assert second.wanted == parameters(SECOND)
        assert third.wanted == state.desired[PARAMETERS_SLOT] == parameters(FIRST, SECOND, THIRD)
        assert [value for value, _ in state.unread[PARAMETERS_SLOT]] == [second.wanted, third.wanted]
        assert second.setter.older == {}
        assert state.desired_by[PARAMETERS_SLOT].of(SECOND) == Stamp("u/c", second.at_us)
        assert (await plant.reply("b"))["error"]["kind"] == "arm_refused"
        assert third.wanted == state.desired[PARAMETERS_SLOT] == parameters(FIRST, THIRD)
        assert (await plant.reply("c"))["error"]["kind"] == "arm_refused"
        assert state.desired[PARAMETERS_SLOT] == JointParameterMap({})

    play(tmp_path, scenario)


def test_a_newer_change_carries_on_what_it_superseded(tmp_path: Path) -> None:
    async def scenario(plant: Plant) -> None:
        hold_by_arm(plant)
        await plant.fault("r1", "offline")
        for id_, names in (("a", (FIRST,)), ("b", (SECOND,))):
            assert (await plant.call("r1", SET, params(*names), id=id_))["stage"] == "stored"
        (left,) = plant.session().unsettled()
        assert left.wanted == parameters(FIRST, SECOND)
        assert left.named == parameters(FIRST, SECOND).parameters.keys()
        again = await plant.call("r1", SET, params(FIRST), id="a")
        assert again["error"]["message"].endswith("took what it named along before r1 was told.")

    play(tmp_path, scenario)


def test_after_a_restart_too_a_newer_change_goes_on_without_what_was_refused(tmp_path: Path) -> None:
    async def until_three_wait(plant: Plant) -> None:
        hold_by_arm(plant)
        await plant.fault("r1", "hang")
        plant.send("r1", "SetGravityVector", {"x": 0.0, "y": 0.0, "z": -9.8}, id="g")
        for id_, names in (("a", (FIRST,)), ("b", (SECOND,))):
            assert (await plant.call("r1", SET, params(*names), id=id_, wait="stored"))["stage"] == "stored"
        assert [job.named for job in plant.session().unsettled()][1:] == [
            parameters(FIRST).parameters.keys(),
            parameters(SECOND).parameters.keys(),
        ]
        await plant.committed()
        plant.copy(tmp_path / "killed")

    def prepare(service: Service) -> None:
        service.sessions["r1"].state.arm_items |= {PARAMETERS_SLOT[0]}

    async def both_refused(plant: Plant) -> None:
        while plant.session().unsettled():
            await plant.turn(0.1)
        (after,) = (one.after for one in changes(plant.store._connection) if one.request_id == "u/c/b")
        assert unpack(after or b"", JointParameterMap) == parameters(SECOND)
        assert plant.session().state.desired[PARAMETERS_SLOT] == JointParameterMap({})

    play(tmp_path / "first", until_three_wait)
    play(tmp_path / "killed", both_refused, prepare=prepare)
