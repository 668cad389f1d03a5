"""What waited at the MQTT server: carried out where it tightens, or its age is told."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.journey.client import Client
from tests.journey.processes import ServiceProcess
from tests.mosquitto import Mosquitto

SET = "SetTwistLinearSoftLimit"
RESET = "ResetTwistLinearSoftLimit"
MODE = "CARTESIAN_JOYSTICK"
LONG_AGO = "2020-01-01T00:00:00Z"


def twist(value: float) -> dict[str, Any]:
    """Params of SET."""
    return {"control_mode": MODE, "twist_linear_soft_limit": value}


async def started(monitor: Client, known: set[str]) -> None:
    """Wait until a start that was not known is online."""
    document = await monitor.document("svc/main", lambda each: each["state"] == "online" and each["start"] not in known)
    known.add(document["start"])


@pytest.mark.parametrize("version", [4, 5])
async def test_modes_and_loosenings_of_unknown_age_expire(mosquitto: Mosquitto, tmp_path: Path, version: int) -> None:
    service = ServiceProcess(mosquitto, tmp_path, f"waiting{version}", ("r1", "r2"))
    starts: set[str] = set()
    service.start()
    try:
        async with Client(service.port, service.root, "plc", f"plc-{version}", version=version) as plc:
            await plc.subscribe("svc/+")
            await started(plc, starts)
            await plc.change("r1", SET, twist(0.25))
            await service.stop()
            waiting: dict[str, tuple[str, str, dict[str, Any]]] = {
                "tighter": ("r1", SET, {"params": twist(0.125)}),
                "looser": ("r1", SET, {"params": twist(0.3)}),
                "issued": ("r2", RESET, {"params": {"control_mode": MODE}, "issued_at": LONG_AGO}),
                "mode": ("r1", "SetControlMode", {"params": {"control_mode": MODE}}),
                "lived": ("r2", "SetControlMode", {"params": {"control_mode": MODE}, "ttl_ms": 300_000}),
                "reset": ("r1", RESET, {"params": {"control_mode": MODE}}),
                "read": ("r1", "GetControlMode", {}),
                "dry": ("r1", SET, {"params": twist(0.3), "dry_run": True}),
            }
            for name, (arm, method, request) in waiting.items():
                await plc.send(arm, method, {"id": name, **request})
            if version == 5:
                await plc.send("r2", RESET, {"id": "dated", "params": {"control_mode": MODE}}, expiry_s=600)
            service.start()
            kinds = {}
            for name in (*waiting, *(("dated",) if version == 5 else ())):
                reply = await plc.reply(name)
                kinds[name] = reply["stage"] if reply["ok"] else reply["error"]["kind"]
            old = dict.fromkeys(("looser", "issued", "mode", "lived", "reset"), "expired")
            fine = {"tighter": "applied", "read": "read", "dry": "checked"}
            assert kinds == {**old, **fine, **({"dated": "applied"} if version == 5 else {})}
            assert (await plc.change("r1", SET, twist(0.3)))["stage"] == "applied"
            assert await service.stop() == 0
    finally:
        service.kill()


async def test_under_the_shipped_access_rules_the_marker_comes_back(plant: Mosquitto, tmp_path: Path) -> None:
    (tmp_path / "password").write_text(plant.passwords["svc"])
    service = ServiceProcess(plant, tmp_path, "armbroker", ("r1",))
    text = service.config.read_text().replace(
        "[mqtt]\n", f'[mqtt]\nuser = "svc"\npassword_file = "{tmp_path}/password"\nidentity = "server-acl"\n'
    )
    service.config.write_text(text)
    starts: set[str] = set()
    service.start()
    try:
        async with Client(plant.port, service.root, "alice", "alice-1", password=plant.passwords["alice"]) as alice:
            await alice.subscribe("svc/+")
            await started(alice, starts)
            await alice.change("r1", SET, twist(0.25))
            await service.stop()
            service.start()
            await started(alice, starts)
            async with asyncio.timeout(60):
                while not (await alice.call("r1", SET, twist(0.3)))["ok"]:  # noqa: ASYNC110 - nobody announces it
                    await asyncio.sleep(0.1)
            assert await service.stop() == 0
        assert "marker_not_back" not in service.log
        assert "other_services_not_seen" not in service.log
    finally:
        service.kill()
