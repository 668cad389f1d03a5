#!/usr/bin/env python3
"""A million requests are refused: does the memory of the service stay flat?

Starts a Mosquitto and the service with 20 simulated arms. A third each of the requests: of arms that do not exist, with
params that cannot be, both of a user without a bound, and of a user beyond its rate. What is refused is counted by the
service itself. Prints its memory at every twentieth; exit code 1 when it grew by more than 5 MiB after the warm-up.

    bench/refused.py [--count 1000000] [--rate 3000]
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import aiomqtt

from bench.flood import ARMS, ROOT, serving

COUNTED = ("request_refused", "rate_limited", "rate_limited_unanswered")
INFLIGHT = 1_000
"""Messages that the MQTT server sends ahead: refusals are committed together."""
PARTS = 20
WARM_UP = 0.1
"""The first part of the requests of each kind, in which memory may grow."""
MOST_MIB = 5.0
SETTINGS = """[mqtt]
url = "mqtt://127.0.0.1:{port}"
[store]
dir = "{data}"
[sim]
latency_ms = 0
[clients."*"]
rights = ["write"]
[clients.free]
rights = ["write"]
rate = 0
""" + "".join(f'[[arm]]\nid = "sim-{number:04d}"\nmodel = "gen3_7dof"\n' for number in range(ARMS))


class Phase(NamedTuple):
    """One kind of refusal: what is sent, by whom."""

    name: str
    kind: str
    user: str


PHASES = (
    Phase("unknown arm", "unknown", "free"),
    Phase("bad params", "bad", "free"),
    Phase("rate limited", "read", "bounded"),
)


def memory_mib(pid: int) -> float:
    """What a process has in memory now."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024


async def refusals(client: aiomqtt.Client) -> AsyncIterator[int]:
    """How many the service has refused, whenever it tells."""
    await client.subscribe(f"{ROOT}/svc/main", qos=1)
    async for message in client.messages:
        if isinstance(message.payload, bytes):
            counters = json.loads(message.payload).get("counters", {})
            yield sum(int(counters.get(name, 0)) for name in COUNTED)


async def run_phase(port: int, pid: int, phase: Phase, count: int, rate: float) -> float:
    """So many refusals of one kind; how much memory grew after the warm-up, MiB."""
    command = [sys.executable, str(Path(__file__).with_name("flooder.py")), str(port), str(rate), "100000"]
    flooding = await asyncio.create_subprocess_exec(*command, phase.kind, phase.kind, str(ARMS), phase.user)
    warm_mib = most_mib = 0.0
    first, shown = -1, 0
    try:
        async with aiomqtt.Client("127.0.0.1", port) as client:
            async for total in refusals(client):
                first = total if first < 0 else first
                done, now_mib = total - first, memory_mib(pid)
                if done < count * WARM_UP:
                    continue
                warm_mib, most_mib = warm_mib or now_mib, max(most_mib, now_mib)
                if done * PARTS // count > shown:
                    shown = done * PARTS // count
                    print(f"{phase.name:13} {done:9,} refused  {now_mib:6.1f} MiB", flush=True)
                if done >= count:
                    break
    finally:
        flooding.terminate()
        await flooding.wait()
    return most_mib - warm_mib


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--rate", type=float, default=3_000.0)
    args = parser.parse_args()
    grown = {}
    with tempfile.TemporaryDirectory() as name, serving(Path(name), INFLIGHT, settings=SETTINGS) as place:
        for phase in PHASES:
            each = args.count // len(PHASES)
            grown[phase.name] = asyncio.run(run_phase(place.port, place.service, phase, each, args.rate))
    print("; ".join(f"{name}: {mib:+.1f} MiB after the warm-up" for name, mib in grown.items()))
    return int(max(grown.values()) > MOST_MIB)


if __name__ == "__main__":
    sys.exit(main())
