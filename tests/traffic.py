"""What clients, arms and the network do to a service, one kind after the other."""

import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tests.virtual_plant import Plant

Kind = Callable[["Traffic"], Awaitable[None]]
SPEEDS = "SetJointSpeedSoftLimits"
SOME_S, LONG_S = 30.0, 3_600.0
"""Enough for what a fault of a few seconds leaves to be over; and for what is kept for a while to be let go of."""


class Traffic:
    """Lets things happen on a plant; what is random follows a seed."""

    def __init__(self, plant: Plant, arms: tuple[str, ...], seed: int = 1) -> None:
        self.plant = plant
        self._arms = arms
        self._dice = random.Random(seed)  # noqa: S311 - the same traffic for the same seed

    def arm(self) -> str:
        """One of the arms."""
        return self._dice.choice(self._arms)

    def mass(self) -> dict[str, float]:
        """A payload that is hardly the one that is there."""
        return {"payload_mass": round(self._dice.uniform(0.0, 2.0), 4)}

    def speeds(self) -> dict[str, object]:
        """Legal limits of seven joints."""
        values = [round(self._dice.uniform(10.0, 60.0), 3) for _ in range(7)]
        return {"control_mode": "ANGULAR_TRAJECTORY", "joint_speed_soft_limits": values}

    async def ask(self, method: str, params: Mapping[str, object] | None = None, arm: str = "", **fields: Any) -> bool:
        """Ask one arm; whether it was done."""
        reply = await self.plant.call(arm or self.arm(), method, dict(params or {}), **fields)
        return bool(reply["ok"])

    async def sets(self, count: int) -> None:
        """So many changes of limits at once, one in twenty refused."""
        plant = self.plant
        after = len(plant.link.published)
        for number in range(count):
            params = self.speeds() if number % 20 else {**self.speeds(), "joint_speed_soft_limits": [900.0] * 7}
            last = plant.send(self.arm(), SPEEDS, params)
        await plant.reply(last, after)
        await plant.committed()

    def forget(self) -> None:
        """Keep nothing of what crossed the link."""
        self.plant.link.published.clear()
        self.plant.link.delivered.clear()
        self.plant.link.acked.clear()


async def _denials(traffic: Traffic) -> None:
    ask = traffic.ask
    assert not await ask(SPEEDS, {"control_mode": "ANGULAR_TRAJECTORY", "joint_speed_soft_limits": [900.0] * 7})
    assert not await ask(SPEEDS, {"control_mode": "NONSENSE", "joint_speed_soft_limits": ["x"]})
    assert not await ask("SetPayloadInformation", {"payload_mass": 1.0, "extra": 1})
    assert not await ask("SetPayloadInformation", {"payload_mass": 1.0}, when="never")
    assert not await ask("GetPayloadInformation", arm="nobody")
    assert not await ask("NoMethod")
    items = {"twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 99.0}, "payload_information": {"payload_mass": -3.0}}
    assert not await ask("ApplyConfig", {"items": items})


async def _unreadable(traffic: Traffic) -> None:
    topic = f"req/u/c/{traffic.arm()}/SetPayloadInformation"
    for payload in (
        b"{no",
        b'{"id":"no id","params":{}}',
        b'{"id":"1","ttl_ms":-1}',
        b"\x81\xa2id\xc0",
        b"\x0a\x01x\xff",
        b"\xff",
    ):
        traffic.plant.link.deliver(topic, payload)
    traffic.plant.link.deliver("req/u", b"")
    await traffic.plant.turn(1.0)


async def _reads(traffic: Traffic) -> None:
    ask = traffic.ask
    for method in ("GetAllKinematicSoftLimits", "GetJointLimits", "Explain", "Blame", "WhoAmI", "GetSkeleton"):
        await ask(method)
    assert await ask("GetHistory", {"limit": 100})
    assert await ask("GetEvents", {"after_seq": 0})
    assert await ask("Diff", {"to": {"arm": traffic.arm()}})
    assert await ask("CheckTrajectory", {"positions": [[0.0] * 7] * 20, "times": [0.1 * n for n in range(20)]})
    assert await ask("FindArms", {"where": {"presence": "online"}}, arm="@all")
    assert await ask("GetFleetHistory", {"limit": 50}, arm="@all")


async def _locks(traffic: Traffic) -> None:
    arm = traffic.arm()
    assert await traffic.ask("HoldArm", {"reason": "work"}, arm)
    assert not await traffic.ask("SetPayloadInformation", traffic.mass(), arm, user="v")
    assert await traffic.ask("ReleaseArm", {}, arm)


async def _overrides(traffic: Traffic) -> None:
    arm = traffic.arm()
    assert await traffic.ask("SetPayloadInformation", traffic.mass(), arm, valid_for_ms=2_000)
    assert await traffic.ask("SetPayloadInformation", traffic.mass(), arm, valid_for_ms=3_600_000)
    assert await traffic.ask("ExtendOverride", {"all": True, "valid_for_ms": 1_800_000}, arm)
    assert await traffic.ask("EndOverride", {"all": True}, arm)
    await traffic.plant.turn(SOME_S)


async def _idle(traffic: Traffic) -> None:
    assert await traffic.ask("SetPayloadInformation", traffic.mass(), when="idle")
    await traffic.plant.turn(SOME_S)


async def _batches(traffic: Traffic) -> None:
    items = {"twist_linear_soft_limit": {"CARTESIAN_JOYSTICK": 0.3}, "payload_information": traffic.mass()}
    assert await traffic.ask("ApplyConfig", {"items": items})
    assert await traffic.ask("PutRecipe", {"name": "weld", "items": {"payload_information": traffic.mass()}}, "@all")
    assert await traffic.ask("ApplyRecipe", {"recipe": "weld"})
    await traffic.ask("RestoreFactory")


async def _plans(traffic: Traffic) -> None:
    assert await traffic.ask("SetPayloadInformation", traffic.mass(), "@all")
    rollout = {"method": "SetPayloadInformation", "params": traffic.mass(), "on_failure": "reverse", "canary": 1}
    assert await traffic.ask("Rollout", {**rollout, "waves": [100]}, "@all")
    await traffic.plant.turn(LONG_S)


async def _foreign(traffic: Traffic) -> None:
    await traffic.ask("SimFault", {"fault": "reboot"})
    await traffic.plant.turn(SOME_S)


def _fault(fault: str) -> Kind:
    async def kind(traffic: Traffic) -> None:
        arm = traffic.arm()
        await traffic.plant.fault(arm, fault, for_ms=4_000)
        traffic.plant.send(arm, "SetPayloadInformation", traffic.mass())
        await traffic.plant.turn(SOME_S)
        await traffic.plant.fault(arm, "none")
        await traffic.plant.turn(SOME_S)

    return kind


async def _connections(traffic: Traffic) -> None:
    for present in (True, False):
        traffic.plant.link.lose()
        await traffic.plant.turn(2.0)
        traffic.plant.link.restore(present=present)
        await traffic.plant.turn(SOME_S)


FAULTS = ("delay", "hang", "lose_answer", "offline", "refuse", "garbage", "clamp", "moving", "local", "fault")
KINDS: dict[str, Kind] = {
    "denials": _denials,
    "unreadable": _unreadable,
    "reads": _reads,
    "locks": _locks,
    "overrides": _overrides,
    "idle": _idle,
    "batches": _batches,
    "plans": _plans,
    "arms away": _foreign,
    **{fault: _fault(fault) for fault in FAULTS},
    "connections": _connections,
}
"""Everything but changes of limits, by what it is."""
