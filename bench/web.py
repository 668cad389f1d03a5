#!/usr/bin/env python3
"""How fast is the page of a fleet?

A Mosquitto, one service with simulated arms, `armbroker web`, and a headless Chromium. Measures
- opening: from the navigation until every arm is known to the page and the table is drawn
- an event: from when the service committed it until it stands in the page, by the one clock of this machine
- what a page costs the server: CPU while nothing happens, and memory

    bench/web.py [--arms 1000] [--rounds 5] [--events 30]
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from schema.codecs.times import parse_time  # noqa: E402 - the path first
from tests.chromium import Chromium, Page  # noqa: E402 - likewise
from tests.journey.client import Client  # noqa: E402 - likewise
from tests.journey.processes import ServiceProcess, online  # noqa: E402 - likewise
from tests.mosquitto import Mosquitto  # noqa: E402 - likewise
from tests.screens import page_served  # noqa: E402 - likewise

NAME = "webbench"
IDLE_S = 5.0
TICKS = 100
WATCH = """
void (globalThis.seen = new Promise((done) => {
  const list = document.getElementById("events");
  const watch = new MutationObserver(() => { watch.disconnect(); done(Date.now()); });
  watch.observe(list, { childList: true });
}))
"""


def usage(pid: int) -> tuple[float, float]:
    """CPU seconds, and resident memory in MB."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return (int(fields[11]) + int(fields[12])) / TICKS, int(status.partition("VmRSS:")[2].split()[0]) / 1024


async def opening(browser: Chromium, address: str, arms: int) -> tuple[Page, float]:
    """A page, and the seconds until all arms were there."""
    page = await browser.page()
    began = time.monotonic()
    await page.open(address)
    await page.until(f"document.body.dataset.arms === '{arms}' && document.querySelector('.line:not([hidden])')")
    return page, time.monotonic() - began


async def event(page: Page, client: Client, number: int) -> float:
    """One change; ms from when its event was committed until the page shows it."""
    await page.eval(WATCH)
    params = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.1 + number % 300 / 1000}
    await client.change(f"r{number % 100:03d}", "SetTwistLinearSoftLimit", params)
    got = await client.take(lambda message: message.topic.startswith("evt/"))
    return float(await page.eval("globalThis.seen")) - parse_time(got.document["at"]) / 1000


async def measure(arms: int, rounds: int, events: int) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = Mosquitto(folder).start()
        service = ServiceProcess(server, folder, NAME, [f"r{number:03d}" for number in range(arms)]).start()
        try:
            async with (
                Client(server.port, service.root, "ann", "ann") as client,
                page_served(server.url, "--root", NAME) as web,
                Chromium(folder / "chromium") as browser,
            ):
                await client.subscribe("svc/+", "evt/#")
                await online(client, 1)
                page, _ = await opening(browser, web.address, arms)
                opened = [(await opening(browser, web.address, arms))[1] for _ in range(rounds)]
                seen = [await event(page, client, number) for number in range(events)]
                before, _ = usage(web.process.pid)
                await asyncio.sleep(IDLE_S)
                after, memory = usage(web.process.pid)
        finally:
            service.kill()
            server.stop()
    print(f"{arms} arms, {rounds + 1} pages open at the end")
    print(f"  opening: median {statistics.median(opened):.2f} s, longest {max(opened):.2f} s (n {rounds})")
    middle, high = statistics.median(seen), sorted(seen)[int(len(seen) * 0.95)]
    print(f"  an event: median {middle:.0f} ms, p95 {high:.0f} ms, longest {max(seen):.0f} ms (n {events})")
    print(f"  armbroker web: {100 * (after - before) / IDLE_S:.1f} % of a core while nothing happens, {memory:.0f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=30)
    given = parser.parse_args()
    asyncio.run(measure(given.arms, given.rounds, given.events))
