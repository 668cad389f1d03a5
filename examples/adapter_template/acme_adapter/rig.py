"""The test bench: an Acme arm in this process, for `armbroker devices verify acme`."""

from collections.abc import Callable, Mapping
from pathlib import Path

from acme_adapter.adapter import AcmeArm
from acme_adapter.arm import Arm
from acme_adapter.values import VALUES
from armbroker.adapters import (
    AdapterRig,
    CannotInjectError,
    ControlMode,
    Example,
    Fault,
    Refusal,
    Setting,
    Traits,
    messages,
)

TRAITS = Traits(
    values={
        ("payload_information", 0): Example(
            messages.PayloadInformation(0.5, messages.Position(0.0, 0.01, 0.02)),
            messages.PayloadInformation(1.25, messages.Position(0.0, 0.0, 0.05)),
        ),
        ("gravity_vector", 0): Example(messages.GravityVector(9.81, 0.0, 0.0), messages.GravityVector(0.0, 9.81, 0.0)),
        **{
            ("twist_linear_soft_limit", mode): Example(
                messages.TwistLinearSoftLimit(ControlMode(mode), 0.0625),
                messages.TwistLinearSoftLimit(ControlMode(mode), 0.125),
            )
            for mode in (2, 5, 12)
        },
    },
    refused={
        "payload too heavy": Refusal(
            ("payload_information", 0), messages.PayloadInformation(9.0, messages.Position()), 48
        )
    },
    resettable=frozenset({"payload_information", "gravity_vector", "twist_linear_soft_limit"}),
    cannot={
        "rounded": "an Acme arm keeps no angles",
        "fault": "an Acme arm tells of no fault",
        "clamp": "an Acme arm takes a value as it is, or refuses it",
    },
)

_FAULTS: dict[str, Callable[[Arm], None]] = {
    "refuse": lambda arm: setattr(arm, "refuses", True),
    "garbage": lambda arm: setattr(arm, "garbles", True),
    "lose_answer": lambda arm: setattr(arm, "loses_answers", True),
    "hang": lambda arm: arm.hang(hung=True),
    "moving": lambda arm: arm.move(moving=True),
    "offline": Arm.vanish,
    "reboot": lambda arm: setattr(arm, "values", dict(arm.at_start)),
    "swap_serial": lambda arm: setattr(arm, "serial", "A-18"),
}
_RESTARTS = ("reboot", "swap_serial")


class AcmeRig(AdapterRig):
    """One arm and its adapter."""

    peer: Arm

    async def inject(self, fault: Fault) -> None:
        """Let the arm misbehave."""
        arm = self.peer
        if fault.name == "foreign_change" and fault.slot is not None:
            arm.change(VALUES[fault.slot].name, VALUES[fault.slot].numbers(fault.value))
        elif fault.name == "delay":
            arm.delay_s = fault.delay_ms / 1000
        elif fault.name in _FAULTS:
            _FAULTS[fault.name](arm)
            if fault.name in _RESTARTS:
                await self._restart()
        elif fault.name == "none":
            await self._mend()
        else:
            raise CannotInjectError(f"an Acme arm cannot {fault.name}")

    async def reopen(self) -> None:
        """The adapter anew; the arm goes on."""
        await super().close()
        self._open()

    async def close(self) -> None:
        """The end of both."""
        await super().close()
        self.peer.vanish()

    async def _mend(self) -> None:
        arm = self.peer
        arm.refuses = arm.garbles = arm.loses_answers = False
        arm.delay_s = 0.0
        arm.hang(hung=False)
        arm.move(moving=False)
        if not arm.listening:
            await arm.listen(arm.port)

    async def _restart(self) -> None:
        """Off and on again: all connections drop."""
        self.peer.vanish()
        await self.peer.listen(self.peer.port)


async def make(directory: Path, model: str, options: Mapping[str, Setting]) -> AcmeRig:
    """An arm on a free port, and its adapter."""
    arm = Arm()
    await arm.listen()
    rig = AcmeRig(AcmeArm, directory, TRAITS, model=model, options={**options, "port": arm.port})
    rig.peer = arm
    return rig
