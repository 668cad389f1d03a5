"""Every adapter does what every adapter must do; `scripts/suite` prints the same as a table."""

import asyncio
from pathlib import Path

import pytest

from devices.conformance import Verdict, run_one
from tests.devices.rigs import RIGS, SUITE


@pytest.mark.parametrize("behaviour", SUITE)
@pytest.mark.parametrize("adapter", RIGS)
def test_an_adapter_does_what_it_must(adapter: str, behaviour: str, tmp_path: Path) -> None:
    kind = RIGS[adapter]
    if missing := kind.missing():
        pytest.skip(missing)
    with asyncio.Runner(loop_factory=kind.new_loop) as runner:
        result = runner.run(run_one(behaviour, SUITE[behaviour], kind.make, tmp_path))
    if result.verdict is Verdict.NOT_APPLICABLE:
        pytest.skip(f"n/a: {result.why}")
    assert result.verdict is Verdict.PASSED, result.why
