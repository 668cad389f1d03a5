#!/usr/bin/env python3
"""How fast is the page of a fleet?

A Mosquitto, one service with simulated arms, `armbroker web`, and a headless Chromium. Measures
- opening: from the navigation until every arm is known to the page and the table is drawn
- an event: from when the service committed it until it stands in the page, by the one clock of this machine
- what it costs: CPU of armbroker web while nothing happens, and its memory
- under load (so many clients that change limits as fast as they are answered): how old the newest event in the page is
  whenever the page is told something, the longest frame, CPU

    bench/web.py [--arms 1000] [--rounds 5] [--events 30] [--clients 32]
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

from armbroker.client import ArmClient  # noqa: E402 - the path first
from schema.codecs.times import parse_time  # noqa: E402 - likewise
from tests.chromium import Chromium, Page  # noqa: E402 - likewise
from tests.journey.client import Client  # noqa: E402 - likewise
from tests.journey.processes import ServiceProcess, online  # noqa: E402 - likewise
from tests.mosquitto import Mosquitto  # noqa: E402 - likewise
from tests.screens import page_served  # noqa: E402 - likewise

NAME = "webbench"
IDLE_S = 5.0
TICKS = 100
LOAD_S = 10.0
LATE = """
void (globalThis.late = [], globalThis.frames = [], new MutationObserver(() => {
  late.push(Date.now() - Date.parse(document.querySelector("#events time").dateTime));
}).observe(document.getElementById("events"), { childList: true }),
(function next(before) {
  requestAnimationFrame((now) => { frames.push(now - before); next(now); });
})(performance.now()))
"""
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


async def load(page: Page, url: str, pid: int, arms: int, clients: int) -> None:
    """Change limits for a while, and print what became of the page."""
    done, stop = [0] * clients, time.monotonic() + LOAD_S
    await page.eval(LATE)
    async with ArmClient(url, user="ann", conn="load", root=NAME) as client:

        async def change(place: int) -> None:
            while time.monotonic() < stop:
                number = place + clients * done[place]
                params = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": 0.1 + number % 300 / 1000}
                await client.call(f"r{number % arms:03d}", "SetTwistLinearSoftLimit", params, timeout=60)
                done[place] += 1

        before, _ = usage(pid)
        began = time.monotonic()
        await asyncio.gather(*map(change, range(clients)))
        took_s = time.monotonic() - began
    share = 100 * (usage(pid)[0] - before) / took_s
    late, frames = await page.eval("late"), await page.eval("frames")
    print(f"  under load, {sum(done) / took_s:.0f} changes a second: armbroker web {share:.0f} % of a core")
    middle = statistics.median(late)
    print(f"    newest event in the page: median {middle:.0f} ms old, oldest {max(late):.0f} (n {len(late)})")
    print(f"    frames: median {statistics.median(frames):.0f} ms, longest {max(frames):.0f} ms (n {len(frames)})")


async def measure(arms: int, rounds: int, events: int, clients: int) -> None:
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
                pages = [await opening(browser, web.address, arms) for _ in range(rounds)]
                opened = [seconds for _, seconds in pages]
                seen = [await event(page, client, number) for number in range(events)]
                before, _ = usage(web.process.pid)
                await asyncio.sleep(IDLE_S)
                after, memory = usage(web.process.pid)
                middle, high = statistics.median(seen), sorted(seen)[int(len(seen) * 0.95)]
                print(f"{arms} arms, {rounds + 1} pages open at the end")
                print(f"  opening: median {statistics.median(opened):.2f} s, longest {max(opened):.2f} s (n {rounds})")
                print(f"  an event: median {middle:.0f} ms, p95 {high:.0f} ms, longest {max(seen):.0f} ms (n {events})")
                print(f"  nothing happens: {100 * (after - before) / IDLE_S:.1f} % of a core, {memory:.0f} MB")
                for other, _ in pages:
                    await other.send("Page.close")
                await load(page, server.url, web.process.pid, arms, clients)
        finally:
            service.kill()
            server.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=30)
    parser.add_argument("--clients", type=int, default=32)
    given = parser.parse_args()
    asyncio.run(measure(given.arms, given.rounds, given.events, given.clients))
