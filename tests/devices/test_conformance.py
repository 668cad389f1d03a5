"""Every adapter does what every adapter must do; `scripts/suite` prints the same as a table."""

import asyncio
from pathlib import Path

import pytest

from devices.conformance import Verdict, run_one
from tests.devices.rigs import RIGS, SUITE

NOT_APPLICABLE = {
    ("ros2", name)
    for name in (
        "rounded", "other serial number", "in fault", "same reset answered", "service: rounded",
        "service: other serial number",
    )
}  # fmt: skip
"""What a ROS 2 node gives no occasion for: it neither rounds nor resets, and tells neither serial number nor faults."""


@pytest.mark.parametrize("behaviour", SUITE)
@pytest.mark.parametrize("adapter", RIGS)
def test_an_adapter_does_what_it_must(adapter: str, behaviour: str, tmp_path: Path) -> None:
    kind = RIGS[adapter]
    if missing := kind.missing():
        pytest.skip(missing)
    with asyncio.Runner(loop_factory=kind.new_loop) as runner:
        result = runner.run(run_one(behaviour, SUITE[behaviour], kind.make, tmp_path))
    wanted = Verdict.NOT_APPLICABLE if (adapter, behaviour) in NOT_APPLICABLE else Verdict.PASSED
    assert result.verdict is wanted, result.why
