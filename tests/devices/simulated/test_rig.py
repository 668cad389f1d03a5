from pathlib import Path

import pytest

from devices.adapter import AdapterSettingError
from devices.simulated.rig import make


async def test_the_bench_has_an_arm_that_the_values_of_the_suite_fit(tmp_path: Path) -> None:
    rig = await make(tmp_path, "gen3_7dof", {"latency_ms": 0})
    assert len((await rig.arm.connect()).joints) == 7
    await rig.close()
    with pytest.raises(AdapterSettingError, match="model 'gen3_lite': the values of the suite fit gen3_7dof"):
        await make(tmp_path, "gen3_lite", {})
