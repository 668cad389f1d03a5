"""The stage of the suite: a whole service around the arm of a rig; the behaviours run in tests/devices."""

import asyncio
from pathlib import Path

import pytest

from armbroker.conformance.stage import SUITE, Stage
from broker.store.store import Store
from devices.conformance import FailedError
from devices.conformance.adapter_rig import AdapterRig
from devices.conformance.kinova import KINOVA
from devices.simulated import SimulatedArm
from tests.virtual_plant import PatientLoop, run


def test_a_stage_serves_the_arm_of_its_rig_and_says_what_it_waited_for_in_vain(tmp_path: Path) -> None:
    async def scenario() -> None:
        rig = AdapterRig(SimulatedArm, tmp_path, KINOVA, model="gen3_7dof")
        slot, example = rig.traits.slot, rig.traits.example
        opened: list[Store] = []

        def hold(store: Store) -> None:
            opened.append(store)
            loop = asyncio.get_running_loop()
            assert isinstance(loop, PatientLoop)
            loop.stores.append(store)

        async with Stage(rig, hold) as stage:
            assert (await stage.change(slot, example.value))["stage"] == "applied"
            assert [(command.slot, command.value) for command in stage.tap.written] == [(slot, example.value)]
            with pytest.raises(
                FailedError, match=f"not within 1 s: .*state/{SUITE}/presence as wanted; last published"
            ):
                await stage.presence(online=False, ready=False, within_s=1)
        assert len(opened) == 1
        await rig.close()

    run(scenario)
