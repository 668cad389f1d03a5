"""The test bench of simulated arms, for `armbroker devices verify`."""

from collections.abc import Mapping
from pathlib import Path

from devices.adapter import AdapterSettingError, Setting
from devices.conformance.adapter_rig import AdapterRig
from devices.conformance.kinova import KINOVA
from devices.simulated.arm import SimulatedArm

MODEL = "gen3_7dof"
"""The model whose joints and limits the values of the suite fit."""


async def make(directory: Path, model: str, options: Mapping[str, Setting]) -> AdapterRig:
    """A simulated arm of its own.

    Raises:
        AdapterSettingError: another model than gen3_7dof, or an option that is none.
    """
    if model not in ("", MODEL):
        raise AdapterSettingError(f"model {model!r}: the values of the suite fit {MODEL}")
    return AdapterRig(SimulatedArm, directory, KINOVA, model=MODEL, options=options)
