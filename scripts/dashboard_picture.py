#!/usr/bin/env python3
"""Takes docs/dashboard.png: a service at work, a real Prometheus, the dashboard drawn by Grafana's own components.

python scripts/dashboard_picture.py [FILE [FOLDER]]; needs npm, node, Chromium, prometheus. What draws are the packages
@grafana/ui and @grafana/data (scripts/dashboard/package.json): a whole Grafana can be had from no package registry.
FOLDER keeps what was installed and what Prometheus answered; without it both are made anew.
"""

import asyncio
import contextlib
import itertools
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.chromium import Chromium  # noqa: E402 - the path first
from tests.journey.client import Client  # noqa: E402 - likewise
from tests.journey.processes import ServiceProcess, online  # noqa: E402 - likewise
from tests.mosquitto import Mosquitto, free_port  # noqa: E402 - likewise
from tests.prometheus import DASHBOARD, Prometheus, queries_of  # noqa: E402 - likewise

SOURCES = ROOT / "scripts/dashboard"
MINUTES, STEP_S, WINDOW = 5.0, 5, "20s"
SET = "SetTwistLinearSoftLimit"
ARMS = tuple(f"{cell}-{number:02d}" for cell in ("weld", "pack", "lab") for number in range(1, 13))
WIDE = 1576
MORE = """[metrics]
listen = "127.0.0.1:{port}"
"""
PAGE = '<!doctype html><meta charset="utf-8"><body><div id="root"></div><script>const ANSWERS = {answers}</script>'
PAGE += '<link rel="stylesheet" href="draw.css"><script src="draw.js"></script>'
OPTIONS = (
    "--bundle", "--outfile=draw.js", "--log-level=error", "--define:process.env.NODE_ENV='production'",
    "--loader:.svg=dataurl", "--loader:.png=dataurl", "--loader:.ttf=empty",
)  # fmt: skip
ESBUILD = "node_modules/@esbuild/linux-x64/bin/esbuild"


def twist(value: float) -> dict[str, Any]:
    return {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": value}


async def shift(client: Client, until_s: float) -> None:
    """What people and programs do: changes, reads, refusals, arms that go away, changes with an end, plans."""
    chance = random.Random(12)  # noqa: S311 - for variety alone
    await client.change("lab-02", "SetAuthority", {"authority": "observe", "reason": "being calibrated"})
    await client.call("pack-05", "SimFault", {"fault": "moving"})
    for turn in itertools.count(1):
        if time.monotonic() > until_s:
            return
        for _ in range(chance.randrange(2, 9)):
            arm = chance.choice(ARMS)
            await client.call(arm, SET, twist(chance.choice((0.1, 0.2, 0.3, 0.9))))
            await client.call(arm, "GetKinematicSoftLimits", {"control_mode": "CARTESIAN_JOYSTICK"})
        if happens := HAPPENS.get(turn % EVERY):
            await happens(client)
        await asyncio.sleep(0.5 + chance.random())


async def away(client: Client) -> None:
    """A change with an end; an arm that leaves, with a change that waits for it."""
    await client.change("weld-03", "SetPayloadInformation", {"payload_mass": 1.0}, valid_for_ms=60_000)
    await client.call("weld-08", "SimFault", {"fault": "offline"})
    await client.call("weld-08", SET, twist(0.2))


async def rollout(client: Client) -> None:
    """Two waves, with a look at the arms after each."""
    params = {"method": SET, "params": twist(0.25), "on_failure": "pause", "canary": 2, "soak_ms": 8_000}
    await client.call("@all", "Rollout", params)


async def back(client: Client) -> None:
    """The arm returns."""
    await client.call("weld-08", "SimFault", {"fault": "none"})


HAPPENS = {10: away, 20: rollout, 35: back}
EVERY = 60


async def asked(prometheus: Prometheus) -> dict[str, Any]:
    """What the page draws of."""
    to = int(time.time())
    since = to - int(MINUTES * 60)
    panels = {}
    for panel in DASHBOARD["panels"]:
        answers = [
            await prometheus.ask("query_range", query=query, start=str(since), end=str(to), step=str(STEP_S))
            for query in queries_of(panel, WINDOW)
        ]
        panels[panel["id"]] = [answer["result"] for answer in answers]
    return {"dashboard": DASHBOARD, "from": since, "to": to, "step": STEP_S, "panels": panels}


async def watched(folder: Path) -> dict[str, Any]:
    """A shift, as a Prometheus saw it."""
    port = free_port()
    server = Mosquitto(folder).start()
    service = ServiceProcess(server, folder, "armbroker", ARMS, more=MORE.format(port=port))
    prometheus = Prometheus(folder / "prometheus", f"127.0.0.1:{port}", every="2s").start()
    try:
        service.start()
        async with Client(server.port, "armbroker/v1", "alice", "hmi-4") as client:
            await client.subscribe("svc/+")
            await online(client, 1)
            await shift(client, time.monotonic() + MINUTES * 60 - 10)
            return await asked(prometheus)
    finally:
        prometheus.stop()
        service.kill()
        server.stop()


async def run(folder: Path, *command: str) -> None:
    """Run a program in a folder; it has to end well."""
    process = await asyncio.create_subprocess_exec(*command, cwd=folder)
    if code := await process.wait():
        sys.exit(f"{command[0]} ended with {code}")


async def draw(answers: dict[str, Any], folder: Path, target: Path) -> None:
    """The picture, by Grafana's components in Chromium."""
    for name in ("package.json", "draw.jsx"):
        (folder / name).write_bytes((SOURCES / name).read_bytes())
    if not (folder / "node_modules").exists():
        await run(folder, "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
    await run(folder, str(folder / ESBUILD), "draw.jsx", *OPTIONS)
    text = json.dumps(answers).replace("</", "<\\/")
    (folder / "index.html").write_text(PAGE.replace("{answers}", text))
    async with Chromium(folder / "chromium") as browser:
        page = await browser.page(WIDE, 1000)
        await page.open((folder / "index.html").as_uri())
        graphs = sum(panel["type"] == "timeseries" for panel in DASHBOARD["panels"])
        high = await page.until(f"document.querySelectorAll('canvas').length >= {graphs} && document.body.scrollHeight")
        await page.send(
            "Emulation.setDeviceMetricsOverride", width=WIDE, height=int(high), deviceScaleFactor=1, mobile=False
        )
        await asyncio.sleep(2)
        await page.screenshot(target)
        for fault in page.faults:
            print(fault, file=sys.stderr)


async def main(target: Path, place: Path | None) -> None:
    with contextlib.ExitStack() as stack:
        folder = place or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kept = folder / "answers.json"
        if not kept.exists():
            kept.write_text(json.dumps(await watched(folder)))
        await draw(json.loads(kept.read_text()), folder, target)


if __name__ == "__main__":
    asyncio.run(
        main(
            Path(sys.argv[1]) if sys.argv[1:] else ROOT / "docs/dashboard.png",
            Path(sys.argv[2]) if sys.argv[2:] else None,
        )
    )
