from pathlib import Path

import msgspec
import pytest

from devices.conformance.adapter_rig import AdapterRig
from devices.conformance.benches import rig_maker
from devices.registry import AdapterImportError, UnknownAdapterError
from devices.simulated import SimulatedArm


async def test_an_adapter_may_bring_a_test_bench(tmp_path: Path) -> None:
    rig = await rig_maker("simulated")(tmp_path, "", {"latency_ms": 0})
    assert isinstance(rig, AdapterRig)
    await rig.close()


def test_without_one_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = type("Bare", (), {"about": msgspec.structs.replace(SimulatedArm.about, rig="")})
    monkeypatch.setattr("devices.simulated.SimulatedArm", bare)
    with pytest.raises(AdapterImportError, match="adapter simulated brings no test bench"):
        rig_maker("simulated")
    with pytest.raises(UnknownAdapterError):
        rig_maker("none")
