#!/usr/bin/env python3
"""One user floods the service: how much later are the others answered, and for how long?

Starts a Mosquitto with the shipped `max_inflight_messages 100` and the service with 20 simulated arms at latency 0.
Each trial: a quiet time, then a flood by one user, then the time after it. Meanwhile another user sends changes at a
steady pace, and two connections, one of a third user and one of the flooder's own, tighten a limit step by step. Prints
p50 and p99 of the other user, their ratio to the quiet time, what became of the tightenings, and how long after the end
of the flood its last reply came.

    bench/flood.py [--trials 5] [--seconds 12] [--kinds write,read,unknown] [--rates 2400,4400]
"""

import argparse
import asyncio
import contextlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import aiomqtt

from armbroker.client import ArmClient
from armbroker.client.errors import ClientError, NoReplyError, RefusedError

ARMS = 20
PACE = 20.0
"""Requests a second of the other user."""
READY_S = 300.0
"""How long a service may take to start."""
PATIENCE_S = 20.0
"""How long the other user waits for a reply."""
TIGHTEN_PACE = 4.0
QUEUE, ABREAST = 256, 64
"""Unsettled changes that an arm takes of one user, and how many are sent at once."""
QUIET_S = 6.0
AFTER_S = 3.0
RATIO, BACKLOG_S = 3.0, 5.0
"""What the p99 of others may grow to, and how long a flood may be felt after its end."""
FLOODER, OTHER, THIRD = "flooder", "other", "third"
ROOT = "armbroker/v1"
CONFIG = """listener {port} 127.0.0.1
allow_anonymous true
set_tcp_nodelay true
max_inflight_messages {inflight}
max_queued_messages 100000
log_type error
"""
SETTINGS = """[mqtt]
url = "mqtt://127.0.0.1:{port}"
[store]
dir = "{data}"
[sim]
faults = true
latency_ms = 0
[clients."*"]
rights = ["write", "authority", "confirm", "factory", "unlock"]
""" + "".join(f'[[arm]]\nid = "sim-{number:04d}"\nmodel = "gen3_7dof"\n' for number in range(ARMS))
"""The rates are those of a plant, unless it says otherwise."""
ITEM = "twist_linear_soft_limit"


class Times(NamedTuple):
    """How long the parts of a trial last, seconds; `patience` is how long the others wait for a reply."""

    flood: float
    quiet: float = QUIET_S
    after: float = AFTER_S
    patience: float = PATIENCE_S


# ---------------------------------------------------------------------- the others


@dataclass
class Seen:
    """What a trial came to: latencies in ms of the other user, and what became of tightenings and of the flood."""

    quiet: list[float] = field(default_factory=list)
    flooded: list[float] = field(default_factory=list)
    unanswered: int = 0
    refused: list[str] = field(default_factory=list)
    tightened: dict[str, int] = field(default_factory=lambda: dict.fromkeys((THIRD, FLOODER), 0))
    not_tightened: list[str] = field(default_factory=list)
    sent: int = 0
    replies: int = 0
    accepted: int = 0
    counted_s: float = 0.0
    """How long after its beginning replies to the flood were counted."""
    backlog_s: float = 0.0

    @property
    def ratio(self) -> float:
        """How much the p99 grew."""
        return share(self.flooded, 0.99) / share(self.quiet, 0.99) if self.quiet and self.flooded else 0.0


def share(values: list[float], part: float) -> float:
    """A percentile."""
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


async def ask(client: ArmClient, arm: str, times: list[float], seen: Seen, patience_s: float) -> None:
    """One change of the other user, timed."""
    begin = time.perf_counter()
    params = {"control_mode": "ANGULAR_TRAJECTORY", "joint_speed_soft_limits": [10.0 + random.random() * 50] * 7}
    try:
        await client.call(arm, "SetJointSpeedSoftLimits", params, timeout=patience_s)
    except NoReplyError:
        seen.unanswered += 1
    except RefusedError as refused:
        seen.refused.append(refused.kind)
    times.append((time.perf_counter() - begin) * 1e3)


async def paced(
    client: ArmClient, seconds: float, times: list[float], seen: Seen, patience_s: float = PATIENCE_S
) -> None:
    """Open loop, over all arms."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    async with asyncio.TaskGroup() as tasks:
        for number in range(int(PACE * seconds)):
            await asyncio.sleep(max(0.0, start + number / PACE - loop.time()))
            tasks.create_task(ask(client, f"sim-{number % ARMS:04d}", times, seen, patience_s))


async def tighten(client: ArmClient, who: str, arm: str, times: Times, seen: Seen) -> None:
    """Tighten an angular limit step by step, one after the other."""
    loop = asyncio.get_running_loop()
    end, number = loop.time() + times.flood, 0
    while loop.time() < end:
        number += 1
        params = {"control_mode": "CARTESIAN_JOYSTICK", "twist_angular_soft_limit": round(50.0 - 0.1 * number, 3)}
        try:
            await client.call(arm, "SetTwistAngularSoftLimit", params, timeout=times.patience / 2)
            seen.tightened[who] += 1
        except ClientError as error:
            seen.not_tightened.append(f"{who}: {error}")
        await asyncio.sleep(1 / TIGHTEN_PACE)


async def loosen(client: ArmClient, arm: str) -> None:
    """Where the tightening begins; waits until the service is there."""
    params = {"control_mode": "CARTESIAN_JOYSTICK", "twist_angular_soft_limit": 50.0}
    await client.call(arm, "SetTwistAngularSoftLimit", params, timeout=READY_S)


class Listener:
    """Counts the replies to the flood, and knows when the last one came."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.count = 0
        self.accepted = 0
        self.last_s = 0.0

    async def run(self) -> None:
        """Listen until cancelled."""
        async with aiomqtt.Client(
            "127.0.0.1", self._port, identifier="listener", max_queued_incoming_messages=0
        ) as client:
            await client.subscribe(f"{ROOT}/res/{FLOODER}/+/+", qos=1)
            async for message in client.messages:
                if "/own/" in message.topic.value:
                    continue
                self.count += 1
                self.accepted += isinstance(message.payload, bytes) and b'"ok":true' in message.payload
                self.last_s = time.perf_counter()

    async def quiet(self, since_s: float, after_s: float) -> None:
        """Wait until nothing came for a while; not much longer than the bound."""
        most_s = since_s + BACKLOG_S
        while (left_s := after_s + min(most_s, max(since_s, self.last_s)) - time.perf_counter()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(left_s)


async def trial(port: int, kind: str, rate: float, times: Times, tag: str) -> Seen:
    """A quiet time, a flood, and the time after it."""
    seen = Seen()
    url = f"mqtt://127.0.0.1:{port}"
    listener = Listener(port)
    async with (
        ArmClient(url, user=OTHER, conn="other-1") as other,
        ArmClient(url, user=THIRD, conn="third-1") as third,
        ArmClient(url, user=FLOODER, conn="own") as own,
        asyncio.TaskGroup() as tasks,
    ):
        listening = tasks.create_task(listener.run())
        await loosen(third, "sim-0000")
        await loosen(own, "sim-0001")
        await paced(other, 1.0, [], seen, times.patience)
        await paced(other, times.quiet, seen.quiet, seen, times.patience)
        flooder = Path(__file__).with_name("flooder.py")
        command = [sys.executable, str(flooder), str(port), str(rate), str(times.flood), kind, tag, str(ARMS)]
        begun_s = time.perf_counter()
        flooding = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
        async with asyncio.TaskGroup() as others:
            others.create_task(paced(other, times.flood, seen.flooded, seen, times.patience))
            others.create_task(tighten(third, THIRD, "sim-0000", times, seen))
            others.create_task(tighten(own, FLOODER, "sim-0001", times, seen))
        out, _ = await flooding.communicate()
        seen.sent, ended_s = int(out), time.perf_counter()
        await listener.quiet(ended_s, times.after)
        seen.replies, seen.accepted = listener.count, listener.accepted
        seen.counted_s = time.perf_counter() - begun_s
        seen.backlog_s = max(0.0, listener.last_s - ended_s)
        listening.cancel()
    return seen


async def crowd(port: int, arm: str) -> list[str]:
    """One user fills the queue of an arm that hangs; which changes of others are not taken."""
    url, missed = f"mqtt://127.0.0.1:{port}", []
    async with ArmClient(url, user=FLOODER, conn="crowd") as own, ArmClient(url, user=OTHER, conn="late") as other:
        await own.call(arm, "SimFault", {"fault": "hang"}, timeout=PATIENCE_S)
        gravity = [{"z": -9.7 - number / 1000} for number in range(QUEUE)]
        for first in range(0, QUEUE, ABREAST):
            async with asyncio.TaskGroup() as tasks:
                for params in gravity[first : first + ABREAST]:
                    tasks.create_task(own.call(arm, "SetGravityVector", params, wait="stored", timeout=PATIENCE_S))
        with contextlib.suppress(RefusedError):
            await own.call(arm, "SetGravityVector", {"z": -9.6}, wait="stored", timeout=0.5)
            missed.append("the queue was not full")
        tighter = {"control_mode": "CARTESIAN_JOYSTICK", "twist_angular_soft_limit": 20.0}
        for method, change in (("SetTwistAngularSoftLimit", tighter), ("SetGravityVector", {"z": -9.75})):
            try:
                await other.call(arm, method, change, wait="stored", timeout=PATIENCE_S)
            except ClientError as error:
                missed.append(f"{method} of another user: {error}")
    return missed


# ---------------------------------------------------------------------- the whole


@contextlib.contextmanager
def running(command: Sequence[str], log: Path, environment: dict[str, str] | None = None) -> Iterator[int]:
    """A child process for the time of the block; its number."""
    with log.open("wb") as out:
        child = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
    try:
        yield child.pid
    finally:
        child.terminate()
        child.wait(60)


def cpu_s(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


class Place(NamedTuple):
    """A service and its MQTT server."""

    port: int
    service: int
    server: int


@contextlib.contextmanager
def serving(
    folder: Path,
    inflight: int = 100,
    module: str = "armbroker",
    environment: dict[str, str] | None = None,
    settings: str = "",
) -> Iterator[Place]:
    """An MQTT server and a service for the time of the block; `module` runs in place of `armbroker`.

    `settings` is a `fleet.toml` to use instead of `SETTINGS`, with `{port}` and `{data}` to fill in.

    Raises:
        RuntimeError: mosquitto is not installed.
    """
    mosquitto = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin")
    if mosquitto is None:
        raise RuntimeError("mosquitto is not installed: apt install mosquitto")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    (folder / "mosquitto.conf").write_text(CONFIG.format(port=port, inflight=inflight))
    (folder / "fleet.toml").write_text((settings or SETTINGS).format(port=port, data=folder / "data"))
    command = [sys.executable, "-m", module, "run", "--config", str(folder / "fleet.toml")]
    with running([mosquitto, "-c", str(folder / "mosquitto.conf")], folder / "mosquitto.log") as server:
        time.sleep(0.5)
        with running(command, folder / "service.log", environment) as service:
            yield Place(port, service, server)


def run(trials: int, kinds: list[str], rates: list[float], seconds: float, inflight: int) -> int:
    """All trials on one service; 1 when a bound is broken."""
    missed = 0
    with tempfile.TemporaryDirectory() as name, serving(Path(name), inflight) as place:
        for number in range(trials):
            kind, rate = kinds[number % len(kinds)], rates[number % len(rates)]
            before_s = cpu_s(place.service), cpu_s(place.server)
            seen = asyncio.run(trial(place.port, kind, rate, Times(seconds), f"t{number}"))
            spent_s = cpu_s(place.service) - before_s[0], cpu_s(place.server) - before_s[1]
            missed += not show(kind, seen, spent_s)
    return int(missed > 0)


def show(kind: str, seen: Seen, spent_s: tuple[float, float]) -> bool:
    """Print a trial; whether it kept the bounds."""
    print(
        f"{kind:8} {seen.sent:6} sent  others p50 {share(seen.quiet, 0.5):5.1f} -> {share(seen.flooded, 0.5):6.1f} ms, "
        f"p99 {share(seen.quiet, 0.99):5.1f} -> {share(seen.flooded, 0.99):6.1f} ms (x {seen.ratio:.2f}), "
        f"most {max(seen.flooded):.0f}, n {len(seen.flooded)}; "
        f"unanswered {seen.unanswered}, refused {len(seen.refused)}; tightened {seen.tightened[THIRD]} + "
        f"{seen.tightened[FLOODER]}, not {len(seen.not_tightened)}; flood: {seen.replies} replies, {seen.accepted} ok, "
        f"felt {seen.backlog_s:.1f} s after; CPU service {spent_s[0]:.1f} s, server {spent_s[1]:.1f} s"
    )
    kept = seen.ratio <= RATIO and seen.backlog_s <= BACKLOG_S
    return kept and not (seen.unanswered or seen.refused or seen.not_tightened)


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument("--kinds", default="write,read,unknown")
    parser.add_argument("--rates", default="2400,4400")
    parser.add_argument("--inflight", type=int, default=100, help="max_inflight_messages of the MQTT server")
    args = parser.parse_args()
    rates = [float(rate) for rate in args.rates.split(",")]
    return run(args.trials, args.kinds.split(","), rates, args.seconds, args.inflight)


if __name__ == "__main__":
    sys.exit(main())
