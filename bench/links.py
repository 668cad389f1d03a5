#!/usr/bin/env python3
"""What a request costs the service with each MQTT client behind its link: our own, and mqttium.

Starts a Mosquitto and two services with 100 simulated arms at latency 0, alike but for `[mqtt] client`. A load of two
connections with 64 requests in flight each is given to one service after the other in short windows, so that a machine
that gets slower or faster meanwhile does not decide the result. Prints CPU time and throughput of each window, and the
ratios round by round. With `--calls` the services count their own calls of Python and C functions instead of being
timed: that figure has no noise.

    bench/links.py [--rounds 6] [--seconds 4] [--calls]
"""

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from broker import logs
from broker.link.mqtt5_link import Mqtt5Link
from broker.link.mqtt_link import LinkConfig

ARMS, CONNECTIONS, IN_FLIGHT = 100, 2, 64
CLIENTS = ("own", "mqttium")
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
SETTINGS = """root = "{name}"
[mqtt]
url = "mqtt://127.0.0.1:{port}"
client_id = "bench-{name}"
client = "{name}"
[store]
dir = "{data}"
[sim]
latency_ms = 0
[clients."*"]
rights = ["write"]
"""
COUNTED = Path(__file__).with_name("counted_calls.py")


class Window(NamedTuple):
    """What one window came to: requests answered, its length (s), CPU time (s) or calls of the service."""

    answered: int
    seconds: float
    cost: float

    @property
    def per_request(self) -> float:
        """CPU time in ms, or calls, a request."""
        return self.cost / self.answered


class Service:
    """One service with one of `CLIENTS`."""

    def __init__(self, name: str, port: int, folder: Path, *, calls: bool) -> None:
        self.name = name
        self.url = f"mqtt://127.0.0.1:{port}"
        self._config = folder / f"{name}.toml"
        self._counts = folder / f"{name}.calls" if calls else None
        arms = "".join(f'[[arm]]\nid = "a{number}"\nmodel = "gen3_7dof"\n' for number in range(ARMS))
        self._config.write_text(SETTINGS.format(name=name, port=port, data=folder / name) + arms)
        self._process: subprocess.Popen[bytes] | None = None

    @contextlib.contextmanager
    def running(self, log: Path) -> Iterator[None]:
        """Run it for the time of the block."""
        program = [str(COUNTED), str(self._counts)] if self._counts is not None else ["-m", "armbroker"]
        with log.open("wb") as out:
            command = [sys.executable, *program, "run", "--config", str(self._config)]
            self._process = process = subprocess.Popen(command, stdout=out, stderr=out)
        try:
            while b'"started"' not in log.read_bytes():
                if process.poll() is not None:
                    raise RuntimeError(log.read_text())
                time.sleep(0.1)
            yield
        finally:
            process.terminate()
            process.wait(30)

    def cost(self) -> float:
        """CPU time so far in ms, or calls so far."""
        process = self._process
        if process is None:
            raise RuntimeError("it does not run")
        if self._counts is None:
            user, system = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
            return (int(user) + int(system)) * TICK_S * 1e3
        self._counts.unlink(missing_ok=True)
        process.send_signal(signal.SIGUSR1)
        while not self._counts.exists() or not self._counts.read_text():
            time.sleep(0.01)
        return float(self._counts.read_text())


class Load:
    """One connection that keeps so many requests in flight at a service."""

    def __init__(self, service: Service, number: int) -> None:
        self._base = f"{service.name}/v1"
        self._conn = f"load-{number}"
        self._arms = range(number, ARMS, CONNECTIONS)
        self._link = Mqtt5Link(
            LinkConfig(
                url=service.url,
                client_id=f"{service.name}-{self._conn}",
                filters=(f"{self._base}/res/bench/{self._conn}/+",),
                session_expiry_s=0,
            )
        )
        self._sent = 0
        self.answered = 0
        self.refused = 0

    async def run(self, stop: asyncio.Event) -> None:
        """Until told to stop: a reply brings the next request."""
        await self._link.open()
        for _ in range(IN_FLIGHT):
            self._send()
        async for batch in self._link.batches():
            for message in batch:
                self.answered += 1
                self.refused += b'"ok":true' not in message.payload
            await self._link.ack(batch)
            if stop.is_set():
                break
            for _ in batch:
                self._send()
        await self._link.close()

    def _send(self) -> None:
        self._sent += 1
        arm = self._arms[self._sent % len(self._arms)]
        value = 0.1 + self._sent % 1_000 / 10_000
        params = {"control_mode": "CARTESIAN_JOYSTICK", "twist_linear_soft_limit": value}
        request = {"id": f"{time.time_ns()}-{self._sent}", "params": params}
        topic = f"{self._base}/req/bench/{self._conn}/a{arm}/SetTwistLinearSoftLimit"
        self._link.publish(topic, json.dumps(request).encode(), content_type="application/json")


async def window(service: Service, seconds: float) -> Window:
    """Load on one service; counted after a second of running in."""
    stop = asyncio.Event()
    loads = [Load(service, number) for number in range(CONNECTIONS)]
    async with asyncio.TaskGroup() as tasks:
        for load in loads:
            tasks.create_task(load.run(stop))
        await asyncio.sleep(1.0)
        before, began, cost = sum(load.answered for load in loads), time.monotonic(), service.cost()
        await asyncio.sleep(seconds)
        answered = sum(load.answered for load in loads) - before
        took, cost = time.monotonic() - began, service.cost() - cost
        stop.set()
    refused = sum(load.refused for load in loads)
    if refused:
        raise RuntimeError(f"{refused} requests were refused")
    return Window(answered, took, cost)


async def measure(services: list[Service], rounds: int, seconds: float, unit: str) -> None:
    """All windows, and their ratios."""
    await asyncio.sleep(3.0)
    found: dict[str, list[Window]] = {service.name: [] for service in services}
    for number in range(rounds):
        for service in services if number % 2 else reversed(services):
            found[service.name].append(await window(service, seconds))
    for name, windows in found.items():
        costs = sorted(one.per_request for one in windows)
        rates = sorted(one.answered / one.seconds for one in windows)
        print(
            f"{name:8} {statistics.median(costs):8.3f} {unit} a request ({costs[0]:.3f} to {costs[-1]:.3f}),"
            f" {statistics.median(rates):6.0f} requests a second, {sum(one.answered for one in windows)} in all"
        )
    own, other = (found[name] for name in CLIENTS)
    ratios = sorted(a.per_request / b.per_request for a, b in zip(own, other, strict=True))
    print(
        f"own / mqttium, round by round: median {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    )


def free_port() -> int:
    """A loopback port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> int:
    """Start the parts, measure, stop them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=4.0, help="length of a window")
    parser.add_argument("--calls", action="store_true", help="count calls instead of time")
    args = parser.parse_args()
    logs.set_up("warning")
    mosquitto = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    if mosquitto is None:
        print("mosquitto is not installed: apt install mosquitto", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
        folder, port = Path(place), free_port()
        conf = folder / "mosquitto.conf"
        conf.write_text(
            f"listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\nmax_inflight_messages 1000\n"
            "max_queued_messages 100000\nlog_type error\n"
        )
        server = subprocess.Popen([mosquitto, "-c", str(conf)])
        stack.callback(server.wait, 10)
        stack.callback(server.terminate)
        time.sleep(0.5)
        services = [Service(name, port, folder, calls=args.calls) for name in CLIENTS]
        for service in services:
            stack.enter_context(service.running(folder / f"{service.name}.log"))
        asyncio.run(measure(services, args.rounds, args.seconds, "calls" if args.calls else "ms CPU"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
